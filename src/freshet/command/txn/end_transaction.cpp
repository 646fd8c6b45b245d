// SPDX-License-Identifier: Apache-2.0
/// commitTransaction and abortTransaction.
#include "freshet/command/retry/record_storer.h"
#include "freshet/command/retry/statement_event.h"
#include "freshet/command/run/tables.h"
#include "freshet/command/txn/statement.h"
#include "freshet/platform/clock.h"

namespace freshet::command {
namespace {

Status refuseOutside(const Invocation& call) {
    return call.generic.isInTransaction
               ? Status::ok()
               : invalid(Reason::kCommandFailed,
                         std::string(call.command.name) + " must be run within a transaction");
}

/// Commits the transaction in progress, with an event that says so also after a restart.
sync::Task<Status> commit(Invocation& call, query::Transaction& transaction) {
    if (!transaction.hasChanges()) {
        transaction.abort();  // gives the snapshot back; there is nothing else
        call.services.transactions.end(call.generic.lsid, Transactions::State::kCommitted);
        co_return Status::ok();
    }
    StatusOr<SessionRecords::Use> record = co_await useRecord(call);
    FRESHET_CO_RETURN_IF_ERROR(record.status());
    const int64_t number = *call.generic.txnNumber;
    record->beginCommit(call.services.store.journal().tailLsn());
    const std::unique_ptr<catalog::Change> change =
        transaction.commit([&call, number](engine::Txn& txn, sync::WaitToken*) {
            return txn.addEvent(transactionEvent(call.generic.lsid, number));
        });
    call.hasTriedToWrite = true;
    Status status = co_await driveToEnd(*change);
    if (!status.isOk()) {
        record->hasFailed();
        co_return status;
    }
    const bool mustStore = record->hasCommittedTransaction(number, platform::wallMillis());
    transaction.committed();
    call.services.transactions.end(
        call.generic.lsid, Transactions::State::kCommitted, change->commitLsn());
    if (mustStore) {
        co_await storeRecord(call);
    }
    co_return Status::ok();
}

/// The commit of a transaction that this process no longer knows: done, if the session's record
/// says so.
sync::Task<Status> findCommit(Invocation& call, const Transactions::Known& known) {
    StatusOr<bool> isCommitted = co_await wasCommitted(call);
    FRESHET_CO_RETURN_IF_ERROR(isCommitted.status());
    co_return *isCommitted ? Status::ok() : checkState(*call.generic.txnNumber, known);
}

sync::Task<Status> commitOnce(Invocation& call) {
    const std::string& session = call.generic.lsid;
    const int64_t number = *call.generic.txnNumber;
    Transactions& transactions = call.services.transactions;
    const Transactions::Known known = transactions.known(session);
    if (number != known.number) {
        co_return co_await findCommit(call, known);
    }
    if (known.state == Transactions::State::kCommitted) {
        co_return Status::ok();
    }
    const Transactions::Ref transaction = transactions.take(session);
    if (transaction == nullptr) {
        co_return checkState(number, transactions.known(session));
    }
    Status status = co_await commit(call, *transaction);
    if (status.isOk()) {
        call.services.cursors.killTransaction(session, transaction.get());
    } else {
        abortTransaction(call.services, session);
        status = status.code() == Code::kConflict ? writeConflict() : std::move(status);
    }
    co_return status;
}

/// May be asked for again, also with another write concern: then it only waits.
sync::Task<Status> runCommit(Invocation& call) {
    FRESHET_CO_RETURN_IF_ERROR(refuseOutside(call));
    {
        StatusOr<SessionTurns::Held> turn =
            co_await call.services.sessionTurns.take(call, call.generic.lsid);
        FRESHET_CO_RETURN_IF_ERROR(turn.status());
        Status status = co_await commitOnce(call);
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    }
    const journal::Lsn lsn = call.services.transactions.known(call.generic.lsid).commitLsn;
    co_return co_await waitForDurability(call, lsn);
}

sync::Task<Status> runAbort(Invocation& call) {
    FRESHET_CO_RETURN_IF_ERROR(refuseOutside(call));
    StatusOr<SessionTurns::Held> turn =
        co_await call.services.sessionTurns.take(call, call.generic.lsid);
    FRESHET_CO_RETURN_IF_ERROR(turn.status());
    Status known =
        checkState(*call.generic.txnNumber, call.services.transactions.known(call.generic.lsid));
    if (!known.isOk()) {
        co_return co_await unlessCommittedBefore(call, std::move(known));
    }
    abortTransaction(call.services, call.generic.lsid);
    co_return Status::ok();
}

Command endCommand(std::string_view name, std::string_view help, Handler handler) {
    return Command{.name = name,
                   .aliases = {},
                   .help = help,
                   .fields = {"recoveryToken"},
                   .handler = handler,
                   .access = Access::loggedIn(),
                   .adminOnly = true,
                   .inApiVersion1 = true,
                   .inTransactions = InTransactions::kEnd};
}

}  // namespace

CommandTable transactionCommands() {
    return {
        endCommand("commitTransaction", "commit the session's transaction", runCommit),
        endCommand("abortTransaction", "abort the session's transaction", runAbort),
    };
}

}  // namespace freshet::command
