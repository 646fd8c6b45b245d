// SPDX-License-Identifier: Apache-2.0
/// What the commands about users share: names, lists of roles, credentials.
#pragma once

#include "freshet/command/access/users.h"
#include "freshet/command/run/invocation.h"

#include <string>
#include <vector>

namespace freshet::command {

struct UserName {
    std::string user;
    std::string db;
    std::string id() const { return db + "." + user; }
};

/// The command's first field: the name of a user of the request's database.
StatusOr<UserName> userNameOf(const Invocation& call);
/// "role", of database `db`, or {role, db}. kRoleNotFound for anything but a built-in role.
StatusOr<std::vector<RoleName>> rolesOfField(const Invocation& call, std::string_view field);
void addRoles(const std::vector<RoleName>& roles, std::string_view field, bson::Builder* out);

/// The credentials that `pwd`, `mechanisms` and `digestPassword` result in, as stored:
/// {SCRAM-SHA-1: {...}, ...}. Slow by intent (two hashes of ten and fifteen thousand rounds), and
/// therefore computed by the worker.
sync::Task<StatusOr<bson::OwnedDocument>> credentialsOf(Invocation& call, UserName name);

/// mongod's text for a user that does not exist.
Status userNotFound(const UserName& name);

}  // namespace freshet::command
