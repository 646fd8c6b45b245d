// SPDX-License-Identifier: Apache-2.0
/// Reading and writing admin.system.users: users by id or filter, and changes that are durable
/// before they are acknowledged.
#pragma once

#include "freshet/command/access/users.h"
#include "freshet/command/run/invocation.h"
#include "freshet/query/cursor.h"

#include <memory>
#include <vector>

namespace freshet::command {

inline constexpr size_t kUsersListedMax = 10'000;

/// The user with this id ("db.name"), from the cache or the store, possibly without the stored
/// document. kNotFound (kUserNotFound), also when the document is not a valid user's, which is
/// logged.
sync::Task<StatusOr<UserRef>> fetchUser(Invocation& call, std::string id);
/// The same for the name in a login: the store is read whether the user is cached or not, so the
/// time taken does not reveal whether the user exists.
sync::Task<StatusOr<UserRef>> fetchStranger(Invocation& call, std::string id);
/// To be held by a command that changes users, from before it reads them. kUnauthorized when only
/// the localhost exception allowed the command, and a user has been created meanwhile.
sync::Task<StatusOr<Turns::Turn>> takeTurn(Invocation& call);
/// As fetchUser, bypassing the cache: a change must start from what is stored.
sync::Task<StatusOr<UserRef>> readUser(Invocation& call, std::string id);

/// A cursor over documents of an admin collection, for readBatch().
StatusOr<std::unique_ptr<query::QueryCursor>> openCursor(const Invocation& call,
                                                         std::string_view collection,
                                                         bson::OwnedDocument filter,
                                                         size_t max);
/// Adds the next documents, at most `max` of them and one batch's bytes.
sync::Task<Status> readBatch(Invocation& call,
                             query::QueryCursor& cursor,
                             size_t max,
                             std::vector<bson::OwnedDocument>* out);
/// Matching documents of an admin collection, at most `max` of them and one batch's bytes (kLimit).
sync::Task<Status> findDocuments(Invocation& call,
                                 std::string collection,
                                 bson::OwnedDocument filter,
                                 size_t max,
                                 std::vector<bson::OwnedDocument>* out);

/// Adds the document; kExists (kDuplicateKey) when one with its _id exists.
sync::Task<Status> insertUser(Invocation& call, bson::OwnedDocument document);
/// Replaces the document with this _id. kNotFound (kUserNotFound).
sync::Task<Status> replaceUser(Invocation& call, bson::OwnedDocument document);
/// Removes matching documents; *removed is their number.
sync::Task<Status> removeUsers(Invocation& call, bson::OwnedDocument filter, int64_t* removed);

/// The secret that the salts of unknown users are derived from. It is kept in admin.system.version
/// from the first user on, so that a restart does not change them; anyone who may read it may read
/// the users. Before that, and when it cannot be read or written, it is one of this process.
sync::Task<std::string> pretenceSecret(Invocation& call);

/// For the localhost exception: whether no user exists yet.
sync::Task<StatusOr<bool>> isWithoutUsers(Invocation& call);

}  // namespace freshet::command
