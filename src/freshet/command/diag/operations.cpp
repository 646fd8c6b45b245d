// SPDX-License-Identifier: Apache-2.0
/// Inspecting and ending running operations: currentOp, killOp.
#include "freshet/command/access/authorize.h"
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"
#include "freshet/query/match.h"

namespace freshet::command {
namespace {

/// Everything but the command's own fields is a filter on the operations.
bson::OwnedDocument filterOf(bson::Document body) {
    bson::Builder filter;
    bool isFirst = true;
    for (const bson::Element& element : body) {
        const std::string_view name = element.name();
        if (!isFirst && name != "$all" && name != "$ownOps" && name != "$truncateOps" &&
            !isGenericArgument(name)) {
            filter.add(element);
        }
        isFirst = false;
    }
    return bson::OwnedDocument(filter.finish());
}

sync::Task<Status> runCurrentOp(Invocation& call) {
    Fields fields(call.body(), "currentOp");
    ShowOperations show;
    show.idleConnections = fields.boolean("$all", false);
    const bool ownOnly = fields.boolean("$ownOps", false);
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    FRESHET_CO_RETURN_IF_ERROR(ownOnly ? authorizeLoggedIn(call)
                                       : authorizeCluster(call, Action::kInprog));
    if (ownOnly) {
        show.owner = ownerOf(call);
    }
    const bson::OwnedDocument filter = filterOf(call.body());
    StatusOr<std::unique_ptr<query::Matcher>> matcher = query::Matcher::compile(filter.view());
    FRESHET_CO_RETURN_IF_ERROR(matcher.status());
    if (call.services.writeBlock.isLocked()) {
        call.reply.add("fsyncLock", true);
        call.reply.add("info", "use db.fsyncUnlock() to terminate the fsync write/snapshot lock");
    }
    size_t bytes = 0;
    auto list = call.reply.array("inprog");
    for (const bson::OwnedDocument& one : call.services.currentOperations(show)) {
        bytes += one.bytes().size();
        if (bytes > bson::kDocumentBytesMax / 2) {
            break;  // the rest does not fit into a reply
        }
        if ((*matcher)->matches(one.view())) {
            list.push(one.view());
        }
    }
    co_return Status::ok();
}

sync::Task<Status> runKillOp(Invocation& call) {
    Fields fields(call.body(), "killOp");
    const bson::Element op = fields.required("op");
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    int64_t id = 0;
    if (!op.isNumber()) {
        co_return invalid(Reason::kTypeMismatch,
                          "BSON field 'killOp.op' is the wrong type '" +
                              std::string(bson::typeName(op.type())) +
                              "', expected types '[long, int, decimal, double]'");
    }
    if (!op.toExactInt64(&id) || id < INT32_MIN || id > INT32_MAX) {
        co_return badValue("Expected \"op\" to be a 32-bit integer");
    }
    // Users need no privilege to kill their own operations. An operation that has ended meanwhile
    // is no error, except for a caller that may not know whether it exists.
    const bool mayKillAny = mayDoOnCluster(call, Action::kKillOp);
    FRESHET_CO_RETURN_IF_ERROR(authorizeLoggedIn(call));
    const bool found = call.services.operations.kill(
        static_cast<int32_t>(id),
        mayKillAny ? std::nullopt : std::optional<std::string>(ownerOf(call)));
    if (!found && !mayKillAny) {
        co_return authorizeCluster(call, Action::kKillOp);
    }
    call.reply.add("info", "attempting to kill op");
    co_return Status::ok();
}

}  // namespace

CommandTable operationCommands() {
    return {
        {
            .name = "currentOp",
            .aliases = {},
            .help = "operations in progress",
            .fields = {},
            .handler = runCurrentOp,
            .access = Access::byHandler(),
            .acceptsUnknownFields = true,  // they are a filter
            .adminOnly = true,
            .readOnly = true,
        },
        {
            .name = "killOp",
            .aliases = {},
            .help = "end an operation",
            .fields = {"op"},
            .handler = runKillOp,
            .access = Access::byHandler(),
            .adminOnly = true,
        },
    };
}

}  // namespace freshet::command
