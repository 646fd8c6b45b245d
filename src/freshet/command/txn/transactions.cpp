// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/txn/transactions.h"

#include "freshet/base/assert.h"

#include <mutex>

namespace freshet::command {

Transactions::Known Transactions::known(const std::string& session) const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    const auto at = entries_.find(session);
    return at == entries_.end() ? Known() : at->second.known;
}

void Transactions::start(const std::string& session,
                         int64_t number,
                         Ref transaction,
                         uint64_t nowNanos) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    Entry& entry = entries_[session];
    invariant(entry.transaction == nullptr);
    entry = {};
    entry.known = {number, State::kInProgress, 0, nowNanos};
    entry.transaction = std::move(transaction);
    ++counts_.started;
}

Transactions::Ref Transactions::take(const std::string& session) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    const auto at = entries_.find(session);
    if (at == entries_.end() || at->second.transaction == nullptr) {
        return nullptr;
    }
    dcheck(!at->second.isTaken);
    at->second.isTaken = true;
    return at->second.transaction;
}

bool Transactions::giveBack(const std::string& session) {
    Ref doomed;
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        const auto at = entries_.find(session);
        if (at == entries_.end() || !at->second.isTaken) {
            return true;  // ended meanwhile, by its own statement
        }
        at->second.isTaken = false;
        if (!at->second.isDoomed) {
            return true;
        }
        doomed = close(at->second, State::kAborted);
    }
    doomed->abort();
    return false;
}

Transactions::Ref Transactions::close(Entry& entry, State outcome) {
    entry.known.state = outcome;
    entry.isTaken = false;
    entry.isDoomed = false;
    if (entry.transaction != nullptr) {
        ++(outcome == State::kCommitted ? counts_.committed : counts_.aborted);
    }
    return std::exchange(entry.transaction, nullptr);
}

Transactions::Ref Transactions::end(const std::string& session,
                                    State outcome,
                                    journal::Lsn commitLsn) {
    Ref ended;
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        const auto at = entries_.find(session);
        if (at == entries_.end()) {
            return nullptr;
        }
        ended = close(at->second, outcome);
        at->second.known.commitLsn = commitLsn;
    }
    if (ended != nullptr && outcome == State::kAborted) {
        ended->abort();
    }
    return ended;
}

std::vector<Transactions::Aborted> Transactions::abortIf(
    const std::function<bool(const std::string& session, const Known& known)>& isMeant) {
    std::vector<Aborted> aborted;
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        for (auto& [session, entry] : entries_) {
            if (entry.transaction == nullptr || !isMeant(session, entry.known)) {
                continue;
            }
            if (entry.isTaken) {
                entry.isDoomed = true;
            } else {
                aborted.push_back({session, close(entry, State::kAborted)});
            }
        }
    }
    for (const Aborted& one : aborted) {
        one.transaction->abort();
    }
    return aborted;
}

std::vector<Transactions::Aborted> Transactions::forget(
    const std::unordered_set<std::string>& sessions) {
    std::vector<Aborted> aborted = abortIf(
        [&](const std::string& session, const Known&) { return sessions.contains(session); });
    std::lock_guard<sync::Mutex> lock(mutex_);
    for (const std::string& session : sessions) {
        const auto at = entries_.find(session);
        if (at != entries_.end() && at->second.transaction == nullptr) {
            entries_.erase(at);
        }
    }
    return aborted;
}

Transactions::Counts Transactions::counts() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    Counts counts = counts_;
    for (const auto& [session, entry] : entries_) {
        counts.open += entry.transaction != nullptr ? 1 : 0;
        counts.inUse += entry.isTaken ? 1 : 0;
    }
    return counts;
}

}  // namespace freshet::command
