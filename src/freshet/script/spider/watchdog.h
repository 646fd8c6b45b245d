// SPDX-License-Identifier: Apache-2.0
/// Calls back after a set time, and regularly before that, from a thread of its own, which is
/// started when the first time is set.
#pragma once

#include "freshet/platform/thread.h"

#include <condition_variable>
#include <functional>
#include <mutex>

namespace freshet::script {

class Watchdog {
public:
    /// Both are called on the watchdog's thread: `onTime` at most once for each set(), `onTick`
    /// every hundredth of a second until then.
    Watchdog(std::function<void()> onTime, std::function<void()> onTick)
        : onTime_(std::move(onTime)), onTick_(std::move(onTick)) {}
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    /// 0: never. After this returns, neither is called for a time set earlier.
    void set(uint32_t milliseconds);

private:
    void watch();

    const std::function<void()> onTime_;
    const std::function<void()> onTick_;
    std::mutex mutex_;
    std::condition_variable changed_;
    uint64_t due_ = 0;  // monotonic nanoseconds; 0: none
    bool ends_ = false;
    platform::Thread thread_;
};

}  // namespace freshet::script
