// SPDX-License-Identifier: Apache-2.0
/// Transactions: the multi-document transactions of all sessions. A session has at most one in
/// progress. When it ends, its number and its outcome stay known, so that a commit can be asked for
/// again.
///
/// A statement takes the session's transaction and gives it back; meanwhile the statement's thread
/// owns it. In between it is idle, and may be aborted by another thread: because it is too old, its
/// session ends, or there is no room. Open transactions are bounded in number and in memory; at the
/// bound, idle ones are aborted, those of the user, and of that user's connection, with the largest
/// share (see FairShares). A driver then tries again.
///
/// Any thread; one mutex, inside which the memory pool's is taken. REQUIRES, where a session is
/// named: its turn (SessionTurns), except for known().
#pragma once

#include "freshet/command/run/fair_shares.h"
#include "freshet/query/transaction.h"
#include "freshet/sync/memory_pool.h"
#include "freshet/sync/mutex.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace freshet::command {

class Transactions {
public:
    /// `memory` may be null. Open transactions together hold at most one holder's share of it.
    explicit Transactions(sync::MemoryPool* memory = nullptr, size_t openMax = kOpenMax)
        : openMax_(openMax),
          bytesMax_(memory == nullptr ? UINT64_MAX : memory->shareMax()),
          hold_(memory) {}
    static constexpr size_t kOpenMax = 10'000;

    enum class State : uint8_t { kInProgress, kCommitted, kAborted };
    using Ref = std::shared_ptr<query::Transaction>;

    struct Known {
        int64_t number = -1;  // of the session's newest transaction; -1: none
        State state = State::kAborted;
        journal::Lsn commitLsn = 0;  // committed: to wait for; 0: nothing was written
        uint64_t startNanos = 0;     // on platform::monotonicNanos(); once ended, of its end
    };
    Known known(const std::string& session) const;

    /// Whose share a transaction counts in.
    struct Owner {
        std::string holder;         // see holderOf()
        uint64_t connectionId = 0;  // on which it was started
    };
    /// Starts a transaction, taken. REQUIRES: none is in progress.
    void start(const std::string& session,
               int64_t number,
               Ref transaction,
               Owner owner,
               uint64_t nowNanos);
    /// The transaction in progress, for a statement; null if there is none.
    Ref take(const std::string& session);
    /// The statement has ended. Returns what was aborted: this transaction, if that was asked for
    /// meanwhile, or others, because there is no room for all.
    struct Aborted {
        std::string session;
        Ref transaction;
    };
    std::vector<Aborted> giveBack(const std::string& session);
    /// Ends the transaction, which the caller has taken or which is idle. Aborts it unless it was
    /// committed. Returns it, so that its cursors can be ended; null if none was in progress.
    Ref end(const std::string& session, State outcome, journal::Lsn commitLsn = 0);

    /// Aborts the transactions for which `isMeant` returns true; it is called with the mutex held.
    /// One that is in use is aborted when its statement ends. Needs no turn.
    std::vector<Aborted> abortIf(
        const std::function<bool(const std::string& session, const Known& known)>& isMeant);
    /// Aborts open transactions of these sessions. Needs no turn.
    std::vector<Aborted> abortOf(const std::unordered_set<std::string>& sessions);
    /// Forgets transactions that ended before that time. Needs no turn.
    void forget(uint64_t beforeNanos);

    struct Counts {
        uint64_t open = 0;
        uint64_t inUse = 0;  // by a statement
        uint64_t started = 0;
        uint64_t committed = 0;
        uint64_t aborted = 0;
        uint64_t abortedForRoom = 0;  // of those, because there was no room
    };
    Counts counts() const;

private:
    using Shares = FairShares<std::string>;  // sessions
    struct Entry {
        Known known;
        Owner owner;
        Ref transaction;        // null: not in progress
        Shares::Handle share;   // while it is idle
        bool isTaken = false;   // by a statement
        bool isDoomed = false;  // to be aborted when the statement ends
    };
    using Entries = std::unordered_map<std::string, Entry>;

    // REQUIRES: mutex_ is held. The caller aborts what is returned, once the mutex is released.
    Ref close(Entry& entry, State outcome);
    void becomeIdle(const std::string& session, Entry& entry);
    void becomeBusy(Entry& entry);
    /// Closes idle transactions until the others have room.
    void makeRoom(std::vector<Aborted>* aborted);
    std::optional<Shares::By> lack();

    const size_t openMax_;
    const uint64_t bytesMax_;

    mutable sync::Mutex mutex_;
    Entries entries_;        // guarded by mutex_
    Counts counts_;          // guarded by mutex_
    Shares shares_;          // guarded by mutex_; of idle transactions
    sync::MemoryHold hold_;  // guarded by mutex_; for idle transactions
};

}  // namespace freshet::command
