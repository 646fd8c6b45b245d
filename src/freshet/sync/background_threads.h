// SPDX-License-Identifier: Apache-2.0
/// BackgroundThreads: runs tasks that would block an executor's other tasks. A thread runs many
/// tasks in turns, but gets less processor time than others when it is short. Threads are created
/// when first needed.
///
/// Any thread.
#pragma once

#include "freshet/platform/thread.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/local_executor.h"
#include "freshet/sync/mutex.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace freshet::sync {

class BackgroundThreads {
    struct Thread;

public:
    /// A chain of tasks' place on one of the threads, until end().
    class Stay {
    public:
        Stay() = default;
        Stay(Stay&& other) noexcept : thread_(std::exchange(other.thread_, nullptr)) {}
        Stay& operator=(Stay&& other) noexcept {
            end();
            thread_ = std::exchange(other.thread_, nullptr);
            return *this;
        }
        ~Stay() { end(); }

        explicit operator bool() const { return thread_ != nullptr; }
        /// REQUIRES: it has not ended.
        Executor& executor() const;
        void end();

    private:
        friend class BackgroundThreads;
        explicit Stay(Thread* thread) : thread_(thread) {}
        Thread* thread_ = nullptr;
    };

    /// `threadsMax` 0: twice the number of cores, so that two long tasks do not block all.
    explicit BackgroundThreads(size_t threadsMax = 0);
    /// REQUIRES: no Stay exists.
    ~BackgroundThreads();
    BackgroundThreads(const BackgroundThreads&) = delete;
    BackgroundThreads& operator=(const BackgroundThreads&) = delete;

    /// A place on the thread with the fewest tasks. The caller then moves there: `co_await
    /// moveTo(stay.executor())`.
    Stay begin();

private:
    struct Thread {
        Thread();
        ~Thread();

        LocalExecutor executor;
        /// Written by: begin(), Stay::end(). Read by: begin().
        ///   INV-1    the number of Stays on this thread
        Atomic<uint32_t> stays{0};
        WaitToken ended = WaitToken::create();
        platform::Thread thread;
    };

    const size_t threadsMax_;
    Mutex mutex_;
    std::vector<std::unique_ptr<Thread>> threads_;  // guarded by mutex_
};

}  // namespace freshet::sync
