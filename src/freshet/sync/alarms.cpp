// SPDX-License-Identifier: Apache-2.0
#include "freshet/sync/alarms.h"

#include "freshet/platform/clock.h"

#include <algorithm>
#include <chrono>

namespace freshet::sync {

Alarms::Alarms() : thread_("alarms", [this] { ring(); }) {}

Alarms::~Alarms() {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        isEnding_ = true;
        changed_.notify_one();
    }
    thread_.join();
}

Alarms::Id Alarms::set(uint64_t dueNanos, WaitToken token) {
    std::lock_guard<std::mutex> lock(mutex_);
    const Id id{dueNanos, nextNumber_++};
    const auto added = alarms_.emplace(id, std::move(token)).first;
    if (added == alarms_.begin()) {
        changed_.notify_one();
    }
    return id;
}

void Alarms::cancel(Id id) {
    std::lock_guard<std::mutex> lock(mutex_);
    alarms_.erase(id);
}

size_t Alarms::count() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return alarms_.size();
}

void Alarms::ring() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!isEnding_ || !alarms_.empty()) {
        if (alarms_.empty()) {
            changed_.wait(lock);
            continue;
        }
        const uint64_t now = platform::monotonicNanos();
        const uint64_t due = alarms_.begin()->first.first;
        if (due > now && !isEnding_) {
            constexpr uint64_t kWaitNanosMax = 3'600ull * 1'000'000'000;  // keeps sums in range
            changed_.wait_for(lock, std::chrono::nanoseconds(std::min(due - now, kWaitNanosMax)));
            continue;
        }
        WaitToken token = std::move(alarms_.begin()->second);
        alarms_.erase(alarms_.begin());
        lock.unlock();  // a woken waiter may set or cancel alarms
        token.complete();
        lock.lock();
    }
}

}  // namespace freshet::sync
