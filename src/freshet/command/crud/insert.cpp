// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/access/authorize.h"
#include "freshet/command/crud/statements.h"
#include "freshet/command/crud/write_batch.h"
#include "freshet/command/run/tables.h"

namespace freshet::command {

StatusOr<std::unique_ptr<query::WriteOp>> makeStatement(const query::WorkUnit& unit,
                                                        catalog::CollectionRef collection,
                                                        bson::Document inserted,
                                                        const query::WriteOptions& options) {
    if (collection != nullptr) {
        return query::makeInsert(unit, std::move(collection), inserted, options);
    }
    FRESHET_RETURN_IF_ERROR(query::checkInsert(inserted));
    return std::unique_ptr<query::WriteOp>();
}

namespace {

class Inserts final : public Statements {
public:
    Inserts(const query::WorkUnit& unit,
            std::vector<bson::Document> documents,
            query::WriteOptions options)
        : unit_(unit), documents_(std::move(documents)), options_(options) {}

    size_t count() const override { return documents_.size(); }
    bool createsCollection(size_t) const override { return true; }
    StatusOr<std::unique_ptr<query::WriteOp>> make(size_t i,
                                                   catalog::CollectionRef collection) override {
        return makeStatement(unit_, std::move(collection), documents_[i], options_);
    }
    void succeeded(size_t, const query::WriteResult&) override { ++inserted_; }
    int32_t inserted() const { return inserted_; }

private:
    const query::WorkUnit unit_;
    std::vector<bson::Document> documents_;
    const query::WriteOptions options_;
    int32_t inserted_ = 0;
};

sync::Task<Status> runInsert(Invocation& call) {
    StatusOr<std::string> collection = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    Fields fields(call.body(), "insert");
    const bool isOrdered = fields.boolean("ordered", true);
    query::WriteOptions options = writeOptionsOf(&fields);
    options.check = checkOfCollection(call.generic.db, *collection);
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    if (options.bypassValidation) {
        FRESHET_CO_RETURN_IF_ERROR(
            authorize(call, Action::kBypassDocumentValidation, call.generic.db, *collection));
    }
    StatusOr<std::vector<bson::Document>> documents = call.documents("documents");
    FRESHET_CO_RETURN_IF_ERROR(documents.status());
    FRESHET_CO_RETURN_IF_ERROR(checkBatchSize(documents->size()));

    Inserts inserts(call.unit(), std::move(*documents), options);
    Status status = co_await runStatements(call, *collection, isOrdered, inserts);
    call.reply.add("n", inserts.inserted());
    co_return status;
}

}  // namespace

CommandTable insertCommands() {
    return {{
        .name = "insert",
        .aliases = {},
        .help = "insert documents",
        .fields = {"documents",
                   "ordered",
                   "bypassDocumentValidation",
                   "bypassEmptyTsReplacement",
                   "stmtId",
                   "stmtIds"},
        .handler = runInsert,
        .access = Access::onCollection(Action::kInsert),
        .kind = OpKind::kInsert,
        .inApiVersion1 = true,
        .isRetryable = true,
        .inTransactions = InTransactions::kStatement,
    }};
}

}  // namespace freshet::command
