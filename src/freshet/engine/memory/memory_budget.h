// SPDX-License-Identifier: Apache-2.0
/// The memory ceiling: how much of it is used, when eviction is woken, and when writers have to
/// wait. Any thread.
#pragma once

#include "freshet/engine/memory/memory_count.h"
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
    /// 0: no ceiling. `isProcess`: what the process uses besides pages counts as well. Call before
    /// the store is used.
    void setLimit(uint64_t bytes, bool isProcess) {
        limit_ = bytes;
        isProcess_ = isProcess;
        bound_.store(bytes, sync::kRelaxed);
    }
    uint64_t limit() const { return limit_; }
    /// What the process uses besides pages. Half of the ceiling is always left for pages.
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
    /// Eviction has ended: no caller waits for it any more.
    void stop();
    /// Called by code that takes memory: wakes eviction when it is time.
    void note();
    /// Whether a writer has to wait for `*token` before it takes memory. A writer waits once, then
    /// goes on.
    bool mustWait(sync::WaitToken* token);
    /// The result of a round.
    enum class Round : uint8_t {
        kFreed,
        kVain,
        kHeldBack,  // in vain so far: what was evicted is not freed yet
    };
    /// Ends a round: completes the tokens of all waiting callers. But if the round freed something
    /// and not enough, they wait for the next one, for at most kRoundsMax rounds. So a round in
    /// vain delays each caller once, and then the snapshots that were in the way are ended. After
    /// kVainRoundsMax rounds in vain in a row no caller waits until a round frees something. A
    /// round that was held back counts as in vain once that state has lasted for kHeldNanosMax: on
    /// a busy machine a thread may wait that long for its core, and its epoch keeps what was
    /// evicted from being freed. Returns whether another round should follow at once.
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
    /// [budget.bound] relaxed: the part of the ceiling that pages may take; a threshold, and used()
    /// is no more exact. Written by: the thread that makes checkpoints or evicts.
    sync::Atomic<uint64_t> bound_{0};
    /// Eviction was called, and no round has ended since. [budget.call] relaxed: the worst result
    /// is one call too many, or one that the next writer makes.
    sync::Atomic<uint32_t> called_{0};
    std::mutex mutex_;             // a leaf, except that `wake` takes leaf mutexes
    std::function<void()> wake_;   // guarded by mutex_; null: no eviction
    int vainRounds_ = 0;           // in a row; guarded by mutex_
    uint64_t heldSinceNanos_ = 0;  // 0: not held back; guarded by mutex_
    int rounds_ = 0;               // for which writers have waited already; guarded by mutex_
    std::vector<sync::WaitToken> waiting_;  // guarded by mutex_
};

}  // namespace freshet::engine
