// SPDX-License-Identifier: Apache-2.0
#include "freshet/sync/local_executor.h"

#include "freshet/platform/clock.h"

#include <algorithm>
#include <chrono>

namespace freshet::sync {
namespace {

Task<void> thenSet(Task<void> task, bool* done) {
    co_await std::move(task);
    *done = true;
}

}  // namespace

LocalExecutor::~LocalExecutor() {
    invariant(head_ == nullptr);
}

void LocalExecutor::post(WorkItem* item) {
    std::lock_guard<std::mutex> lock(mutex_);
    item->next = nullptr;
    (tail_ != nullptr ? tail_->next : head_) = item;
    tail_ = item;
    changed_.notify_one();
}

WaitToken LocalExecutor::after(uint64_t ms) {
    timers_.push_back({platform::monotonicNanos() + ms * 1'000'000u, WaitToken::create()});
    return timers_.back().token;
}

WorkItem* LocalExecutor::next() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (head_ == nullptr) {
        auto soonest = std::min_element(
            timers_.begin(), timers_.end(), [](auto& a, auto& b) { return a.due < b.due; });
        if (soonest == timers_.end()) {
            changed_.wait(lock);
            continue;
        }
        uint64_t now = platform::monotonicNanos();
        if (soonest->due > now) {
            changed_.wait_for(lock, std::chrono::nanoseconds(soonest->due - now));
            continue;
        }
        WaitToken token = soonest->token;
        timers_.erase(soonest);
        lock.unlock();
        token.complete();
        lock.lock();
    }
    WorkItem* item = head_;
    head_ = item->next;
    if (head_ == nullptr) {
        tail_ = nullptr;
    }
    return item;
}

void LocalExecutor::runUntilDone(Task<void> task) {
    Executor* before = current();
    setCurrent(this);
    bool done = false;
    spawn(*this, thenSet(std::move(task), &done));
    while (!done) {
        WorkItem* item = next();
        item->run(item);
    }
    setCurrent(before);
}

}  // namespace freshet::sync
