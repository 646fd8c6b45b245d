// SPDX-License-Identifier: Apache-2.0
/// CursorRegistry: the cursors that wait for their client's next getMore. A cursor in the registry
/// is detached; a getMore checks it out, on any thread, and checks it in again. Bounded in number;
/// idle cursors end after ten minutes.
///
/// Any thread. One mutex around a map: it is held for a look-up, never across a query step, and a
/// batch of documents is fetched for each time it is taken.
#pragma once

#include "freshet/base/status.h"
#include "freshet/query/cursor.h"
#include "freshet/sync/mutex.h"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace freshet::command {

inline constexpr size_t kOpenCursorsMax = 100'000;
inline constexpr uint64_t kCursorIdleMsMax = 10 * 60 * 1000;

/// A cursor and what the protocol knows of it.
struct ClientCursor {
    int64_t id = 0;
    std::string ns;
    std::string lsid;   // of the session that made it; empty: none
    std::string owner;  // "user@db" of who made it; empty: nobody was logged in
    bool neverTimesOut = false;
    bool needsDurableRead = false;
    std::unique_ptr<query::QueryCursor> cursor;
};

class CursorRegistry {
public:
    /// REQUIRES: detached. Gives it an id and keeps it. kLimit when there are too many.
    StatusOr<int64_t> add(ClientCursor cursor);
    /// The cursor is the caller's until check-in. kNotFound (kCursorNotFound); kInvalid
    /// (kCursorInUse, or kUnauthorized when it belongs to another namespace).
    StatusOr<ClientCursor> checkOut(int64_t id, const std::string& ns);
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
    /// `lsids`: bytes of the sessions' documents.
    void killSessions(const std::unordered_set<std::string>& lsids);
    void killAll();
    size_t openCount() const;

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
    void endIdle(std::vector<ClientCursor>* dead);

    mutable sync::Mutex mutex_;
    Entries entries_;              // guarded by mutex_
    uint64_t lastSweepNanos_ = 0;  // guarded by mutex_
};

}  // namespace freshet::command
