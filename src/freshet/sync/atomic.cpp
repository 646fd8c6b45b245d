// SPDX-License-Identifier: Apache-2.0
/// heavyFence in its three forms, and the connection to the explorer.
#include "freshet/sync/atomic.h"

#if defined(__SANITIZE_THREAD__)
#define FRESHET_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FRESHET_TSAN 1
#endif
#endif

namespace freshet::sync {

#ifdef FRESHET_EXPLORE

namespace {
thread_local AtomicObserver* observerOfThread = nullptr;
}  // namespace

AtomicObserver* atomicObserver() {
    return observerOfThread;
}

void setAtomicObserver(AtomicObserver* observer) {
    observerOfThread = observer;
}

void heavyFence() {
    if (observerOfThread != nullptr) {
        observerOfThread->fence();
    } else {
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
}

void notePlainRead(const void* address) {
    if (observerOfThread != nullptr) {
        observerOfThread->plain(address, false);
    }
}

void notePlainWrite(const void* address) {
    if (observerOfThread != nullptr) {
        observerOfThread->plain(address, true);
    }
}

void explorePoint() {
    if (observerOfThread != nullptr) {
        observerOfThread->point();
    }
}

void exploreYield() {
    if (observerOfThread != nullptr) {
        observerOfThread->yield();
    }
}

#elif defined(FRESHET_TSAN)

void heavyFence() {
    // TSan does not understand fences. seq_cst: every pair of calls is ordered, as two fences are.
    static std::atomic<uint64_t> everybody{0};
    everybody.fetch_add(1, std::memory_order_seq_cst);
}

#else

void heavyFence() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

#endif

}  // namespace freshet::sync
