// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/file/wake_event.h"

#include "freshet/base/assert.h"
#include "freshet/platform/clock.h"

#include <errno.h>
#include <time.h>

namespace freshet::journal {

WakeEvent::WakeEvent() {
    invariant(::sem_init(&semaphore_, 0, 0) == 0);
}

WakeEvent::~WakeEvent() {
    ::sem_destroy(&semaphore_);
}

void WakeEvent::signal() {
    // [wakeEvent.signal] acq_rel: release pairs with [wakeEvent.wait]; a signal that finds the flag
    // set is part of the release sequence that wait() will read.
    if (!signalled_.exchange(true, sync::kAcqRel)) {
        ::sem_post(&semaphore_);
    }
}

void WakeEvent::wait(uint64_t ms) {
    uint64_t nanos = platform::monotonicNanos() + ms * 1'000'000;
    timespec until;
    until.tv_sec = static_cast<time_t>(nanos / 1'000'000'000);
    until.tv_nsec = static_cast<long>(nanos % 1'000'000'000);
    // [wakeEvent.peek] as [wakeEvent.wait]; avoids a wait that would end at once.
    if (!signalled_.load(sync::kAcquire)) {
        while (::sem_clockwait(&semaphore_, CLOCK_MONOTONIC, &until) != 0 && errno == EINTR) {
        }
    }
    // [wakeEvent.wait] acq_rel: acquire pairs with [wakeEvent.signal].
    signalled_.exchange(false, sync::kAcqRel);
}

}  // namespace freshet::journal
