// SPDX-License-Identifier: Apache-2.0
/// Helpers for rings in this closet.
#pragma once

#include "freshet/platform/thread.h"

#include <liburing.h>

#include <cerrno>

namespace freshet::platform {

/// For one thread. Where the kernel can do that (6.1), results are delivered only on request: they
/// come in batches then, and interrupt nothing. Returns 0, or an error as a negative number.
inline int openRing(unsigned entries, io_uring* ring) {
    const int result =
        io_uring_queue_init(entries, ring, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
    return result == -EINVAL ? io_uring_queue_init(entries, ring, 0) : result;
}

/// Submits the ring's entries and waits for `waitsFor` results, unless a signal arrives or the
/// kernel lacks a resource; entries that it did not take stay in the ring for the next call.
/// Returns a permanent error as a negative number.
inline int enterRing(io_uring* ring, unsigned waitsFor) {
    const int result = io_uring_submit_and_wait(ring, waitsFor);
    if (result == -EAGAIN || result == -EBUSY) {
        sleepMillis(1);
        return 0;
    }
    return result == -EINTR ? 0 : result;
}

}  // namespace freshet::platform
