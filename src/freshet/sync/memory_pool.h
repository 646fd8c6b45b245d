// SPDX-License-Identifier: Apache-2.0
/// MemoryPool: the memory that all requests together may hold, besides the pages of data: messages,
/// replies, cursors, results of expressions. It only counts and allocates nothing. MemoryHold is
/// one holder's share; small amounts are not counted, so that small requests touch no shared word.
/// A pool may be used by any thread, a hold by one at a time.
#pragma once

#include "freshet/sync/atomic.h"
#include "freshet/sync/mutex.h"
#include "freshet/sync/wait_token.h"

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace freshet::sync {

class MemoryPool {
public:
    /// 0: unbounded.
    explicit MemoryPool(uint64_t bytesMax = 0) : bytesMax_(bytesMax) {}
    MemoryPool(const MemoryPool&) = delete;
    MemoryPool& operator=(const MemoryPool&) = delete;

    /// `grown` is called by the taking thread whenever the pool has grown by another sixteenth of
    /// its bound; it must not block. Set it before the pool is used, or not at all.
    void onGrowth(std::function<void()> grown) { grown_ = std::move(grown); }

    /// False: the bound does not allow it, and nothing was taken.
    bool tryTake(uint64_t bytes);
    /// Counts memory that is already in use, whatever the bound says.
    void take(uint64_t bytes);
    /// Wakes all waiters.
    void giveBack(uint64_t bytes);
    /// Completed when something is given back after this call. A caller that then still finds too
    /// little asks for another token.
    WaitToken whenGivenBack();
    /// The same with the caller's own token, which something else may complete first.
    void completeWhenGivenBack(WaitToken token);

    uint64_t used() const {
        // [pool.count] ORDER relaxed: a number for comparisons; it publishes no data.
        return used_.load(kRelaxed);
    }
    /// 0: unbounded.
    uint64_t bytesMax() const { return bytesMax_; }
    /// The largest part of the pool that one holder should take; UINT64_MAX if unbounded.
    uint64_t shareMax() const { return bytesMax_ == 0 ? UINT64_MAX : bytesMax_ / 2; }

private:
    static constexpr uint64_t kGrowthSteps = 16;

    void noteGrowth(uint64_t before, uint64_t after) const;

    const uint64_t bytesMax_;
    std::function<void()> grown_;  // null: not wanted
    /// Bytes taken. Written by: all holders. Read by: all holders, serverStatus.
    ///   INV-1    the sum of all holders' bytes
    Atomic<uint64_t> used_{0};
    /// Number of tokens in waiting_. Written by: under mutex_. Read by: threads that give back.
    Atomic<uint64_t> waiters_{0};
    Mutex mutex_;
    std::vector<WaitToken> waiting_;  // guarded by mutex_
};

class MemoryHold {
public:
    /// Counting is done in units of this; a hold of less than one unit has taken nothing.
    static constexpr uint64_t kUnitBytes = 64 * 1024;

    MemoryHold() = default;
    /// `pool` may be null: nothing is counted. It must outlive the hold.
    explicit MemoryHold(MemoryPool* pool) : pool_(pool) {}
    MemoryHold(MemoryHold&& other) noexcept
        : pool_(other.pool_), units_(std::exchange(other.units_, 0)) {}
    MemoryHold& operator=(MemoryHold&& other) noexcept {
        if (this != &other) {
            release();
            pool_ = other.pool_;
            units_ = std::exchange(other.units_, 0);
        }
        return *this;
    }
    ~MemoryHold() { release(); }

    /// Makes the hold's total `bytes`. False: the pool does not have that much; the hold is
    /// unchanged.
    bool tryResize(uint64_t bytes) {
        const uint64_t units = bytes / kUnitBytes;
        if (pool_ != nullptr && units > units_ && !pool_->tryTake((units - units_) * kUnitBytes)) {
            return false;
        }
        return setUnits(units);
    }
    /// The same, whatever the bound says.
    void resize(uint64_t bytes) {
        const uint64_t units = bytes / kUnitBytes;
        if (pool_ != nullptr && units > units_) {
            pool_->take((units - units_) * kUnitBytes);
        }
        setUnits(units);
    }
    void release() { resize(0); }
    uint64_t bytes() const { return units_ * kUnitBytes; }
    MemoryPool* pool() const { return pool_; }

private:
    bool setUnits(uint64_t units) {
        if (pool_ != nullptr && units < units_) {
            pool_->giveBack((units_ - units) * kUnitBytes);
        }
        units_ = units;
        return true;
    }

    MemoryPool* pool_ = nullptr;
    uint64_t units_ = 0;
};

}  // namespace freshet::sync
