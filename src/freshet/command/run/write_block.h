// SPDX-License-Identifier: Apache-2.0
/// WriteBlock: fsync{lock: true} blocks writers until fsyncUnlock. Locks are counted. A command
/// that writes reads one word before it begins; it is visible as running before that read, so a
/// thread that has set the word and then sees no writer running knows that none will start.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/view.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/mutex.h"
#include "freshet/sync/task.h"

#include <cstdint>
#include <vector>

namespace freshet::command {

struct Invocation;
struct Command;

/// Whether the command may change data.
bool isWriter(const Command& command, bson::Document body);

class WriteBlock {
public:
    /// Whether writers must wait. Any thread.
    bool isLocked() const {
        // [writeBlock.look] ORDER relaxed: the writer has made itself visible under its record's
        // mutex before; drain() takes that mutex after [writeBlock.set].
        return locks_.load(sync::kRelaxed) != 0;
    }
    int64_t count() const { return static_cast<int64_t>(locks_.load(sync::kRelaxed)); }

    /// Writers wait from now on. To be followed by confirm() or cancel().
    void lock();
    /// The lock is in force, and unlock() may remove it.
    void confirm();
    /// Takes lock() back.
    void cancel();
    /// False when no lock is in force. Removing the last lock lets the writers continue.
    bool unlock();
    /// Returns when no command that writes is running.
    sync::Task<Status> drain(Invocation& call);
    /// For a command that writes: returns when it is not blocked.
    sync::Task<Status> pass(Invocation& call);

private:
    void end();  // REQUIRES: mutex_

    /// Locks, in force or about to be. Written by: lock() and those that end one, under mutex_.
    /// Read by: writers.
    ///   STEPS    rises and falls by one
    sync::Atomic<uint32_t> locks_{0};
    sync::Mutex mutex_;
    uint32_t inForce_ = 0;                  // guarded by mutex_
    std::vector<sync::WaitToken> waiting_;  // guarded by mutex_; one for each blocked writer
};

}  // namespace freshet::command
