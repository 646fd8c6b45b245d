// SPDX-License-Identifier: Apache-2.0
/// One lock-free B+tree in memory: its core, which any thread uses (tree_core.h), and the parts for
/// the checkpoint and for bringing leaves back. All calls REQUIRE an open slice, except where a
/// part says otherwise.
#pragma once

#include "freshet/engine/tree/leaf_eviction.h"
#include "freshet/engine/tree/leaf_removal.h"
#include "freshet/engine/tree/tree_core.h"
#include "freshet/engine/tree/tree_images.h"
#include "freshet/engine/tree/tree_walk.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace freshet::engine {

class PageTree {
public:
    /// `id` is also the root's page id.
    PageTree(TreeEnv* env, uint32_t id)
        : core_(env, id, &residents_),
          images_(env, &core_.pages(), &residents_),
          eviction_(&core_, &images_, &residents_),
          removal_(&core_, &images_) {}
    /// REQUIRES: no other thread can reach the tree. Frees pages and versions.
    ~PageTree() = default;
    PageTree(const PageTree&) = delete;
    PageTree& operator=(const PageTree&) = delete;

    /// The visible value; valid while the slice lasts. `fault` may be null when all leaves are in
    /// memory; `hint` says where the key was once, if the caller knows.
    std::optional<ValueRef> get(ByteView key,
                                const View& view,
                                Fault* fault = nullptr,
                                LeafHint hint = {}) {
        return core_.get(key, view, fault, hint);
    }
    WriteResult write(const WriteRequest& request) { return core_.write(request); }
    /// As walkTree() and countLeaf() in tree_walk.h.
    WalkResult walk(Direction direction,
                    const WalkFrom& from,
                    const WalkBudget& budget,
                    const View& view,
                    const WalkSink& sink) {
        return walkTree(core_, direction, from, budget, view, sink);
    }
    LeafCount countLeaf(ByteView low, ByteView end, const View& view) {
        return engine::countLeaf(core_, low, end, view);
    }
    /// The leaf of the key, if it is not in memory.
    Fault faultAt(ByteView key) {
        const Descent descent = core_.descend({.key = key});
        return descent.node->isOnDisk ? TreeCore::faultOf(descent) : Fault{};
    }
    /// For a LeafHint, by a caller that then goes down from the root to find the leaf in the same
    /// slice.
    uint32_t hintGeneration() const { return core_.hintGeneration(); }

    uint32_t id() const { return static_cast<uint32_t>(core_.root().id); }
    PageEntry& root() { return core_.root(); }
    const PageEntry& root() const { return core_.root(); }
    /// See LeafFolder::codec.
    sync::Atomic<block::Codec>& codec() { return core_.leaves().codec; }
    /// As LeafFolder's. REQUIRES: no other thread uses the tree, or knows of the leaf.
    LeafNode* newLeaf(ByteView low,
                      ByteView high,
                      std::span<const ByteView> tails,
                      std::span<const ValueRef> values,
                      block::PageBuffer page = {}) {
        return core_.leaves().newLeaf(low, high, tails, values, std::move(page));
    }
    /// Replaces the leaf that holds `key`, as if it were full.
    void rebuildForTest(ByteView key) {
        const Descent descent = core_.descend({.key = key});
        if (descent.node->isLeaf()) {
            core_.rebuild(descent.entry, static_cast<LeafNode*>(descent.node));
        }
    }

    // The parts; each says which threads may use it.
    PageList& allPages() { return core_.pages(); }
    TreeImages& images() { return images_; }
    LeafEviction& eviction() { return eviction_; }
    LeafRemoval& removal() { return removal_; }
    const LeafRemoval& removal() const { return removal_; }
    /// As TreeCore's, for the checkpoint's thread.
    void foldRested(PageEntry* entry) { core_.foldRested(entry); }

private:
    ResidentPages residents_;
    TreeCore core_;
    TreeImages images_;
    LeafEviction eviction_;
    LeafRemoval removal_;
};

}  // namespace freshet::engine
