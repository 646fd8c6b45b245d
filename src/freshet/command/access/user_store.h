// SPDX-License-Identifier: Apache-2.0
/// Reading and writing admin.system.users: users by id or filter, changes that are durable before
/// they are acknowledged.
#pragma once

#include "freshet/command/access/users.h"
#include "freshet/command/run/invocation.h"
#include "freshet/query/cursor.h"

#include <memory>
#include <vector>

namespace freshet::command {

inline constexpr size_t kUsersListedMax = 10'000;

/// The user of this id ("db.name"), from the cache or the store, perhaps without the stored
/// document. kNotFound (kUserNotFound), also when the document is no user's, which the log tells.
sync::Task<StatusOr<UserRef>> fetchUser(Invocation& call, std::string id);
/// The same for a name that is not known yet: the store is read whether the user is cached or not,
/// so the time that it takes does not tell whether there is one.
sync::Task<StatusOr<UserRef>> fetchStranger(Invocation& call, std::string id);
/// To be held by who changes users, from before it reads them. kUnauthorized when only the
/// localhost exception allowed the command, and somebody has made a user meanwhile.
sync::Task<StatusOr<Turns::Turn>> takeTurn(Invocation& call);
/// As fetchUser, past the cache: what is changed must be what is stored.
sync::Task<StatusOr<UserRef>> readUser(Invocation& call, std::string id);

/// Documents of an admin collection, to be read by readBatch().
StatusOr<std::unique_ptr<query::QueryCursor>> openCursor(const Invocation& call,
                                                         std::string_view collection,
                                                         bson::OwnedDocument filter,
                                                         size_t max);
/// Adds the next documents, at most `max` and one batch's bytes.
sync::Task<Status> readBatch(Invocation& call,
                             query::QueryCursor& cursor,
                             size_t max,
                             std::vector<bson::OwnedDocument>* out);
/// Documents of an admin collection that match, at most `max` and one batch's bytes (kLimit).
sync::Task<Status> findDocuments(Invocation& call,
                                 std::string collection,
                                 bson::OwnedDocument filter,
                                 size_t max,
                                 std::vector<bson::OwnedDocument>* out);

/// Adds the document; kExists (kDuplicateKey) when there is one with its _id.
sync::Task<Status> insertUser(Invocation& call, bson::OwnedDocument document);
/// Replaces the one with this _id. kNotFound (kUserNotFound).
sync::Task<Status> replaceUser(Invocation& call, bson::OwnedDocument document);
/// Removes what matches; *removed counts.
sync::Task<Status> removeUsers(Invocation& call, bson::OwnedDocument filter, int64_t* removed);

/// What unknown users' salts follow from: kept in admin.system.version from the first user on, so
/// that a restart does not change them. Who may read it may read the users. Before that, and when
/// it cannot be read or written, one of this process.
sync::Task<std::string> pretenceSecret(Invocation& call);

/// The localhost exception: there is no user yet.
sync::Task<StatusOr<bool>> isWithoutUsers(Invocation& call);

}  // namespace freshet::command
