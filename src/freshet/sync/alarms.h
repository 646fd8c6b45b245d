// SPDX-License-Identifier: Apache-2.0
/// Alarms: completes tokens at their time. One thread sleeps until the earliest is due. For time
/// limits of waiting operations, and for sleeping background threads, where no reactor runs. Any
/// thread.
#pragma once

#include "freshet/platform/thread.h"
#include "freshet/sync/wait_token.h"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace freshet::sync {

class Alarms {
public:
    /// Names one alarm for cancel(). {0, 0} names none.
    using Id = std::pair<uint64_t, uint64_t>;  // due, number

    Alarms();
    /// Completes all waiting tokens.
    ~Alarms();
    Alarms(const Alarms&) = delete;
    Alarms& operator=(const Alarms&) = delete;

    /// Completes `token` at `dueNanos` (platform::monotonicNanos()) or soon after.
    Id set(uint64_t dueNanos, WaitToken token);
    /// Removes the alarm. No effect if it has already rung.
    void cancel(Id id);
    size_t count() const;

private:
    void ring();

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::map<Id, WaitToken> alarms_;  // guarded by mutex_
    uint64_t nextNumber_ = 1;         // guarded by mutex_
    bool isEnding_ = false;           // guarded by mutex_
    platform::Thread thread_;
};

}  // namespace freshet::sync
