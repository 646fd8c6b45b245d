// SPDX-License-Identifier: Apache-2.0
/// Bell: wakes one of the journal's own threads. Ringing never blocks (a semaphore post, not a
/// mutex), so a writer that passes the role on cannot wait for a preempted helper. It means only
/// "look again": the work itself is described by other words, written before the ring.
#pragma once

#include "freshet/sync/atomic.h"

#include <semaphore.h>

#include <cstdint>

namespace freshet::journal {

class Bell {
public:
    Bell();
    ~Bell();
    Bell(const Bell&) = delete;
    Bell& operator=(const Bell&) = delete;

    /// Any thread. Rings that the listener has not yet seen count as one.
    void ring();
    /// Returns when rung since the last return, or after `ms`. One listener.
    void listen(uint64_t ms);

private:
    sem_t semaphore_;
    /// Rung and not yet seen. Written by: ringers (set), the listener (clear).
    sync::Atomic<bool> rung_{false};
};

}  // namespace freshet::journal
