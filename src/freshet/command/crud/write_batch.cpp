// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/crud/write_batch.h"

#include "freshet/bson/json.h"
#include "freshet/catalog/writable_names.h"
#include "freshet/command/access/users.h"
#include "freshet/command/error_map.h"
#include "freshet/query/transform.h"

#include <algorithm>

namespace freshet::command {
namespace {

/// If a collection is dropped this often while a write runs, the write fails.
constexpr int kDropRacesMax = 16;
// Details of errors beyond this are omitted, so that those of a full batch fit in a reply.
constexpr size_t kErrorTextBytesMax = 1u << 20;
constexpr size_t kErrorInfoBytesMax = 8u << 20;

bool wasDropped(const Status& status) {
    return status.code() == Code::kCancelled && status.reason() == Reason::kNamespaceNotFound;
}

/// Errors of the server or of the command as a whole, not of one statement.
bool endsCommand(const Status& status) {
    switch (status.code()) {
        case Code::kIo:
        case Code::kCorruption:
        case Code::kUnavailable:
        case Code::kTimeout:
        case Code::kCancelled:
            return true;
        default:
            return false;
    }
}

/// The statements of a command on one collection: their errors become its writeErrors.
class OneCollection final : public StatementList {
public:
    OneCollection(WriteTarget target, bool isOrdered)
        : target_(std::move(target)), isOrdered_(isOrdered) {}

    const WriteTarget& target(size_t) const override { return target_; }
    bool failed(size_t i, const Outcome& outcome) override {
        add(i, outcome.status, outcome.errorInfo);
        return !isOrdered_;
    }
    void addTo(bson::Builder* reply) {
        if (count_ != 0) {
            const std::string bytes = errors_.finish();
            reply->addArray("writeErrors", bson::Document(bytes.data()));
        }
    }

private:
    void add(size_t index, const Status& status, const bson::OwnedDocument& info) {
        const bool isBrief = errors_.size() > kErrorTextBytesMax;
        const bool fits = errors_.size() + info.bytes().size() <= kErrorInfoBytesMax;
        auto error = errors_.object(errors_.nextIndex());
        error.add("index", static_cast<int32_t>(index));
        error.add("code", wireErrorOf(status).code);
        if (!isBrief && fits) {
            error.addFields(info.view());
        }
        error.add("errmsg", isBrief ? std::string() : bson::repairedUtf8(status.text()));
        ++count_;
    }

    const WriteTarget target_;
    const bool isOrdered_;
    bson::Builder errors_;
    size_t count_ = 0;
};

/// As drive(), but a commit that has begun is not left.
sync::Task<Status> driveStatement(Invocation& call,
                                  query::WriteOp& op,
                                  const RetryableWrite* retry) {
    if (retry == nullptr) {
        co_return co_await drive(call, op);
    }
    while (true) {
        Status status = op.run();
        if (!status.isWouldBlock()) {
            co_return status;
        }
        if (retry->isCommitting()) {
            co_await sync::wait(op.token());
            continue;
        }
        noteYieldOf(call, op);
        status = co_await waitOrStop(call, op.token());
        FRESHET_CO_RETURN_IF_ERROR(status);
    }
}

}  // namespace

bson::OwnedDocument letOf(Fields* fields) {
    const bson::Document let = fields->object("let");
    if (!fields->has("let") || !fields->status().isOk()) {
        return {};
    }
    StatusOr<bson::OwnedDocument> variables = query::evaluateLet(let);
    if (!variables.isOk()) {
        fields->fail(variables.status());
        return {};
    }
    return *std::move(variables);
}

query::WriteOptions writeOptionsOf(Fields* fields) {
    query::WriteOptions options;
    options.bypassValidation = fields->boolean("bypassDocumentValidation", false);
    options.keepsEmptyTimestamps = fields->boolean("bypassEmptyTsReplacement", false);
    return options;
}

sync::Task<Outcome> runStatement(Invocation& call,
                                 const WriteTarget& target,
                                 size_t i,
                                 Statements& statements,
                                 RetryableWrite* retry) {
    Outcome outcome;
    if (retry != nullptr) {
        if (const std::optional<query::WriteResult> earlier = retry->earlier(i)) {
            statements.succeeded(i, *earlier);
            co_return outcome;
        }
    }
    Turns::Turn turn;  // a direct change of users runs between the turns of their commands
    if (target.collection == kUsersCollection && target.db == kUsersDb) {
        StatusOr<Turns::Turn> taken = co_await call.services.users.turns().take(call);
        if (!taken.isOk()) {
            outcome.status = taken.status();
            co_return outcome;
        }
        turn = std::move(*taken);
    }
    for (int attempt = 0; attempt < kDropRacesMax; ++attempt) {
        StatusOr<catalog::CollectionRef> seen = call.find(target.db, target.collection);
        if (!seen.isOk()) {
            outcome.status = seen.status();
            co_return outcome;
        }
        catalog::CollectionRef found = std::move(*seen);
        if (found == nullptr && statements.createsCollection(i)) {
            // A statement that will be refused anyway does not create the collection.
            outcome.status = statements.make(i, nullptr).status();
            if (outcome.status.isOk()) {
                call.hasTriedToWrite = true;
                outcome.status = co_await ensureCollection(call, target);
            }
            if (!outcome.status.isOk()) {
                co_return outcome;
            }
            seen = call.find(target.db, target.collection);
            if (!seen.isOk() || *seen == nullptr) {
                continue;
            }
            found = std::move(*seen);
        }
        if (retry != nullptr) {
            retry->prepare(i);
        }
        StatusOr<std::unique_ptr<query::WriteOp>> op = statements.make(i, std::move(found));
        if (!op.isOk() || *op == nullptr) {
            outcome.status = op.status();
            co_return outcome;
        }
        call.hasTriedToWrite = true;
        (*op)->accompany(retry);
        outcome.status = (*op)->run();
        if (outcome.status.isWouldBlock()) {
            outcome.status = co_await driveStatement(call, **op, retry);
        }
        if (retry != nullptr && retry->ended(outcome.status.isOk() ? &(*op)->result() : nullptr)) {
            co_await storeRecord(call);
        }
        outcome.lsn = std::max(outcome.lsn, (*op)->commitLsn());
        call.stats.work.add((*op)->work());
        if (wasDropped(outcome.status)) {
            continue;
        }
        if (outcome.status.isOk()) {
            statements.succeeded(i, (*op)->result());
        } else {
            outcome.errorInfo = (*op)->errorInfo();
        }
        co_return outcome;
    }
    outcome.status = Status(
        Code::kConflict, Reason::kWriteConflict, "the collection is dropped again and again");
    co_return outcome;
}

Status checkWriteInTransaction(const Invocation& call, const std::string& ns, uint32_t code) {
    const size_t dot = ns.find('.');
    return call.transaction != nullptr && ns.compare(dot + 1, 7, "system.") == 0
               ? invalid(location(code),
                         "Cannot write to system collection " + ns + " within a transaction.")
               : Status::ok();
}

Status checkBatchSize(size_t count) {
    if (count >= 1 && count <= kWriteBatchMax) {
        return Status::ok();
    }
    return invalid(Reason::kInvalidLength,
                   "Write batch sizes must be between 1 and " + std::to_string(kWriteBatchMax) +
                       ". Got " + std::to_string(count) + " operations.");
}

sync::Task<Status> runEach(Invocation& call,
                           Statements& statements,
                           StatementList& list,
                           RetryableWrite* retry) {
    Pacer pacer;
    journal::Lsn newest = 0;
    for (size_t i = 0; i < statements.count(); ++i) {
        if (pacer.isDue()) {
            FRESHET_CO_RETURN_IF_ERROR(call.checkInterrupt());
            co_await sync::wait(sync::WaitToken::completed());
        }
        const WriteTarget& target = list.target(i);
        RetryableWrite* const recorder = RetryableWrite::isRecorded(target.db) ? retry : nullptr;
        Outcome outcome = co_await runStatement(call, target, i, statements, recorder);
        newest = std::max(newest, outcome.lsn);
        if (outcome.status.isOk()) {
            continue;
        }
        if (endsCommand(outcome.status)) {
            co_return outcome.status;
        }
        const bool isInTransaction = call.transaction != nullptr;
        if (isInTransaction && outcome.status.code() == Code::kConflict) {
            co_return outcome.status;  // an error of the whole command: all is to be tried again
        }
        call.abortsTransaction = isInTransaction;
        if (!list.failed(i, outcome) || isInTransaction) {
            break;
        }
    }
    co_return co_await waitForDurability(call, newest);
}

sync::Task<Status> runStatements(Invocation& call,
                                 const std::string& collection,
                                 bool isOrdered,
                                 Statements& statements) {
    FRESHET_CO_RETURN_IF_ERROR(catalog::checkWritable(call.generic.db, collection));
    FRESHET_CO_RETURN_IF_ERROR(checkWriteInTransaction(call, call.ns(collection), 50791));
    StatusOr<std::unique_ptr<RetryableWrite>> retry =
        co_await beginRetryable(call, statements.count());
    FRESHET_CO_RETURN_IF_ERROR(retry.status());
    call.services.counters.add(call.command.kind, statements.count());
    OneCollection list({call.generic.db, collection}, isOrdered);
    Status status = co_await runEach(call, statements, list, retry->get());
    list.addTo(&call.reply);
    if (*retry != nullptr) {
        (*retry)->addTo(&call.reply);
    }
    co_return status;
}

sync::Task<Status> ensureCollection(Invocation& call, const WriteTarget& target) {
    if (call.transaction != nullptr) {
        co_return call.transaction->create(target.db, target.collection, {});
    }
    std::unique_ptr<catalog::Change> change =
        call.services.catalog.createCollection(target.db, target.collection, {}, true);
    // No wait for the disk: the write that follows has a later LSN and waits for both.
    const Status status = co_await driveToEnd(*change);
    // A concurrent create with options of its own was first: the collection exists, that is enough.
    co_return status.reason() == Reason::kNamespaceExists ? Status::ok() : status;
}

}  // namespace freshet::command
