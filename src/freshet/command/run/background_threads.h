// SPDX-License-Identifier: Apache-2.0
/// BackgroundThreads: where commands go on that would keep a reactor from its other connections:
/// those with a large message, whose parsing alone takes milliseconds, and those whose expressions
/// can take long for a single document. A thread runs many commands in turns, as a reactor does,
/// but gets less of the processor when it is short. Threads are made when they are first wanted.
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

namespace freshet::command {

class BackgroundThreads {
    struct Thread;

public:
    /// A command's place on one of the threads, until it ends.
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
        sync::Executor& executor() const;
        void end();

    private:
        friend class BackgroundThreads;
        explicit Stay(Thread* thread) : thread_(thread) {}
        Thread* thread_ = nullptr;
    };

    /// `threadsMax` 0: twice as many as there are cores, so that two long ones do not stop all.
    explicit BackgroundThreads(size_t threadsMax = 0);
    /// REQUIRES: nobody stays.
    ~BackgroundThreads();
    BackgroundThreads(const BackgroundThreads&) = delete;
    BackgroundThreads& operator=(const BackgroundThreads&) = delete;

    /// On the thread with the fewest commands.
    Stay begin();

private:
    struct Thread {
        Thread();
        ~Thread();

        sync::LocalExecutor executor;
        /// Commands that stay. Written by: begin(), Stay::end(). Read by: begin().
        ///   INV-1    the number of Stays
        sync::Atomic<uint32_t> stays{0};
        sync::WaitToken ended = sync::WaitToken::create();
        platform::Thread thread;
    };

    const size_t threadsMax_;
    sync::Mutex mutex_;
    std::vector<std::unique_ptr<Thread>> threads_;  // guarded by mutex_
};

struct Invocation;

/// Whether a message of that many bytes is for a background thread from its first byte on. A write
/// of documents is parsed at the speed of memory and does one document after another.
bool isForBackground(size_t messageBytes, bool insertsDocuments);

/// Whether the command may take long for a single document, as query::mayTakeLong() says.
bool mayTakeLong(const Invocation& call);
/// From here on the command runs on a background thread, if it can.
sync::Task<void> goToBackground(Invocation& call);

}  // namespace freshet::command
