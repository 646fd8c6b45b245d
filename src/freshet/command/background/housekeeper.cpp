// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/background/housekeeper.h"

#include "freshet/command/access/replica_set_member.h"
#include "freshet/command/oplog/note.h"
#include "freshet/command/txn/statement.h"
#include "freshet/platform/clock.h"

#include <algorithm>

namespace freshet::command {
namespace {

constexpr uint64_t kNanosPerMilli = 1'000'000;
constexpr uint64_t kCursorSweepMsMax = 60'000;
constexpr uint64_t kTransactionSweepNanos = 1'000 * kNanosPerMilli;
constexpr uint64_t kSessionSweepNanos = 300'000 * kNanosPerMilli;

}  // namespace

Housekeeper::Housekeeper(Services& services)
    : services_(services), ttl_(services), thread_("housekeeper", [this] { run(); }) {}

void Housekeeper::stop() {
    services_.housekeeping.wake();
    thread_.join();
}

void Housekeeper::run() {
    // [shutdown.housekeeper] ORDER relaxed: only the flag itself counts; stop() wakes us after it.
    while (!services_.isShuttingDown.load(sync::kRelaxed)) {
        const uint64_t now = platform::monotonicNanos();
        uint64_t next = std::min(sweepCursors(now), sweepSessions(now));
        next = std::min({next, ttl_.run(now), sweepTransactions(now), writeNotes(now)});
        services_.housekeeping.sleepUntil(next);
    }
}

/// Cursors may live up to a quarter longer than their limit.
uint64_t Housekeeper::sweepCursors(uint64_t now) {
    const auto timeoutMs =
        static_cast<uint64_t>(ParameterValues::get(services_.parameters.cursorTimeoutMillis));
    const uint64_t period =
        std::clamp<uint64_t>(timeoutMs / 4, 10, kCursorSweepMsMax) * kNanosPerMilli;
    if (now >= cursorsDue_ || cursorsDue_ > now + period) {
        const size_t ended = services_.cursors.endIdle(timeoutMs);
        services_.statistics.add(Counter::kCursorsTimedOut, ended);
        cursorsDue_ = now + period;
    }
    return cursorsDue_;
}

/// A transaction may live up to a second longer than its limit. The engine ends one that has
/// written by the same rule; here those end that hold only a snapshot.
uint64_t Housekeeper::sweepTransactions(uint64_t now) {
    if (now < transactionsDue_) {
        return transactionsDue_;
    }
    const auto limit = static_cast<uint64_t>(
        ParameterValues::get(services_.parameters.transactionLifetimeLimitSeconds));
    std::unordered_set<std::string> late;
    const auto isLate = [&](const std::string& session, const Transactions::Known& known) {
        const bool is = now > known.startNanos + limit * 1'000 * kNanosPerMilli;
        if (is) {
            late.insert(session);
        }
        return is;
    };
    endCursorsOf(services_, services_.transactions.abortIf(isLate));
    if (!late.empty()) {  // those with a running statement end with it
        services_.operations.killIf(
            Reason::kTransactionExceededLifetimeLimit, [&](const RunningOperation& operation) {
                return operation.generic->isInTransaction && late.contains(operation.generic->lsid);
            });
    }
    transactionsDue_ = now + kTransactionSweepNanos;
    return transactionsDue_;
}

/// A member's log says that it is there, so that its time, which is the clusterTime, does not stay
/// behind the clock. recordStart() has written the first note.
uint64_t Housekeeper::writeNotes(uint64_t now) {
    if (!isReplicaSet(services_)) {
        return UINT64_MAX;
    }
    if (now < notesDue_) {
        return notesDue_;
    }
    const journal::Journal& journal = services_.store.journal();
    // A note must not wait: a shutdown would wait for it.
    const bool mayWrite = !journal.isOutOfSpace() && !services_.writeBlock.isLocked();
    const bool isQuiet = notesDue_ != 0 && journal.tailLsn() == loggedAtNote_ &&
                         ParameterValues::get(services_.parameters.writePeriodicNoops) != 0;
    if (mayWrite && isQuiet) {
        writeMemberNote(services_.store, "periodic noop");
    }
    loggedAtNote_ = journal.tailLsn();
    const int64_t seconds = ParameterValues::get(services_.parameters.periodicNoopIntervalSecs);
    notesDue_ = now + static_cast<uint64_t>(seconds) * 1'000 * kNanosPerMilli;
    return notesDue_;
}

uint64_t Housekeeper::sweepSessions(uint64_t now) {
    if (now >= sessionsDue_) {
        services_.expireSessions();
        sessionsDue_ = now + kSessionSweepNanos;
    }
    return sessionsDue_;
}

}  // namespace freshet::command
