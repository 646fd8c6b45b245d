// SPDX-License-Identifier: Apache-2.0
/// Which leaves leave memory: those that nobody has touched since it last came by. One call at a
/// time, and none while a checkpoint is made.
#pragma once

#include "freshet/engine/txn/tree_directory.h"

#include <cstdint>
#include <memory>

namespace freshet::engine {

class Evictor {
public:
    Evictor(std::shared_ptr<StoreCore> core, TreeDirectory& trees)
        : core_(std::move(core)), trees_(trees) {}

    /// Evicts until memory is down to `bytes`, or until it has passed all pages twice. Returns what
    /// it evicted. Outside every slice.
    uint64_t evictDownTo(uint64_t bytes);
    uint64_t leaves() const { return leaves_; }

private:
    /// Goes on behind the hand; returns the bytes of the leaves it evicted. `wanted`: stop there.
    uint64_t passTree(PageTree& tree, uint64_t wanted);
    size_t tryOne(PageTree& tree, PageEntry* entry);
    /// Until what was evicted is free, as far as that does not take too long: somebody's slice may
    /// last.
    void awaitFreeing();

    const std::shared_ptr<StoreCore> core_;
    TreeDirectory& trees_;
    /// Where the last round stopped.
    TreeId handTree_ = 0;
    std::weak_ptr<Tree> handOwner_;
    PageEntry* hand_ = nullptr;  // a live page of handOwner_, which therefore stays; or null
    uint64_t leaves_ = 0;        // evicted so far
};

}  // namespace freshet::engine
