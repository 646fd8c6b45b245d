// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/aggregate.h"

#include "freshet/command/access/authorize.h"
#include "freshet/command/crud/aggregate_output.h"
#include "freshet/command/crud/find.h"
#include "freshet/command/diag/sources.h"
#include "freshet/command/oplog/oplog_reads.h"
#include "freshet/command/run/tables.h"
#include "freshet/command/stream/watch.h"
#include "freshet/query/transform.h"

namespace freshet::command {
namespace {

/// The command's options; cheap to copy.
struct AggregateCommand {
    bson::Document pipeline;
    bool explains = false;
    bool bypassesValidation = false;  // for what $out and $merge write
    query::AggregateRequest request;
};

StatusOr<AggregateCommand> parseAggregate(const Invocation& call, bson::Document body) {
    Fields fields(body, "aggregate");
    AggregateCommand command;
    command.request.allowDiskUse = fields.maybeBoolean("allowDiskUse");
    command.request.spill = &call.services.spill;
    command.bypassesValidation = fields.boolean("bypassDocumentValidation", false);
    command.explains = fields.boolean("explain", false);
    command.request.hint = fields.hint();
    const bson::Document let = fields.object("let");
    fields.refuseCollation();
    fields.required("pipeline");
    command.pipeline = fields.array("pipeline");
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (command.explains && body.has("writeConcern")) {
        return invalid(Reason::kFailedToParse,
                       "Aggregation explain does not support the'writeConcern' option");
    }
    FRESHET_ASSIGN_OR_RETURN(command.request.variables, query::evaluateLet(let));
    command.request.db = call.generic.db;
    command.request.find = [&catalog = call.services.catalog, in = call.reads()](
                               std::string_view db, std::string_view collection) {
        return in == nullptr ? catalog.find(db, collection) : in->findOrNull(db, collection);
    };
    return command;
}

/// Checks the name, or that no collection is needed; then the name is empty.
StatusOr<std::string> parseCollection(const Invocation& call,
                                      const bson::Element& first,
                                      bson::Document pipeline) {
    if (first.isNumber()) {
        int64_t one = 0;
        if (!first.toExactInt64(&one) || one != 1) {
            return invalid(Reason::kFailedToParse,
                           "Invalid command format: the 'aggregate' field must specify a "
                           "collection name or 1");
        }
        FRESHET_RETURN_IF_ERROR(query::checkWithoutCollection(pipeline));
        return std::string();
    }
    if (!first.isString()) {
        return invalid(
            Reason::kTypeMismatch,
            "collection name has invalid type " + std::string(bson::typeName(first.type())));
    }
    const std::string name(first.stringValue());
    FRESHET_RETURN_IF_ERROR(catalog::checkNames(call.generic.db, name));
    return name;
}

/// Adds to the reply what explain shows of this cursor.
void addExplanation(Invocation& call, const query::QueryCursor& cursor, bson::Document command) {
    const bson::OwnedDocument plan = cursor.describePlan();
    call.reply.add("explainVersion", "1");
    if (plan.view().has("stages")) {
        call.reply.add(plan.view().find("stages"));
    } else {
        auto planner = call.reply.object("queryPlanner");
        planner.add("winningPlan", plan.view());
        planner.array("rejectedPlans");
    }
    addExplained(call, command);
}

bson::Document lastStage(bson::Document pipeline) {
    bson::Element last;
    for (const bson::Element& stage : pipeline) {
        last = stage;
    }
    return last.document();
}

/// Whether the snapshot did not show a collection that a stage names.
Status errorOfNames(const Invocation& call) {
    return call.snapshot == nullptr ? Status::ok() : call.snapshot->transaction.takeError();
}

/// Writes the result to where the last stage says; the reply has an empty batch.
sync::Task<Status> runWithOutput(Invocation& call, AggregateCommand command, std::string ns) {
    StatusOr<AggregateOutput> output = parseOutput(call, lastStage(command.pipeline));
    FRESHET_CO_RETURN_IF_ERROR(output.status());
    output->options.bypassValidation = command.bypassesValidation;
    command.request.pipeline = query::withoutLastStage(command.pipeline);
    StatusOr<std::unique_ptr<query::QueryCursor>> cursor =
        query::makeAggregate(call.unit(), std::move(command.request));
    FRESHET_CO_RETURN_IF_ERROR(cursor.status());
    FRESHET_CO_RETURN_IF_ERROR(errorOfNames(call));
    if (command.explains) {
        addExplanation(call, **cursor, call.body());
        co_return Status::ok();
    }
    Status status = co_await writeOutput(call, **cursor, *output);
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    FirstBatch first;
    first.ns = std::move(ns);
    first.isSingle = true;
    co_return co_await replyWithFirstBatch(call, makeListCursor({}), std::move(first));
}

bool writesWith(bson::Document body) {
    const bson::Element pipeline = body.find("pipeline");
    return pipeline.isArray() && query::writesResult(pipeline.document());
}

/// A transaction's pipeline reads collections only, and writes none.
Status checkStagesInTransaction(bson::Document pipeline) {
    std::string_view refused;
    if (const bson::Element serverStage = query::callersStage(pipeline)) {
        refused = serverStage.name();
    } else if (query::isChangeStream(pipeline)) {
        refused = "$changeStream";
    } else if (query::writesResult(pipeline)) {
        refused = lastStage(pipeline).begin()->name();
    }
    return refused.empty()
               ? Status::ok()
               : invalid(
                     Reason::kOperationNotSupportedInTransaction,
                     "Operation not permitted in transaction :: caused by :: Aggregation stage " +
                         std::string(refused) + " cannot run within a multi-document transaction");
}

/// What the pipeline reads if that is no collection: facts about the server, events, the oplog.
sync::Task<Status> giveSource(Invocation& call,
                              const std::string& collection,
                              AggregateCommand* command) {
    const bson::Element serverStage = query::callersStage(command->pipeline);
    if (call.transaction != nullptr) {
        FRESHET_CO_RETURN_IF_ERROR(checkStagesInTransaction(command->pipeline));
    } else if (serverStage && call.snapshot != nullptr) {
        co_return invalid(Reason::kInvalidOptions,
                          "Aggregation stage " + std::string(serverStage.name()) +
                              " cannot run with a readConcern other than 'local'. Current "
                              "readConcern: snapshot");
    }
    if (serverStage && command->explains) {
        command->request.source.emplace();
    } else if (serverStage) {
        StatusOr<std::vector<bson::OwnedDocument>> documents =
            co_await reportOnServer(call, serverStage, collection);
        FRESHET_CO_RETURN_IF_ERROR(documents.status());
        command->request.source = std::move(*documents);
    }
    const bool isChangeStream = query::isChangeStream(command->pipeline);
    call.isOfChangeStream = isChangeStream;
    if (isChangeStream) {
        FRESHET_CO_RETURN_IF_ERROR(
            watchChanges(call, collection, command->pipeline, &command->request));
    }
    if (!serverStage && isOplog(call.services, call.generic.db, collection)) {
        auto entries = co_await readOplogFor(call, command->pipeline, command->request.hint.view());
        FRESHET_CO_RETURN_IF_ERROR(entries.status());
        command->request.entries = std::move(*entries);
    }
    co_return Status::ok();
}

sync::Task<Status> runAggregate(Invocation& call) {
    FRESHET_CO_RETURN_IF_ERROR(authorizeExplained(call, call.command, call.body()));
    StatusOr<AggregateCommand> command = parseAggregate(call, call.body());
    FRESHET_CO_RETURN_IF_ERROR(command.status());
    StatusOr<int64_t> batchSize = batchSizeOf(call);
    FRESHET_CO_RETURN_IF_ERROR(batchSize.status());
    if (!call.body().has("cursor") && !command->explains) {
        co_return invalid(Reason::kCursorOptionMissing,
                          "The 'cursor' option is required, except for aggregate with the explain "
                          "argument");
    }
    StatusOr<std::string> collection =
        parseCollection(call, *call.body().begin(), command->pipeline);
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    if (!collection->empty()) {
        StatusOr<catalog::CollectionRef> found = call.find(call.generic.db, *collection);
        FRESHET_CO_RETURN_IF_ERROR(found.status());
        command->request.collection = std::move(*found);
    }
    Status given = co_await giveSource(call, *collection, &*command);
    FRESHET_CO_RETURN_IF_ERROR(std::move(given));
    std::string ns = call.ns(collection->empty() ? "$cmd.aggregate" : *collection);
    if (query::writesResult(command->pipeline)) {
        if (call.generic.isLinearizable) {
            co_return invalid(
                Reason::kInvalidOptions,
                "readConcern level 'linearizable' cannot be used with $out or $merge");
        }
        co_return co_await runWithOutput(call, *std::move(command), std::move(ns));
    }
    command->request.pipeline = bson::OwnedDocument(command->pipeline);
    StatusOr<std::unique_ptr<query::QueryCursor>> cursor =
        query::makeAggregate(call.unit(), std::move(command->request));
    FRESHET_CO_RETURN_IF_ERROR(cursor.status());
    FRESHET_CO_RETURN_IF_ERROR(errorOfNames(call));
    if (command->explains) {
        addExplanation(call, **cursor, call.body());
        co_return Status::ok();
    }
    FirstBatch first;
    first.ns = std::move(ns);
    first.batchSize = *batchSize;
    first.isTailable = call.isOfChangeStream;
    first.awaitsData = call.isOfChangeStream;
    co_return co_await replyWithFirstBatch(call, std::move(*cursor), std::move(first));
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
        .writesWith = writesWith,
        .inApiVersion1 = true,
        .takesReadConcern = true,
        .takesSnapshots = true,
        .inTransactions = InTransactions::kStatement,
        .scripts = Command::Scripts::kWhenMentioned,
    }};
}

}  // namespace freshet::command
