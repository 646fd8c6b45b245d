// SPDX-License-Identifier: Apache-2.0
/// What a TreeRef leads to: a tree's number and its pages.
#pragma once

#include "freshet/engine/tree/page_tree.h"
#include "freshet/sync/epoch.h"

#include <cstdint>
#include <memory>
#include <utility>

namespace freshet::engine {

/// The pages are freed, through the epochs, when the last TreeRef goes.
class Tree : public std::enable_shared_from_this<Tree> {
public:
    /// `epochs` lives at least as long as `env`.
    Tree(uint32_t treeId,
         std::shared_ptr<TreeEnv> env,
         sync::EpochDomain& epochs,
         block::Codec codec)
        : id(treeId),
          env_(std::move(env)),
          epochs_(epochs),
          pages_(new PageTree(env_.get(), treeId)) {
        // [tree.codec] relaxed: no other thread knows the tree yet.
        pages_->codec().store(codec, sync::kRelaxed);
    }
    ~Tree() {
        sync::Slice slice(epochs_);
        slice.participant().retire(pages_);
    }
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;

    PageTree& pages() const { return *pages_; }
    const uint32_t id;  // a TreeId

private:
    const std::shared_ptr<TreeEnv> env_;
    sync::EpochDomain& epochs_;
    PageTree* const pages_;
};

}  // namespace freshet::engine
