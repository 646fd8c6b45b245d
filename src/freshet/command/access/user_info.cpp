// SPDX-License-Identifier: Apache-2.0
/// usersInfo and rolesInfo.
#include "freshet/command/access/authorize.h"
#include "freshet/command/access/user_arguments.h"
#include "freshet/command/access/user_store.h"
#include "freshet/command/run/tables.h"
#include "freshet/query/match.h"

#include <algorithm>

namespace freshet::command {
namespace {

constexpr size_t kNamesMax = 1'000;
constexpr size_t kUsersBatchMax = 100;
constexpr size_t kDbNameBytesMax = 63;

/// "name", of the request's database, or {<field>: name, db}.
StatusOr<RoleName> namedBy(const bson::Element& element,
                           std::string_view field,
                           const std::string& db) {
    if (element.isString()) {
        return RoleName{std::string(element.stringValue()), db};
    }
    if (!element.isObject()) {
        return badValue("Names must be either strings or objects");
    }
    Fields fields(element.document(), field);
    fields.allowOnly({field, "db"});
    RoleName name{std::string(fields.requiredString(field)),
                  std::string(fields.requiredString("db"))};
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (name.db.size() > kDbNameBytesMax) {  // privileges would repeat it
        return invalid(
            Reason::kInvalidNamespace,
            "db name must be at most 63 characters, found: " + std::to_string(name.db.size()));
    }
    return name;
}

/// One name or an array of them.
StatusOr<std::vector<RoleName>> namesOf(const bson::Element& what,
                                        std::string_view field,
                                        const std::string& db) {
    std::vector<RoleName> out;
    if (!what.isArray()) {
        FRESHET_ASSIGN_OR_RETURN(RoleName name, namedBy(what, field, db));
        out.push_back(std::move(name));
        return out;
    }
    for (const bson::Element& element : what.document()) {
        FRESHET_ASSIGN_OR_RETURN(RoleName name, namedBy(element, field, db));
        out.push_back(std::move(name));
        if (out.size() > kNamesMax) {
            return badValue("Too many names in one command");
        }
    }
    return out;
}

struct UsersQuestion {
    bool isByName = false;
    bool forAllDbs = false;
    std::vector<RoleName> names;  // here `role` is the user's name
    bool showsCredentials = false;
    bool showsPrivileges = false;
    bool showsCustomData = true;
    bson::Document filter;
};

StatusOr<UsersQuestion> parseUsersInfo(const Invocation& call) {
    UsersQuestion out;
    Fields fields(call.body(), "usersInfo");
    out.showsCredentials = fields.boolean("showCredentials", false);
    out.showsPrivileges = fields.boolean("showPrivileges", false);
    out.showsCustomData = fields.boolean("showCustomData", true);
    fields.boolean("showAuthenticationRestrictions", false);
    out.filter = fields.object("filter");
    FRESHET_RETURN_IF_ERROR(fields.status());
    const bson::Element what = *call.body().begin();
    out.forAllDbs = what.isObject() && what.document().find("forAllDBs").isTruthy();
    out.isByName = !out.forAllDbs && !what.isNumber();
    if (out.isByName) {
        FRESHET_ASSIGN_OR_RETURN(out.names, namesOf(what, "user", call.generic.db));
    }
    if (out.showsPrivileges && !out.isByName) {
        return invalid(Reason::kIllegalOperation,
                       "Privilege or restriction details require exact-match usersInfo queries.");
    }
    return out;
}

/// Users may see their own entry.
Status authorizeUsersInfo(Invocation& call, const UsersQuestion& question) {
    FRESHET_RETURN_IF_ERROR(authorizeLoggedIn(call));
    if (question.forAllDbs) {
        return authorizeCluster(call, Action::kViewUser);
    }
    if (!question.isByName) {
        return authorize(call, Action::kViewUser, call.generic.db);
    }
    for (const RoleName& name : question.names) {
        if (question.showsCredentials || !isOwn(call, name.role + "@" + name.db)) {
            FRESHET_RETURN_IF_ERROR(authorize(call, Action::kViewUser, name.db));
        }
    }
    return Status::ok();
}

bson::OwnedDocument filterOf(const Invocation& call, const UsersQuestion& question) {
    bson::Builder filter;
    if (question.isByName) {
        auto id = filter.object("_id");
        auto list = id.array("$in");
        for (const RoleName& name : question.names) {
            list.push(name.db + "." + name.role);
        }
    } else if (!question.forAllDbs) {
        filter.add("db", call.generic.db);
    }
    return bson::OwnedDocument(filter.finish());
}

bson::OwnedDocument describeUser(const User& user, const UsersQuestion& question) {
    bson::Builder out;
    for (const bson::Element& field : user.stored.view()) {
        const bool isShown = field.name() == "customData"    ? question.showsCustomData
                             : field.name() == "credentials" ? question.showsCredentials
                                                             : true;
        if (isShown) {
            out.add(field);
        }
    }
    {
        auto mechanisms = out.array("mechanisms");
        using security::ScramMechanism;
        for (ScramMechanism mechanism : {ScramMechanism::kSha1, ScramMechanism::kSha256}) {
            if (user.credentials(mechanism)) {
                mechanisms.push(security::mechanismName(mechanism));
            }
        }
        if (user.db == kExternalDb) {
            mechanisms.push("external");
        }
    }
    if (question.showsPrivileges) {
        addRoles(user.roles, "inheritedRoles", &out);
        auto privileges = out.array("inheritedPrivileges");
        user.grants.describe(&privileges);
        privileges.close();
        out.array("inheritedAuthenticationRestrictions");
    }
    return bson::OwnedDocument(out.finish());
}

sync::Task<Status> runUsersInfo(Invocation& call) {
    StatusOr<UsersQuestion> question = parseUsersInfo(call);
    FRESHET_CO_RETURN_IF_ERROR(question.status());
    FRESHET_CO_RETURN_IF_ERROR(authorizeUsersInfo(call, *question));
    StatusOr<std::unique_ptr<query::Matcher>> matcher = query::Matcher::compile(question->filter);
    FRESHET_CO_RETURN_IF_ERROR(matcher.status());
    StatusOr<std::unique_ptr<query::QueryCursor>> cursor =
        openCursor(call, kUsersCollection, filterOf(call, *question), 0);
    FRESHET_CO_RETURN_IF_ERROR(cursor.status());
    auto list = call.reply.array("users");
    size_t listed = 0;
    while (!(*cursor)->isExhausted()) {
        std::vector<bson::OwnedDocument> batch;
        Status status = co_await readBatch(call, **cursor, kUsersBatchMax, &batch);
        FRESHET_CO_RETURN_IF_ERROR(status);
        for (const bson::OwnedDocument& stored : batch) {
            StatusOr<UserRef> user = parseUser(stored.view());
            if (!user.isOk()) {
                continue;  // not a valid user's: it must not hide the others
            }
            const bson::OwnedDocument shown = describeUser(**user, *question);
            if (!(*matcher)->matches(shown.view())) {
                continue;
            }
            if (list.size() + shown.bytes().size() > bson::kDocumentBytesMax ||
                ++listed > kUsersListedMax) {
                co_return Status(Code::kLimit, "Too many users for one reply");
            }
            list.push(shown.view());
        }
    }
    co_return Status::ok();
}

void describeRole(const RoleName& role, bool showsPrivileges, bson::Builder* list) {
    Grants grants;
    if (!addRole(role, &grants)) {
        return;
    }
    auto out = list->object(list->nextIndex());
    out.add("_id", role.db + "." + role.role);
    out.add("role", role.role).add("db", role.db).add("isBuiltin", true);
    out.array("roles");
    out.array("inheritedRoles");
    if (showsPrivileges) {
        for (const char* field : {"privileges", "inheritedPrivileges"}) {
            auto privileges = out.array(field);
            grants.describe(&privileges);
        }
    }
}

Status authorizeRolesInfo(Invocation& call, const std::vector<RoleName>& names) {
    FRESHET_RETURN_IF_ERROR(authorizeLoggedIn(call));
    const UserRef& user = call.login.user;
    for (const RoleName& name : names) {
        const bool hasIt =
            user != nullptr &&
            std::find(user->roles.begin(), user->roles.end(), name) != user->roles.end();
        if (!hasIt) {
            FRESHET_RETURN_IF_ERROR(authorize(call, Action::kViewRole, name.db));
        }
    }
    return Status::ok();
}

sync::Task<Status> runRolesInfo(Invocation& call) {
    Fields fields(call.body(), "rolesInfo");
    const bool showsBuiltin = fields.boolean("showBuiltinRoles", false);
    const bool showsPrivileges = fields.element("showPrivileges").isTruthy();
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    const bson::Element what = *call.body().begin();
    std::vector<RoleName> names;
    if (what.isNumber()) {
        FRESHET_CO_RETURN_IF_ERROR(authorize(call, Action::kViewRole, call.generic.db));
        if (showsBuiltin) {
            for (std::string_view role : rolesOf(call.generic.db)) {
                names.push_back({std::string(role), call.generic.db});
            }
        }
    } else {
        StatusOr<std::vector<RoleName>> asked = namesOf(what, "role", call.generic.db);
        FRESHET_CO_RETURN_IF_ERROR(asked.status());
        FRESHET_CO_RETURN_IF_ERROR(authorizeRolesInfo(call, *asked));
        names = std::move(*asked);
    }
    auto list = call.reply.array("roles");
    for (const RoleName& name : names) {
        describeRole(name, showsPrivileges, &list);
    }
    co_return Status::ok();
}

}  // namespace

CommandTable userInfoCommands() {
    return {
        {
            .name = "usersInfo",
            .aliases = {},
            .help = "users and their roles",
            .fields = {"showCredentials",
                       "showPrivileges",
                       "showCustomData",
                       "showAuthenticationRestrictions",
                       "filter"},
            .handler = runUsersInfo,
            .access = Access::byHandler(),
            .readOnly = true,
        },
        {
            .name = "rolesInfo",
            .aliases = {},
            .help = "roles and what they allow",
            .fields = {"showPrivileges", "showBuiltinRoles", "showAuthenticationRestrictions"},
            .handler = runRolesInfo,
            .access = Access::byHandler(),
            .readOnly = true,
        },
    };
}

}  // namespace freshet::command
