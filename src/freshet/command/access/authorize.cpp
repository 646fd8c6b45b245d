// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/access/authorize.h"

#include "freshet/bson/json.h"
#include "freshet/command/access/user_store.h"

#include <algorithm>
#include <iterator>

namespace freshet::command {
namespace {

constexpr size_t kCommandTextBytesMax = 2048;

bool isAuthOn(const Invocation& call) {
    return call.services.facts.authEnabled;
}

/// Before there is any user, a client on this machine may create the first one.
bool isAllowedBeforeUsers(const Invocation& call, Action action, std::string_view db) {
    if (!call.login.hasLocalhostException) {
        return false;
    }
    switch (action) {
        case Action::kCreateUser:
        case Action::kGrantRole:
            return db == "admin" || db == "config";
        case Action::kReplSetConfigure:
        case Action::kReplSetGetStatus:
            return true;
        default:
            return false;
    }
}

Status notAuthorized(const Invocation& call) {
    std::string text = bson::toShellText(withoutSecrets(call.body()).view());
    if (text.size() > kCommandTextBytesMax) {
        size_t end = kCommandTextBytesMax;
        while ((static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
            --end;  // not inside a character
        }
        text = text.substr(0, end) + "...";
    }
    return invalid(Reason::kUnauthorized,
                   "not authorized on " + call.generic.db + " to execute command " + text);
}

/// Requires only that a user is logged in.
Status requireLogin(const Invocation& call) {
    if (call.login.user == nullptr && !call.login.hasLocalhostException) {
        return invalid(Reason::kUnauthorized,
                       "Command " + std::string(call.command.name) + " requires authentication");
    }
    return Status::ok();
}

/// The right to read a cursor's documents was checked when it was opened.
void endCursorsOf(Invocation& call, const User& user) {
    const std::string owner = user.user + "@" + user.db;
    call.services.cursors.killIf(
        [&owner](const ClientCursor& cursor) { return cursor.owner == owner; });
}

bool hasLostARole(const User& before, const User& now) {
    return !std::all_of(before.roles.begin(), before.roles.end(), [&now](const RoleName& role) {
        return std::find(now.roles.begin(), now.roles.end(), role) != now.roles.end();
    });
}

/// A user whose document was changed or removed is looked up again. If roles were lost, the user's
/// cursors end.
sync::Task<Status> refreshUser(Invocation& call) {
    const uint64_t generation = call.services.users.generation();
    StatusOr<UserRef> user = co_await fetchUser(call, call.login.user->id());
    if (!user.isOk() && user.status().reason() != Reason::kUserNotFound) {
        co_return user.status();
    }
    // A user who was dropped and created again is another one, whose password this connection has
    // not proved.
    const bool isSame = user.isOk() && (*user)->identity == call.login.user->identity;
    if (!isSame || hasLostARole(*call.login.user, **user)) {
        endCursorsOf(call, *call.login.user);
    }
    call.login.user = isSame ? *user : nullptr;
    call.login.generation = generation;
    co_return Status::ok();
}

/// The collection that a command is about: its first field's text, if it is a string.
std::string_view collectionOf(const Invocation& call) {
    const bson::Element first = *call.body().begin();
    return first.isString() ? first.stringValue() : std::string_view();
}

bool isUsersNamespace(std::string_view db, std::string_view collection) {
    return db == kUsersDb && (collection.empty() || collection == kUsersCollection);
}

bool isWrite(Action action) {
    switch (action) {
        case Action::kInsert:
        case Action::kUpdate:
        case Action::kRemove:
        case Action::kRenameCollection:
        case Action::kDropCollection:
        case Action::kDropDatabase:
            return true;
        default:
            return false;
    }
}

}  // namespace

Status authorize(Invocation& call,
                 const Access& access,
                 std::string_view db,
                 std::string_view collection) {
    switch (access.scope) {
        case Access::Scope::kAnybody:
        case Access::Scope::kByHandler:
            return Status::ok();
        case Access::Scope::kLoggedIn:
            return authorizeLoggedIn(call);
        case Access::Scope::kCluster:
            return authorizeCluster(call, access.action);
        case Access::Scope::kDatabase:
            return authorize(call, access.action, db);
        case Access::Scope::kCollection:
            return authorize(call, access.action, db, collection);
    }
    return notAuthorized(call);
}

Status authorize(Invocation& call,
                 Action action,
                 std::string_view db,
                 std::string_view collection) {
    if (mayDo(call, action, db, collection)) {
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(requireLogin(call));
    return notAuthorized(call);
}

Status authorizeCluster(Invocation& call, Action action) {
    if (mayDoOnCluster(call, action)) {
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(requireLogin(call));
    return notAuthorized(call);
}

Status authorizeLoggedIn(Invocation& call) {
    call.hasAskedAccess = true;
    return isAuthOn(call) ? requireLogin(call) : Status::ok();
}

bool mayDo(Invocation& call, Action action, std::string_view db, std::string_view collection) {
    call.hasAskedAccess = true;
    call.changesUsers |= isUsersNamespace(db, collection) && isWrite(action);
    if (!isAuthOn(call)) {
        return true;
    }
    const UserRef& user = call.login.user;
    return user != nullptr ? user->grants.allows(action, db, collection)
                           : isAllowedBeforeUsers(call, action, db);
}

bool mayDoOnCluster(Invocation& call, Action action) {
    call.hasAskedAccess = true;
    if (!isAuthOn(call)) {
        return true;
    }
    const UserRef& user = call.login.user;
    return user != nullptr ? user->grants.allowsCluster(action)
                           : isAllowedBeforeUsers(call, action, {});
}

bool maySee(Invocation& call, std::string_view db, std::string_view collection) {
    call.hasAskedAccess = true;
    if (!isAuthOn(call)) {
        return true;
    }
    const UserRef& user = call.login.user;
    return user != nullptr && (collection.empty() ? user->grants.touchesDatabase(db)
                                                  : user->grants.touches(db, collection));
}

std::string ownerOf(const Invocation& call) {
    const UserRef& user = call.login.user;
    return user == nullptr ? std::string() : user->user + "@" + user->db;
}

std::string holderOf(const Invocation& call) {
    if (call.login.user != nullptr) {
        return ownerOf(call);
    }
    const std::string& remote = call.client.remote;
    return remote.substr(0, remote.rfind(':'));  // without the port
}

bool isOwn(const Invocation& call, std::string_view owner) {
    return !isAuthOn(call) || (call.login.user != nullptr && ownerOf(call) == owner);
}

bson::OwnedDocument withoutSecrets(bson::Document command) {
    constexpr std::string_view kCommands[] = {"createUser",
                                              "updateUser",
                                              "saslStart",
                                              "saslContinue",
                                              "authenticate",
                                              "hello",
                                              "isMaster",
                                              "ismaster"};
    constexpr std::string_view kSecrets[] = {"pwd", "payload", "key", "speculativeAuthenticate"};
    const std::string_view name = command.isEmpty() ? std::string_view() : command.begin()->name();
    if (std::find(std::begin(kCommands), std::end(kCommands), name) == std::end(kCommands)) {
        return bson::OwnedDocument(command);
    }
    bson::Builder out;
    for (const bson::Element& field : command) {
        if (std::find(std::begin(kSecrets), std::end(kSecrets), field.name()) !=
            std::end(kSecrets)) {
            out.add(field.name(), "xxx");
        } else {
            out.add(field);
        }
    }
    return bson::OwnedDocument(out.finish());
}

bool mustRefreshCaller(const Invocation& call) {
    if (!isAuthOn(call)) {
        return false;
    }
    return call.login.user == nullptr || call.login.generation != call.services.users.generation();
}

sync::Task<Status> refreshCaller(Invocation& call) {
    if (!mustRefreshCaller(call)) {
        co_return Status::ok();
    }
    call.login.hasLocalhostException = false;
    if (call.login.user != nullptr) {
        co_return co_await refreshUser(call);
    }
    if (call.client.isLocal &&
        ParameterValues::get(call.services.parameters.enableLocalhostAuthBypass) != 0 &&
        !call.services.users.haveBeenSeen()) {
        StatusOr<bool> withoutUsers = co_await isWithoutUsers(call);
        FRESHET_CO_RETURN_IF_ERROR(withoutUsers.status());
        call.login.hasLocalhostException = *withoutUsers;
    }
    co_return Status::ok();
}

Status admitCaller(Invocation& call) {
    if (call.login.user != nullptr) {
        call.login.hasLocalhostException = false;  // it was for clients without a login
    }
    if (isAuthOn(call) && call.command.access.scope == Access::Scope::kByHandler) {
        FRESHET_RETURN_IF_ERROR(requireLogin(call));
    }
    return authorize(call, call.command.access, call.generic.db, collectionOf(call));
}

Status checkThatItAsked(const Invocation& call) {
    if (call.command.access.scope != Access::Scope::kByHandler || call.hasAskedAccess) {
        return Status::ok();
    }
    return Status(Code::kUnavailable,
                  Reason::kInternalError,
                  "The handler of " + std::string(call.command.name) +
                      " did not ask who may run it (see command/access/authorize.h)");
}

bool isOwnSession(const LoginState& login, const std::string& lsid) {
    const bson::Element uid = bson::Document(lsid.data()).find("uid");
    return login.user != nullptr && uid.type() == bson::Type::kBinary &&
           uid.binaryValue().bytes == ByteView(login.user->digest);
}

Status ownSession(const Services& services, const LoginState& login, std::string* lsid) {
    if (lsid->empty() || (login.user == nullptr && !services.facts.authEnabled)) {
        return Status::ok();
    }
    const bson::Document session(lsid->data());
    if (session.has("uid")) {
        return isOwnSession(login, *lsid)
                   ? Status::ok()
                   : invalid(Reason::kUnauthorized, "Unauthorized to set the user of a session");
    }
    if (login.user == nullptr) {
        return Status::ok();
    }
    bson::Builder owned;
    owned.addFields(session);
    owned.add("uid", bson::Binary{0, login.user->digest});
    *lsid = owned.finish();
    return Status::ok();
}

void noteChangesOfUsers(Invocation& call) {
    // Anything may have been written to the admin database, even by a command that failed halfway.
    // A command that writes depending on its body may have written anywhere.
    const bool mayHaveWrittenThere = call.command.writesWith != nullptr
                                         ? call.command.writesWith(call.body())
                                         : !call.command.readOnly && call.generic.db == kUsersDb;
    if (call.changesUsers || mayHaveWrittenThere) {
        call.services.users.changed();
    }
}

}  // namespace freshet::command
