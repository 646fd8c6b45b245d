// SPDX-License-Identifier: Apache-2.0
/// Snapshot: a state that the store had at a time of its log. Store::findSnapshot() finds it,
/// Txn::beginAt() reads by it. It holds nothing: whether it can still be read shows when it is
/// used.
#pragma once

#include <cstdint>
#include <memory>

namespace freshet::engine {

class LateCommits;  // opaque

/// Cheap to copy. One thread at a time.
class Snapshot {
public:
    /// A Timestamp of the journal: the snapshot has exactly the commits whose records, or the last
    /// records of their chains, have Timestamps up to this one. REQUIRES: found.
    uint64_t time() const { return time_; }

private:
    friend class SnapshotHistory;
    friend class Txn;

    uint64_t time_ = 0;
    uint64_t base_ = 0;  // while it is looked for, as is end_: see commits/snapshot_search.h
    uint64_t end_ = 0;   // 0: it has not been looked for
    uint64_t readTs_ = 0;
    std::shared_ptr<const LateCommits> late_;  // null: none
};

}  // namespace freshet::engine
