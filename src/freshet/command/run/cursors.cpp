// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/cursors.h"

#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"

#include <iterator>
#include <mutex>

namespace freshet::command {
namespace {

Status notFound(int64_t id) {
    return Status(
        Code::kNotFound, Reason::kCursorNotFound, "cursor id " + std::to_string(id) + " not found");
}

/// A cursor goes on in the session that made it, and in no other.
Status checkSession(const ClientCursor& cursor, std::string_view session) {
    if (cursor.lsid == session) {
        return Status::ok();
    }
    const std::string start =
        "Cannot run getMore on cursor " + std::to_string(cursor.id) + ", which ";
    if (cursor.lsid.empty()) {
        return invalid(location(50736), start + "was not created in a session, in a session");
    }
    if (session.empty()) {
        return invalid(location(50737), start + "was created in a session, without an lsid");
    }
    return invalid(location(50738), start + "was created in a session, in another session");
}

}  // namespace

// Dead cursors are moved out and destroyed after the mutex is free: they may hold much memory.

StatusOr<int64_t> CursorRegistry::add(ClientCursor cursor) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (entries_.size() >= kOpenCursorsMax) {
        return Status(Code::kLimit, "Too many open cursors");
    }
    // Random, so that a client that confuses servers or restarts cannot meet another's cursor.
    int64_t id = 0;
    while (id == 0 || entries_.contains(id)) {
        id = static_cast<int64_t>(platform::randomSeed() >> 1);
    }
    cursor.id = id;
    entries_.emplace(id, Entry{std::move(cursor), platform::monotonicNanos(), false, false});
    return id;
}

StatusOr<ClientCursor> CursorRegistry::checkOut(int64_t id,
                                                const std::string& ns,
                                                std::optional<std::string_view> session) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    auto found = entries_.find(id);
    if (found == entries_.end() || found->second.isKilled) {
        return notFound(id);
    }
    Entry& entry = found->second;
    if (entry.cursor.ns != ns) {
        return invalid(Reason::kUnauthorized,
                       "Requested getMore on namespace '" + ns +
                           "', but cursor belongs to a different namespace " + entry.cursor.ns);
    }
    if (session.has_value()) {
        FRESHET_RETURN_IF_ERROR(checkSession(entry.cursor, *session));
    }
    if (entry.isCheckedOut) {
        return invalid(Reason::kCursorInUse,
                       "cursor id " + std::to_string(id) + " is already in use");
    }
    entry.isCheckedOut = true;
    ClientCursor out;
    out.id = id;
    out.ns = entry.cursor.ns;
    out.lsid = entry.cursor.lsid;
    out.owner = entry.cursor.owner;
    out.neverTimesOut = entry.cursor.neverTimesOut;
    out.needsDurableRead = entry.cursor.needsDurableRead;
    out.hasScripts = entry.cursor.hasScripts;
    out.mayTakeLong = entry.cursor.mayTakeLong;
    out.cursor = std::move(entry.cursor.cursor);
    return out;
}

void CursorRegistry::checkIn(ClientCursor cursor) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    auto found = entries_.find(cursor.id);
    invariant(found != entries_.end() && found->second.isCheckedOut);
    Entry& entry = found->second;
    if (entry.isKilled) {
        entries_.erase(found);
        return;
    }
    entry.cursor.cursor = std::move(cursor.cursor);
    entry.isCheckedOut = false;
    entry.idleSinceNanos = platform::monotonicNanos();
}

void CursorRegistry::forget(int64_t id) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    entries_.erase(id);
}

bool CursorRegistry::isKilled(int64_t id) const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    auto found = entries_.find(id);
    return found == entries_.end() || found->second.isKilled;
}

StatusOr<std::string> CursorRegistry::ownerOf(int64_t id) const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    auto found = entries_.find(id);
    if (found == entries_.end() || found->second.isKilled) {
        return notFound(id);
    }
    return found->second.cursor.owner;
}

bool CursorRegistry::kill(int64_t id, const std::string& ns) {
    std::vector<ClientCursor> dead;
    std::lock_guard<sync::Mutex> lock(mutex_);
    auto found = entries_.find(id);
    if (found == entries_.end() || found->second.isKilled || found->second.cursor.ns != ns) {
        return false;
    }
    kill(found, &dead);
    return true;
}

void CursorRegistry::killSessions(const std::unordered_set<std::string>& lsids) {
    killIf([&](const ClientCursor& cursor) { return lsids.contains(cursor.lsid); });
}

void CursorRegistry::killAll() {
    killIf([](const ClientCursor&) { return true; });
}

void CursorRegistry::killIf(const std::function<bool(const ClientCursor&)>& isMeant) {
    std::vector<ClientCursor> dead;
    std::lock_guard<sync::Mutex> lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        entry = isMeant(entry->second.cursor) ? kill(entry, &dead) : std::next(entry);
    }
}

std::vector<CursorRegistry::Idle> CursorRegistry::idle() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    std::vector<Idle> result;
    for (const auto& [id, entry] : entries_) {
        const ClientCursor& cursor = entry.cursor;
        if (!entry.isCheckedOut) {
            result.push_back({id,
                              cursor.ns,
                              cursor.lsid,
                              cursor.owner,
                              cursor.neverTimesOut,
                              entry.idleSinceNanos});
        }
    }
    return result;
}

CursorRegistry::Counts CursorRegistry::counts() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    Counts counts;
    counts.open = entries_.size();
    for (const auto& [id, entry] : entries_) {
        counts.pinned += entry.isCheckedOut ? 1 : 0;
        counts.noTimeout += entry.cursor.neverTimesOut ? 1 : 0;
    }
    return counts;
}

CursorRegistry::Entries::iterator CursorRegistry::kill(Entries::iterator entry,
                                                       std::vector<ClientCursor>* dead) {
    if (entry->second.isCheckedOut) {
        entry->second.isKilled = true;
        return std::next(entry);
    }
    dead->push_back(std::move(entry->second.cursor));
    return entries_.erase(entry);
}

size_t CursorRegistry::endIdle(uint64_t idleMs) {
    const uint64_t now = platform::monotonicNanos();
    std::vector<ClientCursor> dead;
    std::lock_guard<sync::Mutex> lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        const Entry& it = entry->second;
        const bool isOver = !it.isCheckedOut && !it.cursor.neverTimesOut &&
                            (now - it.idleSinceNanos) / 1'000'000 >= idleMs;
        entry = isOver ? kill(entry, &dead) : std::next(entry);
    }
    return dead.size();
}

}  // namespace freshet::command
