// SPDX-License-Identifier: Apache-2.0
/// The memory ceiling: how much of it is used, who is told when that is much, and who has to wait
/// when it is nearly all. Any thread.
#pragma once

#include "freshet/engine/txn/memory_count.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/wait_token.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace freshet::engine {

class MemoryBudget {
public:
    /// 0: no ceiling. `isProcess`: what the process has beside pages counts as well. Before the
    /// store is used.
    void setLimit(uint64_t bytes, bool isProcess) {
        limit_ = bytes;
        isProcess_ = isProcess;
        bound_.store(bytes, sync::kRelaxed);
    }
    uint64_t limit() const { return limit_; }
    /// So much does the process have beside pages, for which half of the ceiling stays anyway.
    void setBeside(uint64_t bytes) {
        if (isProcess_) {
            bound_.store(limit_ - std::min(bytes, limit_ / 2), sync::kRelaxed);
        }
    }
    static uint64_t used() { return MemoryCount::bytes(); }

    /// Eviction begins at `high` and goes on down to `low`.
    uint64_t high() const { return bound() / 100 * 80; }
    uint64_t low() const { return bound() / 100 * 72; }
    bool isHigh() const { return limit_ != 0 && used() > high(); }
    bool isTight() const { return limit_ != 0 && used() > bound() / 100 * 95; }

    /// From now on `wake` is called when there is work for eviction; it must not block.
    void start(std::function<void()> wake);
    /// Nobody evicts any more: nobody waits for it.
    void stop();
    /// By whoever takes memory: calls for eviction when it is time.
    void note();
    /// Whether a writer has to wait for `*token` before he takes memory. Once: then he takes it.
    bool mustWait(sync::WaitToken* token);
    /// How a round went.
    enum class Round : uint8_t {
        kFreed,
        kVain,
        kHeldBack,  // in vain, but what was evicted is not free yet
    };
    /// Eviction has done what it could. Whoever waits goes on, but
    /// for kRoundsMax rounds that freed something and not enough; who comes later waits for the
    /// next. So rounds in vain hold everybody up for one of them, and those end whose snapshots
    /// were in the way. After kVainRoundsMax in a row nobody is kept waiting until one frees
    /// something. Those that were held back count when that has been so for kHeldNanosMax: on a
    /// busy machine a thread waits so long for its core, and its epoch keeps what was evicted.
    /// Returns whether another round should follow at once.
    bool endRound(Round round, uint64_t nowNanos);

private:
    static constexpr int kRoundsMax = 16;
    static constexpr int kVainRoundsMax = 8;
    static constexpr uint64_t kHeldNanosMax = 1'000'000'000;

    /// REQUIRES: mutex_.
    void countVain(Round round, uint64_t nowNanos);
    uint64_t bound() const { return bound_.load(sync::kRelaxed); }

    uint64_t limit_ = 0;
    bool isProcess_ = false;
    /// [budget.bound] relaxed: what pages may take of it; a threshold, of which no more hangs on
    /// its being new than on that of used(). Written by: who makes a checkpoint, or evicts.
    sync::Atomic<uint64_t> bound_{0};
    /// Somebody has called, and no round has ended since. [budget.call] relaxed: a call too many or
    /// one that the next writer makes is all that can come of it.
    sync::Atomic<uint32_t> called_{0};
    std::mutex mutex_;                      // a leaf but for `wake`, which takes leaves
    std::function<void()> wake_;            // guarded by mutex_; null: nobody evicts
    int vainRounds_ = 0;                    // in a row; guarded by mutex_
    uint64_t heldSinceNanos_ = 0;           // 0: it is not so; guarded by mutex_
    int rounds_ = 0;                        // that writers wait already; guarded by mutex_
    std::vector<sync::WaitToken> waiting_;  // guarded by mutex_
};

}  // namespace freshet::engine
