// SPDX-License-Identifier: Apache-2.0
/// $out writes a temporary collection and renames it to the target at the end; $merge writes into
/// the target, document by document.
#include "freshet/command/crud/aggregate_output.h"

#include "freshet/bson/json.h"
#include "freshet/catalog/writable_names.h"
#include "freshet/command/admin/own_names.h"
#include "freshet/command/crud/cursor_reply.h"
#include "freshet/command/crud/write_batch.h"
#include "freshet/query/transform.h"

#include <algorithm>

namespace freshet::command {
namespace {

using bson::Document;
using bson::Element;
using bson::OwnedDocument;

constexpr size_t kPortionDocuments = 1000;
constexpr size_t kPortionBytes = 4u << 20;

/// Reads the next documents as the bytes of an array; the snapshot is released before they are
/// written.
sync::Task<Status> readPortion(Invocation& call, query::QueryCursor& cursor, std::string* array) {
    query::Batch batch(kPortionDocuments, kPortionBytes);
    const Status status = co_await readOnce(call, cursor, &batch);
    *array = batch.finishArray();
    co_return status;
}

sync::Task<Status> makeLike(Invocation& call,
                            const catalog::CollectionRef& model,
                            const std::string& db,
                            const std::string& name) {
    catalog::Catalog& catalog = call.services.catalog;
    const OwnedDocument options = model == nullptr ? OwnedDocument() : model->options;
    auto create = catalog.createCollection(db, name, options, false);
    Status status = co_await driveToEnd(*create);
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    std::vector<catalog::IndexRequest> requests;
    for (size_t i = 1; model != nullptr && i < model->indexes.size(); ++i) {
        const catalog::Index& index = *model->indexes[i];
        catalog::IndexRequest request;
        request.name = index.name;
        request.key = OwnedDocument(index.spec.view().find("key").document());
        request.spec = index.spec;
        request.unique = index.unique;
        request.sparse = index.sparse;
        requests.push_back(std::move(request));
    }
    if (requests.empty()) {
        co_return Status::ok();
    }
    catalog::IndexCounts counts;
    auto build = catalog.createIndexes(db, name, std::move(requests), &counts);
    co_return co_await driveToEnd(*build);
}

/// Runs one document's write to its end, without waiting for durability.
sync::Task<Status> runWrite(Invocation& call, query::WriteOp& op) {
    call.hasTriedToWrite = true;
    Status status = co_await drive(call, op);
    if (!status.isOk()) {
        call.errorInfo = op.errorInfo();
    }
    co_return status;
}

sync::Task<Status> insertAll(Invocation& call,
                             query::QueryCursor& cursor,
                             const AggregateOutput& output,
                             const catalog::CollectionRef& target) {
    Pacer pacer;
    while (!cursor.isExhausted()) {
        std::string array;
        Status status = co_await readPortion(call, cursor, &array);
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
        for (const Element& element : Document(array)) {
            if (pacer.isDue()) {
                FRESHET_CO_RETURN_IF_ERROR(call.checkInterrupt());
                co_await sync::wait(sync::WaitToken::completed());
            }
            // Stages may produce documents that nest deeper than stored ones may.
            FRESHET_CO_RETURN_IF_ERROR(bson::checkNesting(element.document()));
            auto op =
                query::makeInsert(call.services.store, target, element.document(), output.options);
            FRESHET_CO_RETURN_IF_ERROR(op.status());
            status = co_await runWrite(call, **op);
            FRESHET_CO_RETURN_IF_ERROR(std::move(status));
        }
    }
    co_return Status::ok();
}

sync::Task<Status> replaceCollection(Invocation& call,
                                     query::QueryCursor& cursor,
                                     const AggregateOutput& output) {
    catalog::Catalog& catalog = call.services.catalog;
    const std::string name = "tmp.agg_out." + bson::ObjectId::generate().toHex();
    call.hasTriedToWrite = true;
    const catalog::CollectionRef old = catalog.find(output.db, output.collection);
    Status status = co_await makeLike(call, old, output.db, name);
    if (status.isOk()) {
        const catalog::CollectionRef made = catalog.find(output.db, name);
        status = co_await insertAll(call, cursor, output, made);
    }
    if (status.isOk()) {
        catalog::RenameRequest request{output.db, name, output.db, output.collection, true};
        auto rename = catalog.renameCollection(std::move(request));
        // Waits as the write concern says: also for the documents, whose commits are older.
        co_return co_await driveChange(call, *rename);
    }
    if (catalog.find(output.db, name) != nullptr) {
        auto drop = catalog.dropCollection(output.db, name);
        Status dropped = co_await driveToEnd(*drop);
        static_cast<void>(dropped);  // the first error is the one to report
    }
    co_return status;
}

/// {on: value, ...} of a document; its values may not be arrays, and none may be missing.
StatusOr<OwnedDocument> keyOf(const AggregateOutput& output, Document document) {
    bson::Builder builder;
    for (const std::string& path : output.on) {
        const Element value = document.findPath(path);
        if (value.isMissing() && path == "_id") {
            builder.add("_id", bson::ObjectId::generate());
            continue;
        }
        if (value.isMissing() || value.isNull() || value.type() == bson::Type::kUndefined) {
            return invalid(location(51132),
                           "$merge write error: 'on' field '" + path +
                               "' cannot be missing, null, undefined or an array");
        }
        if (value.isArray()) {
            return invalid(location(51185),
                           "$merge write error: 'on' field '" + path + "' cannot be an array");
        }
        bson::Builder condition = builder.object(path);
        condition.addAs("$eq", value);
    }
    return OwnedDocument(builder.finish());
}

/// [{$replaceWith: <expression>}] as an array's bytes.
OwnedDocument replaceWith(const std::string& expression) {
    bson::Builder builder;
    {
        bson::Builder stage = builder.object("0");
        stage.add("$replaceWith", Document(expression));
    }
    return OwnedDocument(builder.finish());
}

/// [{$replaceWith: {$mergeObjects: ["$$ROOT", "$$new"]}}]
OwnedDocument mergePipeline() {
    bson::Builder builder;
    {
        bson::Builder members = builder.array("$mergeObjects");
        members.push(std::string_view("$$ROOT"));
        members.push(std::string_view("$$new"));
    }
    return replaceWith(builder.finish());
}

/// The variables of an update's pipeline: $$new and the values of `let` for this document.
StatusOr<OwnedDocument> mergeVariables(const AggregateOutput& output, Document document) {
    FRESHET_ASSIGN_OR_RETURN(const OwnedDocument now, query::evaluateLet(Document()));
    bson::Builder builder;
    builder.addFields(now.view());
    builder.add("new", document);
    if (!output.let.view().isEmpty()) {
        const OwnedDocument stages = replaceWith(output.let.bytes());
        FRESHET_ASSIGN_OR_RETURN(auto let,
                                 query::DocumentPipeline::parse(stages.view(), now.view()));
        FRESHET_ASSIGN_OR_RETURN(const OwnedDocument values, let->apply(document));
        for (const Element& value : values.view()) {
            if (value.name() != "new") {
                builder.add(value);
            }
        }
    }
    return OwnedDocument(builder.finish());
}

/// Sets what is done with a document of the target that has the same key.
Status setUpdate(const AggregateOutput& output, Document document, query::UpdateRequest* request) {
    using WhenMatched = AggregateOutput::WhenMatched;
    if (output.whenMatched == WhenMatched::kReplace) {
        request->update = OwnedDocument(document);
        return Status::ok();
    }
    request->isPipeline = true;
    if (output.whenMatched == WhenMatched::kKeep) {
        return Status::ok();  // no stages: it stays as it is
    }
    request->update =
        output.whenMatched == WhenMatched::kPipeline ? output.pipeline : mergePipeline();
    FRESHET_ASSIGN_OR_RETURN(request->variables, mergeVariables(output, document));
    return Status::ok();
}

StatusOr<std::unique_ptr<query::WriteOp>> makeMergeOp(Invocation& call,
                                                      const AggregateOutput& output,
                                                      const catalog::CollectionRef& target,
                                                      Document document) {
    if (output.whenMatched == AggregateOutput::WhenMatched::kFail) {
        return query::makeInsert(call.services.store, target, document, output.options);
    }
    query::UpdateRequest request;
    FRESHET_ASSIGN_OR_RETURN(request.filter, keyOf(output, document));
    FRESHET_RETURN_IF_ERROR(setUpdate(output, document, &request));
    request.options = output.options;
    request.upsert = output.whenNotMatched == AggregateOutput::WhenNotMatched::kInsert;
    if (request.upsert) {
        request.supplied = OwnedDocument(document);
    }
    return query::makeUpdate(call.services.store, target, std::move(request));
}

/// The join fields must be those of a unique index, or one key could mean two documents.
Status checkUniqueness(const AggregateOutput& output, const catalog::Collection* target) {
    std::vector<std::string> wanted = output.on;
    std::sort(wanted.begin(), wanted.end());
    bool found = wanted == std::vector<std::string>{"_id"};
    for (size_t i = 0; target != nullptr && !found && i < target->indexes.size(); ++i) {
        std::vector<std::string> paths;
        for (const catalog::KeyField& field : target->indexes[i]->fields) {
            paths.push_back(field.path);
        }
        std::sort(paths.begin(), paths.end());
        found = target->indexes[i]->unique && paths == wanted;
    }
    return found ? Status::ok()
                 : invalid(location(51183),
                           "Cannot find index to verify that join fields will be unique");
}

sync::Task<Status> mergeInto(Invocation& call,
                             query::QueryCursor& cursor,
                             const AggregateOutput& output) {
    catalog::Catalog& catalog = call.services.catalog;
    FRESHET_CO_RETURN_IF_ERROR(
        checkUniqueness(output, catalog.find(output.db, output.collection).get()));
    Status status;
    if (catalog.find(output.db, output.collection) == nullptr) {
        auto create = catalog.createCollection(output.db, output.collection, OwnedDocument(), true);
        status = co_await driveToEnd(*create);
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    }
    const catalog::CollectionRef target = catalog.find(output.db, output.collection);
    journal::Lsn newest = 0;
    Pacer pacer;
    while (target != nullptr && !cursor.isExhausted()) {
        std::string array;
        status = co_await readPortion(call, cursor, &array);
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
        for (const Element& element : Document(array)) {
            if (pacer.isDue()) {
                FRESHET_CO_RETURN_IF_ERROR(call.checkInterrupt());
                co_await sync::wait(sync::WaitToken::completed());
            }
            FRESHET_CO_RETURN_IF_ERROR(bson::checkNesting(element.document()));
            auto op = makeMergeOp(call, output, target, element.document());
            FRESHET_CO_RETURN_IF_ERROR(op.status());
            status = co_await runWrite(call, **op);
            FRESHET_CO_RETURN_IF_ERROR(std::move(status));
            newest = std::max(newest, (*op)->commitLsn());
            if (output.whenNotMatched == AggregateOutput::WhenNotMatched::kFail &&
                (*op)->result().matched == 0) {
                co_return invalid(location(13113),
                                  "$merge could not find a matching document in the target "
                                  "collection for at least one document in the source collection");
            }
        }
    }
    co_return co_await waitForDurability(call, newest);
}

/// "coll", {db: ..., coll: ...}, of $out and of $merge's `into`.
Status readTarget(const Element& target, std::string_view stage, AggregateOutput* output) {
    if (target.isString()) {
        output->collection = std::string(target.stringValue());
        return Status::ok();
    }
    if (!target.isObject()) {
        return stage == "$out"
                   ? invalid(location(16990),
                             "$out only supports a string or object argument, but found " +
                                 std::string(bson::typeName(target.type())))
                   : invalid(
                         location(51178),
                         "$merge 'into' field  must be either a string or an object, but found " +
                             std::string(bson::typeName(target.type())));
    }
    for (const Element& field : target.document()) {
        if (field.name() == "db" && field.isString()) {
            output->db = std::string(field.stringValue());
        } else if (field.name() == "coll" && field.isString()) {
            output->collection = std::string(field.stringValue());
        } else if (field.name() == "timeseries") {
            return Status(Code::kUnsupported, "time series collections are not supported");
        } else {
            return invalid(location(field.name() == "db" || field.name() == "coll" ? 13111 : 40415),
                           "BSON field '" + std::string(stage) + "." + std::string(field.name()) +
                               "' is an unknown field or of the wrong type.");
        }
    }
    if (output->collection.empty()) {
        return invalid(
            location(40414),
            "BSON field '" + std::string(stage) + ".coll' is missing but a required field");
    }
    return Status::ok();
}

Status readOn(const Element& on, AggregateOutput* output) {
    output->on.clear();
    if (on.isString()) {
        output->on.emplace_back(on.stringValue());
        return Status::ok();
    }
    if (!on.isArray()) {
        return invalid(location(51186),
                       "$merge 'on' field  must be either a string or an array of strings, but "
                       "found " +
                           std::string(bson::typeName(on.type())));
    }
    for (const Element& path : on.document()) {
        if (!path.isString()) {
            return invalid(location(51134),
                           "$merge 'on' array elements must be strings, but found " +
                               std::string(bson::typeName(path.type())));
        }
        output->on.emplace_back(path.stringValue());
    }
    if (output->on.empty()) {
        return invalid(location(51187),
                       "If explicitly specifying $merge 'on', must include at least one field");
    }
    return Status::ok();
}

template <typename Mode>
Status readMode(const Element& value,
                std::initializer_list<std::pair<std::string_view, Mode>> modes,
                Mode* out) {
    for (const auto& [name, mode] : modes) {
        if (value.isString() && value.stringValue() == name) {
            *out = mode;
            return Status::ok();
        }
    }
    const std::string field(value.name());
    return value.isString() ? badValue("Enumeration value '" + std::string(value.stringValue()) +
                                       "' for field '$merge." + field + "' is not a valid value.")
                            : invalid(location(51191),
                                      "$merge '" + field +
                                          "' field  must be either a string or an array, but "
                                          "found " +
                                          std::string(bson::typeName(value.type())));
}

Status readMerge(const Element& spec, AggregateOutput* output) {
    using WhenMatched = AggregateOutput::WhenMatched;
    using WhenNotMatched = AggregateOutput::WhenNotMatched;
    output->on = {"_id"};
    if (spec.isString()) {
        return readTarget(spec, "$merge", output);
    }
    if (!spec.isObject()) {
        return invalid(location(51182),
                       "$merge requires a string or object argument, but found " +
                           std::string(bson::typeName(spec.type())));
    }
    if (!spec.document().has("into")) {
        return invalid(location(40414), "BSON field '$merge.into' is missing but a required field");
    }
    for (const Element& option : spec.document()) {
        const std::string_view name = option.name();
        if (name == "into") {
            FRESHET_RETURN_IF_ERROR(readTarget(option, "$merge", output));
        } else if (name == "on") {
            FRESHET_RETURN_IF_ERROR(readOn(option, output));
        } else if (name == "let" && option.isObject()) {
            output->let = OwnedDocument(option.document());
        } else if (name == "whenMatched" && option.isArray()) {
            output->whenMatched = WhenMatched::kPipeline;
            output->pipeline = OwnedDocument(option.document());
        } else if (name == "whenMatched") {
            FRESHET_RETURN_IF_ERROR(readMode<WhenMatched>(option,
                                                          {{"replace", WhenMatched::kReplace},
                                                           {"keepExisting", WhenMatched::kKeep},
                                                           {"merge", WhenMatched::kMerge},
                                                           {"fail", WhenMatched::kFail}},
                                                          &output->whenMatched));
        } else if (name == "whenNotMatched") {
            FRESHET_RETURN_IF_ERROR(readMode<WhenNotMatched>(option,
                                                             {{"insert", WhenNotMatched::kInsert},
                                                              {"discard", WhenNotMatched::kDiscard},
                                                              {"fail", WhenNotMatched::kFail}},
                                                             &output->whenNotMatched));
        } else {
            return invalid(location(40415),
                           "BSON field '$merge." + std::string(name) + "' is an unknown field.");
        }
    }
    if (!output->let.view().isEmpty() && output->whenMatched != WhenMatched::kPipeline) {
        return invalid(location(51199), "'let' may be used with a pipeline for 'whenMatched' only");
    }
    const bool keepsWithoutInsert = output->whenMatched == WhenMatched::kKeep &&
                                    output->whenNotMatched != WhenNotMatched::kInsert;
    const bool failsWithoutInsert = output->whenMatched == WhenMatched::kFail &&
                                    output->whenNotMatched != WhenNotMatched::kInsert;
    if (keepsWithoutInsert || failsWithoutInsert) {
        return invalid(location(51181),
                       "Combination of $merge modes 'whenMatched' and 'whenNotMatched' is not "
                       "supported");
    }
    return Status::ok();
}

}  // namespace

StatusOr<AggregateOutput> parseOutput(const Invocation& call, Document stage) {
    AggregateOutput output;
    output.db = call.generic.db;
    const Element spec = *stage.begin();
    if (stage.fieldCount() != 1) {
        return invalid(Reason::kStageNotSingleField,
                       "A pipeline stage specification object must contain exactly one field.");
    }
    output.replacesCollection = spec.name() == "$out";
    FRESHET_RETURN_IF_ERROR(output.replacesCollection ? readTarget(spec, "$out", &output)
                                                      : readMerge(spec, &output));
    FRESHET_RETURN_IF_ERROR(catalog::checkWritable(output.db, output.collection));
    FRESHET_RETURN_IF_ERROR(checkPipelineTarget(spec.name(), output.db, output.collection));
    return output;
}

sync::Task<Status> writeOutput(Invocation& call,
                               query::QueryCursor& cursor,
                               const AggregateOutput& output) {
    if (output.replacesCollection) {
        co_return co_await replaceCollection(call, cursor, output);
    }
    co_return co_await mergeInto(call, cursor, output);
}

}  // namespace freshet::command
