// SPDX-License-Identifier: Apache-2.0
/// The commands for search indexes. They answer as MongoDB's server does when it runs without the
/// search service: drivers and tools recognize that error.
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"
#include "freshet/query/aggregate.h"

namespace freshet::command {
namespace {

Status checkFields(const Invocation& call) {
    Fields fields(call.body(), call.command.name);
    fields.requiredString(call.command.name);
    fields.string("id");
    fields.string("name");
    if (call.command.name == "createSearchIndexes") {
        fields.required("indexes");
        fields.objects("indexes");
    } else if (call.command.name == "updateSearchIndex") {
        fields.required("definition");
        fields.object("definition");
    }
    return fields.status();
}

sync::Task<Status> runSearchIndexes(Invocation& call) {
    FRESHET_CO_RETURN_IF_ERROR(call.collectionName().status());
    FRESHET_CO_RETURN_IF_ERROR(checkFields(call));
    co_return query::searchIndexesNotEnabled();
}

Command searchIndexCommand(std::string_view name,
                           std::string_view help,
                           std::vector<std::string_view> fields,
                           Action action) {
    return {
        .name = name,
        .aliases = {},
        .help = help,
        .fields = std::move(fields),
        .handler = runSearchIndexes,
        .access = Access::onCollection(action),
        .readOnly = true,
    };
}

}  // namespace

CommandTable searchIndexCommands() {
    return {
        searchIndexCommand("createSearchIndexes",
                           "of MongoDB's search service",
                           {"indexes"},
                           Action::kCreateSearchIndexes),
        searchIndexCommand("dropSearchIndex",
                           "of MongoDB's search service",
                           {"id", "name"},
                           Action::kDropSearchIndex),
        searchIndexCommand("updateSearchIndex",
                           "of MongoDB's search service",
                           {"id", "name", "definition"},
                           Action::kUpdateSearchIndex),
        searchIndexCommand("listSearchIndexes",
                           "of MongoDB's search service",
                           {"id", "name"},
                           Action::kListSearchIndexes),
    };
}

}  // namespace freshet::command
