// SPDX-License-Identifier: Apache-2.0
/// Worker: a thread for jobs that would block an executor: long computations (the hashing of
/// passwords) and work with files. One job at a time, in order.
#pragma once

#include "freshet/base/status.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/mutex.h"
#include "freshet/sync/wait_token.h"

#include <deque>
#include <functional>
#include <string>

namespace freshet::sync {

class Worker {
public:
    static constexpr size_t kJobsMax = 1'000;

    /// `name`: of the thread.
    explicit Worker(std::string name);
    /// Jobs that have not begun are dropped; their tokens are completed.
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Runs `job` on the thread; the token is completed when it has finished. The job must own what
    /// it uses, since the caller may stop waiting before that. kLimit when kJobsMax jobs are
    /// waiting. Any thread.
    StatusOr<WaitToken> run(std::function<void()> job);

private:
    struct Job {
        std::function<void()> run;
        WaitToken done;
    };

    void work();
    /// Waits for the next job. False: the worker is stopping.
    bool next(Job* job);

    const std::string name_;
    Mutex mutex_;
    std::deque<Job> jobs_;     // guarded by mutex_
    WaitToken wake_;           // guarded by mutex_; the idle thread's
    bool isStopping_ = false;  // guarded by mutex_
    platform::Thread thread_;
};

}  // namespace freshet::sync
