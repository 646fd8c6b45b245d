// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/engines/disk_calls.h"

#include "freshet/platform/clock.h"
#include "freshet/sync/atomic.h"

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace freshet::bench {
namespace {

sync::Atomic<uint64_t> flushes{0};
sync::Atomic<bool> isWatched{false};
thread_local bool makesCheckpoint = false;

template <typename... Arguments>
long timed(SlowCalls::Caller caller, long call, Arguments... arguments) {
    const uint64_t delayBefore = platform::threadRunDelayNanos();
    const uint64_t begin = platform::monotonicNanos();
    const long result = ::syscall(call, arguments...);
    const int error = errno;
    const uint64_t end = platform::monotonicNanos();
    if (end - begin >= SlowCalls::kSlowNanos) {
        // Most of the delay comes after the call has finished, before the thread gets a processor
        // again.
        const uint64_t delay = platform::threadRunDelayNanos() - delayBefore;
        slowCalls().add(caller, begin, end - std::min(delay, end - begin));
    }
    errno = error;
    return result;
}

template <typename... Arguments>
long called(long call, Arguments... arguments) {
    // [watched.read] relaxed: reading it late only misses a call.
    if (!isWatched.load(sync::kRelaxed)) {
        return ::syscall(call, arguments...);
    }
    return timed(SlowCalls::Caller::kOthers, call, arguments...);
}

template <typename... Arguments>
int flush(long call, Arguments... arguments) {
    // [flushes.add] relaxed: a sum.
    flushes.fetch_add(1, sync::kRelaxed);
    if (!makesCheckpoint) {
        return static_cast<int>(called(call, arguments...));
    }
    return static_cast<int>(timed(SlowCalls::Caller::kCheckpoint, call, arguments...));
}

ssize_t write(int descriptor, const void* bytes, size_t size, off_t offset) {
    // No operation waits for a checkpoint's writes.
    return makesCheckpoint ? ::syscall(SYS_pwrite64, descriptor, bytes, size, offset)
                           : called(SYS_pwrite64, descriptor, bytes, size, offset);
}

}  // namespace

uint64_t flushCount() {
    // [flushes.read] relaxed: a sum.
    return flushes.load(sync::kRelaxed);
}

CallWatch::CallWatch() {
    isWatched.store(true, sync::kRelaxed);  // [watched.write] relaxed: see [watched.read]
}

CallWatch::~CallWatch() {
    isWatched.store(false, sync::kRelaxed);  // [watched.write] relaxed: see [watched.read]
}

CheckpointCalls::CheckpointCalls() {
    makesCheckpoint = true;
}

CheckpointCalls::~CheckpointCalls() {
    makesCheckpoint = false;
}

void SlowCalls::add(Caller caller, uint64_t begin, uint64_t end) {
    std::lock_guard<std::mutex> guard(mutex_);
    (caller == Caller::kCheckpoint ? checkpoints_ : others_).add(begin, end);
}

Spans SlowCalls::within(uint64_t begin, uint64_t end) const {
    std::lock_guard<std::mutex> guard(mutex_);
    const bool isBesideFlush = !checkpoints_.within(begin, end).isEmpty();
    return isBesideFlush ? Spans() : others_.within(begin, end);
}

SlowCalls& slowCalls() {
    static SlowCalls calls;
    return calls;
}

}  // namespace freshet::bench

extern "C" int fsync(int descriptor) {
    return freshet::bench::flush(SYS_fsync, descriptor);
}

extern "C" int fdatasync(int descriptor) {
    return freshet::bench::flush(SYS_fdatasync, descriptor);
}

extern "C" int msync(void* address, size_t bytes, int flags) {
    return freshet::bench::flush(SYS_msync, address, bytes, flags);
}

extern "C" ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
    return freshet::bench::write(descriptor, bytes, size, offset);
}

extern "C" ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
    return freshet::bench::write(descriptor, bytes, size, offset);
}
