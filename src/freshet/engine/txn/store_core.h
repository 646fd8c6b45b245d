// SPDX-License-Identifier: Apache-2.0
/// What a store's trees and transactions share; lives until the last TreeRef or Txn is gone.
#pragma once

#include "freshet/engine/cache/page_loads.h"
#include "freshet/engine/commits/commit_floors.h"
#include "freshet/engine/commits/commit_times.h"
#include "freshet/engine/commits/txn_table.h"
#include "freshet/engine/history/snapshot_history.h"
#include "freshet/engine/memory/memory_budget.h"
#include "freshet/engine/store.h"
#include "freshet/engine/tree/tree.h"
#include "freshet/engine/variants/page_hold.h"
#include "freshet/journal/journal.h"
#include "freshet/sync/epoch.h"

#include <algorithm>
#include <memory>

namespace freshet::engine {

struct StoreCore final : TreeEnv {
    explicit StoreCore(const TreeLimits& treeLimits = {}) : TreeEnv(&table, treeLimits) {}

    uint64_t minReadTs() override {
        // The pins first: a snapshot may move from its pin to its owner's entry.
        const uint64_t low = epochs.minReadTs();
        return std::min(low, std::max(table.oldestKept(), epochs.passedTs()));
    }
    void retire(void* object, void (*free)(void*), size_t bytes) override {
        epochs.here().retire(object, free, bytes);
    }

    void retireNode(void* node, void (*free)(void*), size_t bytes) override {
        retirePage(epochs.here(), node, free, bytes);
    }
    uint64_t commitLow() override {
        // No journal during replay, before it is open, when no other thread is here. Or the store
        // has none: a mark then only says that the image lacks something.
        return journal == nullptr ? replayLow
                                  : floors.commitLow([this] { return journal->tailLsn(); });
    }

    journal::Lsn journalTail() const { return journal == nullptr ? 0 : journal->tailLsn(); }
    journal::Stats journalStats() const {
        return journal == nullptr ? journal::Stats() : journal->stats();
    }

    TxnTable table;
    CommitFloors floors;
    CommitTimes times;
    uint64_t replayLow = 1;                    // the mark of pages that replay changes
    sync::EpochDomain epochs{&table.clock()};  // declared after the table, so destroyed first:
                                               // frees what was retired
    SnapshotHistory history{epochs, table, floors, times};
    std::unique_ptr<journal::Journal> journal;  // null: StoreOptions::withoutJournal
    std::unique_ptr<PageLoads> loads;
    MemoryBudget memory;

    /// As StoreOptions; constant from opening on.
    bool holdCommitsUntilDurable = false;
    uint64_t transactionMillisMax = 0;
    uint64_t transactionBytesMax = uint64_t{64} << 20;
    size_t recordBytesMax = size_t{64} << 20;
    Codec codec = Codec::kNone;

    /// The data file has no room for what commits would add. Written by the thread that makes
    /// checkpoints, read by commits. A hint: a commit that reads it a little late is like one that
    /// came a little earlier.
    sync::Atomic<bool> spaceShort{false};

    /// Number of existing ValueShares. Written by: threads that take or drop one. Read by: the
    /// store's destructor, when it must be zero.
    sync::Atomic<uint64_t> shares{0};

    /// Statistics; relaxed sums.
    sync::Atomic<uint64_t> aborts{0};
    sync::Atomic<uint64_t> conflicts{0};
    sync::Atomic<uint64_t> conflictWaits{0};
};

/// [stats.add] relaxed: a statistic; no decision depends on it.
inline void count(sync::Atomic<uint64_t>& counter) {
    counter.fetch_add(1, sync::kRelaxed);
}

}  // namespace freshet::engine
