// SPDX-License-Identifier: Apache-2.0
/// CursorRegistry: the cursors that wait for their client's next getMore. A cursor in the registry
/// is detached; a getMore checks it out, on any thread, and checks it in again. Bounded in number;
/// idle cursors are ended by who calls endIdle().
///
/// Any thread. One mutex around a map: it is held for a look-up, never across a query step, and a
/// batch of documents is fetched for each time it is taken.
#pragma once

#include "freshet/base/status.h"
#include "freshet/query/cursor.h"
#include "freshet/sync/mutex.h"

#include <cstdint>
#include <functional>
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
    std::string lsid;   // of the session that made it; empty: none
    std::string owner;  // "user@db" of who made it; empty: nobody was logged in
    bool neverTimesOut = false;
    bool needsDurableRead = false;
    bool hasScripts = false;   // runs JavaScript: see ScriptThreads
    bool mayTakeLong = false;  // for a single document: see BackgroundThreads
    std::unique_ptr<query::QueryCursor> cursor;
};

class CursorRegistry {
public:
    /// REQUIRES: detached. Gives it an id and keeps it. kLimit when there are too many.
    StatusOr<int64_t> add(ClientCursor cursor);
    /// The cursor is the caller's until check-in. kNotFound (kCursorNotFound); kInvalid
    /// (kCursorInUse, or kUnauthorized when it belongs to another namespace).
    /// With a `session` (empty: none) it must be the one that made the cursor (Location50736 ff.).
    StatusOr<ClientCursor> checkOut(int64_t id,
                                    const std::string& ns,
                                    std::optional<std::string_view> session = std::nullopt);
    /// REQUIRES: checked out, detached. Dropped when it was killed meanwhile.
    void checkIn(ClientCursor cursor);
    /// The checked-out cursor has ended.
    void forget(int64_t id);
    /// True when a checked-out cursor was killed: its getMore should end.
    bool isKilled(int64_t id) const;

    /// Of whom the cursor is; kNotFound (kCursorNotFound).
    StatusOr<std::string> ownerOf(int64_t id) const;
    /// False when there is none of that id and namespace.
    bool kill(int64_t id, const std::string& ns);
    /// Those of these sessions.
    void killSessions(const std::unordered_set<std::string>& lsids);
    /// Those for which `isMeant` says so.
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
        size_t pinned = 0;     // in use by a getMore
        size_t noTimeout = 0;  // never end for being idle
    };
    Counts counts() const;
    size_t openCount() const { return counts().open; }

private:
    struct Entry {
        ClientCursor cursor;  // its `cursor` is null while checked out
        uint64_t idleSinceNanos = 0;
        bool isCheckedOut = false;
        bool isKilled = false;
    };
    using Entries = std::unordered_map<int64_t, Entry>;

    /// Ends an entry, or marks it when it is checked out. Returns the next one.
    Entries::iterator kill(Entries::iterator entry, std::vector<ClientCursor>* dead);

    mutable sync::Mutex mutex_;
    Entries entries_;  // guarded by mutex_
};

}  // namespace freshet::command
