// SPDX-License-Identifier: Apache-2.0
#include "freshet/sync/memory_pool.h"

#include "freshet/base/assert.h"

namespace freshet::sync {

bool MemoryPool::tryTake(uint64_t bytes) {
    if (bytesMax_ == 0) {
        take(bytes);
        return true;
    }
    // [pool.count] ORDER relaxed: as above.
    uint64_t used = used_.load(kRelaxed);
    do {
        if (used > bytesMax_ || bytes > bytesMax_ - used) {
            return false;
        }
        // [pool.take] CAS  takes a part of the bound.
        //   ORDER   relaxed: only the number counts.
        //   LOST    another thread took or gave back: look again.
        //   PROGRESS lock-free: our failure is another thread's success.
    } while (!used_.compare_exchange_weak(used, used + bytes, kRelaxed, kRelaxed));
    noteGrowth(used, used + bytes);
    return true;
}

void MemoryPool::take(uint64_t bytes) {
    // [pool.count] ORDER relaxed: as above.
    const uint64_t before = used_.fetch_add(bytes, kRelaxed);
    noteGrowth(before, before + bytes);
}

void MemoryPool::noteGrowth(uint64_t before, uint64_t after) const {
    const uint64_t step = bytesMax_ / kGrowthSteps;
    if (grown_ != nullptr && step != 0 && before / step != after / step) {
        grown_();
    }
}

void MemoryPool::giveBack(uint64_t bytes) {
    // [pool.giveBack] ORDER seq_cst: store-load with [pool.wait]: either the waiter finds the free
    // bytes, or we find the waiter.
    const uint64_t before = used_.fetch_sub(bytes, kSeqCst);
    invariant(before >= bytes);
    // [pool.waiters] ORDER seq_cst: as above.
    if (waiters_.load(kSeqCst) == 0) {
        return;
    }
    std::vector<WaitToken> waiting;
    {
        std::lock_guard<Mutex> lock(mutex_);
        waiting.swap(waiting_);
        waiters_.store(0, kRelaxed);  // relaxed: changed under the mutex only
    }
    for (const WaitToken& token : waiting) {
        token.complete();
    }
}

WaitToken MemoryPool::whenGivenBack() {
    WaitToken token = WaitToken::create();
    completeWhenGivenBack(token);
    return token;
}

void MemoryPool::completeWhenGivenBack(WaitToken token) {
    std::lock_guard<Mutex> lock(mutex_);
    std::erase_if(waiting_, [](const WaitToken& other) { return other.isDone(); });
    waiting_.push_back(std::move(token));
    // [pool.wait] ORDER seq_cst: store-load with [pool.giveBack]: the caller tries the pool once
    // more after this.
    waiters_.store(waiting_.size(), kSeqCst);
}

}  // namespace freshet::sync
