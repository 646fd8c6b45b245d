// SPDX-License-Identifier: Apache-2.0
/// explain, of find: the plan that would be run. Nothing is run, so there are no execution stats,
/// whatever the verbosity.
#include "freshet/command/access/authorize.h"
#include "freshet/command/crud/find.h"
#include "freshet/command/run/tables.h"

#include <algorithm>
#include <iterator>

namespace freshet::command {
namespace {

constexpr std::string_view kVerbosities[] = {"queryPlanner", "executionStats", "allPlansExecution"};

/// The command to explain.
StatusOr<bson::Document> parseExplain(Invocation& call) {
    Fields fields(call.body(), "explain");
    const bson::Document explained = fields.object("explain");
    const std::string_view verbosity = fields.string("verbosity");
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (!verbosity.empty() &&
        std::find(std::begin(kVerbosities), std::end(kVerbosities), verbosity) ==
            std::end(kVerbosities)) {
        return badValue("Enumeration value '" + std::string(verbosity) +
                        "' for field 'explain.verbosity' is not a valid value.");
    }
    const std::string name(explained.isEmpty() ? std::string_view() : explained.begin()->name());
    const Command* command = call.services.registry.find(name);
    if (command == nullptr) {
        return invalid(Reason::kCommandNotFound, "Explain failed due to unknown command: " + name);
    }
    FRESHET_RETURN_IF_ERROR(authorizeExplained(call, *command, explained));
    if (command->name != "find" || !explained.begin()->isString()) {
        return Status(Code::kUnsupported, "explain of '" + name + "' is not supported");
    }
    FRESHET_RETURN_IF_ERROR(checkKnownFields(*command, explained));
    return explained;
}

void addPlan(const Invocation& call,
             const std::string& ns,
             bson::Document filter,
             const query::QueryCursor& cursor,
             bson::Builder* reply) {
    {
        auto planner = reply->object("queryPlanner");
        planner.add("namespace", ns).add("parsedQuery", filter);
        planner.add("winningPlan", cursor.describePlan().view());
        planner.array("rejectedPlans");
    }
    auto server = reply->object("serverInfo");
    server.add("host", call.services.facts.host).add("version", call.services.facts.version);
}

sync::Task<Status> runExplain(Invocation& call) {
    StatusOr<bson::Document> explained = parseExplain(call);
    FRESHET_CO_RETURN_IF_ERROR(explained.status());
    const std::string collection(explained->begin()->stringValue());
    FRESHET_CO_RETURN_IF_ERROR(catalog::checkNames(call.generic.db, collection));
    StatusOr<FindCommand> find = parseFind(*explained);
    FRESHET_CO_RETURN_IF_ERROR(find.status());
    const bson::OwnedDocument filter = find->request.filter;
    StatusOr<std::unique_ptr<query::QueryCursor>> cursor =
        query::makeFind(call.services.store,
                        call.services.catalog.find(call.generic.db, collection),
                        std::move(find->request));
    FRESHET_CO_RETURN_IF_ERROR(cursor.status());
    addPlan(call, call.ns(collection), filter.view(), **cursor, &call.reply);
    call.reply.add("command", *explained);
    co_return Status::ok();
}

}  // namespace

CommandTable explainCommands() {
    return {{
        .name = "explain",
        .aliases = {},
        .help = "how a find would be run",
        .fields = {"verbosity"},
        .handler = runExplain,
        .access = Access::byHandler(),
        .readOnly = true,
        .inApiVersion1 = true,
    }};
}

}  // namespace freshet::command
