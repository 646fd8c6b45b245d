// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/engines/flush_counter.h"

#include "freshet/sync/atomic.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace {

freshet::sync::Atomic<uint64_t> flushes{0};

template <typename... Arguments>
int flush(long call, Arguments... arguments) {
    // [flushes.add] relaxed: a sum.
    flushes.fetch_add(1, freshet::sync::kRelaxed);
    return static_cast<int>(::syscall(call, arguments...));
}

}  // namespace

extern "C" int fsync(int descriptor) {
    return flush(SYS_fsync, descriptor);
}

extern "C" int fdatasync(int descriptor) {
    return flush(SYS_fdatasync, descriptor);
}

extern "C" int msync(void* address, size_t bytes, int flags) {
    return flush(SYS_msync, address, bytes, flags);
}

namespace freshet::bench {

uint64_t flushCount() {
    // [flushes.read] relaxed: a sum.
    return flushes.load(sync::kRelaxed);
}

}  // namespace freshet::bench
