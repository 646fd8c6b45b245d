// SPDX-License-Identifier: Apache-2.0
/// Users as they are stored in admin.system.users, and the cache of those that were read. A cached
/// user is immutable; whatever changes users raises the generation, and what was read before that
/// counts no more.
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
inline constexpr int32_t kAuthSchemaVersion = 5;    // of MongoDB since SCRAM came
inline constexpr char kExternalDb[] = "$external";  // users that prove themselves elsewhere

struct User {
    std::string user;
    std::string db;
    bson::OwnedDocument stored;  // the whole document; empty once cached: it may be large
    std::optional<security::ScramCredentials> sha1;
    std::optional<security::ScramCredentials> sha256;
    std::vector<RoleName> roles;
    Grants grants;
    std::string digest;    // SHA-256 of user@db: what owns logical sessions
    std::string identity;  // tells a user from a later one of the same name

    std::string id() const { return db + "." + user; }
    const std::optional<security::ScramCredentials>& credentials(
        security::ScramMechanism mechanism) const {
        return mechanism == security::ScramMechanism::kSha1 ? sha1 : sha256;
    }
};
using UserRef = std::shared_ptr<const User>;

inline constexpr size_t kRolesMax = 1'000;  // of one user

/// What is stored, which need not have been stored by us. kCorruption when it is nobody's document.
/// Credentials that are damaged count as none, and roles that are unknown grant nothing.
StatusOr<UserRef> parseUser(bson::Document stored);

/// What other commands than those about users, restoring tools' above all, may store among them:
/// the whole document of a user, whose _id is <db>.<user>. kInvalid (kBadValue), with mongod's
/// text.
Status checkUserDocument(bson::Document document);
/// checkUserDocument for the collection of users, null for others.
Status (*checkOfCollection(std::string_view db, std::string_view collection))(bson::Document);

/// Users may be of it. Not of one with '@' in its name: "a@x" of "db" and "a" of "x@db" would be
/// one text where user@db says whose something is.
bool isUsersDatabase(std::string_view db);

class Users {
public:
    /// Something about users may have changed: cached ones count no more. After the commit.
    void changed();
    uint64_t generation() const;
    /// By id. Null when it is not there.
    UserRef cached(const std::string& id) const;
    /// `generation`: from before the user was read. Kept without its document.
    void remember(UserRef user, uint64_t generation);

    /// Once a user has been seen, the localhost exception is over until the next start.
    bool haveBeenSeen() const;
    void noteSeen();

    /// What pretended credentials follow from; empty before setPretenceSecret().
    std::string pretenceSecret() const;
    void setPretenceSecret(std::string secret);

    /// Who changes users has the turn from before it reads them until its change is written.
    Turns& turns() { return turns_; }

private:
    static constexpr size_t kCachedMax = 10'000;

    Turns turns_;
    mutable sync::Mutex mutex_;
    std::unordered_map<std::string, UserRef> cached_;  // guarded by mutex_; of generation_
    std::string pretenceSecret_;                       // guarded by mutex_

    /// How often users may have changed. Written by: changed(), under mutex_. Read by: each command
    /// of a connection that is logged in, to see whether its user is still as it was.
    ///   INV-1    only rises
    sync::Atomic<uint64_t> generation_{1};
    /// Written by: whoever finds a user. Read by: commands of local connections before login.
    ///   STEPS    false -> true, once
    sync::Atomic<bool> seen_{false};
};

/// Who a connection is. Belongs to the connection.
struct LoginState {
    struct Conversation;  // a login in progress; see sasl.cpp
    struct ConversationFreer {
        void operator()(Conversation* conversation) const;
    };

    UserRef user;             // null: nobody
    uint64_t generation = 0;  // of Users, when `user` was read
    std::unique_ptr<Conversation, ConversationFreer> conversation;
    int32_t conversations = 0;           // begun so far
    bool hasLocalhostException = false;  // of the command in progress
};

}  // namespace freshet::command
