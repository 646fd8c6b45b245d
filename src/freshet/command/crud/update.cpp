// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/access/authorize.h"
#include "freshet/command/crud/statements.h"
#include "freshet/command/crud/write_batch.h"
#include "freshet/command/run/tables.h"
#include "freshet/query/aggregate.h"
#include "freshet/query/limits.h"

#include <algorithm>

namespace freshet::command {

Status parseChange(const bson::Element& change, query::UpdateRequest* request) {
    if (!change.isObject() && !change.isArray()) {
        return invalid(Reason::kFailedToParse,
                       "Update argument must be either an object or an array");
    }
    request->isPipeline = change.isArray();
    if (request->isPipeline) {
        FRESHET_RETURN_IF_ERROR(query::checkStageNames(change.document()));
    }
    request->update = bson::OwnedDocument(change.document());
    return Status::ok();
}

namespace {

/// Constants of a pipeline, which are visible to it besides the command's variables.
Status addConstants(bson::Document constants, query::UpdateRequest* request) {
    if (!request->isPipeline) {
        return invalid(Reason::kFailedToParse,
                       "Constant values may only be specified for pipeline updates");
    }
    bson::Builder builder;
    builder.addFields(constants).addFields(request->variables.view());
    request->variables = bson::OwnedDocument(builder.finish());
    return Status::ok();
}

Status addSupplied(bson::Document constants, query::UpdateRequest* request) {
    const bson::Element made = constants.find("new");
    if (!request->upsert) {
        return invalid(Reason::kFailedToParse,
                       "cannot specify '{upsertSupplied: true}' unless '{upsert: true}'");
    }
    if (!request->isPipeline || !made.isObject()) {
        return invalid(Reason::kFailedToParse,
                       "the parameter 'upsertSupplied' is set to 'true', but no document was "
                       "supplied as 'c.new' of a pipeline update");
    }
    request->supplied = bson::OwnedDocument(made.document());
    return Status::ok();
}

}  // namespace

query::UpdateRequest readUpdate(Fields* fields,
                                const UpdateNames& names,
                                const bson::OwnedDocument& variables,
                                query::WriteOptions options) {
    query::UpdateRequest request;
    fields->refuseCollation();
    fields->required(names.update);
    request.filter = bson::OwnedDocument(fields->requiredObject(names.filter));
    request.arrayFilters = bson::OwnedDocument(fields->array("arrayFilters"));
    request.hint = fields->hint();
    request.sort = bson::OwnedDocument(fields->object("sort"));
    request.multi = fields->boolean("multi", false);
    request.upsert = fields->boolean("upsert", false);
    request.variables = variables;
    request.options = options;
    fields->boolean("upsertSupplied", false);
    fields->object(names.constants);
    return request;
}

Status checkUpdateFields(Fields* fields, const UpdateNames& names, query::UpdateRequest* request) {
    if (request->multi && fields->has("sort")) {
        return invalid(Reason::kFailedToParse, "Cannot specify sort with multi=true");
    }
    FRESHET_RETURN_IF_ERROR(parseChange(fields->required(names.update), request));
    const bson::Document constants = fields->object(names.constants);
    if (fields->has(names.constants)) {
        FRESHET_RETURN_IF_ERROR(addConstants(constants, request));
    }
    return fields->boolean("upsertSupplied", false) ? addSupplied(constants, request)
                                                    : Status::ok();
}

StatusOr<query::UpdateRequest> parseUpdateStatement(bson::Document statement,
                                                    const bson::OwnedDocument& variables,
                                                    query::WriteOptions options) {
    Fields fields(statement, "update.updates");
    fields.allowOnly({"q",
                      "u",
                      "c",
                      "multi",
                      "upsert",
                      "upsertSupplied",
                      "collation",
                      "arrayFilters",
                      "hint",
                      "sort"});
    query::UpdateRequest request = readUpdate(&fields, {}, variables, options);
    FRESHET_RETURN_IF_ERROR(fields.status());
    FRESHET_RETURN_IF_ERROR(checkUpdateFields(&fields, {}, &request));
    return request;
}

StatusOr<std::unique_ptr<query::WriteOp>> makeStatement(const query::WorkUnit& unit,
                                                        catalog::CollectionRef collection,
                                                        const query::UpdateRequest& request) {
    if (collection != nullptr) {
        return query::makeUpdate(unit, std::move(collection), request);
    }
    FRESHET_RETURN_IF_ERROR(query::checkUpdate(request));
    if (request.upsert) {
        FRESHET_RETURN_IF_ERROR(query::checkUpsert(request));
    }
    return std::unique_ptr<query::WriteOp>();
}

namespace {

class Updates final : public Statements {
public:
    Updates(const query::WorkUnit& unit, std::vector<query::UpdateRequest> requests)
        : unit_(unit), requests_(std::move(requests)) {}

    size_t count() const override { return requests_.size(); }
    bool createsCollection(size_t i) const override { return requests_[i].upsert; }

    StatusOr<std::unique_ptr<query::WriteOp>> make(size_t i,
                                                   catalog::CollectionRef collection) override {
        return makeStatement(unit_, std::move(collection), requests_[i]);
    }

    void succeeded(size_t i, const query::WriteResult& result) override {
        matched_ += result.matched;
        modified_ += result.modified;
        if (result.upserted) {
            ++matched_;
            auto entry = upserted_.object(upserted_.nextIndex());
            entry.add("index", static_cast<int32_t>(i));
            entry.addAs("_id", result.upsertedId.view().find("_id"));
            hasUpserted_ = true;
        }
    }

    void report(bson::Builder* reply) {
        reply->add("n", static_cast<int32_t>(matched_));
        reply->add("nModified", static_cast<int32_t>(modified_));
        if (hasUpserted_) {
            const std::string bytes = upserted_.finish();
            reply->addArray("upserted", bson::Document(bytes.data()));
        }
    }

private:
    const query::WorkUnit unit_;
    std::vector<query::UpdateRequest> requests_;
    int64_t matched_ = 0;
    int64_t modified_ = 0;
    bson::Builder upserted_;
    bool hasUpserted_ = false;
};

StatusOr<std::vector<query::UpdateRequest>> parseStatements(const Invocation& call,
                                                            const bson::OwnedDocument& variables,
                                                            query::WriteOptions options) {
    FRESHET_ASSIGN_OR_RETURN(std::vector<bson::Document> statements, call.documents("updates"));
    FRESHET_RETURN_IF_ERROR(checkBatchSize(statements.size()));
    std::vector<query::UpdateRequest> requests;
    requests.reserve(statements.size());
    for (bson::Document statement : statements) {
        FRESHET_RETURN_IF_ERROR(query::mayGoOn());
        FRESHET_RETURN_IF_ERROR(query::mayTake(variables.bytes().size()));  // each statement has a
                                                                            // copy
        FRESHET_ASSIGN_OR_RETURN(query::UpdateRequest request,
                                 parseUpdateStatement(statement, variables, options));
        requests.push_back(std::move(request));
    }
    return requests;
}

/// An upsert may insert, and needs the right to.
Status authorizeUpdates(Invocation& call,
                        const std::string& collection,
                        const std::vector<query::UpdateRequest>& requests) {
    const std::string& db = call.generic.db;
    FRESHET_RETURN_IF_ERROR(authorize(call, Action::kUpdate, db, collection));
    for (const query::UpdateRequest& request : requests) {
        if (request.upsert) {
            FRESHET_RETURN_IF_ERROR(authorize(call, Action::kInsert, db, collection));
            break;
        }
    }
    return call.body().find("bypassDocumentValidation").isTruthy()
               ? authorize(call, Action::kBypassDocumentValidation, db, collection)
               : Status::ok();
}

sync::Task<Status> runUpdate(Invocation& call) {
    StatusOr<std::string> collection = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    Fields fields(call.body(), "update");
    const bool isOrdered = fields.boolean("ordered", true);
    query::WriteOptions options = writeOptionsOf(&fields);
    options.check = checkOfCollection(call.generic.db, *collection);
    const bson::OwnedDocument variables = letOf(&fields);
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    StatusOr<std::vector<query::UpdateRequest>> requests =
        parseStatements(call, variables, options);
    FRESHET_CO_RETURN_IF_ERROR(requests.status());

    FRESHET_CO_RETURN_IF_ERROR(authorizeUpdates(call, *collection, *requests));
    const auto isMulti = [](const query::UpdateRequest& request) { return request.multi; };
    if (RetryableWrite::isMeant(call) && std::any_of(requests->begin(), requests->end(), isMulti)) {
        co_return invalid(Reason::kInvalidOptions,
                          "Cannot use (or request) retryable writes with multi=true");
    }
    Updates updates(call.unit(), std::move(*requests));
    Status status = co_await runStatements(call, *collection, isOrdered, updates);
    updates.report(&call.reply);
    co_return status;
}

}  // namespace

CommandTable updateCommands() {
    return {{
        .name = "update",
        .aliases = {},
        .help = "update documents",
        .fields = {"updates",
                   "ordered",
                   "let",
                   "bypassDocumentValidation",
                   "bypassEmptyTsReplacement",
                   "stmtId",
                   "stmtIds"},
        .handler = runUpdate,
        .access = Access::byHandler(),
        .kind = OpKind::kUpdate,
        .inApiVersion1 = true,
        .isRetryable = true,
        .inTransactions = InTransactions::kStatement,
        .scripts = Command::Scripts::kWhenMentioned,
    }};
}

}  // namespace freshet::command
