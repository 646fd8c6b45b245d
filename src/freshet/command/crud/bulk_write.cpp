// SPDX-License-Identifier: Apache-2.0
/// bulkWrite: inserts, updates and deletes on any collections in one command. Each element of `ops`
/// is a statement, as those of insert, update and delete are; its result is a document of the
/// reply's cursor.
#include "freshet/bson/json.h"
#include "freshet/catalog/writable_names.h"
#include "freshet/command/access/authorize.h"
#include "freshet/command/access/users.h"
#include "freshet/command/crud/cursor_reply.h"
#include "freshet/command/crud/statements.h"
#include "freshet/command/crud/write_batch.h"
#include "freshet/command/error_map.h"
#include "freshet/command/run/tables.h"
#include "freshet/command/txn/statement.h"
#include "freshet/query/limits.h"
#include "freshet/wire/frame.h"

#include <limits>

namespace freshet::command {
namespace {

constexpr const char* kResultsNs = "admin.$cmd.bulkWrite";
/// After that many bytes of results no further statement is run: as many as a request may have.
constexpr size_t kResultBytesMax = wire::kMessageBytesMax;

constexpr UpdateNames kUpdateNames{
    .filter = "filter", .update = "updateMods", .constants = "constants"};

/// An element of nsInfo.
struct Namespace {
    WriteTarget target;
    Status writable;  // whether clients may write there at all
    query::DocumentCheck check = nullptr;
    // What the statements do there.
    bool isInsertedInto = false;
    bool isUpdated = false;
    bool isDeletedFrom = false;
};

/// An element of ops.
struct Operation {
    OpKind kind = OpKind::kCommand;
    size_t ns = 0;
    bson::Document source;
    // One of these, as `kind` says.
    bson::Document inserted;
    std::unique_ptr<query::UpdateRequest> update;
    std::unique_ptr<query::DeleteRequest> remove;
    Status refused;  // why the statement fails, known before it is run
};

/// The options that all statements share.
struct Shared {
    bool isOrdered = true;
    bool isErrorsOnly = false;
    query::WriteOptions options;
    bson::OwnedDocument variables;
};

class BulkWrite final : public Statements, public StatementList {
public:
    BulkWrite(const query::WorkUnit& unit,
              OpCounters& counters,
              Shared shared,
              std::vector<Namespace> namespaces,
              std::vector<Operation> operations)
        : unit_(unit),
          counters_(counters),
          shared_(std::move(shared)),
          namespaces_(std::move(namespaces)),
          operations_(std::move(operations)) {}

    size_t count() const override { return operations_.size(); }
    bool createsCollection(size_t i) const override {
        const Operation& operation = operations_[i];
        return operation.kind == OpKind::kInsert ||
               (operation.update != nullptr && operation.update->upsert);
    }
    StatusOr<std::unique_ptr<query::WriteOp>> make(size_t i,
                                                   catalog::CollectionRef collection) override;
    void succeeded(size_t i, const query::WriteResult& result) override;
    const WriteTarget& target(size_t i) const override {
        return namespaces_[operations_[i].ns].target;
    }
    bool failed(size_t i, const Outcome& outcome) override;

    std::vector<bson::OwnedDocument> takeResults() { return std::move(results_); }
    void addCounts(bson::Builder* reply) const {
        reply->add("nErrors", errors_).add("nInserted", inserted_).add("nMatched", matched_);
        reply->add("nModified", modified_).add("nUpserted", upserted_).add("nDeleted", deleted_);
    }

private:
    bool isFull() const { return resultBytes_ >= kResultBytesMax; }
    void add(bson::Builder* result) {
        results_.emplace_back(result->finish());
        resultBytes_ += results_.back().bytes().size();
    }

    const query::WorkUnit unit_;
    OpCounters& counters_;
    Shared shared_;
    std::vector<Namespace> namespaces_;
    std::vector<Operation> operations_;
    std::vector<bson::OwnedDocument> results_;
    size_t resultBytes_ = 0;
    int32_t errors_ = 0;
    int32_t inserted_ = 0;
    int32_t matched_ = 0;
    int32_t modified_ = 0;
    int32_t upserted_ = 0;
    int32_t deleted_ = 0;
};

StatusOr<std::unique_ptr<query::WriteOp>> BulkWrite::make(size_t i,
                                                          catalog::CollectionRef collection) {
    const Operation& operation = operations_[i];
    if (isFull()) {
        return invalid(Reason::kExceededMemoryLimit,
                       "BulkWrite response size exceeded limit (" +
                           std::to_string(kResultBytesMax) + " bytes)");
    }
    FRESHET_RETURN_IF_ERROR(operation.refused);
    FRESHET_RETURN_IF_ERROR(namespaces_[operation.ns].writable);
    if (collection != nullptr) {
        counters_.add(operation.kind);
    }
    switch (operation.kind) {
        case OpKind::kUpdate:
            return makeStatement(unit_, std::move(collection), *operation.update);
        case OpKind::kDelete:
            return makeStatement(unit_, std::move(collection), *operation.remove);
        default:
            break;
    }
    query::WriteOptions options = shared_.options;
    options.check = namespaces_[operation.ns].check;
    return makeStatement(unit_, std::move(collection), operation.inserted, options);
}

void BulkWrite::succeeded(size_t i, const query::WriteResult& result) {
    const OpKind kind = operations_[i].kind;
    const auto matched = static_cast<int32_t>(result.matched);
    const auto modified = static_cast<int32_t>(result.modified);
    inserted_ += kind == OpKind::kInsert ? 1 : 0;
    deleted_ += kind == OpKind::kDelete ? matched : 0;
    if (kind == OpKind::kUpdate) {
        matched_ += matched;
        modified_ += modified;
        upserted_ += result.upserted ? 1 : 0;
    }
    if (shared_.isErrorsOnly) {
        return;
    }
    bson::Builder out;
    out.add("ok", 1.0).add("idx", static_cast<int32_t>(i));
    out.add("n", kind == OpKind::kInsert || result.upserted ? 1 : matched);
    if (kind == OpKind::kUpdate) {
        out.add("nModified", modified);
        if (result.upserted) {
            out.object("upserted").addAs("_id", result.upsertedId.view().find("_id"));
        }
    }
    add(&out);
}

bool BulkWrite::failed(size_t i, const Outcome& outcome) {
    ++errors_;
    bson::Builder out;
    out.add("ok", 0.0).add("idx", static_cast<int32_t>(i));
    out.add("code", wireErrorOf(outcome.status).code);
    out.add("errmsg", bson::repairedUtf8(outcome.status.text()));
    if (resultBytes_ + outcome.errorInfo.bytes().size() <= kResultBytesMax) {
        out.addFields(outcome.errorInfo.view());
    }
    out.add("n", int32_t{0});
    if (operations_[i].kind == OpKind::kUpdate) {
        out.add("nModified", int32_t{0});
    }
    const bool wasFull = isFull();
    add(&out);
    return !shared_.isOrdered && !wasFull;
}

Status invalidNamespace(std::string_view name) {
    return invalid(Reason::kInvalidNamespace,
                   "Invalid namespace specified for bulkWrite: '" + std::string(name) + "'");
}

StatusOr<Namespace> parseNamespace(bson::Document source) {
    Fields fields(source, "bulkWrite.nsInfo");
    fields.allowOnly({"ns", "collectionUUID", "encryptionInformation"});
    fields.refuse({"collectionUUID", "encryptionInformation"});
    const std::string_view name = fields.requiredString("ns");
    FRESHET_RETURN_IF_ERROR(fields.status());
    const size_t dot = std::min(name.find('.'), name.size());
    const std::string_view db = name.substr(0, dot);
    const std::string_view collection = name.substr(std::min(dot + 1, name.size()));
    if (!catalog::checkNames(db, collection).isOk()) {
        return invalidNamespace(collection.empty() ? db : name);
    }
    Namespace out;
    out.target = {std::string(db), std::string(collection)};
    out.writable = catalog::checkWritable(db, collection);
    out.check = checkOfCollection(db, collection);
    return out;
}

StatusOr<std::vector<Namespace>> parseNamespaces(const Invocation& call) {
    FRESHET_ASSIGN_OR_RETURN(std::vector<bson::Document> sources, call.documents("nsInfo"));
    std::vector<Namespace> namespaces;
    for (const bson::Document source : sources) {
        FRESHET_RETURN_IF_ERROR(query::mayGoOn());
        FRESHET_ASSIGN_OR_RETURN(Namespace parsed, parseNamespace(source));
        namespaces.push_back(std::move(parsed));
    }
    return namespaces;
}

void readInsert(Fields* fields, Operation* out) {
    out->kind = OpKind::kInsert;
    fields->allowOnly({"insert", "document"});
    out->inserted = fields->requiredObject("document");
}

void readUpdate(Fields* fields, const Shared& shared, Operation* out) {
    out->kind = OpKind::kUpdate;
    fields->allowOnly({"update",
                       "filter",
                       "updateMods",
                       "constants",
                       "multi",
                       "upsert",
                       "upsertSupplied",
                       "collation",
                       "arrayFilters",
                       "hint",
                       "sort"});
    query::UpdateRequest request =
        readUpdate(fields, kUpdateNames, shared.variables, shared.options);
    if (fields->status().isOk()) {
        out->refused = checkUpdateFields(fields, kUpdateNames, &request);
        out->update = std::make_unique<query::UpdateRequest>(std::move(request));
    }
}

void readDelete(Fields* fields, const Shared& shared, Operation* out) {
    out->kind = OpKind::kDelete;
    fields->allowOnly({"delete", "filter", "multi", "hint", "collation"});
    query::DeleteRequest request = readDelete(fields, "filter", shared.variables);
    request.justOne = !fields->boolean("multi", false);
    out->remove = std::make_unique<query::DeleteRequest>(std::move(request));
}

/// An element's first field says what it does, and on which element of nsInfo.
StatusOr<Operation> parseOperation(bson::Document source, const Shared& shared) {
    const std::string_view name = source.isEmpty() ? std::string_view() : source.begin()->name();
    Fields fields(source, "bulkWrite.ops");
    Operation out;
    out.source = source;
    if (name == "insert") {
        readInsert(&fields, &out);
    } else if (name == "update") {
        readUpdate(&fields, shared, &out);
    } else if (name == "delete") {
        readDelete(&fields, shared, &out);
    } else {
        return unknownField("bulkWrite", name);
    }
    const int64_t ns = fields.integer(name, -1);
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (ns < 0) {
        return badValue("BSON field '" + std::string(name) +
                        "' value must be >= 0, actual value '" + std::to_string(ns) + "'");
    }
    out.ns = static_cast<size_t>(ns);
    return out;
}

StatusOr<std::vector<Operation>> parseOperations(const Invocation& call, const Shared& shared) {
    FRESHET_ASSIGN_OR_RETURN(std::vector<bson::Document> sources, call.documents("ops"));
    std::vector<Operation> operations;
    operations.reserve(std::min(sources.size(), kWriteBatchMax));
    for (const bson::Document source : sources) {
        if (operations.size() == kWriteBatchMax) {
            return checkBatchSize(sources.size());
        }
        FRESHET_RETURN_IF_ERROR(query::mayGoOn());
        FRESHET_RETURN_IF_ERROR(query::mayTake(shared.variables.bytes().size()));
        FRESHET_ASSIGN_OR_RETURN(Operation operation, parseOperation(source, shared));
        operations.push_back(std::move(operation));
    }
    return operations;
}

/// Joins each operation with its namespace.
Status join(std::vector<Operation>* operations, std::vector<Namespace>* namespaces) {
    for (Operation& operation : *operations) {
        FRESHET_RETURN_IF_ERROR(query::mayGoOn());
        if (operation.ns >= namespaces->size()) {
            return badValue("BulkWrite ops entry " + bson::toShellText(operation.source) +
                            " has an invalid nsInfo index.");
        }
        Namespace& ns = (*namespaces)[operation.ns];
        ns.isInsertedInto |= operation.kind == OpKind::kInsert;
        ns.isUpdated |= operation.kind == OpKind::kUpdate;
        ns.isDeletedFrom |= operation.kind == OpKind::kDelete;
        if (operation.update != nullptr) {
            ns.isInsertedInto |= operation.update->upsert;
            operation.update->options.check = ns.check;
        }
    }
    return Status::ok();
}

Status authorizeAll(Invocation& call,
                    const std::vector<Namespace>& namespaces,
                    bool bypassesValidation) {
    for (const Namespace& ns : namespaces) {
        FRESHET_RETURN_IF_ERROR(query::mayGoOn());
        const std::pair<bool, Action> needed[] = {
            {ns.isInsertedInto, Action::kInsert},
            {ns.isUpdated, Action::kUpdate},
            {ns.isDeletedFrom, Action::kRemove},
            {bypassesValidation, Action::kBypassDocumentValidation},
        };
        for (const auto& [isNeeded, action] : needed) {
            if (isNeeded) {
                FRESHET_RETURN_IF_ERROR(
                    authorize(call, action, ns.target.db, ns.target.collection));
            }
        }
    }
    return Status::ok();
}

Status checkInTransaction(const Invocation& call, const std::vector<Namespace>& namespaces) {
    for (const Namespace& ns : namespaces) {
        FRESHET_RETURN_IF_ERROR(checkDatabaseInTransaction(ns.target.db));
        FRESHET_RETURN_IF_ERROR(
            checkWriteInTransaction(call, ns.target.db + "." + ns.target.collection, 50791));
    }
    return Status::ok();
}

/// Statements that change any number of documents cannot be done once.
void refuseMulti(std::vector<Operation>* operations) {
    for (Operation& operation : *operations) {
        const bool isMulti = (operation.update != nullptr && operation.update->multi) ||
                             (operation.remove != nullptr && !operation.remove->justOne);
        if (isMulti) {
            operation.refused =
                invalid(Reason::kInvalidOptions, "Cannot use retryable writes with multi=true");
        }
    }
}

Status checkStatementIds(Fields* fields, size_t statements) {
    const size_t ids = fields->array("stmtIds").fieldCount();
    FRESHET_RETURN_IF_ERROR(fields->status());
    if (!fields->has("stmtIds")) {
        return Status::ok();
    }
    if (fields->has("stmtId")) {
        return invalid(Reason::kInvalidOptions,
                       "May not specify both stmtId and stmtIds in bulkWrite command.");
    }
    return ids == statements
               ? Status::ok()
               : invalid(Reason::kInvalidLength,
                         "Number of statement ids must match the number of batch entries. Got " +
                             std::to_string(ids) + " statement ids but " +
                             std::to_string(statements) + " operations.");
}

StatusOr<BulkWrite> parse(Invocation& call) {
    Fields fields(call.body(), "bulkWrite");
    Shared shared;
    shared.isOrdered = fields.boolean("ordered", true);
    shared.isErrorsOnly = fields.boolean("errorsOnly", false);
    shared.options = writeOptionsOf(&fields);
    shared.variables = letOf(&fields);
    FRESHET_RETURN_IF_ERROR(fields.status());
    FRESHET_ASSIGN_OR_RETURN(std::vector<Operation> operations, parseOperations(call, shared));
    FRESHET_ASSIGN_OR_RETURN(std::vector<Namespace> namespaces, parseNamespaces(call));
    FRESHET_RETURN_IF_ERROR(checkBatchSize(operations.size()));
    FRESHET_RETURN_IF_ERROR(checkStatementIds(&fields, operations.size()));
    FRESHET_RETURN_IF_ERROR(join(&operations, &namespaces));
    FRESHET_RETURN_IF_ERROR(authorizeAll(call, namespaces, shared.options.bypassValidation));
    if (call.generic.isInTransaction) {
        FRESHET_RETURN_IF_ERROR(checkInTransaction(call, namespaces));
    } else if (call.generic.txnNumber) {
        refuseMulti(&operations);
    }
    return BulkWrite(call.unit(),
                     call.services.counters,
                     std::move(shared),
                     std::move(namespaces),
                     std::move(operations));
}

sync::Task<Status> runBulkWrite(Invocation& call) {
    StatusOr<BulkWrite> parsed = parse(call);
    FRESHET_CO_RETURN_IF_ERROR(parsed.status());
    const StatusOr<int64_t> batchSize = batchSizeOf(call, std::numeric_limits<int64_t>::max());
    FRESHET_CO_RETURN_IF_ERROR(batchSize.status());
    BulkWrite& writes = *parsed;
    StatusOr<std::unique_ptr<RetryableWrite>> retry = co_await beginRetryable(call, writes.count());
    FRESHET_CO_RETURN_IF_ERROR(retry.status());
    Status status = co_await runEach(call, writes, writes, retry->get());
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));

    const query::WorkDone work = call.stats.work;  // the cursor reports its own
    FirstBatch first;
    first.ns = kResultsNs;
    first.batchSize = *batchSize;
    auto results = makeListCursor(writes.takeResults());
    status = co_await replyWithFirstBatch(call, std::move(results), std::move(first));
    call.stats.work = work;
    writes.addCounts(&call.reply);
    if (*retry != nullptr) {
        (*retry)->addTo(&call.reply);
    }
    co_return status;
}

}  // namespace

CommandTable bulkWriteCommands() {
    return {{
        .name = "bulkWrite",
        .aliases = {},
        .help = "insert, update and delete documents of several collections",
        .fields = {"ops",
                   "nsInfo",
                   "ordered",
                   "errorsOnly",
                   "cursor",
                   "let",
                   "bypassDocumentValidation",
                   "bypassEmptyTsReplacement",
                   "stmtId",
                   "stmtIds"},
        .handler = runBulkWrite,
        .access = Access::byHandler(),
        .adminOnly = true,
        .inApiVersion1 = true,
        .isRetryable = true,
        .inTransactions = InTransactions::kStatement,
        .scripts = Command::Scripts::kWhenMentioned,
    }};
}

}  // namespace freshet::command
