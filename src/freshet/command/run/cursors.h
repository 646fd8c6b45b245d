// SPDX-License-Identifier: Apache-2.0
/// CursorRegistry: the cursors that wait for their client's next getMore. A cursor in the registry
/// is detached; a getMore checks it out, on any thread, and checks it in again. Bounded in number
/// and in memory. At the bound, idle cursors end to make room: those of the user, and of that
/// user's connection, with the largest share (see FairShares); their next getMore finds no cursor,
/// as after a timeout.
///
/// Any thread. One mutex around maps: it is held for a few look-ups, never during a query step, and
/// taken about once for each batch of documents. The memory pool's is taken inside it.
#pragma once

#include "freshet/base/status.h"
#include "freshet/command/run/fair_shares.h"
#include "freshet/query/cursor.h"
#include "freshet/query/transaction.h"
#include "freshet/sync/memory_pool.h"
#include "freshet/sync/mutex.h"

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace freshet::command {

inline constexpr size_t kOpenCursorsMax = 100'000;

/// What reads with read concern snapshot read in. One thread at a time.
struct SnapshotRead {
    explicit SnapshotRead(catalog::Catalog& catalog) : transaction(catalog) {}
    query::Transaction transaction;
    uint64_t clusterTime = 0;  // it shows what the log had up to this time
};
using SnapshotRef = std::shared_ptr<SnapshotRead>;

/// A cursor and the protocol's facts about it.
struct ClientCursor {
    int64_t id = 0;
    std::string ns;
    std::string lsid;           // the session that created it; empty: none
    std::string owner;          // "user@db" of its creator; empty: not logged in
    std::string holder;         // the user or address whose share it counts in
    uint64_t connectionId = 0;  // of its creator
    bool neverTimesOut = false;
    bool needsDurableRead = false;
    bool hasScripts = false;   // runs JavaScript: see ScriptThreads
    bool mayTakeLong = false;  // for a single document: see BackgroundThreads
    bool isTailable = false;   // there may be more after all that exists has been given
    bool awaitsData = false;   // a getMore that finds nothing waits; REQUIRES: isTailable
    std::shared_ptr<query::Transaction> transaction;  // that it reads in; null: its own
    SnapshotRef snapshot;                             // that it reads in instead; null: none
    sync::MemoryHold held;   // what it held while idle, kept during a getMore
    uint64_t nanosLeft = 0;  // of its command's time limit, for the getMores; 0: it had none
    std::unique_ptr<query::QueryCursor> cursor;
};

class CursorRegistry {
public:
    /// `memory` may be null. All idle cursors together hold at most one holder's share of it.
    explicit CursorRegistry(sync::MemoryPool* memory = nullptr, size_t openMax = kOpenCursorsMax)
        : openMax_(openMax),
          bytesMax_(memory == nullptr ? UINT64_MAX : memory->shareMax()),
          hold_(memory) {}

    /// REQUIRES: detached. Assigns an id and keeps the cursor. kLimit when there is no room even
    /// after others were ended (kExceededMemoryLimit when memory is the reason).
    StatusOr<int64_t> add(ClientCursor cursor);
    /// The caller owns the cursor until check-in. kNotFound (kCursorNotFound); kInvalid
    /// (kCursorInUse, or kUnauthorized when it belongs to another namespace). `session` (empty:
    /// none) must be the one that created the cursor (Location50736 ff.).
    StatusOr<ClientCursor> checkOut(int64_t id,
                                    const std::string& ns,
                                    std::optional<std::string_view> session = std::nullopt);
    /// REQUIRES: checked out, detached. Drops the cursor when it was killed meanwhile, or when
    /// there is no room for what it now holds.
    void checkIn(ClientCursor cursor);
    /// Ends a checked-out cursor.
    void forget(int64_t id);
    /// True when a checked-out cursor was killed: its getMore should end.
    bool isKilled(int64_t id) const;

    /// The user that owns the cursor; kNotFound (kCursorNotFound).
    StatusOr<std::string> ownerOf(int64_t id) const;
    /// False when there is no cursor of that id (and namespace).
    bool kill(int64_t id, const std::optional<std::string>& ns = std::nullopt);
    /// Kills the session's cursors that read in this transaction.
    void killTransaction(const std::string& session, const query::Transaction* transaction);
    /// Kills the cursors of these sessions.
    void killSessions(const std::unordered_set<std::string>& lsids);
    /// Kills those for which `isMeant` returns true; it is called with the mutex held.
    void killIf(const std::function<bool(const ClientCursor&)>& isMeant);
    void killAll();
    /// Ends the cursors that have been idle for that long; returns how many.
    size_t endIdle(uint64_t idleMs);

    /// A cursor that waits for its getMore.
    struct Idle {
        int64_t id = 0;
        std::string ns;
        std::string lsid;
        std::string owner;
        bool neverTimesOut = false;
        bool isTailable = false;
        bool awaitsData = false;
        uint64_t idleSinceNanos = 0;  // on platform::monotonicNanos()
    };
    std::vector<Idle> idle() const;

    struct Counts {
        size_t open = 0;
        size_t pinned = 0;            // in use by a getMore
        size_t noTimeout = 0;         // never end for being idle
        uint64_t idleBytes = 0;       // held by idle cursors
        uint64_t endedForNumber = 0;  // so far, because there were too many
        uint64_t endedForMemory = 0;  // so far, because they held too much
    };
    Counts counts() const;
    size_t openCount() const { return counts().open; }

private:
    using Shares = FairShares<int64_t>;
    struct Entry {
        ClientCursor cursor;  // its `cursor` is null while checked out
        uint64_t idleSinceNanos = 0;
        bool isCheckedOut = false;
        bool isKilled = false;
        Shares::Handle share{};                 // while it is idle
        std::list<int64_t>::iterator inLine{};  // while it is idle and may time out
    };
    using Entries = std::map<int64_t, Entry>;
    using Dead = std::vector<ClientCursor>;

    // All of these: REQUIRES: mutex_ is held.
    /// Null: it does not exist, or was killed.
    const Entry* find(int64_t id) const;
    void becomeIdle(Entry& entry, uint64_t bytes);
    void becomeBusy(Entry& entry);
    /// Removes an entry. Returns the next one.
    Entries::iterator erase(Entries::iterator entry);
    /// Ends an entry, or marks it when it is checked out. Returns the next one.
    Entries::iterator kill(Entries::iterator entry, Dead* dead);
    /// Which bound is exceeded; nothing: there is room for all.
    std::optional<Shares::By> lack();
    /// Ends some cursors to make room for the idle cursor of that id; true: call it again. If only
    /// that cursor itself can make room, it ends, and *refusal says why.
    bool makeSomeRoom(int64_t id, Dead* dead, Status* refusal);

    /// Takes the mutex. Not ok: the cursor of that id has ended.
    Status makeRoom(int64_t id);

    const size_t openMax_;
    const uint64_t bytesMax_;
    mutable sync::Mutex mutex_;
    // All of these are guarded by mutex_:
    Entries entries_;
    std::unordered_map<std::string, std::unordered_set<int64_t>> bySession_;
    Shares shares_;            // of idle cursors
    std::list<int64_t> line_;  // idle cursors that may time out, the longest idle first
    sync::MemoryHold hold_;    // for idle cursors
    size_t noTimeout_ = 0;
    size_t pinned_ = 0;
    uint64_t endedForNumber_ = 0;
    uint64_t endedForMemory_ = 0;
};

}  // namespace freshet::command
