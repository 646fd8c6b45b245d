// SPDX-License-Identifier: Apache-2.0
/// Access checks. For every command the dispatcher checks what its table entry declares, before the
/// handler runs. A command whose access is kByHandler must do the check itself, whatever its
/// arguments: the dispatcher refuses the reply of one that has not. Without --auth everything is
/// allowed, but the check is required all the same.
///
/// Each call belongs to its Invocation's thread. kInvalid (kUnauthorized) when it is not allowed,
/// with a text that shows the command without its secrets.
#pragma once

#include "freshet/command/run/invocation.h"

#include <string_view>

namespace freshet::command {

/// Requires `access` on the server, on database `db`, or on `db.collection`. An empty collection
/// means the database as a whole.
Status authorize(Invocation& call,
                 const Access& access,
                 std::string_view db,
                 std::string_view collection);
/// Requires `action` on a collection, or on the database when `collection` is empty.
Status authorize(Invocation& call,
                 Action action,
                 std::string_view db,
                 std::string_view collection = {});
Status authorizeCluster(Invocation& call, Action action);
/// Requires a login, whatever the user's roles.
Status authorizeLoggedIn(Invocation& call);

/// Requires what running this command with these arguments would require; for an aggregate
/// everything that its pipeline reads and writes.
Status authorizeExplained(Invocation& call, const Command& command, bson::Document explained);

/// The same look-up without an error, for lists that show only what the user may see. Counts as a
/// check.
bool mayDo(Invocation& call, Action action, std::string_view db, std::string_view collection = {});
bool mayDoOnCluster(Invocation& call, Action action);
/// Whether the user may learn from a list that the database, or collection, exists.
bool maySee(Invocation& call, std::string_view db, std::string_view collection = {});

/// "user@db" of the logged-in user; empty: none. It identifies the owner of cursors and sessions.
std::string ownerOf(const Invocation& call);
/// The holder whose share bounded resources count in: the user, or the client's address when no
/// user is logged in.
std::string holderOf(const Invocation& call);
/// `owner` is the caller, or auth is off.
bool isOwn(const Invocation& call, std::string_view owner);

/// The command with its secrets (passwords, login payloads) replaced, for logs, currentOp and error
/// texts.
bson::OwnedDocument withoutSecrets(bson::Document command);

/// For the dispatcher: the cached user of this connection may be outdated.
bool mustRefreshCaller(const Invocation& call);
/// Reads the user again.
sync::Task<Status> refreshCaller(Invocation& call);
/// Then: requires what the command's table entry declares.
Status admitCaller(Invocation& call);
/// For the dispatcher, after the handler: an error when the command should have checked access and
/// did not.
Status checkThatItAsked(const Invocation& call);
/// Whether the canonical name of a session belongs to the logged-in user.
bool isOwnSession(const LoginState& login, const std::string& lsid);
/// Sessions belong to their user. Adds the user's digest to `*lsid`, a canonical name; kInvalid
/// (kUnauthorized) when it has another user's, or has any although no user is logged in.
Status ownSession(const Services& services, const LoginState& login, std::string* lsid);
/// For the dispatcher, after the handler: makes changes of users take effect.
void noteChangesOfUsers(Invocation& call);

}  // namespace freshet::command
