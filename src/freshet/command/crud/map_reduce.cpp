// SPDX-License-Identifier: Apache-2.0
/// mapReduce, as the equivalent pipeline: documents are mapped to what they emit, that is grouped
/// by its key and reduced, then finalized; the result is returned, or written as $out and $merge
/// do.
#include "freshet/command/access/authorize.h"
#include "freshet/command/crud/aggregate_output.h"
#include "freshet/command/crud/cursor_reply.h"
#include "freshet/command/run/tables.h"
#include "freshet/query/aggregate.h"
#include "freshet/query/javascript.h"
#include "freshet/query/transform.h"

#include <optional>

namespace freshet::command {
namespace {

using bson::Builder;
using bson::Document;
using bson::Element;
using bson::OwnedDocument;

enum class OutputKind : uint8_t { kInline, kReplace, kMerge, kReduce };

/// Where the result is written.
struct Target {
    OutputKind kind = OutputKind::kInline;
    std::string db;  // empty: the request's
    std::string collection;
};

struct MapReduce {
    std::string map;
    std::string reduce;
    std::string finalize;  // empty: there is none
    Document query;
    Document sort;
    Document scope;
    int64_t limit = 0;  // 0: none
    bool bypassesValidation = false;
    Target target;
};

StatusOr<std::string> scriptOf(const Element& field) {
    if (!field.isString() && field.type() != bson::Type::kCode) {
        return badValue("'" + std::string(field.name()) + "' must be of string or code type");
    }
    return std::string(field.stringValue());
}

Status readTargetObject(Document out, Target* target) {
    static constexpr std::pair<std::string_view, OutputKind> kKinds[] = {
        {"normal", OutputKind::kReplace},
        {"replace", OutputKind::kReplace},
        {"merge", OutputKind::kMerge},
        {"reduce", OutputKind::kReduce},
        {"inline", OutputKind::kInline},
    };
    for (const auto& [name, kind] : kKinds) {
        const Element collection = out.find(name);
        if (collection.isMissing()) {
            continue;
        }
        target->kind = kind;
        if (kind != OutputKind::kInline && !collection.isString()) {
            return badValue("'out." + std::string(name) + "' must be a collection's name");
        }
        target->collection = kind == OutputKind::kInline ? "" : collection.stringValue();
        const Element db = out.find("db");
        target->db = db.isString() ? db.stringValue() : "";
        if (out.find("sharded").isTruthy()) {
            return invalid(Reason::kInvalidOptions, "sharded output is not served");
        }
        const Element nonAtomic = out.find("nonAtomic");
        return nonAtomic.isMissing() || nonAtomic.isTruthy()
                   ? Status::ok()
                   : invalid(location(15895),
                             "The nonAtomic:false option is no longer allowed in the mapReduce "
                             "command. Please omit or specify nonAtomic:true");
    }
    return invalid(location(13522),
                   "please specify one of [replace|merge|reduce|inline] in 'out' object");
}

Status readTarget(const Element& out, Target* target) {
    if (out.isString()) {
        target->kind = OutputKind::kReplace;
        target->collection = std::string(out.stringValue());
        return Status::ok();
    }
    return out.isObject() ? readTargetObject(out.document(), target)
                          : invalid(location(13606), "'out' has to be a string or an object");
}

StatusOr<MapReduce> parseMapReduce(const Invocation& call) {
    Fields fields(call.index, "mapReduce");
    for (const char* name : {"map", "reduce", "out"}) {
        fields.required(name);
    }
    MapReduce command;
    command.query = fields.object("query");
    command.sort = fields.object("sort");
    command.scope = fields.object("scope");
    command.limit = fields.integer("limit", 0, 0);
    command.bypassesValidation = fields.boolean("bypassDocumentValidation", false);
    fields.boolean("jsMode", false);
    fields.boolean("verbose", false);
    fields.refuseCollation();
    FRESHET_RETURN_IF_ERROR(fields.status());
    FRESHET_ASSIGN_OR_RETURN(command.map, scriptOf(fields.element("map")));
    FRESHET_ASSIGN_OR_RETURN(command.reduce, scriptOf(fields.element("reduce")));
    if (const Element finalize = fields.element("finalize"); !finalize.isMissing()) {
        FRESHET_ASSIGN_OR_RETURN(command.finalize, scriptOf(finalize));
    }
    FRESHET_RETURN_IF_ERROR(readTarget(fields.element("out"), &command.target));
    if (command.target.db.empty()) {
        command.target.db = call.generic.db;
    }
    if (command.target.kind != OutputKind::kInline &&
        (command.target.db == "admin" || command.target.db == "config" ||
         command.target.db == "local")) {
        return invalid(Reason::kCommandNotSupported, "cannot target internal database as output");
    }
    return command;
}

void addCall(std::string_view field,
             const std::string& source,
             const OwnedDocument& arguments,
             Builder* out) {
    Builder holder = out->object(field);
    Builder function = holder.object("$function");
    function.add("body", source).add("lang", "js").addArray("args", arguments.view());
}

/// {$project: {value: {$function: {body: source, args: arguments, lang: "js"}}}}
void addValueStage(const std::string& source, const OwnedDocument& arguments, Builder* stages) {
    Builder stage = stages->object(stages->nextIndex());
    Builder project = stage.object("$project");
    addCall("value", source, arguments, &project);
}

/// ["$_id", "$value"]
OwnedDocument keyAndValue() {
    Builder builder;
    builder.push(std::string_view("$_id")).push(std::string_view("$value"));
    return OwnedDocument(builder.finish());
}

/// ["$_id", ["$value", "$$new.value"]]
OwnedDocument keyAndBothValues() {
    Builder builder;
    builder.push(std::string_view("$_id"));
    {
        Builder values = builder.array(builder.nextIndex());
        values.push(std::string_view("$value")).push(std::string_view("$$new.value"));
    }
    return OwnedDocument(builder.finish());
}

void addDocumentStage(const char* name, Document operand, Builder* stages) {
    Builder stage = stages->object(stages->nextIndex());
    stage.add(name, operand);
}

/// {$group: {_id: "$emits.k", value: {$_internalJsReduce: {data: "$emits", eval: <reduce>}}}}
void addGroup(const std::string& reduce, Builder* stages) {
    Builder stage = stages->object(stages->nextIndex());
    Builder group = stage.object("$group");
    group.add("_id", "$emits.k");
    Builder value = group.object("value");
    Builder spec = value.object("$_internalJsReduce");
    spec.add("data", "$emits").add("eval", reduce);
}

/// All stages except the one that writes.
OwnedDocument pipelineOf(const MapReduce& command) {
    Builder stages;
    if (!command.query.isEmpty()) {
        addDocumentStage("$match", command.query, &stages);
    }
    if (!command.sort.isEmpty()) {
        addDocumentStage("$sort", command.sort, &stages);
    }
    if (command.limit > 0) {
        Builder stage = stages.object(stages.nextIndex());
        stage.add("$limit", command.limit);
    }
    {
        Builder stage = stages.object(stages.nextIndex());
        Builder project = stage.object("$project");
        project.add("_id", 0);
        Builder emits = project.object("emits");
        emits.add("$_internalJsEmit", command.map);
    }
    {
        Builder stage = stages.object(stages.nextIndex());
        stage.add("$unwind", "$emits");
    }
    addGroup(command.reduce, &stages);
    if (!command.finalize.empty()) {
        addValueStage(command.finalize, keyAndValue(), &stages);
    }
    return OwnedDocument(stages.finish());
}

/// The stage that writes; empty for an inline result.
OwnedDocument outputOf(const MapReduce& command) {
    Builder stage;
    const Target& target = command.target;
    const auto addTarget = [&target](std::string_view field, Builder* out) {
        Builder into = out->object(field);
        into.add("db", target.db).add("coll", target.collection);
    };
    if (target.kind == OutputKind::kReplace) {
        addTarget("$out", &stage);
    } else if (target.kind != OutputKind::kInline) {
        Builder merge = stage.object("$merge");
        addTarget("into", &merge);
        if (target.kind == OutputKind::kMerge) {
            merge.add("whenMatched", "replace");
        } else {
            Builder stages = merge.array("whenMatched");
            addValueStage(command.reduce, keyAndBothValues(), &stages);
            if (!command.finalize.empty()) {
                addValueStage(command.finalize, keyAndValue(), &stages);
            }
        }
    }
    return OwnedDocument(stage.finish());
}

/// Checks the access that an aggregate with that pipeline would need.
Status authorizePipeline(Invocation& call,
                         const std::string& collection,
                         const MapReduce& command,
                         Document pipeline,
                         Document output) {
    Builder aggregate;
    aggregate.add("aggregate", collection);
    {
        Builder stages = aggregate.array("pipeline");
        for (const Element& stage : pipeline) {
            stages.pushElement(stage);
        }
        if (!output.isEmpty()) {
            stages.push(output);
        }
    }
    aggregate.add("bypassDocumentValidation", command.bypassesValidation);
    const OwnedDocument body(aggregate.finish());
    return authorizeExplained(call, *call.services.registry.find("aggregate"), body.view());
}

StatusOr<std::unique_ptr<query::QueryCursor>> makeCursor(Invocation& call,
                                                         const std::string& collection,
                                                         OwnedDocument pipeline) {
    query::AggregateRequest request;
    request.db = call.generic.db;
    request.collection = call.services.catalog.find(call.generic.db, collection);
    request.pipeline = std::move(pipeline);
    request.spill = &call.services.spill;
    FRESHET_ASSIGN_OR_RETURN(request.variables, query::evaluateLet(Document()));
    return query::makeAggregate(call.services.store, std::move(request));
}

/// {results: [...]}
sync::Task<Status> replyInline(Invocation& call, query::QueryCursor& cursor) {
    Builder results = call.reply.array("results");
    query::Batch batch(&results, SIZE_MAX, bson::kDocumentBytesMax);
    Status status = co_await readOnce(call, cursor, &batch);
    call.stats.work = cursor.work();
    call.stats.nReturned = static_cast<int64_t>(batch.count());
    if (status.isOk() && !cursor.isExhausted()) {
        status = invalid(Reason::kBsonObjectTooLarge,
                         "the result of mapReduce is too large for a reply: name a collection in "
                         "'out'");
    }
    if (status.isOk() && call.generic.needsDurableRead) {
        journal::Journal& journal = call.services.store.journal();
        status = co_await waitUntilDurable(journal, journal.tailLsn());
    }
    co_return status;
}

sync::Task<Status> replyWithTarget(Invocation& call,
                                   query::QueryCursor& cursor,
                                   const MapReduce& command,
                                   Document stage) {
    StatusOr<AggregateOutput> output = parseOutput(call, stage);
    FRESHET_CO_RETURN_IF_ERROR(output.status());
    output->options.bypassValidation = command.bypassesValidation;
    Status status = co_await writeOutput(call, cursor, *output);
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    const Target& target = command.target;
    if (target.db == call.generic.db) {
        call.reply.add("result", target.collection);
    } else {
        Builder result = call.reply.object("result");
        result.add("db", target.db).add("collection", target.collection);
    }
    co_return Status::ok();
}

sync::Task<Status> runMapReduce(Invocation& call) {
    StatusOr<std::string> collection = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    StatusOr<MapReduce> command = parseMapReduce(call);
    FRESHET_CO_RETURN_IF_ERROR(command.status());
    OwnedDocument pipeline = pipelineOf(*command);
    const OwnedDocument output = outputOf(*command);
    FRESHET_CO_RETURN_IF_ERROR(
        authorizePipeline(call, *collection, *command, pipeline.view(), output.view()));
    query::JavaScript::current()->setGlobals(OwnedDocument(command->scope));
    StatusOr<std::unique_ptr<query::QueryCursor>> cursor =
        makeCursor(call, *collection, std::move(pipeline));
    FRESHET_CO_RETURN_IF_ERROR(cursor.status());
    if (command->target.kind == OutputKind::kInline) {
        co_return co_await replyInline(call, **cursor);
    }
    co_return co_await replyWithTarget(call, **cursor, *command, output.view());
}

}  // namespace

CommandTable mapReduceCommands() {
    return {{
        .name = "mapReduce",
        .aliases = {"mapreduce"},
        .help = "map, group and reduce documents by JavaScript",
        .fields = {"map",
                   "reduce",
                   "finalize",
                   "out",
                   "query",
                   "sort",
                   "limit",
                   "scope",
                   "jsMode",
                   "verbose",
                   "bypassDocumentValidation",
                   "collation"},
        .handler = runMapReduce,
        .access = Access::byHandler(),
        .takesReadConcern = true,
        .scripts = Command::Scripts::kAlways,
    }};
}

}  // namespace freshet::command
