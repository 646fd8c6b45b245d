// SPDX-License-Identifier: Apache-2.0
/// Which leaves leave memory: those that nobody has touched since it last came by. One call at a
/// time, and while a checkpoint is made only when it says so (CheckpointSink::onBatch).
#pragma once

#include "freshet/engine/txn/tree_directory.h"

#include <cstdint>
#include <memory>

namespace freshet::engine {

class Evictor {
public:
    Evictor(std::shared_ptr<StoreCore> core, TreeDirectory& trees)
        : core_(std::move(core)), trees_(trees) {}

    /// Evicts until memory is down to `bytes`, or until it has passed all leaves twice. Returns
    /// what it evicted. Outside every slice.
    uint64_t evictDownTo(uint64_t bytes);
    /// Of the last call: what it evicted is free, or was nothing.
    bool hasAllFreed() const { return hasAllFreed_; }
    uint64_t leaves() const { return leaves_; }

private:
    /// Looks at what is left of the tree's leaves; returns the bytes of those it evicted. `wanted`:
    /// stop there.
    uint64_t passTree(PageTree& tree, uint64_t wanted);
    /// Until what was evicted is free, as far as that does not take too long: somebody's slice may
    /// last.
    bool awaitFreeing();

    const std::shared_ptr<StoreCore> core_;
    TreeDirectory& trees_;
    /// Where the last round stopped.
    TreeId handTree_ = 0;
    std::weak_ptr<Tree> handOwner_;
    size_t left_ = 0;      // leaves of handOwner_ that this time around has not looked at
    uint64_t leaves_ = 0;  // evicted so far
    bool hasAllFreed_ = true;
};

}  // namespace freshet::engine
