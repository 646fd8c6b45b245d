// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/access/users.h"

#include "freshet/base/free_memory.h"

#include <mutex>

namespace freshet::command {

void Users::changed() {
    std::lock_guard<sync::Mutex> lock(mutex_);
    cached_.clear();
    // [users.changed] ORDER release: pairs with [users.generation]; a thread that sees the new
    // number reads users from a snapshot that has the change, because its commit came before this.
    generation_.store(generation_.load(sync::kRelaxed) + 1, sync::kRelease);
}

uint64_t Users::generation() const {
    // [users.generation] ORDER acquire: pairs with [users.changed].
    return generation_.load(sync::kAcquire);
}

UserRef Users::cached(const std::string& id) const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    const auto found = cached_.find(id);
    return found == cached_.end() ? nullptr : found->second;
}

void Users::remember(UserRef user, uint64_t generation) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    // ORDER relaxed: written under mutex_ only.
    if (generation != generation_.load(sync::kRelaxed)) {
        return;  // it may be older than the change
    }
    if (cached_.size() >= kCachedMax) {
        cached_.clear();
    }
    auto kept = std::make_shared<User>(*user);
    freeMemory(&kept->stored);
    cached_[user->id()] = std::move(kept);
}

std::string Users::pretenceSecret() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return pretenceSecret_;
}

void Users::setPretenceSecret(std::string secret) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    pretenceSecret_ = std::move(secret);
}

bool Users::haveBeenSeen() const {
    // [users.seen] ORDER relaxed: only the flag itself counts; a thread that misses it reads the
    // store.
    return seen_.load(sync::kRelaxed);
}

void Users::noteSeen() {
    // [users.noteSeen] ORDER relaxed: as [users.seen].
    seen_.store(true, sync::kRelaxed);
}

}  // namespace freshet::command
