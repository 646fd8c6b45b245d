// SPDX-License-Identifier: Apache-2.0
/// Housekeeper: the thread for work without a client: it deletes expired documents, ends idle
/// cursors and forgets idle sessions. It sleeps in between.
#pragma once

#include "freshet/command/background/ttl.h"
#include "freshet/command/run/services.h"
#include "freshet/platform/thread.h"

namespace freshet::command {

class Housekeeper {
public:
    /// Starts the thread. `services` must outlive it.
    explicit Housekeeper(Services& services);
    ~Housekeeper() { stop(); }
    Housekeeper(const Housekeeper&) = delete;
    Housekeeper& operator=(const Housekeeper&) = delete;
    /// Ends and joins the thread. REQUIRES: services.isShuttingDown.
    void stop();

private:
    void run();
    uint64_t sweepCursors(uint64_t now);
    uint64_t sweepSessions(uint64_t now);
    uint64_t sweepTransactions(uint64_t now);
    uint64_t writeNotes(uint64_t now);

    Services& services_;
    TtlMonitor ttl_;
    uint64_t cursorsDue_ = 0;  // used by the thread only
    uint64_t sessionsDue_ = 0;
    uint64_t transactionsDue_ = 0;  // used by the thread only
    uint64_t notesDue_ = 0;
    journal::Lsn loggedAtNote_ = 0;  // how far the log had come at the last look
    platform::Thread thread_;
};

}  // namespace freshet::command
