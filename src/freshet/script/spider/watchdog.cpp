// SPDX-License-Identifier: Apache-2.0
#include "freshet/script/spider/watchdog.h"

#include "freshet/platform/clock.h"

#include <algorithm>
#include <chrono>

namespace freshet::script {

namespace {

constexpr uint64_t kTickNanos = 10'000'000;  // a script can allocate a gigabyte a second

}  // namespace

Watchdog::~Watchdog() {
    {
        std::lock_guard lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
}

void Watchdog::set(uint32_t milliseconds) {
    {
        std::lock_guard lock(mutex_);
        due_ = milliseconds == 0 ? 0 : platform::monotonicNanos() + milliseconds * 1'000'000ull;
    }
    if (milliseconds != 0 && !thread_.joinable()) {
        thread_ = platform::Thread("js-watchdog", [this] { watch(); });
    }
    changed_.notify_all();
}

void Watchdog::watch() {
    std::unique_lock lock(mutex_);
    while (!ends_) {
        const uint64_t now = platform::monotonicNanos();
        if (due_ == 0) {
            changed_.wait(lock);
        } else if (now < due_) {
            const uint64_t wait = std::min(due_ - now, kTickNanos);
            const bool isTick =
                changed_.wait_for(lock, std::chrono::nanoseconds(wait)) == std::cv_status::timeout;
            if (isTick && !ends_ && due_ != 0) {
                onTick_();
            }
        } else {
            due_ = 0;
            onTime_();
        }
    }
}

}  // namespace freshet::script
