// SPDX-License-Identifier: Apache-2.0
/// _mergeAuthzCollections: what mongorestore calls after it has loaded a dump's users into a
/// collection of the admin database. They are added to the existing users, or, with `drop`, replace
/// them. The database is never without users: those in both are replaced, and those not in the dump
/// are removed last.
#include "freshet/command/access/authorize.h"
#include "freshet/command/access/user_store.h"
#include "freshet/command/error_map.h"
#include "freshet/command/run/tables.h"
#include "freshet/telemetry/log.h"

#include <set>

namespace freshet::command {
namespace {

constexpr size_t kBatchMax = 1'000;
constexpr size_t kUsersReplacedMax = 100'000;

struct Merge {
    std::string users;  // collections of the admin database; empty: none
    std::string roles;
    std::string db;  // the database of the users; empty: all
    bool drops = false;
};

/// "admin.c" to "c".
Status stripDb(std::string_view field, std::string* ns) {
    if (ns->empty()) {
        return Status::ok();
    }
    const std::string prefix = std::string(kUsersDb) + ".";
    if (!ns->starts_with(prefix) || ns->size() == prefix.size()) {
        return badValue(std::string(field) + " must name a collection of the admin database");
    }
    ns->erase(0, prefix.size());
    if (*ns == kUsersCollection) {
        return badValue(std::string(field) + " must be another collection than where users are");
    }
    return catalog::checkNames(kUsersDb, *ns);
}

StatusOr<Merge> parseMerge(const Invocation& call) {
    Fields fields(call.body(), call.command.name);
    Merge merge;
    merge.users = std::string(fields.string("tempUsersCollection"));
    merge.roles = std::string(fields.string("tempRolesCollection"));
    merge.db = std::string(fields.string("db"));
    merge.drops = fields.boolean("drop", false);
    fields.required("db");
    fields.required("drop");
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (merge.users.empty() && merge.roles.empty()) {
        return badValue(
            "Must provide at least one of \"tempUsersCollection\" and \"tempRolesCollection\"");
    }
    FRESHET_RETURN_IF_ERROR(stripDb("tempUsersCollection", &merge.users));
    FRESHET_RETURN_IF_ERROR(stripDb("tempRolesCollection", &merge.roles));
    return merge;
}

/// The documents contain roles of any database, whichever users are asked for: the caller must be
/// allowed to grant any role to any user.
Status authorizeMerge(Invocation& call, const Merge& merge) {
    for (Action action : {Action::kCreateUser,
                          Action::kCreateRole,
                          Action::kGrantRole,
                          Action::kRevokeRole,
                          Action::kDropUser,
                          Action::kDropRole}) {
        const bool isDrop = action == Action::kDropUser || action == Action::kDropRole;
        if (!isDrop || merge.drops) {
            FRESHET_RETURN_IF_ERROR(authorize(call, action, kAnyDb));
        }
    }
    for (const std::string* collection : {&merge.users, &merge.roles}) {
        if (!collection->empty()) {
            FRESHET_RETURN_IF_ERROR(authorize(call, Action::kFind, kUsersDb, *collection));
        }
    }
    return Status::ok();
}

/// Selects the users, or roles, that the merge is about.
bson::OwnedDocument filterOf(const Merge& merge) {
    bson::Builder filter;
    if (!merge.db.empty()) {
        filter.add("db", merge.db);
    }
    return bson::OwnedDocument(filter.finish());
}

/// The ids of the existing users.
sync::Task<Status> collectIds(Invocation& call, const Merge& merge, std::set<std::string>* ids) {
    StatusOr<std::unique_ptr<query::QueryCursor>> cursor =
        openCursor(call, kUsersCollection, filterOf(merge), kUsersReplacedMax + 1);
    FRESHET_CO_RETURN_IF_ERROR(cursor.status());
    while (!(*cursor)->isExhausted()) {
        std::vector<bson::OwnedDocument> users;
        Status status = co_await readBatch(call, **cursor, kBatchMax, &users);
        FRESHET_CO_RETURN_IF_ERROR(status);
        for (const bson::OwnedDocument& user : users) {
            const bson::Element id = user.view().find("_id");
            ids->insert(std::string(id.isString() ? id.stringValue() : std::string_view()));
        }
    }
    co_return ids->size() > kUsersReplacedMax
        ? Status(Code::kLimit, "There are too many users to replace them in one command")
        : Status::ok();
}

/// Adds one user, or replaces the existing one, whose id is then removed from `old`. An existing
/// user that is not to be replaced stays unchanged.
sync::Task<Status> mergeUser(Invocation& call,
                             bson::OwnedDocument document,
                             std::set<std::string>* old) {
    FRESHET_CO_RETURN_IF_ERROR(checkUserDocument(document.view()));
    const std::string id(document.view().find("_id").stringValue());
    const auto before = old->find(id);
    Status status;
    if (before != old->end()) {
        status = co_await replaceUser(call, std::move(document));
        old->erase(before);
        co_return status;
    }
    status = co_await insertUser(call, std::move(document));
    if (status.reason() == Reason::kDuplicateKey) {
        telemetry::log(telemetry::Severity::kWarning,
                       telemetry::Component::kAccess,
                       telemetry::LogId::kUserStays,
                       "A user to be merged exists already and stays as he is",
                       {{"user", id}});
        co_return Status::ok();
    }
    co_return status;
}

sync::Task<Status> mergeUsers(Invocation& call, const Merge& merge) {
    StatusOr<Turns::Turn> turn = co_await takeTurn(call);
    FRESHET_CO_RETURN_IF_ERROR(turn.status());
    std::set<std::string> old;
    Status status;
    if (merge.drops) {
        status = co_await collectIds(call, merge, &old);
        FRESHET_CO_RETURN_IF_ERROR(status);
    }
    StatusOr<std::unique_ptr<query::QueryCursor>> cursor =
        openCursor(call, merge.users, filterOf(merge), 0);
    FRESHET_CO_RETURN_IF_ERROR(cursor.status());
    while (!(*cursor)->isExhausted()) {
        std::vector<bson::OwnedDocument> users;
        status = co_await readBatch(call, **cursor, kBatchMax, &users);
        FRESHET_CO_RETURN_IF_ERROR(status);
        for (bson::OwnedDocument& user : users) {
            status = co_await mergeUser(call, std::move(user), &old);
            FRESHET_CO_RETURN_IF_ERROR(status);
        }
    }
    for (const std::string& id : old) {
        bson::Builder filter;
        filter.add("_id", id);
        int64_t removed = 0;
        status = co_await removeUsers(call, bson::OwnedDocument(filter.finish()), &removed);
        FRESHET_CO_RETURN_IF_ERROR(status);
    }
    co_return Status::ok();
}

/// Only built-in roles exist, so a dump's roles cannot be merged.
sync::Task<Status> refuseRoles(Invocation& call, const Merge& merge) {
    std::vector<bson::OwnedDocument> roles;
    Status status = co_await findDocuments(call, merge.roles, filterOf(merge), 1, &roles);
    FRESHET_CO_RETURN_IF_ERROR(status);
    co_return roles.empty() ? Status::ok()
                            : invalid(Reason::kCommandNotSupported,
                                      "User-defined roles are not supported: there are some to be "
                                      "restored in admin." +
                                          merge.roles);
}

sync::Task<Status> runMerge(Invocation& call) {
    FRESHET_CO_RETURN_IF_ERROR(authorizeLoggedIn(call));
    StatusOr<Merge> merge = parseMerge(call);
    FRESHET_CO_RETURN_IF_ERROR(merge.status());
    FRESHET_CO_RETURN_IF_ERROR(authorizeMerge(call, *merge));
    if (!merge->roles.empty()) {
        Status status = co_await refuseRoles(call, *merge);
        FRESHET_CO_RETURN_IF_ERROR(status);
    }
    if (!merge->users.empty()) {
        Status status = co_await mergeUsers(call, *merge);
        FRESHET_CO_RETURN_IF_ERROR(status);
    }
    co_return Status::ok();
}

}  // namespace

CommandTable mergeUsersCommands() {
    return {
        {
            .name = "_mergeAuthzCollections",
            .aliases = {},
            .help = "make users of a collection's documents (for mongorestore)",
            .fields = {"tempUsersCollection", "tempRolesCollection", "db", "drop"},
            .handler = runMerge,
            .access = Access::byHandler(),
            .adminOnly = true,
        },
    };
}

}  // namespace freshet::command
