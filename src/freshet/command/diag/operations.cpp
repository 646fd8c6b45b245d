// SPDX-License-Identifier: Apache-2.0
/// What runs and how to end it: currentOp, killOp, profile.
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
    show.ownOnly = fields.boolean("$ownOps", false);
    show.ownConnection = call.client.connectionId;
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    FRESHET_CO_RETURN_IF_ERROR(show.ownOnly ? authorizeLoggedIn(call)
                                            : authorizeCluster(call, Action::kInprog));
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
            break;  // more does not fit into a reply
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
    // An operation that has ended meanwhile is no error.
    call.services.operations.kill(static_cast<int32_t>(id));
    call.reply.add("info", "attempting to kill op");
    co_return Status::ok();
}

/// The threshold of the slow query log. There is no system.profile.
sync::Task<Status> runProfile(Invocation& call) {
    Fields fields(call.body(), "profile");
    const int64_t level = fields.integer("profile", -1);
    const bson::Element slow = fields.element("slowms");
    const bson::Element rate = fields.element("sampleRate");
    const int64_t slowMs = fields.integer("slowms", 0);
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    if (level > 0) {
        co_return Status(
            Code::kUnsupported,
            "profile levels 1 and 2 are not supported: slow operations are in the log");
    }
    if (!rate.isMissing() && (!rate.isNumber() || rate.toDouble() < 0 || rate.toDouble() > 1)) {
        co_return badValue("'sampleRate' must be between 0.0 and 1.0");
    }
    if (fields.has("filter")) {
        co_return Status(Code::kUnsupported, "a filter of slow operations is not supported");
    }
    ParameterValues& values = call.services.parameters;
    constexpr double kMillion = 1e6;
    call.reply.add("was", int32_t{0});
    call.reply.add("slowms", static_cast<int32_t>(ParameterValues::get(values.slowOpThresholdMs)));
    call.reply.add("sampleRate",
                   static_cast<double>(ParameterValues::get(values.slowOpSamplePpm)) / kMillion);
    if (!slow.isMissing()) {
        ParameterValues::set(values.slowOpThresholdMs, slowMs);
    }
    if (!rate.isMissing()) {
        ParameterValues::set(values.slowOpSamplePpm,
                             static_cast<int64_t>(rate.toDouble() * kMillion));
    }
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
            .access = Access::onCluster(Action::kKillOp),
            .adminOnly = true,
        },
        {
            .name = "profile",
            .aliases = {},
            .help = "what counts as a slow operation",
            .fields = {"slowms", "sampleRate", "filter"},
            .handler = runProfile,
            .access = Access::onDatabase(Action::kEnableProfiler),
        },
    };
}

}  // namespace freshet::command
