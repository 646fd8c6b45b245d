// SPDX-License-Identifier: Apache-2.0
/// Access checks. The dispatcher asks for every command what its table entry declares, before the
/// handler runs. A command whose access is kByHandler must ask by itself, whatever its arguments:
/// one that replies without having asked is refused by the dispatcher. Without --auth everything is
/// allowed, but asking is due all the same.
///
/// Each call belongs to its Invocation's thread. kInvalid (kUnauthorized) when it is not allowed,
/// with a text that has the command with its secrets blotted out.
#pragma once

#include "freshet/command/run/invocation.h"

#include <string_view>

namespace freshet::command {

/// `access` on the server, on database `db`, or on `db.collection`. An empty collection means the
/// database as a whole.
Status authorize(Invocation& call,
                 const Access& access,
                 std::string_view db,
                 std::string_view collection);
/// `action` on a collection, or on the database when `collection` is empty.
Status authorize(Invocation& call,
                 Action action,
                 std::string_view db,
                 std::string_view collection = {});
Status authorizeCluster(Invocation& call, Action action);
/// Any user will do.
Status authorizeLoggedIn(Invocation& call);

/// What running this command with these arguments would ask for; of an aggregate all that its
/// pipeline reads and writes.
Status authorizeExplained(Invocation& call, const Command& command, bson::Document explained);

/// Does the same look-up without an error, for lists that show what one may see. Counts as asking.
bool mayDo(Invocation& call, Action action, std::string_view db, std::string_view collection = {});
bool mayDoOnCluster(Invocation& call, Action action);
/// May learn from a list that the database, or collection, exists.
bool maySee(Invocation& call, std::string_view db, std::string_view collection = {});

/// "user@db" of who is logged in; empty: nobody. What owns cursors and sessions.
std::string ownerOf(const Invocation& call);
/// Whose share of what is bounded for each client: a user's, or that of the address that nobody is
/// logged in from.
std::string holderOf(const Invocation& call);
/// What `owner` made is the caller's own, or auth is off.
bool isOwn(const Invocation& call, std::string_view owner);

/// The command with its secrets (passwords, login payloads) replaced, for logs, currentOp and error
/// texts.
bson::OwnedDocument withoutSecrets(bson::Document command);

/// For the dispatcher: what is known of who is at the other end may be out of date.
bool mustRefreshCaller(const Invocation& call);
/// Brings it up to date.
sync::Task<Status> refreshCaller(Invocation& call);
/// Then: asks for what the command's table entry declares.
Status admitCaller(Invocation& call);
/// For the dispatcher, after the handler: an error when the command should have asked who may run
/// it and did not.
Status checkThatItAsked(const Invocation& call);
/// The canonical name of a session says that it is of who is logged in.
bool isOwnSession(const LoginState& login, const std::string& lsid);
/// Sessions belong to their user. `*lsid`, a canonical name, gets the user's digest; kInvalid
/// (kUnauthorized) when it has another one's, or any from who has not logged in.
Status ownSession(const Services& services, const LoginState& login, std::string* lsid);
/// For the dispatcher, after the handler: makes changes to users count.
void noteChangesOfUsers(Invocation& call);

}  // namespace freshet::command
