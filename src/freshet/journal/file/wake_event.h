// SPDX-License-Identifier: Apache-2.0
/// WakeEvent: wakes one of the journal's own threads. signal() never blocks (a semaphore post, not
/// a mutex), so a writer that passes the role on cannot wait for a preempted helper. It means only
/// "look again": the work itself is described by other words, written before the signal.
#pragma once

#include "freshet/sync/atomic.h"

#include <semaphore.h>

#include <cstdint>

namespace freshet::journal {

class WakeEvent {
public:
    WakeEvent();
    ~WakeEvent();
    WakeEvent(const WakeEvent&) = delete;
    WakeEvent& operator=(const WakeEvent&) = delete;

    /// Any thread. Signals that the waiting thread has not yet seen count as one.
    void signal();
    /// Returns when signalled since the last return, or after `ms`. One waiting thread.
    void wait(uint64_t ms);

private:
    sem_t semaphore_;
    /// Signalled and not yet seen. Written by: signal() (set), wait() (clear).
    sync::Atomic<bool> signalled_{false};
};

}  // namespace freshet::journal
