// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/diag/member_state.h"

#include "freshet/platform/clock.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace freshet::command {

MemberState::Config MemberState::config() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return config_;
}

void MemberState::setConfig(bson::OwnedDocument config) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    config_ = std::make_shared<const bson::OwnedDocument>(std::move(config));
    changed();
}

bool MemberState::isPrimary() const {
    // [member.look] ORDER relaxed: a command that sees a change late counts as begun before it.
    const uint64_t until = untilNanos_.load(sync::kRelaxed);
    return until == 0 || platform::monotonicNanos() >= until;
}

bool MemberState::stepDown(uint64_t nanos) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    settle();
    if (!isPrimary()) {
        return false;
    }
    setUntil(platform::monotonicNanos() + nanos);
    changed();
    return true;
}

bool MemberState::freeze(uint64_t nanos) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    settle();
    if (isPrimary()) {
        return false;
    }
    if (nanos == 0) {
        setUntil(0);
        changed();
    } else {
        // [member.frozen] ORDER relaxed: under the mutex.
        setUntil(std::max(untilNanos_.load(sync::kRelaxed), platform::monotonicNanos() + nanos));
    }
    return true;
}

uint64_t MemberState::primaryFromNanos() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    settle();
    // [member.until] ORDER relaxed: under the mutex.
    const uint64_t until = untilNanos_.load(sync::kRelaxed);
    return until == 0 ? UINT64_MAX : until;
}

int64_t MemberState::changes() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    settle();
    return changes_;
}

uint64_t MemberState::watch(int64_t seen, const sync::WaitToken& token) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    settle();
    if (changes_ > seen) {
        return 0;
    }
    watching_.emplace(++lastWatch_, token);
    return lastWatch_;
}

void MemberState::unwatch(uint64_t id) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    watching_.erase(id);
}

/// The end of its time as a secondary is a change that no call makes: the next look counts it.
void MemberState::settle() const {
    // [member.settle] ORDER relaxed: under the mutex.
    if (untilNanos_.load(sync::kRelaxed) != 0 && isPrimary()) {
        setUntil(0);
        ++changes_;
    }
}

void MemberState::setUntil(uint64_t nanos) const {
    // [member.set] ORDER relaxed: see [member.look].
    untilNanos_.store(nanos, sync::kRelaxed);
}

void MemberState::changed() {
    ++changes_;
    for (const auto& [id, token] : watching_) {
        token.complete();
    }
    watching_.clear();
}

}  // namespace freshet::command
