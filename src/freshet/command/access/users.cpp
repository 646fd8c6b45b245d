// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/access/users.h"

#include <mutex>

namespace freshet::command {
namespace {

Status damaged(const std::string& what) {
    return Status(Code::kCorruption, "A user's document is damaged: " + what);
}

StatusOr<std::string> binaryField(bson::Document document, std::string_view name) {
    const bson::Element field = document.find(name);
    if (!field.isString()) {
        return damaged("credentials without " + std::string(name));
    }
    return security::fromBase64(field.stringValue());
}

StatusOr<std::optional<security::ScramCredentials>> parseCredentials(
    bson::Document credentials, security::ScramMechanism mechanism) {
    const bson::Element found = credentials.find(security::mechanismName(mechanism));
    if (!found.isObject()) {
        return std::optional<security::ScramCredentials>();
    }
    const bson::Document document = found.document();
    security::ScramCredentials out;
    const int64_t iterations = document.find("iterationCount").toInt64();
    if (iterations <= 0 || iterations > INT32_MAX) {
        return damaged("credentials without iterationCount");
    }
    out.iterations = static_cast<uint32_t>(iterations);
    FRESHET_ASSIGN_OR_RETURN(out.salt, binaryField(document, "salt"));
    FRESHET_ASSIGN_OR_RETURN(out.storedKey, binaryField(document, "storedKey"));
    FRESHET_ASSIGN_OR_RETURN(out.serverKey, binaryField(document, "serverKey"));
    return std::optional<security::ScramCredentials>(std::move(out));
}

std::vector<RoleName> parseRoles(const bson::Element& roles) {
    std::vector<RoleName> out;
    if (!roles.isArray()) {
        return out;
    }
    for (const bson::Element& role : roles.document()) {
        if (!role.isObject()) {
            continue;
        }
        const bson::Element name = role.document().find("role");
        const bson::Element db = role.document().find("db");
        if (name.isString() && db.isString()) {
            out.push_back({std::string(name.stringValue()), std::string(db.stringValue())});
        }
    }
    return out;
}

}  // namespace

StatusOr<UserRef> parseUser(bson::Document stored) {
    auto user = std::make_shared<User>();
    const bson::Element name = stored.find("user");
    const bson::Element db = stored.find("db");
    const bson::Element credentials = stored.find("credentials");
    if (!name.isString() || !db.isString()) {
        return damaged("no user or db");
    }
    user->user = std::string(name.stringValue());
    user->db = std::string(db.stringValue());
    user->stored = bson::OwnedDocument(stored);
    if (credentials.isObject()) {
        using security::ScramMechanism;
        const bson::Document all = credentials.document();
        FRESHET_ASSIGN_OR_RETURN(user->sha1, parseCredentials(all, ScramMechanism::kSha1));
        FRESHET_ASSIGN_OR_RETURN(user->sha256, parseCredentials(all, ScramMechanism::kSha256));
    }
    user->roles = parseRoles(stored.find("roles"));
    for (const RoleName& role : user->roles) {
        addRole(role, &user->grants);
    }
    user->digest = security::sha256(user->user + "@" + user->db);
    return UserRef(std::move(user));
}

void Users::changed() {
    std::lock_guard<sync::Mutex> lock(mutex_);
    cached_.clear();
    // [users.changed] ORDER release: pairs with [users.generation]; who sees the new number reads
    // users from a snapshot that has the change, because its commit came before this.
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
    cached_[user->id()] = std::move(user);
}

bool Users::haveBeenSeen() const {
    // [users.seen] ORDER relaxed: only the flag itself counts; who misses it looks for itself.
    return seen_.load(sync::kRelaxed);
}

void Users::noteSeen() {
    // [users.noteSeen] ORDER relaxed: as [users.seen].
    seen_.store(true, sync::kRelaxed);
}

}  // namespace freshet::command
