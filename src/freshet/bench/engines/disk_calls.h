// SPDX-License-Identifier: Apache-2.0
/// Watches the system calls by which this process writes and flushes, whichever library makes them,
/// in the same way for every engine: the program's own fsync, fdatasync, msync and pwrite take the
/// place of libc's. A file opened to flush by itself (LMDB's second flush of a commit) and what
/// goes through io_uring are not seen. Any thread.
#pragma once

#include "freshet/bench/engines/spans.h"

#include <cstdint>
#include <mutex>

namespace freshet::bench {

/// Flushes since the program's start.
uint64_t flushCount();

/// As long as it lives, calls are timed, which costs each of them some microseconds.
class CallWatch {
public:
    CallWatch();
    ~CallWatch();
    CallWatch(const CallWatch&) = delete;
    CallWatch& operator=(const CallWatch&) = delete;
};

/// As long as it lives, what its thread calls is a checkpoint's.
class CheckpointCalls {
public:
    CheckpointCalls();
    ~CheckpointCalls();
    CheckpointCalls(const CheckpointCalls&) = delete;
    CheckpointCalls& operator=(const CheckpointCalls&) = delete;
};

/// The calls that took long, without what their threads waited for a processor: that would be
/// whoever had it. Times are of the monotonic clock, in ns.
class SlowCalls {
public:
    /// Shorter ones are not kept.
    static constexpr uint64_t kSlowNanos = 1'000'000;

    enum class Whose { kOthers, kCheckpoint };

    void add(Whose whose, uint64_t begin, uint64_t end);
    /// When between the two some call of others had not returned. Never if a flush by a checkpoint
    /// was slow meanwhile: they may have waited for that. Ask when no checkpoint is being made: a
    /// flush is known once it has returned.
    Spans within(uint64_t begin, uint64_t end) const;

private:
    mutable std::mutex mutex_;
    Spans others_, checkpoints_;
};

/// Of this process.
SlowCalls& slowCalls();

}  // namespace freshet::bench
