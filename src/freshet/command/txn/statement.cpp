// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/txn/statement.h"

#include "freshet/bson/json.h"
#include "freshet/command/access/authorize.h"
#include "freshet/command/admin/own_names.h"
#include "freshet/command/error_map.h"
#include "freshet/command/retry/record_storer.h"
#include "freshet/command/txn/read_concern.h"
#include "freshet/command/txn/snapshot_read.h"
#include "freshet/platform/clock.h"

namespace freshet::command {
namespace {

constexpr const char* kConflictText =
    "WriteConflict error: this operation conflicted with another operation. Please retry your "
    "operation or multi-document transaction.";

std::string numberText(int64_t number) {
    return "{ txnNumber: " + std::to_string(number) + " }";
}

std::string sessionText(const Invocation& call) {
    return bson::toShellText(bson::Document(call.generic.lsid.data()));
}

Status committedBefore(int64_t number) {
    return invalid(Reason::kTransactionCommitted,
                   "Transaction with " + numberText(number) + " has been committed.");
}

Status tooOld(const Invocation& call, int64_t newest) {
    return invalid(Reason::kTransactionTooOld,
                   "Cannot start transaction with " + numberText(*call.generic.txnNumber) +
                       " on session " + sessionText(call) +
                       " because a newer transaction with txnNumber " + std::to_string(newest) +
                       " has already started on this session.");
}

/// A transaction that this session starts takes the place of an older one, which is aborted.
sync::Task<Status> start(Invocation& call) {
    const std::string& session = call.generic.lsid;
    const int64_t number = *call.generic.txnNumber;
    const Transactions::Known known = call.services.transactions.known(session);
    if (known.number == number) {
        co_return invalid(Reason::kConflictingOperationInProgress,
                          "Only servers in a sharded cluster can start a new transaction at the "
                          "active transaction number");
    }
    StatusOr<SessionRecords::Use> record = co_await useRecord(call);
    FRESHET_CO_RETURN_IF_ERROR(record.status());
    if (const int64_t newest = std::max(known.number, record->txnNumber()); newest >= number) {
        co_return tooOld(call, newest);
    }
    abortTransaction(call.services, session);
    auto transaction = std::make_shared<query::Transaction>(call.services.catalog);
    if (const uint64_t time = call.generic.atClusterTime; time != 0) {
        engine::Snapshot snapshot;
        Status found = co_await findSnapshot(call, time, &snapshot);
        FRESHET_CO_RETURN_IF_ERROR(std::move(found));
        if (!transaction->beginAt(snapshot).isOk()) {
            co_return snapshotTooOld(time);
        }
    }
    const int64_t seconds =
        ParameterValues::get(call.services.parameters.transactionLifetimeLimitSeconds);
    FRESHET_CO_RETURN_IF_ERROR(transaction->endAfter(static_cast<uint64_t>(seconds) * 1'000));
    call.services.transactions.start(session,
                                     number,
                                     std::move(transaction),
                                     {holderOf(call), call.client.connectionId},
                                     platform::monotonicNanos());
    endCursorsOf(call.services, call.services.transactions.giveBack(session));
    co_return Status::ok();
}

/// Whether the statement's number is that of the transaction in progress.
Status checkGoesOn(const Invocation& call) {
    const int64_t number = *call.generic.txnNumber;
    const Transactions::Known known = call.services.transactions.known(call.generic.lsid);
    if (number < known.number) {
        return tooOld(call, known.number);
    }
    return checkState(number, known);
}

/// The statement's use of the transaction.
class Use {
public:
    explicit Use(Invocation& call)
        : call_(call), transaction_(call.services.transactions.take(call.generic.lsid)) {
        call_.transaction = transaction_;
    }
    ~Use() { end(transaction_ != nullptr && call_.transaction != nullptr); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    bool has() const { return transaction_ != nullptr; }
    query::Transaction& operator*() const { return *transaction_; }
    /// Gives the transaction back. `aborts`: it ends here.
    void end(bool aborts) {
        if (call_.transaction == nullptr) {
            return;
        }
        call_.transaction = nullptr;
        if (aborts) {
            abortTransaction(call_.services, call_.generic.lsid);
        } else {
            endCursorsOf(call_.services, call_.services.transactions.giveBack(call_.generic.lsid));
        }
    }

private:
    Invocation& call_;
    const Transactions::Ref transaction_;
};

/// The text that applications know, whatever the conflict was about. A cursor whose collection or
/// index another client has dropped cannot go on in its snapshot.
Status shownError(Status status) {
    if (status.reason() == Reason::kQueryPlanKilled) {
        return Status(Code::kConflict, Reason::kSnapshotUnavailable, std::string(status.text()));
    }
    const bool isConflict =
        !status.isOk() && wireErrorOf(status).code == wireErrorOf(Reason::kWriteConflict).code;
    return isConflict ? writeConflict() : status;
}

}  // namespace

sync::Task<Status> unlessCommittedBefore(Invocation& call, Status unknown) {
    if (unknown.reason() != Reason::kNoSuchTransaction) {
        co_return unknown;
    }
    StatusOr<bool> isCommitted = co_await wasCommitted(call);
    FRESHET_CO_RETURN_IF_ERROR(isCommitted.status());
    co_return *isCommitted ? committedBefore(*call.generic.txnNumber) : std::move(unknown);
}

Status writeConflict() {
    return Status(Code::kConflict, Reason::kWriteConflict, kConflictText);
}

Status checkState(int64_t number, const Transactions::Known& known) {
    if (number != known.number) {
        return invalid(Reason::kNoSuchTransaction,
                       "Given transaction number " + std::to_string(number) +
                           " does not match any in-progress transactions. The active transaction "
                           "number is " +
                           std::to_string(known.number));
    }
    switch (known.state) {
        case Transactions::State::kInProgress:
            return Status::ok();
        case Transactions::State::kCommitted:
            return committedBefore(number);
        case Transactions::State::kAborted:
            break;
    }
    return invalid(Reason::kNoSuchTransaction,
                   "Transaction with " + numberText(number) + " has been aborted.");
}

Status checkDatabaseInTransaction(std::string_view db) {
    return isOwnDatabase(db) ? invalid(Reason::kOperationNotSupportedInTransaction,
                                       "Cannot run command against the '" + std::string(db) +
                                           "' database in a transaction.")
                             : Status::ok();
}

Status checkStatement(const Command& command,
                      const GenericArguments& generic,
                      const BodyIndex& body) {
    const bool isEnd = command.inTransactions == InTransactions::kEnd;
    if (generic.startsTransaction && command.name == "killCursors") {
        return invalid(Reason::kOperationNotSupportedInTransaction,
                       "Cannot run killCursors as the first operation in a multi-document "
                       "transaction.");
    }
    if (command.inTransactions == InTransactions::kNever) {
        const bool isCount = command.name == "count";
        return invalid(Reason::kOperationNotSupportedInTransaction,
                       "Cannot run '" + std::string(command.name) +
                           "' in a multi-document transaction." +
                           (isCount ? " Please see http://dochub.mongodb.org/core/"
                                      "transaction-count for a recommended alternative."
                                    : ""));
    }
    if (!command.adminOnly) {
        FRESHET_RETURN_IF_ERROR(checkDatabaseInTransaction(generic.db));
    }
    if (isEnd) {
        return generic.startsTransaction ? invalid(Reason::kOperationNotSupportedInTransaction,
                                                   "Cannot run '" + std::string(command.name) +
                                                       "' as the first command of a transaction")
                                         : Status::ok();
    }
    if (body.find("writeConcern")) {
        return invalid(Reason::kInvalidOptions,
                       "writeConcern is not allowed within a multi-statement transaction");
    }
    if (body.find("readConcern") && !generic.startsTransaction) {
        return invalid(Reason::kInvalidOptions,
                       "Only the first command in a transaction may specify a readConcern");
    }
    return Status::ok();
}

void abortTransaction(Services& services, const std::string& session) {
    const Transactions::Ref ended =
        services.transactions.end(session, Transactions::State::kAborted);
    if (ended != nullptr) {
        services.cursors.killTransaction(session, ended.get());
    }
}

void endCursorsOf(Services& services, const std::vector<Transactions::Aborted>& aborted) {
    for (const Transactions::Aborted& one : aborted) {
        services.cursors.killTransaction(one.session, one.transaction.get());
    }
}

sync::Task<Status> runInTransaction(Invocation& call, sync::Task<Status> statement) {
    StatusOr<SessionTurns::Held> turn =
        co_await call.services.sessionTurns.take(call, call.generic.lsid);
    FRESHET_CO_RETURN_IF_ERROR(turn.status());
    if (call.generic.startsTransaction) {
        Status started = co_await start(call);
        FRESHET_CO_RETURN_IF_ERROR(std::move(started));
    } else if (Status known = checkGoesOn(call); !known.isOk()) {
        co_return co_await unlessCommittedBefore(call, std::move(known));
    }
    Use use(call);
    if (!use.has()) {  // another thread has just aborted it
        co_return checkGoesOn(call);
    }
    Status status = co_await std::move(statement);
    Status error = (*use).takeError();
    if (status.isOk()) {
        status = std::move(error);
    }
    use.end(!status.isOk() || call.abortsTransaction);
    co_return shownError(std::move(status));
}

}  // namespace freshet::command
