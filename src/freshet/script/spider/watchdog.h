// SPDX-License-Identifier: Apache-2.0
/// Calls back when a time has passed, and now and then before, from a thread of its own, which
/// exists only once a time has been set.
#pragma once

#include "freshet/platform/thread.h"

#include <condition_variable>
#include <functional>
#include <mutex>

namespace freshet::script {

class Watchdog {
public:
    /// Both are called on another thread: `onTime` at most once for each set(), `onTick` every
    /// hundredth of a second until then.
    Watchdog(std::function<void()> onTime, std::function<void()> onTick)
        : onTime_(std::move(onTime)), onTick_(std::move(onTick)) {}
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    /// 0: never. Once this has returned, neither is called for a time set earlier.
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
