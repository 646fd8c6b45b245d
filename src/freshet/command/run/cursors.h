// SPDX-License-Identifier: Apache-2.0
/// CursorRegistry: the cursors that wait for their client's next getMore. A cursor in the registry
/// is detached; a getMore checks it out, on any thread, and checks it in again. Bounded in number
/// and in memory. At the bound idle cursors end to make room: those of the user, and of the
/// connection, that has most (see FairShares); their getMore finds no cursor, as after a timeout.
///
/// Any thread. One mutex around maps: it is held for a few look-ups, never across a query step, and
/// a batch of documents is fetched for each time it is taken. The memory pool's is taken inside.
#pragma once

#include "freshet/base/status.h"
#include "freshet/command/run/fair_shares.h"
#include "freshet/query/cursor.h"
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

/// A cursor and what the protocol knows of it.
struct ClientCursor {
    int64_t id = 0;
    std::string ns;
    std::string lsid;           // of the session that made it; empty: none
    std::string owner;          // "user@db" of who made it; empty: nobody was logged in
    std::string holder;         // whose share it counts in: a user, or an address
    uint64_t connectionId = 0;  // that made it
    bool neverTimesOut = false;
    bool needsDurableRead = false;
    bool hasScripts = false;   // runs JavaScript: see ScriptThreads
    bool mayTakeLong = false;  // for a single document: see BackgroundThreads
    sync::MemoryHold held;     // what it held while it waited, for the time of a getMore
    std::unique_ptr<query::QueryCursor> cursor;
};

class CursorRegistry {
public:
    /// `memory` may be null. Idle cursors hold at most one holder's share of it.
    explicit CursorRegistry(sync::MemoryPool* memory = nullptr, size_t openMax = kOpenCursorsMax)
        : openMax_(openMax),
          bytesMax_(memory == nullptr ? UINT64_MAX : memory->shareMax()),
          hold_(memory) {}

    /// REQUIRES: detached. Gives it an id and keeps it. kLimit when there is no room for it, though
    /// others have made way (kExceededMemoryLimit when it is memory that lacks).
    StatusOr<int64_t> add(ClientCursor cursor);
    /// The cursor is the caller's until check-in. kNotFound (kCursorNotFound); kInvalid
    /// (kCursorInUse, or kUnauthorized when it belongs to another namespace).
    /// With a `session` (empty: none) it must be the one that made the cursor (Location50736 ff.).
    StatusOr<ClientCursor> checkOut(int64_t id,
                                    const std::string& ns,
                                    std::optional<std::string_view> session = std::nullopt);
    /// REQUIRES: checked out, detached. Dropped when it was killed meanwhile, or when there is no
    /// room for what it holds now.
    void checkIn(ClientCursor cursor);
    /// The checked-out cursor has ended.
    void forget(int64_t id);
    /// True when a checked-out cursor was killed: its getMore should end.
    bool isKilled(int64_t id) const;

    /// Of whom the cursor is; kNotFound (kCursorNotFound).
    StatusOr<std::string> ownerOf(int64_t id) const;
    /// False when there is none of that id (and namespace).
    bool kill(int64_t id, const std::optional<std::string>& ns = std::nullopt);
    /// Those of these sessions.
    void killSessions(const std::unordered_set<std::string>& lsids);
    /// Those for which `isMeant` says so; it is called with the mutex held.
    void killIf(const std::function<bool(const ClientCursor&)>& isMeant);
    void killAll();
    /// Ends those that nobody has asked for more for that long; how many.
    size_t endIdle(uint64_t idleMs);

    /// One that waits for its getMore.
    struct Idle {
        int64_t id = 0;
        std::string ns;
        std::string lsid;
        std::string owner;
        bool neverTimesOut = false;
        uint64_t idleSinceNanos = 0;  // on platform::monotonicNanos()
    };
    std::vector<Idle> idle() const;

    struct Counts {
        size_t open = 0;
        size_t pinned = 0;            // in use by a getMore
        size_t noTimeout = 0;         // never end for being idle
        uint64_t idleBytes = 0;       // that idle ones hold
        uint64_t endedForNumber = 0;  // so far, so that there are not too many
        uint64_t endedForMemory = 0;  // so far, so that they do not hold too much
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
        Shares::Place share{};                  // while it is idle
        std::list<int64_t>::iterator inLine{};  // while it is idle and may time out
    };
    using Entries = std::map<int64_t, Entry>;
    using Dead = std::vector<ClientCursor>;

    // All of these: REQUIRES: mutex_ is held.
    /// Null: there is none, or it was killed.
    const Entry* find(int64_t id) const;
    void becomeIdle(Entry& entry, uint64_t bytes);
    void becomeBusy(Entry& entry);
    /// Forgets an entry. Returns the next one.
    Entries::iterator erase(Entries::iterator entry);
    /// Ends an entry, or marks it when it is checked out. Returns the next one.
    Entries::iterator kill(Entries::iterator entry, Dead* dead);
    /// What there is too much of; nothing: there is room for all.
    std::optional<Shares::By> lack();
    /// Ends some that are in the way of the idle cursor of that id; true: it has to be called
    /// again. The cursor itself ends when it alone is in the way, and *refusal says why.
    bool makeSomeRoom(int64_t id, Dead* dead, Status* refusal);

    /// Takes the mutex. Not ok: the cursor of that id has ended.
    Status makeRoom(int64_t id);

    const size_t openMax_;
    const uint64_t bytesMax_;
    mutable sync::Mutex mutex_;
    // All of these are guarded by mutex_:
    Entries entries_;
    std::unordered_map<std::string, std::unordered_set<int64_t>> bySession_;
    Shares shares_;            // of idle ones
    std::list<int64_t> line_;  // idle ones that may time out, the longest idle first
    sync::MemoryHold hold_;    // of idle ones
    size_t noTimeout_ = 0;
    size_t pinned_ = 0;
    uint64_t endedForNumber_ = 0;
    uint64_t endedForMemory_ = 0;
};

}  // namespace freshet::command
