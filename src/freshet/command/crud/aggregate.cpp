// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/crud/cursor_reply.h"
#include "freshet/command/run/tables.h"

namespace freshet::command {
namespace {

Status checkOptions(const Invocation& call) {
    Fields fields(call.body(), "aggregate");
    fields.boolean("allowDiskUse", true);
    fields.boolean("bypassDocumentValidation", false);
    fields.hint();
    fields.refuse({"explain", "let"});
    fields.refuseCollation();
    fields.required("pipeline");
    fields.array("pipeline");
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (!call.body().has("cursor")) {
        return invalid(Reason::kCursorOptionMissing,
                       "The 'cursor' option is required, except for aggregate with the explain "
                       "argument");
    }
    return Status::ok();
}

/// {aggregate: 1}: stages that need no collection, of which there are none yet.
Status refuseWithoutCollection(const Invocation& call) {
    Fields fields(call.body(), "aggregate");
    std::vector<bson::Document> stages = fields.objects("pipeline");
    FRESHET_RETURN_IF_ERROR(fields.status());
    FRESHET_RETURN_IF_ERROR(
        query::makeAggregate(call.services.store, nullptr, fields.array("pipeline")).status());
    if (stages.empty()) {
        return invalid(Reason::kInvalidNamespace,
                       "{aggregate: 1} is not valid for an empty pipeline.");
    }
    return invalid(Reason::kInvalidNamespace,
                   "{aggregate: 1} is not valid for '" + std::string(stages[0].begin()->name()) +
                       "'; a collection is required.");
}

sync::Task<Status> runAggregate(Invocation& call) {
    FRESHET_CO_RETURN_IF_ERROR(checkOptions(call));
    StatusOr<int64_t> batchSize = batchSizeOf(call);
    FRESHET_CO_RETURN_IF_ERROR(batchSize.status());
    if (call.body().begin()->isNumber()) {
        co_return refuseWithoutCollection(call);
    }
    StatusOr<std::string> collection = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    StatusOr<std::unique_ptr<query::QueryCursor>> cursor =
        query::makeAggregate(call.services.store,
                             call.services.catalog.find(call.generic.db, *collection),
                             call.body().find("pipeline").document());
    FRESHET_CO_RETURN_IF_ERROR(cursor.status());
    FirstBatch how;
    how.ns = call.ns(*collection);
    how.batchSize = *batchSize;
    co_return co_await replyWithFirstBatch(call, std::move(*cursor), std::move(how));
}

}  // namespace

CommandTable aggregateCommands() {
    return {{
        .name = "aggregate",
        .aliases = {},
        .help = "run a pipeline over a collection",
        .fields = {"pipeline",
                   "cursor",
                   "explain",
                   "allowDiskUse",
                   "bypassDocumentValidation",
                   "collation",
                   "hint",
                   "let"},
        .handler = runAggregate,
        .access = Access::byHandler(),
        .readOnly = true,
        .inApiVersion1 = true,
        .takesReadConcern = true,
    }};
}

}  // namespace freshet::command
