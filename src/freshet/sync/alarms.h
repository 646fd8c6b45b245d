// SPDX-License-Identifier: Apache-2.0
/// Alarms: completes tokens when their time has come. One thread that sleeps until the earliest is
/// due. For what must also be found where no reactor runs: time limits of operations that wait, and
/// naps of background threads. Any thread.
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
    /// Completes all that wait.
    ~Alarms();
    Alarms(const Alarms&) = delete;
    Alarms& operator=(const Alarms&) = delete;

    /// Completes `token` at `dueNanos` (platform::monotonicNanos()) or soon after.
    Id set(uint64_t dueNanos, WaitToken token);
    /// Forgets the alarm. No matter when it has rung already.
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
