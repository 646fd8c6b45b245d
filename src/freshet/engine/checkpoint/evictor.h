// SPDX-License-Identifier: Apache-2.0
/// Decides which leaves are evicted: those not touched since the last pass. One call at a time, and
/// during a checkpoint only when it says so (CheckpointSink::onBatch).
#pragma once

#include "freshet/engine/txn/tree_directory.h"

#include <cstdint>
#include <memory>

namespace freshet::engine {

class Evictor {
public:
    Evictor(std::shared_ptr<StoreCore> core, TreeDirectory& trees)
        : core_(std::move(core)), trees_(trees) {}

    /// Evicts until memory is down to `bytes`, or until all leaves have been passed twice. Returns
    /// the evicted bytes. Outside every slice.
    uint64_t evictDownTo(uint64_t bytes);
    /// Whether all that the last call evicted is freed.
    bool hasAllFreed() const { return hasAllFreed_; }
    uint64_t leaves() const { return leaves_; }

private:
    /// Looks at the tree's remaining leaves; returns the bytes that were evicted. Stops at
    /// `wanted`.
    uint64_t passTree(PageTree& tree, uint64_t wanted);
    /// Waits until what was evicted is freed, within a limit: another thread's slice may last.
    bool awaitFreeing();

    const std::shared_ptr<StoreCore> core_;
    TreeDirectory& trees_;
    /// Where the last round stopped.
    TreeId handTree_ = 0;
    std::weak_ptr<Tree> handOwner_;
    size_t left_ = 0;      // leaves of handOwner_ that this pass has not looked at
    uint64_t leaves_ = 0;  // evicted so far
    bool hasAllFreed_ = true;
};

}  // namespace freshet::engine
