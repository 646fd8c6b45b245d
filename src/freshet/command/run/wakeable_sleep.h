// SPDX-License-Identifier: Apache-2.0
/// WakeableSleep: lets a background thread sleep until a time, or until it is woken. One sleeper;
/// any thread wakes.
#pragma once

#include "freshet/sync/alarms.h"
#include "freshet/sync/mutex.h"

#include <cstdint>
#include <mutex>

namespace freshet::command {

class WakeableSleep {
public:
    explicit WakeableSleep(sync::Alarms& alarms) : alarms_(alarms) {}

    /// Sleeps until `dueNanos` (platform::monotonicNanos()), or wake(). Returns at once after a
    /// wake() that has not ended a sleep yet.
    void sleepUntil(uint64_t dueNanos) {
        const sync::WaitToken token = sync::WaitToken::create();
        {
            std::lock_guard<sync::Mutex> lock(mutex_);
            if (isWoken_) {
                isWoken_ = false;
                return;
            }
            token_ = token;
        }
        const sync::Alarms::Id alarm = alarms_.set(dueNanos, token);
        sync::blockOn(token);
        alarms_.cancel(alarm);
        std::lock_guard<sync::Mutex> lock(mutex_);
        token_ = {};
        isWoken_ = false;
    }

    void wake() {
        std::lock_guard<sync::Mutex> lock(mutex_);
        isWoken_ = true;
        if (token_.isSet()) {
            token_.complete();
        }
    }

private:
    sync::Alarms& alarms_;
    sync::Mutex mutex_;
    sync::WaitToken token_;  // guarded by mutex_
    bool isWoken_ = false;   // guarded by mutex_
};

}  // namespace freshet::command
