// SPDX-License-Identifier: Apache-2.0
/// createUser, updateUser, dropUser, dropAllUsersFromDatabase, grantRolesToUser,
/// revokeRolesFromUser. A user is a document of admin.system.users in the form that backup tools
/// know. Changes read the document, change it and write it back; one command at a time does so
/// (takeTurn).
#include "freshet/command/access/authorize.h"
#include "freshet/command/access/grants.h"
#include "freshet/command/access/user_arguments.h"
#include "freshet/command/access/user_store.h"
#include "freshet/command/run/tables.h"

#include <algorithm>

namespace freshet::command {
namespace {

/// Random, version 4.
std::string newUuid() {
    std::string bytes = security::secureRandom(16);
    bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);
    bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
    return bytes;
}

Status refuseRestrictions(const Invocation& call) {
    Fields fields(call.body(), call.command.name);
    fields.refuse({"authenticationRestrictions"});
    return fields.status();
}

/// Granting or revoking roles needs the right to on each role's database.
Status authorizeRoles(Invocation& call, Action action, const std::vector<RoleName>& roles) {
    for (const RoleName& role : roles) {
        FRESHET_RETURN_IF_ERROR(authorize(call, action, role.db));
    }
    return Status::ok();
}

/// The user's document with the named fields replaced by those of `changes`; an empty one removes
/// the field.
bson::OwnedDocument changed(bson::Document stored, bson::Document changes) {
    bson::Builder out;
    for (const bson::Element& field : stored) {
        const bson::Element change = changes.find(field.name());
        out.add(change.isMissing() ? field : change);
    }
    for (const bson::Element& change : changes) {
        if (!stored.has(change.name())) {
            out.add(change);
        }
    }
    return bson::OwnedDocument(out.finish());
}

Status checkNewUser(const Invocation& call, const UserName& name) {
    const bool hasPassword = call.body().has("pwd");
    if (!isUsersDatabase(name.db)) {
        return badValue("'" + name.db + "' is not a valid value for the db field.");
    }
    if (name.db == "local") {
        return badValue("Cannot create users in the local database");
    }
    if (name.db == kExternalDb && hasPassword) {
        return badValue("Cannot set the password for users defined on the '$external' database");
    }
    if (name.db != kExternalDb && !hasPassword) {
        return badValue(
            "Must provide a 'pwd' field for all user documents, except those with '$external' as "
            "the user's source db");
    }
    return refuseRestrictions(call);
}

/// `credentials`: null for a user who is authenticated by another system.
bson::OwnedDocument makeUser(const Invocation& call,
                             const UserName& name,
                             const std::vector<RoleName>& roles,
                             const bson::OwnedDocument* credentials) {
    bson::Builder out;
    out.add("_id", name.id());
    out.add("userId", bson::Binary{4, newUuid()});
    out.add("user", name.user).add("db", name.db);
    if (credentials == nullptr) {
        out.object("credentials").add("external", true);
    } else {
        out.add("credentials", credentials->view());
    }
    addRoles(roles, "roles", &out);
    const bson::Element customData = call.body().find("customData");
    if (customData.isObject()) {
        out.add(customData);
    }
    return bson::OwnedDocument(out.finish());
}

sync::Task<Status> runCreateUser(Invocation& call) {
    StatusOr<UserName> name = userNameOf(call);
    FRESHET_CO_RETURN_IF_ERROR(authorize(call, Action::kCreateUser, call.generic.db));
    FRESHET_CO_RETURN_IF_ERROR(name.status());
    Fields fields(call.body(), "createUser");
    fields.required("roles");
    fields.object("customData");
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    StatusOr<std::vector<RoleName>> roles = rolesOfField(call, "roles");
    FRESHET_CO_RETURN_IF_ERROR(roles.status());
    FRESHET_CO_RETURN_IF_ERROR(authorizeRoles(call, Action::kGrantRole, *roles));
    FRESHET_CO_RETURN_IF_ERROR(checkNewUser(call, *name));
    bson::OwnedDocument document;
    if (name->db == kExternalDb) {
        document = makeUser(call, *name, *roles, nullptr);
    } else {
        StatusOr<bson::OwnedDocument> credentials = co_await credentialsOf(call, *name);
        FRESHET_CO_RETURN_IF_ERROR(credentials.status());
        document = makeUser(call, *name, *roles, &*credentials);
    }
    StatusOr<Turns::Turn> turn = co_await takeTurn(call);
    FRESHET_CO_RETURN_IF_ERROR(turn.status());
    Status status = co_await insertUser(call, std::move(document));
    if (status.reason() == Reason::kDuplicateKey) {
        co_return Status(Code::kExists,
                         location(51003),
                         "User \"" + name->user + "@" + name->db + "\" already exists");
    }
    co_return status;
}

/// Users may change their own password and data with fewer rights.
Status authorizeUpdate(Invocation& call, const UserName& name) {
    const bson::Document body = call.body();
    const bool isSelf = isOwn(call, name.user + "@" + name.db);
    const auto authorizeChange = [&](Action any, Action own) {
        return isSelf && mayDo(call, own, name.db) ? Status::ok() : authorize(call, any, name.db);
    };
    FRESHET_RETURN_IF_ERROR(authorizeLoggedIn(call));
    if (body.has("pwd") || body.has("mechanisms")) {
        FRESHET_RETURN_IF_ERROR(
            authorizeChange(Action::kChangePassword, Action::kChangeOwnPassword));
    }
    if (body.has("customData")) {
        FRESHET_RETURN_IF_ERROR(
            authorizeChange(Action::kChangeCustomData, Action::kChangeOwnCustomData));
    }
    return Status::ok();
}

Status checkUpdate(const Invocation& call, const UserName& name) {
    const bson::Document body = call.body();
    FRESHET_RETURN_IF_ERROR(refuseRestrictions(call));
    if (!body.has("pwd") && !body.has("roles") && !body.has("customData") &&
        !body.has("mechanisms")) {
        return badValue("Must specify at least one field to update in updateUser");
    }
    if (body.has("pwd") && name.db == kExternalDb) {
        return badValue("Cannot set the password for users defined on the '$external' database");
    }
    Fields fields(body, "updateUser");
    fields.object("customData");
    return fields.status();
}

/// Without a new password, mechanisms can only be removed: there is nothing to hash.
StatusOr<bson::OwnedDocument> fewerCredentials(const Invocation& call, const User& user) {
    const bson::Document kept = user.stored.view().find("credentials").document();
    Fields fields(call.body(), "updateUser");
    const bson::Document mechanisms = fields.array("mechanisms");
    FRESHET_RETURN_IF_ERROR(fields.status());
    bson::Builder out;
    for (const bson::Element& mechanism : mechanisms) {
        const bson::Element found =
            mechanism.isString() ? kept.find(mechanism.stringValue()) : bson::Element();
        if (found.isMissing()) {
            return badValue("mechanisms field must be a subset of previously set mechanisms");
        }
        out.add(found);
    }
    if (mechanisms.isEmpty()) {
        return badValue("mechanisms field must not be empty");
    }
    return bson::OwnedDocument(out.finish());
}

sync::Task<Status> runUpdateUser(Invocation& call) {
    StatusOr<UserName> name = userNameOf(call);
    FRESHET_CO_RETURN_IF_ERROR(name.status());
    FRESHET_CO_RETURN_IF_ERROR(authorizeUpdate(call, *name));
    FRESHET_CO_RETURN_IF_ERROR(checkUpdate(call, *name));
    bson::Builder changes;
    const bson::Document body = call.body();
    if (body.has("roles")) {
        StatusOr<std::vector<RoleName>> roles = rolesOfField(call, "roles");
        FRESHET_CO_RETURN_IF_ERROR(roles.status());
        FRESHET_CO_RETURN_IF_ERROR(authorize(call, Action::kRevokeRole, kAnyDb));
        FRESHET_CO_RETURN_IF_ERROR(authorizeRoles(call, Action::kGrantRole, *roles));
        addRoles(*roles, "roles", &changes);
    }
    if (body.has("customData")) {
        changes.add(body.find("customData"));
    }
    if (body.has("pwd")) {
        StatusOr<bson::OwnedDocument> credentials = co_await credentialsOf(call, *name);
        FRESHET_CO_RETURN_IF_ERROR(credentials.status());
        changes.add("credentials", credentials->view());
    }
    StatusOr<Turns::Turn> turn = co_await takeTurn(call);
    FRESHET_CO_RETURN_IF_ERROR(turn.status());
    StatusOr<UserRef> user = co_await readUser(call, name->id());
    if (user.status().reason() == Reason::kUserNotFound) {
        co_return userNotFound(*name);
    }
    FRESHET_CO_RETURN_IF_ERROR(user.status());
    if (body.has("mechanisms") && !body.has("pwd")) {
        StatusOr<bson::OwnedDocument> credentials = fewerCredentials(call, **user);
        FRESHET_CO_RETURN_IF_ERROR(credentials.status());
        changes.add("credentials", credentials->view());
    }
    const bson::OwnedDocument fields(changes.finish());
    Status status = co_await replaceUser(call, changed((*user)->stored.view(), fields.view()));
    co_return status.reason() == Reason::kUserNotFound ? userNotFound(*name) : status;
}

sync::Task<Status> runDropUser(Invocation& call) {
    FRESHET_CO_RETURN_IF_ERROR(authorize(call, Action::kDropUser, call.generic.db));
    StatusOr<UserName> name = userNameOf(call);
    FRESHET_CO_RETURN_IF_ERROR(name.status());
    bson::Builder filter;
    filter.add("_id", name->id());
    StatusOr<Turns::Turn> turn = co_await takeTurn(call);
    FRESHET_CO_RETURN_IF_ERROR(turn.status());
    int64_t removed = 0;
    Status status = co_await removeUsers(call, bson::OwnedDocument(filter.finish()), &removed);
    FRESHET_CO_RETURN_IF_ERROR(status);
    co_return removed == 0 ? userNotFound(*name) : Status::ok();
}

sync::Task<Status> runDropAllUsers(Invocation& call) {
    FRESHET_CO_RETURN_IF_ERROR(authorize(call, Action::kDropUser, call.generic.db));
    bson::Builder filter;
    filter.add("db", call.generic.db);
    StatusOr<Turns::Turn> turn = co_await takeTurn(call);
    FRESHET_CO_RETURN_IF_ERROR(turn.status());
    int64_t removed = 0;
    Status status = co_await removeUsers(call, bson::OwnedDocument(filter.finish()), &removed);
    FRESHET_CO_RETURN_IF_ERROR(status);
    call.reply.add("n", static_cast<int32_t>(removed));
    co_return Status::ok();
}

sync::Task<Status> changeRoles(Invocation& call, bool isGrant) {
    FRESHET_CO_RETURN_IF_ERROR(authorizeLoggedIn(call));
    StatusOr<UserName> name = userNameOf(call);
    FRESHET_CO_RETURN_IF_ERROR(name.status());
    Fields fields(call.body(), call.command.name);
    fields.required("roles");
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    StatusOr<std::vector<RoleName>> roles = rolesOfField(call, "roles");
    FRESHET_CO_RETURN_IF_ERROR(roles.status());
    FRESHET_CO_RETURN_IF_ERROR(
        authorizeRoles(call, isGrant ? Action::kGrantRole : Action::kRevokeRole, *roles));
    if (roles->empty()) {
        co_return badValue(std::string(call.command.name) +
                           " command requires a non-empty \"roles\" array");
    }
    StatusOr<Turns::Turn> turn = co_await takeTurn(call);
    FRESHET_CO_RETURN_IF_ERROR(turn.status());
    StatusOr<UserRef> user = co_await readUser(call, name->id());
    if (user.status().reason() == Reason::kUserNotFound) {
        co_return userNotFound(*name);
    }
    FRESHET_CO_RETURN_IF_ERROR(user.status());
    std::vector<RoleName> kept = (*user)->roles;
    for (const RoleName& role : *roles) {
        kept.erase(std::remove(kept.begin(), kept.end(), role), kept.end());
        if (isGrant) {
            kept.push_back(role);
        }
    }
    bson::Builder changes;
    addRoles(kept, "roles", &changes);
    const bson::OwnedDocument change(changes.finish());
    Status status = co_await replaceUser(call, changed((*user)->stored.view(), change.view()));
    co_return status.reason() == Reason::kUserNotFound ? userNotFound(*name) : status;
}

sync::Task<Status> runGrantRoles(Invocation& call) {
    return changeRoles(call, true);
}

sync::Task<Status> runRevokeRoles(Invocation& call) {
    return changeRoles(call, false);
}

}  // namespace

CommandTable userCommands() {
    const auto command = [](std::string_view name,
                            std::string_view help,
                            std::vector<std::string_view> fields,
                            Handler handler) {
        return Command{.name = name,
                       .aliases = {},
                       .help = help,
                       .fields = std::move(fields),
                       .handler = handler,
                       .access = Access::byHandler()};
    };
    const std::vector<std::string_view> userFields{
        "pwd", "roles", "customData", "mechanisms", "digestPassword", "authenticationRestrictions"};
    return {
        command("createUser", "make a user", userFields, runCreateUser),
        command("updateUser", "change a user", userFields, runUpdateUser),
        command("dropUser", "remove a user", {}, runDropUser),
        command("dropAllUsersFromDatabase", "remove all users of a database", {}, runDropAllUsers),
        command("grantRolesToUser", "give a user roles", {"roles"}, runGrantRoles),
        command("revokeRolesFromUser", "take roles from a user", {"roles"}, runRevokeRoles),
    };
}

}  // namespace freshet::command
