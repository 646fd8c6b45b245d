// SPDX-License-Identifier: Apache-2.0
/// Watches the system calls with which this process writes and flushes, whichever library makes
/// them, in the same way for every engine: this program's own fsync, fdatasync, msync and pwrite
/// replace libc's. Not seen: a file opened so that each write flushes (LMDB's second flush of a
/// commit), and writes through io_uring. Any thread.
#pragma once

#include "freshet/bench/engines/spans.h"

#include <cstdint>
#include <mutex>

namespace freshet::bench {

/// The number of flushes since the program's start.
uint64_t flushCount();

/// While one exists, calls are timed, which costs each of them some microseconds.
class CallWatch {
public:
    CallWatch();
    ~CallWatch();
    CallWatch(const CallWatch&) = delete;
    CallWatch& operator=(const CallWatch&) = delete;
};

/// While one exists, its thread's calls count as a checkpoint's.
class CheckpointCalls {
public:
    CheckpointCalls();
    ~CheckpointCalls();
    CheckpointCalls(const CheckpointCalls&) = delete;
    CheckpointCalls& operator=(const CheckpointCalls&) = delete;
};

/// The calls that took long. The time that their threads waited for a processor is left out: the
/// calls did not cause it. Times are in ns of the monotonic clock.
class SlowCalls {
public:
    /// Shorter calls are not kept.
    static constexpr uint64_t kSlowNanos = 1'000'000;

    enum class Caller { kOthers, kCheckpoint };

    void add(Caller caller, uint64_t begin, uint64_t end);
    /// The parts of [begin, end] during which some call of kOthers had not returned. Empty if a
    /// checkpoint's flush was slow in that time: those calls may have waited for it. Call this
    /// while no checkpoint runs, since a flush is recorded only when it returns.
    Spans within(uint64_t begin, uint64_t end) const;

private:
    mutable std::mutex mutex_;
    Spans others_, checkpoints_;
};

/// This process's calls.
SlowCalls& slowCalls();

}  // namespace freshet::bench
