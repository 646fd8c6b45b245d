// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/cursors.h"

#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"

#include <algorithm>
#include <iterator>
#include <mutex>

namespace freshet::command {
namespace {

// While the mutex is held.
constexpr int kEndedAtOnce = 64;
constexpr int kSeenAtOnce = 1'024;

Status notFound(int64_t id) {
    return Status(
        Code::kNotFound, Reason::kCursorNotFound, "cursor id " + std::to_string(id) + " not found");
}

/// A cursor can be continued only in the session that created it.
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

// Ended cursors are moved out and destroyed after the mutex is released: they may hold much memory.

StatusOr<int64_t> CursorRegistry::add(ClientCursor cursor) {
    const uint64_t bytes = cursor.cursor->heldBytes();
    int64_t id = 0;
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        // Random, so that a client that confuses servers, or restarts, does not hit another
        // client's cursor.
        while (id == 0 || entries_.contains(id)) {
            id = static_cast<int64_t>(platform::randomSeed() >> 1);
        }
        cursor.id = id;
        if (!cursor.lsid.empty()) {
            bySession_[cursor.lsid].insert(id);
        }
        noTimeout_ += cursor.neverTimesOut ? 1 : 0;
        Entry& entry = entries_[id];
        entry.cursor = std::move(cursor);
        becomeIdle(entry, bytes);
    }
    FRESHET_RETURN_IF_ERROR(makeRoom(id));
    return id;
}

void CursorRegistry::becomeIdle(Entry& entry, uint64_t bytes) {
    const ClientCursor& cursor = entry.cursor;
    entry.share =
        shares_.add(cursor.holder, cursor.connectionId, std::max<uint64_t>(bytes, 1), cursor.id);
    if (!cursor.neverTimesOut) {
        entry.inLine = line_.insert(line_.end(), cursor.id);
    }
    entry.isCheckedOut = false;
    entry.idleSinceNanos = platform::monotonicNanos();
}

void CursorRegistry::becomeBusy(Entry& entry) {
    shares_.remove(entry.share);
    if (!entry.cursor.neverTimesOut) {
        line_.erase(entry.inLine);
    }
    hold_.resize(shares_.bytes());
}

std::optional<CursorRegistry::Shares::By> CursorRegistry::lack() {
    if (entries_.size() > openMax_) {
        return Shares::By::kCount;
    }
    if (shares_.bytes() > bytesMax_ || !hold_.tryResize(shares_.bytes())) {
        return Shares::By::kBytes;
    }
    return std::nullopt;
}

bool CursorRegistry::makeSomeRoom(int64_t id, Dead* dead, Status* refusal) {
    for (int i = 0; i < kEndedAtOnce; ++i) {
        const auto added = entries_.find(id);
        if (added == entries_.end() || added->second.isCheckedOut) {
            return false;  // ended or in use meanwhile
        }
        const std::optional<Shares::By> what = lack();
        if (!what.has_value()) {
            return false;
        }
        const bool isNumber = *what == Shares::By::kCount;
        const int64_t* next = added->second.share.bytes > bytesMax_
                                  ? nullptr
                                  : shares_.next(*what, added->second.share);
        if (next == nullptr) {
            *refusal = isNumber ? Status(Code::kLimit, "Too many open cursors")
                                : Status(Code::kLimit,
                                         Reason::kExceededMemoryLimit,
                                         "There is no memory for what the cursor holds");
            kill(added, dead);
            hold_.resize(shares_.bytes());
            return false;
        }
        ++(isNumber ? endedForNumber_ : endedForMemory_);
        kill(entries_.find(*next), dead);
    }
    return true;
}

Status CursorRegistry::makeRoom(int64_t id) {
    Status refusal;
    bool mustGoOn = true;
    while (mustGoOn) {
        Dead dead;
        std::lock_guard<sync::Mutex> lock(mutex_);
        mustGoOn = makeSomeRoom(id, &dead, &refusal);
    }
    return refusal;
}

const CursorRegistry::Entry* CursorRegistry::find(int64_t id) const {
    const auto found = entries_.find(id);
    return found == entries_.end() || found->second.isKilled ? nullptr : &found->second;
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
    ClientCursor out;
    out.held = sync::MemoryHold(hold_.pool());
    out.held.resize(entry.share.bytes);
    becomeBusy(entry);
    entry.isCheckedOut = true;
    ++pinned_;
    out.id = id;
    out.ns = entry.cursor.ns;
    out.needsDurableRead = entry.cursor.needsDurableRead;
    out.hasScripts = entry.cursor.hasScripts;
    out.mayTakeLong = entry.cursor.mayTakeLong;
    out.isTailable = entry.cursor.isTailable;
    out.awaitsData = entry.cursor.awaitsData;
    out.nanosLeft = entry.cursor.nanosLeft;
    out.transaction = entry.cursor.transaction;
    out.snapshot = entry.cursor.snapshot;
    out.cursor = std::move(entry.cursor.cursor);
    return out;
}

void CursorRegistry::checkIn(ClientCursor cursor) {
    const int64_t id = cursor.id;
    const uint64_t bytes = cursor.cursor->heldBytes();
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        auto found = entries_.find(id);
        invariant(found != entries_.end() && found->second.isCheckedOut);
        Entry& entry = found->second;
        if (entry.isKilled) {
            erase(found);
            return;
        }
        --pinned_;
        entry.cursor.cursor = std::move(cursor.cursor);
        becomeIdle(entry, bytes);
    }
    // The batch that was read is valid whether the cursor stays or not.
    static_cast<void>(makeRoom(id));
}

void CursorRegistry::forget(int64_t id) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (const auto found = entries_.find(id); found != entries_.end()) {
        erase(found);
    }
}

bool CursorRegistry::isKilled(int64_t id) const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return find(id) == nullptr;
}

StatusOr<std::string> CursorRegistry::ownerOf(int64_t id) const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    const Entry* entry = find(id);
    if (entry == nullptr) {
        return notFound(id);
    }
    return entry->cursor.owner;
}

bool CursorRegistry::kill(int64_t id, const std::optional<std::string>& ns) {
    Dead dead;
    std::lock_guard<sync::Mutex> lock(mutex_);
    const Entry* entry = find(id);
    if (entry == nullptr || (ns.has_value() && entry->cursor.ns != *ns)) {
        return false;
    }
    kill(entries_.find(id), &dead);
    hold_.resize(shares_.bytes());
    return true;
}

void CursorRegistry::killTransaction(const std::string& session,
                                     const query::Transaction* transaction) {
    Dead dead;
    std::lock_guard<sync::Mutex> lock(mutex_);
    const auto found = bySession_.find(session);
    if (found == bySession_.end()) {
        return;
    }
    const std::vector<int64_t> ids(found->second.begin(), found->second.end());
    for (const int64_t id : ids) {
        const auto entry = entries_.find(id);
        if (entry->second.cursor.transaction.get() == transaction) {
            kill(entry, &dead);
        }
    }
    hold_.resize(shares_.bytes());
}

void CursorRegistry::killSessions(const std::unordered_set<std::string>& lsids) {
    for (const std::string& lsid : lsids) {
        std::vector<int64_t> ids;
        {
            std::lock_guard<sync::Mutex> lock(mutex_);
            if (const auto found = bySession_.find(lsid); found != bySession_.end()) {
                ids.assign(found->second.begin(), found->second.end());
            }
        }
        for (const int64_t id : ids) {
            kill(id);
        }
    }
}

void CursorRegistry::killAll() {
    killIf([](const ClientCursor&) { return true; });
}

void CursorRegistry::killIf(const std::function<bool(const ClientCursor&)>& isMeant) {
    int64_t last = 0;  // ids are positive
    bool isAtEnd = false;
    while (!isAtEnd) {
        Dead dead;
        std::lock_guard<sync::Mutex> lock(mutex_);
        auto entry = entries_.upper_bound(last);
        for (int i = 0; i < kSeenAtOnce && entry != entries_.end(); ++i) {
            last = entry->first;
            entry = isMeant(entry->second.cursor) ? kill(entry, &dead) : std::next(entry);
        }
        isAtEnd = entry == entries_.end();
        hold_.resize(shares_.bytes());
    }
}

std::vector<CursorRegistry::Idle> CursorRegistry::idle() const {
    std::vector<Idle> result;
    int64_t last = 0;
    bool isAtEnd = false;
    while (!isAtEnd) {
        std::lock_guard<sync::Mutex> lock(mutex_);
        auto it = entries_.upper_bound(last);
        for (int i = 0; i < kSeenAtOnce && it != entries_.end(); ++i, ++it) {
            const auto& [id, entry] = *it;
            const ClientCursor& cursor = entry.cursor;
            last = id;
            if (!entry.isCheckedOut) {
                result.push_back({id,
                                  cursor.ns,
                                  cursor.lsid,
                                  cursor.owner,
                                  cursor.neverTimesOut,
                                  cursor.isTailable,
                                  cursor.awaitsData,
                                  entry.idleSinceNanos});
            }
        }
        isAtEnd = it == entries_.end();
    }
    return result;
}

CursorRegistry::Counts CursorRegistry::counts() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return {
        entries_.size(), pinned_, noTimeout_, shares_.bytes(), endedForNumber_, endedForMemory_};
}

CursorRegistry::Entries::iterator CursorRegistry::erase(Entries::iterator entry) {
    const ClientCursor& cursor = entry->second.cursor;
    if (!cursor.lsid.empty()) {
        const auto session = bySession_.find(cursor.lsid);
        session->second.erase(cursor.id);
        if (session->second.empty()) {
            bySession_.erase(session);
        }
    }
    noTimeout_ -= cursor.neverTimesOut ? 1 : 0;
    pinned_ -= entry->second.isCheckedOut ? 1 : 0;
    return entries_.erase(entry);
}

CursorRegistry::Entries::iterator CursorRegistry::kill(Entries::iterator entry, Dead* dead) {
    Entry& it = entry->second;
    if (it.isCheckedOut) {
        it.isKilled = true;
        return std::next(entry);
    }
    // Not becomeBusy(): the memory is released once for all that end together.
    shares_.remove(it.share);
    if (!it.cursor.neverTimesOut) {
        line_.erase(it.inLine);
    }
    ClientCursor ended;
    ended.cursor = std::move(it.cursor.cursor);
    dead->push_back(std::move(ended));
    return erase(entry);
}

size_t CursorRegistry::endIdle(uint64_t idleMs) {
    const uint64_t now = platform::monotonicNanos();
    size_t count = 0;
    bool isAtEnd = false;
    while (!isAtEnd) {
        Dead dead;
        std::lock_guard<sync::Mutex> lock(mutex_);
        for (int i = 0; i < kSeenAtOnce && !isAtEnd; ++i) {
            const auto longest = line_.empty() ? entries_.end() : entries_.find(line_.front());
            isAtEnd = longest == entries_.end() ||
                      (now - longest->second.idleSinceNanos) / 1'000'000 < idleMs;
            if (!isAtEnd) {
                kill(longest, &dead);
            }
        }
        count += dead.size();
        hold_.resize(shares_.bytes());
    }
    return count;
}

}  // namespace freshet::command
