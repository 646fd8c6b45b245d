// SPDX-License-Identifier: Apache-2.0
/// renameCollection.
#include "freshet/catalog/writable_names.h"
#include "freshet/command/access/authorize.h"
#include "freshet/command/admin/own_names.h"
#include "freshet/command/retry/retryable_write.h"
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"

namespace freshet::command {
namespace {

Status checkEnd(const std::string& which, const std::string& db, const std::string& collection) {
    const Status status = catalog::checkWritable(db, collection);
    return status.isOk()
               ? status
               : invalid(status.reason(),
                         "error with " + which + " namespace: " + std::string(status.text()));
}

StatusOr<catalog::RenameRequest> parseRename(const Invocation& call) {
    Fields fields(call.body(), "renameCollection");
    const std::string_view from = fields.requiredString("renameCollection");
    const std::string_view to = fields.requiredString("to");
    const bson::Element dropTarget = fields.element("dropTarget");
    fields.boolean("stayTemp", false);
    FRESHET_RETURN_IF_ERROR(fields.status());
    const size_t fromDot = from.find('.');
    const size_t toDot = to.find('.');
    if (fromDot == std::string_view::npos) {
        return invalid(Reason::kInvalidNamespace, "Invalid source namespace: " + std::string(from));
    }
    if (toDot == std::string_view::npos) {
        return invalid(Reason::kInvalidNamespace, "Invalid target namespace: " + std::string(to));
    }
    catalog::RenameRequest request;
    request.db = std::string(from.substr(0, fromDot));
    request.collection = std::string(from.substr(fromDot + 1));
    request.toDb = std::string(to.substr(0, toDot));
    request.toCollection = std::string(to.substr(toDot + 1));
    request.dropTarget = dropTarget.isTruthy();  // or the uuid of the one to drop
    FRESHET_RETURN_IF_ERROR(checkEnd("source", request.db, request.collection));
    FRESHET_RETURN_IF_ERROR(checkEnd("target", request.toDb, request.toCollection));
    // Writes to other collections wait for the gate of this one while they hold their own, so it
    // must not be closed together with another one.
    const auto isSessions = [](const std::string& db, const std::string& name) {
        return db == kSessionsDb && name == kSessionsCollection;
    };
    if (isSessions(request.db, request.collection) ||
        isSessions(request.toDb, request.toCollection)) {
        return invalid(Reason::kIllegalOperation, "Cannot rename config.transactions");
    }
    FRESHET_RETURN_IF_ERROR(checkRename(request.db, request.collection));
    FRESHET_RETURN_IF_ERROR(checkRename(request.toDb, request.toCollection));
    return request;
}

/// Within a database, renaming is an action of its own, unless the new name could be read by a user
/// who may not read the old one. Otherwise it requires reading and dropping at the old name, and
/// writing and indexing at the new one.
Status authorizeRename(Invocation& call, const catalog::RenameRequest& request) {
    const auto mayDoHere = [&](Action action) {
        return mayDo(call, action, request.db, request.collection);
    };
    const auto mayDoThere = [&](Action action) {
        return mayDo(call, action, request.toDb, request.toCollection);
    };
    if (request.db == request.toDb && mayDoHere(Action::kRenameCollection) &&
        (!request.dropTarget || mayDoThere(Action::kDropCollection)) &&
        (mayDoHere(Action::kFind) || !mayDoThere(Action::kFind))) {
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(authorize(call, Action::kFind, request.db, request.collection));
    FRESHET_RETURN_IF_ERROR(
        authorize(call, Action::kDropCollection, request.db, request.collection));
    FRESHET_RETURN_IF_ERROR(authorize(call, Action::kInsert, request.toDb, request.toCollection));
    if (request.dropTarget) {
        FRESHET_RETURN_IF_ERROR(
            authorize(call, Action::kDropCollection, request.toDb, request.toCollection));
    }
    return authorize(call, Action::kCreateIndex, request.toDb, request.toCollection);
}

sync::Task<Status> runRename(Invocation& call) {
    StatusOr<catalog::RenameRequest> request = parseRename(call);
    FRESHET_CO_RETURN_IF_ERROR(request.status());
    FRESHET_CO_RETURN_IF_ERROR(authorizeRename(call, *request));
    std::unique_ptr<catalog::Change> change =
        call.services.catalog.renameCollection(std::move(*request));
    co_return co_await driveChange(call, *change);
}

}  // namespace

CommandTable renameCommands() {
    return {{
        .name = "renameCollection",
        .aliases = {},
        .help = "give a collection another name, or move it to another database",
        .fields = {"to", "dropTarget", "stayTemp"},
        .handler = runRename,
        .access = Access::byHandler(),
        .adminOnly = true,
    }};
}

}  // namespace freshet::command
