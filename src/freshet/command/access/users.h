// SPDX-License-Identifier: Apache-2.0
/// Users as stored in admin.system.users, and the cache of those that were read. A cached user is
/// immutable; every change of users raises the generation, which invalidates everything read before
/// it.
#pragma once

#include "freshet/command/access/grants.h"
#include "freshet/command/access/turns.h"
#include "freshet/security/scram.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/mutex.h"

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace freshet::command {

inline constexpr char kUsersDb[] = "admin";
inline constexpr char kUsersCollection[] = "system.users";
inline constexpr int32_t kAuthSchemaVersion = 5;    // MongoDB's, since SCRAM was introduced
inline constexpr char kExternalDb[] = "$external";  // users who are authenticated by other systems

struct User {
    std::string user;
    std::string db;
    bson::OwnedDocument stored;  // the whole document; empty once cached: it may be large
    std::optional<security::ScramCredentials> sha1;
    std::optional<security::ScramCredentials> sha256;
    std::vector<RoleName> roles;
    Grants grants;
    std::string digest;    // SHA-256 of user@db: identifies the owner of logical sessions
    std::string identity;  // distinguishes a user from a later one with the same name

    std::string id() const { return db + "." + user; }
    const std::optional<security::ScramCredentials>& credentials(
        security::ScramMechanism mechanism) const {
        return mechanism == security::ScramMechanism::kSha1 ? sha1 : sha256;
    }
};
using UserRef = std::shared_ptr<const User>;

inline constexpr size_t kRolesMax = 1'000;  // for one user

/// Parses a stored document, which another program may have written. kCorruption when it is not a
/// valid user's. Damaged credentials count as absent, and unknown roles grant nothing.
StatusOr<UserRef> parseUser(bson::Document stored);

/// Checks a document that a general command (a restoring tool's above all) wants to store among the
/// users: it must be the whole document of a user, whose _id is <db>.<user>. kInvalid (kBadValue),
/// with mongod's text.
Status checkUserDocument(bson::Document document);
/// checkUserDocument for the collection of users, null for others.
Status (*checkOfCollection(std::string_view db, std::string_view collection))(bson::Document);

/// Whether users may belong to that database. Not one with '@' in its name: "a@x" of "db" and "a"
/// of "x@db" would have the same text wherever user@db identifies an owner.
bool isUsersDatabase(std::string_view db);

class Users {
public:
    /// Some user may have changed: invalidates the cache. After the commit.
    void changed();
    uint64_t generation() const;
    /// By id. Null when it is not cached.
    UserRef cached(const std::string& id) const;
    /// `generation`: from before the user was read. Cached without its document.
    void remember(UserRef user, uint64_t generation);

    /// Once a user has been seen, the localhost exception has ended until the next start.
    bool haveBeenSeen() const;
    void noteSeen();

    /// The secret that pretended credentials are derived from; empty before setPretenceSecret().
    std::string pretenceSecret() const;
    void setPretenceSecret(std::string secret);

    /// A command that changes users has the turn from before it reads them until its change is
    /// written.
    Turns& turns() { return turns_; }

private:
    static constexpr size_t kCachedMax = 10'000;

    Turns turns_;
    mutable sync::Mutex mutex_;
    std::unordered_map<std::string, UserRef> cached_;  // guarded by mutex_; of generation_
    std::string pretenceSecret_;                       // guarded by mutex_

    /// How often users may have changed. Written by: changed(), under mutex_. Read by: each command
    /// of a connection that is logged in, to see whether its user is still current.
    ///   INV-1    only rises
    sync::Atomic<uint64_t> generation_{1};
    /// Written by: any thread that finds a user. Read by: commands of local connections before
    /// login.
    ///   STEPS    false -> true, once
    sync::Atomic<bool> seen_{false};
};

/// The user of a connection. Belongs to the connection.
struct LoginState {
    struct Conversation;  // a login in progress; see sasl.cpp
    struct ConversationFreer {
        void operator()(Conversation* conversation) const;
    };

    UserRef user;             // null: none
    uint64_t generation = 0;  // of Users, when `user` was read
    std::unique_ptr<Conversation, ConversationFreer> conversation;
    int32_t conversations = 0;           // begun so far
    bool hasLocalhostException = false;  // for the command in progress
};

}  // namespace freshet::command
