// SPDX-License-Identifier: Apache-2.0
/// explain of find, count, distinct, aggregate, update, delete and findAndModify. All but aggregate
/// are shown as the find that they begin with; from verbosity executionStats on it is run to its
/// end. Nothing is ever written.
#include "freshet/bson/count.h"
#include "freshet/command/access/authorize.h"
#include "freshet/command/crud/find.h"
#include "freshet/command/crud/statements.h"
#include "freshet/command/crud/write_batch.h"
#include "freshet/command/oplog/oplog_reads.h"
#include "freshet/command/run/tables.h"
#include "freshet/platform/clock.h"
#include "freshet/query/aggregate.h"
#include "freshet/query/transform.h"
#include "freshet/query/update.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace freshet::command {
namespace {

constexpr std::string_view kVerbosities[] = {"queryPlanner", "executionStats", "allPlansExecution"};
constexpr size_t kExplainBatchDocuments = 1'000;
constexpr size_t kExplainRoom = 10 * 1'024;  // for what follows the command

/// The explained command.
struct Subject {
    const Command* command = nullptr;
    bson::Document body;
    bool runs = false;
    bool showsAllPlans = false;
    std::string collection;
    bson::OwnedDocument filter;
    std::optional<query::UpdateRequest> update;
    std::string wrapper;  // the stage above the find: COUNT, UPDATE, DELETE; empty: none
};

/// What the stage above has counted while the find ran.
struct Seen {
    int64_t matched = 0;
    int64_t modified = 0;
};

/// The explained command may repeat the database, but not name another one.
Status checkInnerDatabase(const Invocation& call, const bson::Element& db) {
    if (db.isMissing()) {
        return Status::ok();
    }
    if (!db.isString()) {
        return invalid(location(13111), "wrong type for field ($db): it must be a string");
    }
    const std::string named(db.stringValue());
    return named == call.generic.db ? Status::ok()
                                    : invalid(Reason::kInvalidNamespace,
                                              "Mismatched $db in explain command. Expected " +
                                                  call.generic.db + " but got " + named);
}

StatusOr<Subject> parseExplain(Invocation& call) {
    Fields fields(call.body(), "explain");
    Subject subject;
    subject.body = fields.object("explain");
    std::string_view verbosity = fields.string("verbosity");
    FRESHET_RETURN_IF_ERROR(fields.status());
    verbosity = verbosity.empty() ? "allPlansExecution" : verbosity;
    if (std::find(std::begin(kVerbosities), std::end(kVerbosities), verbosity) ==
        std::end(kVerbosities)) {
        return badValue("Enumeration value '" + std::string(verbosity) +
                        "' for field 'explain.verbosity' is not a valid value.");
    }
    subject.runs = verbosity != "queryPlanner";
    subject.showsAllPlans = verbosity == "allPlansExecution";
    FRESHET_RETURN_IF_ERROR(checkInnerDatabase(call, subject.body.find("$db")));
    const std::string name(subject.body.isEmpty() ? std::string_view()
                                                  : subject.body.begin()->name());
    subject.command = call.services.registry.find(name);
    if (subject.command == nullptr) {
        return invalid(Reason::kCommandNotFound, "Explain failed due to unknown command: " + name);
    }
    FRESHET_RETURN_IF_ERROR(authorizeExplained(call, *subject.command, subject.body));
    FRESHET_RETURN_IF_ERROR(checkKnownFields(*subject.command, subject.body));
    const bson::Element first = *subject.body.begin();
    if (!first.isString()) {
        return badValue("explain of '" + name + "' needs a collection's name");
    }
    subject.collection = std::string(first.stringValue());
    FRESHET_RETURN_IF_ERROR(catalog::checkNames(call.generic.db, subject.collection));
    return subject;
}

/// The one statement of a write command.
StatusOr<bson::Document> onlyStatement(bson::Document body, std::string_view field) {
    Fields fields(body, "explain");
    std::vector<bson::Document> statements = fields.objects(field);
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (statements.size() != 1) {
        return invalid(Reason::kInvalidLength, "explained write batches must be of size 1");
    }
    return statements[0];
}

/// Reads how an update or a delete finds its documents.
template <typename Write>
query::FindRequest findOf(const Write& write, bool justOne) {
    query::FindRequest find;
    find.filter = write.filter;
    find.sort = write.sort;
    find.hint = write.hint;
    find.variables = write.variables;
    find.limit = justOne ? 1 : 0;
    return find;
}

StatusOr<query::FindRequest> explainUpdate(query::UpdateRequest update, Subject* subject) {
    FRESHET_RETURN_IF_ERROR(query::checkUpdate(update));
    subject->wrapper = "UPDATE";
    subject->update = std::move(update);
    return findOf(*subject->update, !subject->update->multi);
}

/// The find that a write command begins with.
StatusOr<query::FindRequest> findOfWrite(Subject* subject) {
    Fields fields(subject->body, subject->command->name);
    const bson::OwnedDocument variables = letOf(&fields);
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (subject->command->name == "update") {
        FRESHET_ASSIGN_OR_RETURN(auto statement, onlyStatement(subject->body, "updates"));
        FRESHET_ASSIGN_OR_RETURN(auto update, parseUpdateStatement(statement, variables, {}));
        return explainUpdate(std::move(update), subject);
    }
    subject->wrapper = "DELETE";
    if (subject->command->name == "delete") {
        FRESHET_ASSIGN_OR_RETURN(auto statement, onlyStatement(subject->body, "deletes"));
        FRESHET_ASSIGN_OR_RETURN(auto remove, parseDeleteStatement(statement, variables));
        return findOf(remove, remove.justOne);
    }
    FRESHET_ASSIGN_OR_RETURN(auto command, parseFindAndModify(subject->body));
    return command.removes
               ? StatusOr<query::FindRequest>(findOf(command.remove, command.remove.justOne))
               : explainUpdate(std::move(command.update), subject);
}

StatusOr<query::FindRequest> findOfSubject(Subject* subject) {
    const std::string_view name = subject->command->name;
    if (name == "find") {
        FRESHET_ASSIGN_OR_RETURN(FindCommand find, parseFind(subject->body));
        return std::move(find.request);
    }
    if (name == "count") {
        subject->wrapper = "COUNT";
        return parseCount(subject->body);
    }
    if (name == "distinct") {
        FRESHET_ASSIGN_OR_RETURN(DistinctCommand distinct, parseDistinct(subject->body));
        return std::move(distinct.request);
    }
    if (name == "update" || name == "delete" || name == "findAndModify") {
        return findOfWrite(subject);
    }
    return Status(Code::kUnsupported, "Explain is not supported for '" + std::string(name) + "'");
}

StatusOr<std::unique_ptr<query::QueryCursor>> makeAggregateCursor(Invocation& call,
                                                                  const Subject& subject) {
    Fields fields(subject.body, "aggregate");
    query::AggregateRequest request;
    request.db = call.generic.db;
    request.collection = call.services.catalog.find(call.generic.db, subject.collection);
    request.hint = fields.hint();
    request.allowDiskUse = fields.maybeBoolean("allowDiskUse");
    request.spill = &call.services.spill;
    request.variables = letOf(&fields);
    const bson::Document pipeline = fields.array("pipeline");
    FRESHET_RETURN_IF_ERROR(fields.status());
    request.pipeline = query::writesResult(pipeline) ? query::withoutLastStage(pipeline)
                                                     : bson::OwnedDocument(pipeline);
    catalog::Catalog& catalog = call.services.catalog;
    request.find = [&catalog](std::string_view db, std::string_view collection) {
        return catalog.find(db, collection);
    };
    return query::makeAggregate(call.services.store, std::move(request));
}

/// {a: 1} as {a: {$eq: 1}}, and so on down the tree.
void addParsed(bson::Document filter, bson::Builder* out) {
    for (const bson::Element& field : filter) {
        const bool isOperator = field.name().starts_with('$');
        const bool hasOperators = field.isObject() && !field.document().isEmpty() &&
                                  field.document().begin()->name().starts_with('$');
        if (isOperator && field.isArray()) {
            auto list = out->array(field.name());
            for (const bson::Element& member : field.document()) {
                auto part = list.object(list.nextIndex());
                addParsed(member.isObject() ? member.document() : bson::Document(), &part);
            }
        } else if (isOperator || hasOperators || field.type() == bson::Type::kRegex) {
            out->add(field);
        } else {
            auto equal = out->object(field.name());
            equal.addAs("$eq", field);
        }
    }
}

/// Counts the documents of this batch that the update would change.
Status countChanges(const query::UpdateRequest& update, bson::Document documents, Seen* seen) {
    StatusOr<std::unique_ptr<query::UpdateProgram>> program =
        update.isPipeline
            ? query::UpdateProgram::compilePipeline(update.update.view(), update.variables.view())
            : query::UpdateProgram::compile(update.update, update.arrayFilters.view());
    FRESHET_RETURN_IF_ERROR(program.status());
    FRESHET_ASSIGN_OR_RETURN(
        auto matcher, query::Matcher::compile(update.filter.view(), update.variables.view()));
    for (const bson::Element& document : documents) {
        bool changed = false;
        FRESHET_RETURN_IF_ERROR(
            (*program)->apply(document.document(), matcher.get(), &changed).status());
        seen->modified += changed ? 1 : 0;
    }
    return Status::ok();
}

/// Runs the cursor to its end. REQUIRES: attached.
sync::Task<Status> exhaust(Invocation& call,
                           query::QueryCursor& cursor,
                           const Subject& subject,
                           Seen* seen) {
    while (!cursor.isExhausted()) {
        query::Batch batch(kExplainBatchDocuments, bson::kDocumentBytesMax);
        Status status = cursor.next(&batch);
        while (status.isWouldBlock()) {
            status = co_await waitOrStop(call, cursor.token());
            FRESHET_CO_RETURN_IF_ERROR(std::move(status));
            status = cursor.next(&batch);
        }
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
        seen->matched += static_cast<int64_t>(batch.count());
        const std::string documents = batch.finishArray();
        if (subject.update.has_value()) {
            status = countChanges(*subject.update, bson::Document(documents.data()), seen);
            FRESHET_CO_RETURN_IF_ERROR(std::move(status));
        }
    }
    co_return Status::ok();
}

/// What the stage above adds to its own description; counts are added only after a run.
void addWrapper(const Subject& subject, const Seen* seen, bson::Builder* out) {
    out->add("stage", subject.wrapper);
    if (seen == nullptr) {
        return;
    }
    out->add("nReturned", int32_t{0}).add("executionTimeMillisEstimate", int32_t{0});
    if (subject.wrapper == "COUNT") {
        bson::addCount(out, "nCounted", seen->matched);
        bson::addCount(out, "nSkipped", subject.body.find("skip").toInt64());
    } else if (subject.wrapper == "DELETE") {
        bson::addCount(out, "nWouldDelete", seen->matched);
    } else {
        bson::addCount(out, "nMatched", seen->matched);
        bson::addCount(out, "nWouldModify", seen->modified);
        const bool inserts = subject.update->upsert && seen->matched == 0;
        out->add("nWouldUpsert", int32_t{inserts ? 1 : 0});
    }
}

void addStage(const char* field,
              const Subject& subject,
              const Seen* seen,
              bson::Document input,
              bson::Builder* out) {
    if (subject.wrapper.empty()) {
        out->add(field, input);
        return;
    }
    auto stage = out->object(field);
    addWrapper(subject, seen, &stage);
    stage.add("inputStage", input);
}

void addPlanner(const Invocation& call,
                const Subject& subject,
                bson::Document plan,
                bson::Builder* reply) {
    auto planner = reply->object("queryPlanner");
    planner.add("namespace", call.ns(subject.collection));
    {
        auto parsed = planner.object("parsedQuery");
        addParsed(subject.filter.view(), &parsed);
    }
    planner.add("indexFilterSet", false).add("maxIndexedOrSolutionsReached", false);
    planner.add("maxIndexedAndSolutionsReached", false).add("maxScansToExplodeReached", false);
    addStage("winningPlan", subject, nullptr, plan, &planner);
    planner.array("rejectedPlans");
}

/// The run's totals, with the stage above on top of its stages.
void addExecution(const Subject& subject,
                  const Seen& seen,
                  bson::Document execution,
                  bson::Builder* reply) {
    auto stats = reply->object("executionStats");
    for (const bson::Element& field : execution) {
        if (field.name() == "executionStages" && field.isObject()) {
            addStage("executionStages", subject, &seen, field.document(), &stats);
        } else if (field.name() == "nReturned" && !subject.wrapper.empty()) {
            stats.add("nReturned", int32_t{0});
        } else {
            stats.add(field);
        }
    }
    if (subject.showsAllPlans) {
        stats.array("allPlansExecution");
    }
}

/// For cursors that keep no count of their own.
bson::OwnedDocument plainExecution(const Seen& seen,
                                   const query::WorkDone& work,
                                   uint64_t elapsedMillis) {
    bson::Builder builder;
    builder.add("executionSuccess", true);
    bson::addCount(&builder, "nReturned", seen.matched);
    bson::addCount(&builder, "executionTimeMillis", static_cast<int64_t>(elapsedMillis));
    builder.add("usedDisk", work.spills > 0).add("spills", work.spills);
    builder.add("spilledBytes", work.spilledBytes);
    return bson::OwnedDocument(builder.finish());
}

StatusOr<std::unique_ptr<query::QueryCursor>> makeCursor(Invocation& call, Subject* subject) {
    if (subject->command->name == "aggregate") {
        return makeAggregateCursor(call, *subject);
    }
    FRESHET_ASSIGN_OR_RETURN(query::FindRequest request, findOfSubject(subject));
    request.spill = &call.services.spill;
    subject->filter = request.filter;
    if (isOplog(call.services, call.generic.db, subject->collection)) {
        return makeOplogFind(call, std::move(request), false);
    }
    return query::makeFind(call.services.store,
                           call.services.catalog.find(call.generic.db, subject->collection),
                           std::move(request));
}

sync::Task<Status> runExplain(Invocation& call) {
    StatusOr<Subject> subject = parseExplain(call);
    FRESHET_CO_RETURN_IF_ERROR(subject.status());
    StatusOr<std::unique_ptr<query::QueryCursor>> cursor = makeCursor(call, &*subject);
    FRESHET_CO_RETURN_IF_ERROR(cursor.status());
    call.reply.add("explainVersion", "1");
    const bson::OwnedDocument plan = (*cursor)->describePlan();
    if (plan.view().has("stages")) {
        call.reply.add(plan.view().find("stages"));
    } else {
        addPlanner(call, *subject, plan.view(), &call.reply);
    }
    if (subject->runs) {
        const uint64_t started = platform::monotonicNanos();
        Seen seen;
        (*cursor)->attach();
        Status status = co_await exhaust(call, **cursor, *subject, &seen);
        const uint64_t elapsedMillis = (platform::monotonicNanos() - started) / 1'000'000;
        bson::OwnedDocument execution = (*cursor)->describeExecution(elapsedMillis);
        (*cursor)->detach();
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
        if (execution.view().isEmpty()) {
            execution = plainExecution(seen, (*cursor)->work(), elapsedMillis);
        }
        addExecution(*subject, seen, execution.view(), &call.reply);
    }
    addExplained(call, subject->body);
    co_return Status::ok();
}

}  // namespace

void addExplained(Invocation& call, bson::Document command) {
    bson::Builder& reply = call.reply;
    reply.object("serverInfo")
        .add("host", call.services.facts.host)
        .add("version", call.services.facts.version);
    if (reply.size() + command.size() + kExplainRoom > bson::kDocumentBytesMax) {
        reply.add("warning", "'command' has been omitted due to BSON size limit");
        return;
    }
    auto explained = reply.object("command");
    explained.addFields(command);
    if (!command.has("$db")) {
        explained.add("$db", call.generic.db);
    }
}

CommandTable explainCommands() {
    return {{
        .name = "explain",
        .aliases = {},
        .help = "how a command would be run",
        .fields = {"verbosity"},
        .handler = runExplain,
        .access = Access::byHandler(),
        .readOnly = true,
        .inApiVersion1 = true,
        .scripts = Command::Scripts::kWhenMentioned,
    }};
}

}  // namespace freshet::command
