// SPDX-License-Identifier: Apache-2.0
/// Transactions: the multi-document transactions of all sessions. A session has at most one in
/// progress. When it ends, its number and its outcome stay known, so that a commit can be asked for
/// again.
///
/// A statement takes the session's transaction and gives it back; meanwhile the statement's thread
/// owns it. In between it is idle, and may be aborted by another thread. Any thread; one mutex that
/// is a leaf. REQUIRES, where a session is named: its turn (SessionTurns), except for known().
#pragma once

#include "freshet/journal/journal.h"
#include "freshet/query/transaction.h"
#include "freshet/sync/mutex.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace freshet::command {

class Transactions {
public:
    enum class State : uint8_t { kInProgress, kCommitted, kAborted };
    using Ref = std::shared_ptr<query::Transaction>;

    struct Known {
        int64_t number = -1;  // of the session's newest transaction; -1: none
        State state = State::kAborted;
        journal::Lsn commitLsn = 0;  // committed: to wait for; 0: nothing was written
        uint64_t startNanos = 0;     // on platform::monotonicNanos()
    };
    Known known(const std::string& session) const;

    /// Starts a transaction. REQUIRES: none is in progress.
    void start(const std::string& session, int64_t number, Ref transaction, uint64_t nowNanos);
    /// The transaction in progress, for a statement; null if there is none.
    Ref take(const std::string& session);
    /// The statement has ended. False: the transaction was to be aborted meanwhile, and is.
    bool giveBack(const std::string& session);
    /// Ends the transaction, which the caller has taken or which is idle. Aborts it unless it was
    /// committed. Returns it, so that its cursors can be ended; null if none was in progress.
    Ref end(const std::string& session, State outcome, journal::Lsn commitLsn = 0);

    /// Aborts the transactions for which `isMeant` returns true; it is called with the mutex held.
    /// One that is in use is aborted when its statement ends. Needs no turn.
    struct Aborted {
        std::string session;
        Ref transaction;
    };
    std::vector<Aborted> abortIf(
        const std::function<bool(const std::string& session, const Known& known)>& isMeant);
    /// Forgets ended transactions of these sessions, and aborts open ones. Needs no turn.
    std::vector<Aborted> forget(const std::unordered_set<std::string>& sessions);

    struct Counts {
        uint64_t open = 0;
        uint64_t inUse = 0;  // by a statement
        uint64_t started = 0;
        uint64_t committed = 0;
        uint64_t aborted = 0;
    };
    Counts counts() const;

private:
    struct Entry {
        Known known;
        Ref transaction;        // null: not in progress
        bool isTaken = false;   // by a statement
        bool isDoomed = false;  // to be aborted when the statement ends
    };
    using Entries = std::unordered_map<std::string, Entry>;

    /// REQUIRES: mutex_ is held. The caller aborts what is returned once the mutex is released.
    Ref close(Entry& entry, State outcome);

    mutable sync::Mutex mutex_;
    Entries entries_;  // guarded by mutex_
    Counts counts_;    // guarded by mutex_; without `open` and `inUse`
};

}  // namespace freshet::command
