// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/file/bell.h"

#include "freshet/base/assert.h"
#include "freshet/platform/clock.h"

#include <errno.h>
#include <time.h>

namespace freshet::journal {

Bell::Bell() {
    invariant(::sem_init(&semaphore_, 0, 0) == 0);
}

Bell::~Bell() {
    ::sem_destroy(&semaphore_);
}

void Bell::ring() {
    // [bell.ring] acq_rel: release pairs with [bell.hear]; a ring that finds the flag set is part
    // of the release sequence that the listener will read.
    if (!rung_.exchange(true, sync::kAcqRel)) {
        ::sem_post(&semaphore_);
    }
}

void Bell::listen(uint64_t ms) {
    uint64_t nanos = platform::monotonicNanos() + ms * 1'000'000;
    timespec until;
    until.tv_sec = static_cast<time_t>(nanos / 1'000'000'000);
    until.tv_nsec = static_cast<long>(nanos % 1'000'000'000);
    if (!rung_.load(
            sync::kAcquire)) {  // [bell.peek] as [bell.hear]; avoids a wait that would end at once
        while (::sem_clockwait(&semaphore_, CLOCK_MONOTONIC, &until) != 0 && errno == EINTR) {
        }
    }
    // [bell.hear] acq_rel: acquire pairs with [bell.ring].
    rung_.exchange(false, sync::kAcqRel);
}

}  // namespace freshet::journal
