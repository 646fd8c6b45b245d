// SPDX-License-Identifier: Apache-2.0
/// connectionStatus and getLog.
#include "freshet/command/access/sasl.h"
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"

namespace freshet::command {
namespace {

constexpr size_t kLogReplyBytesMax = 8u << 20;

sync::Task<Status> runConnectionStatus(Invocation& call) {
    Fields fields(call.body(), "connectionStatus");
    const bool showPrivileges = fields.boolean("showPrivileges", false);
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    describeLogin(call, showPrivileges, &call.reply);
    co_return Status::ok();
}

sync::Task<Status> runGetLog(Invocation& call) {
    Fields fields(call.body(), "getLog");
    const std::string_view which = fields.requiredString("getLog");
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    if (which == "*") {
        call.reply.array("names").push("global").push("startupWarnings");
        co_return Status::ok();
    }
    if (which != "global" && which != "startupWarnings") {
        co_return invalid(Reason::kOperationFailed, "No log named '" + std::string(which) + "'");
    }
    std::vector<std::string> lines;
    const ServerFacts& facts = call.services.facts;
    const auto& source = which == "global" ? facts.recentLog : facts.startupWarnings;
    if (source) {
        lines = source();
    }
    call.reply.add("totalLinesWritten", static_cast<int32_t>(lines.size()));
    auto log = call.reply.array("log");
    for (const std::string& line : lines) {
        if (log.size() + line.size() > kLogReplyBytesMax) {
            break;
        }
        log.push(line);
    }
    co_return Status::ok();
}

}  // namespace

CommandTable statusCommands() {
    return {
        {
            .name = "connectionStatus",
            .aliases = {},
            .help = "who the connection is",
            .fields = {"showPrivileges"},
            .handler = runConnectionStatus,
            .access = Access::anybody(),
            .readOnly = true,
            .inApiVersion1 = true,
        },
        {
            .name = "getLog",
            .aliases = {},
            .help = "the newest log lines",
            .fields = {},
            .handler = runGetLog,
            .access = Access::onCluster(Action::kGetLog),
            .adminOnly = true,
            .readOnly = true,
        },
    };
}

}  // namespace freshet::command
