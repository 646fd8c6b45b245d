// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/txn/transactions.h"

#include "freshet/base/assert.h"
#include "freshet/platform/clock.h"

#include <mutex>

namespace freshet::command {
namespace {

void abortAll(const std::vector<Transactions::Aborted>& closed) {
    for (const Transactions::Aborted& one : closed) {
        one.transaction->abort();
    }
}

}  // namespace

Transactions::Known Transactions::known(const std::string& session) const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    const auto at = entries_.find(session);
    return at == entries_.end() ? Known() : at->second.known;
}

void Transactions::start(
    const std::string& session, int64_t number, Ref transaction, Owner owner, uint64_t nowNanos) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    Entry& entry = entries_[session];
    invariant(entry.transaction == nullptr);
    entry = {};
    entry.known = {number, State::kInProgress, 0, nowNanos};
    entry.transaction = std::move(transaction);
    entry.owner = std::move(owner);
    entry.isTaken = true;
    ++counts_.started;
    ++counts_.open;
    ++counts_.inUse;
}

Transactions::Ref Transactions::take(const std::string& session) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    const auto at = entries_.find(session);
    if (at == entries_.end() || at->second.transaction == nullptr) {
        return nullptr;
    }
    dcheck(!at->second.isTaken);
    becomeBusy(at->second);
    return at->second.transaction;
}

void Transactions::becomeBusy(Entry& entry) {
    shares_.remove(entry.share);
    hold_.resize(shares_.bytes());
    entry.isTaken = true;
    ++counts_.inUse;
}

void Transactions::becomeIdle(const std::string& session, Entry& entry) {
    entry.share = shares_.add(
        entry.owner.holder, entry.owner.connectionId, entry.transaction->heldBytes(), session);
    entry.isTaken = false;
    --counts_.inUse;
}

std::vector<Transactions::Aborted> Transactions::giveBack(const std::string& session) {
    std::vector<Aborted> aborted;
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        const auto at = entries_.find(session);
        if (at == entries_.end() || !at->second.isTaken) {
            return aborted;  // its own statement has ended it
        }
        if (at->second.isDoomed) {
            aborted.push_back({session, close(at->second, State::kAborted)});
        } else {
            becomeIdle(session, at->second);
            makeRoom(&aborted);
        }
    }
    abortAll(aborted);
    return aborted;
}

std::optional<Transactions::Shares::By> Transactions::lack() {
    if (counts_.open > openMax_) {
        return Shares::By::kCount;
    }
    if (shares_.bytes() > bytesMax_ || !hold_.tryResize(shares_.bytes())) {
        return Shares::By::kBytes;
    }
    return std::nullopt;
}

void Transactions::makeRoom(std::vector<Aborted>* aborted) {
    for (std::optional<Shares::By> what = lack(); what.has_value(); what = lack()) {
        const std::string* const next = shares_.next(*what);
        if (next == nullptr) {
            hold_.resize(shares_.bytes());
            return;
        }
        const std::string session = *next;
        ++counts_.abortedForRoom;
        aborted->push_back({session, close(entries_.find(session)->second, State::kAborted)});
    }
}

Transactions::Ref Transactions::close(Entry& entry, State outcome) {
    if (entry.transaction == nullptr) {
        return nullptr;
    }
    if (entry.isTaken) {
        --counts_.inUse;
    } else {
        shares_.remove(entry.share);
    }
    --counts_.open;
    ++(outcome == State::kCommitted ? counts_.committed : counts_.aborted);
    entry.known.state = outcome;
    entry.known.startNanos = platform::monotonicNanos();
    entry.isTaken = false;
    entry.isDoomed = false;
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
    abortAll(aborted);
    return aborted;
}

std::vector<Transactions::Aborted> Transactions::abortOf(
    const std::unordered_set<std::string>& sessions) {
    return abortIf(
        [&](const std::string& session, const Known&) { return sessions.contains(session); });
}

void Transactions::forget(uint64_t beforeNanos) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    std::erase_if(entries_, [&](const auto& named) {
        const Entry& entry = named.second;
        return entry.transaction == nullptr && entry.known.startNanos < beforeNanos;
    });
}

Transactions::Counts Transactions::counts() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return counts_;
}

}  // namespace freshet::command
