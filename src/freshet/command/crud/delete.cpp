// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/crud/statements.h"
#include "freshet/command/crud/write_batch.h"
#include "freshet/command/run/tables.h"
#include "freshet/query/limits.h"

#include <algorithm>

namespace freshet::command {

query::DeleteRequest readDelete(Fields* fields,
                                std::string_view filterName,
                                const bson::OwnedDocument& variables) {
    query::DeleteRequest request;
    fields->refuseCollation();
    request.filter = bson::OwnedDocument(fields->requiredObject(filterName));
    request.hint = fields->hint();
    request.variables = variables;
    return request;
}

StatusOr<query::DeleteRequest> parseDeleteStatement(bson::Document statement,
                                                    const bson::OwnedDocument& variables) {
    Fields fields(statement, "delete.deletes");
    fields.allowOnly({"q", "limit", "hint", "collation"});
    query::DeleteRequest request = readDelete(&fields, "q", variables);
    const bool isNull = fields.required("limit").isNull();
    const int64_t limit = fields.integer("limit", 0);
    request.justOne = limit == 1;
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (isNull || (limit != 0 && limit != 1)) {
        return invalid(Reason::kFailedToParse,
                       "The limit field in delete objects must be 0 or 1. Got " +
                           (isNull ? "null" : std::to_string(limit)));
    }
    return request;
}

StatusOr<std::unique_ptr<query::WriteOp>> makeStatement(const query::WorkUnit& unit,
                                                        catalog::CollectionRef collection,
                                                        const query::DeleteRequest& request) {
    if (collection != nullptr) {
        return query::makeDelete(unit, std::move(collection), request);
    }
    FRESHET_RETURN_IF_ERROR(query::checkDelete(request));
    return std::unique_ptr<query::WriteOp>();
}

namespace {

class Deletes final : public Statements {
public:
    Deletes(const query::WorkUnit& unit, std::vector<query::DeleteRequest> requests)
        : unit_(unit), requests_(std::move(requests)) {}

    size_t count() const override { return requests_.size(); }
    bool createsCollection(size_t) const override { return false; }
    StatusOr<std::unique_ptr<query::WriteOp>> make(size_t i,
                                                   catalog::CollectionRef collection) override {
        return makeStatement(unit_, std::move(collection), requests_[i]);
    }
    void succeeded(size_t, const query::WriteResult& result) override {
        removed_ += result.matched;
    }
    int64_t removed() const { return removed_; }

private:
    const query::WorkUnit unit_;
    std::vector<query::DeleteRequest> requests_;
    int64_t removed_ = 0;
};

StatusOr<std::vector<query::DeleteRequest>> parseStatements(const Invocation& call,
                                                            const bson::OwnedDocument& variables) {
    FRESHET_ASSIGN_OR_RETURN(std::vector<bson::Document> statements, call.documents("deletes"));
    FRESHET_RETURN_IF_ERROR(checkBatchSize(statements.size()));
    std::vector<query::DeleteRequest> requests;
    requests.reserve(statements.size());
    for (bson::Document statement : statements) {
        FRESHET_RETURN_IF_ERROR(query::mayGoOn());
        FRESHET_RETURN_IF_ERROR(query::mayTake(variables.bytes().size()));  // each statement has a
                                                                            // copy
        FRESHET_ASSIGN_OR_RETURN(query::DeleteRequest request,
                                 parseDeleteStatement(statement, variables));
        requests.push_back(std::move(request));
    }
    return requests;
}

sync::Task<Status> runDelete(Invocation& call) {
    StatusOr<std::string> collection = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    Fields fields(call.body(), "delete");
    const bool isOrdered = fields.boolean("ordered", true);
    const bson::OwnedDocument variables = letOf(&fields);
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    StatusOr<std::vector<query::DeleteRequest>> requests = parseStatements(call, variables);
    FRESHET_CO_RETURN_IF_ERROR(requests.status());

    const auto isMulti = [](const query::DeleteRequest& request) { return !request.justOne; };
    if (RetryableWrite::isMeant(call) && std::any_of(requests->begin(), requests->end(), isMulti)) {
        co_return invalid(Reason::kInvalidOptions,
                          "Cannot use (or request) retryable writes with limit=0");
    }
    Deletes deletes(call.unit(), std::move(*requests));
    Status status = co_await runStatements(call, *collection, isOrdered, deletes);
    call.reply.add("n", static_cast<int32_t>(deletes.removed()));
    co_return status;
}

}  // namespace

CommandTable deleteCommands() {
    return {{
        .name = "delete",
        .aliases = {},
        .help = "delete documents",
        .fields = {"deletes", "ordered", "let", "stmtId", "stmtIds"},
        .handler = runDelete,
        .access = Access::onCollection(Action::kRemove),
        .kind = OpKind::kDelete,
        .inApiVersion1 = true,
        .isRetryable = true,
        .inTransactions = InTransactions::kStatement,
        .scripts = Command::Scripts::kWhenMentioned,
    }};
}

}  // namespace freshet::command
