// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/retry/retryable_write.h"

#include "freshet/bson/json.h"
#include "freshet/command/retry/statement_event.h"
#include "freshet/command/txn/statement.h"
#include "freshet/platform/clock.h"
#include "freshet/telemetry/fail_point.h"

#include <algorithm>
#include <utility>

namespace freshet::command {
namespace {

constexpr int64_t kStatementIdMax = INT32_MAX / 2;

Status tooOld(const Invocation& call, int64_t wanted, int64_t newest) {
    const bson::Document session(call.generic.lsid.data());
    return Status(Code::kInvalid,
                  Reason::kTransactionTooOld,
                  "Retryable write with txnNumber " + std::to_string(wanted) +
                      " is prohibited on session " + bson::toShellText(session) +
                      " because a newer retryable write with txnNumber " + std::to_string(newest) +
                      " has already started on this session.");
}

/// For drivers' tests: the connection ends before the reply, whether the statement is done or not.
telemetry::FailPoint failPoint("onPrimaryTransactionalWrite");

Status failIfToldTo(Invocation& call) {
    const auto data =
        failPoint.isOn() ? failPoint.fire([](const std::string&) { return true; }) : nullptr;
    if (data == nullptr) {
        return Status::ok();
    }
    const bson::Document view(data->data());
    const bson::Element closes = view.find("closeConnection");
    call.endsSession |= closes.isMissing() || closes.isTruthy();
    const bson::Element code = view.find("failBeforeCommitExceptionCode");
    return code.isNumber() ? Status(Code::kInvalid,
                                    location(static_cast<uint32_t>(code.toInt64())),
                                    "Failing write via 'onPrimaryTransactionalWrite' failpoint")
                           : Status::ok();
}

}  // namespace

bool RetryableWrite::isMeant(const Invocation& call) {
    return call.generic.txnNumber.has_value() && !call.generic.isInTransaction &&
           isRecorded(call.generic.db);
}

RetryableWrite::RetryableWrite(Invocation& call)
    : call_(call), txnNumber_(*call.generic.txnNumber) {}

sync::Task<Status> RetryableWrite::begin(size_t statements) {
    FRESHET_CO_RETURN_IF_ERROR(readStatementIds(statements));
    StatusOr<SessionTurns::Held> turn =
        co_await call_.services.sessionTurns.take(call_, call_.generic.lsid);
    FRESHET_CO_RETURN_IF_ERROR(turn.status());
    turn_ = std::move(*turn);
    FRESHET_CO_RETURN_IF_ERROR(endOlderTransaction());
    record_ = call_.services.records->find(call_.generic.lsid);
    if (!record_) {
        StatusOr<SessionRecords::Use> record = co_await useRecord(call_);
        FRESHET_CO_RETURN_IF_ERROR(record.status());
        record_ = std::move(*record);
    }
    if (record_.txnNumber() > txnNumber_) {
        co_return tooOld(call_, txnNumber_, record_.txnNumber());
    }
    if (record_.txnNumber() < txnNumber_) {
        co_return Status::ok();
    }
    if (record_.isTransaction()) {
        co_return isTransaction();
    }
    co_return co_await readEarlier();
}

/// What is not in memory any more is in stored parts.
sync::Task<Status> RetryableWrite::readEarlier() {
    DoneStatements done = record_.copy();
    ReadParts parts(call_.services.catalog, done);
    Status status = co_await drive(call_, parts);
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    earlier_ = parts.takeFound();
    for (const bson::OwnedDocument& document : done.write(0)) {
        earlier_.read(document.view());
    }
    co_return Status::ok();
}

Status RetryableWrite::isTransaction() const {
    return invalid(Reason::kIncompleteTransactionHistory,
                   "Transaction number " + std::to_string(txnNumber_) +
                       " is of a multi-document transaction; it cannot be of a retryable write");
}

/// A newer number ends what the session has begun with an older one.
Status RetryableWrite::endOlderTransaction() {
    const Transactions::Known known = call_.services.transactions.known(call_.generic.lsid);
    if (known.number > txnNumber_) {
        return tooOld(call_, txnNumber_, known.number);
    }
    if (known.number == txnNumber_) {
        return isTransaction();
    }
    if (known.state == Transactions::State::kInProgress) {
        abortTransaction(call_.services, call_.generic.lsid);
    }
    return Status::ok();
}

Status RetryableWrite::readStatementIds(size_t statements) {
    Fields fields(call_.body(), call_.command.name);
    const int64_t first = fields.integer("stmtId", 0, 0);
    const bson::Document ids = fields.array("stmtIds");
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (first > kStatementIdMax) {
        return badValue("'stmtId' is too large: " + std::to_string(first));
    }
    firstId_ = static_cast<int32_t>(first);
    if (!fields.has("stmtIds")) {
        return Status::ok();
    }
    if (fields.has("stmtId")) {
        return invalid(Reason::kInvalidOptions, "Cannot specify both stmtId and stmtIds.");
    }
    for (const bson::Element& id : ids) {
        if (!id.isInteger()) {
            return invalid(Reason::kTypeMismatch, "'stmtIds' must be an array of numbers");
        }
        ids_.push_back(static_cast<int32_t>(id.toInt64()));
    }
    if (ids_.size() != statements) {
        return invalid(
            Reason::kInvalidLength,
            "'stmtIds' must have one entry for each statement: " + std::to_string(statements));
    }
    return Status::ok();
}

std::optional<query::WriteResult> RetryableWrite::earlier(size_t i) {
    const int32_t statement = idOf(i);
    std::optional<query::WriteResult> result = earlier_.find(statement);
    if (result.has_value()) {
        retried_.push_back(statement);
    }
    return result;
}

void RetryableWrite::prepare(size_t i) {
    statement_ = idOf(i);
}

Status RetryableWrite::write(engine::Txn& txn,
                             const query::WriteResult& result,
                             sync::WaitToken* /*token*/) {
    FRESHET_RETURN_IF_ERROR(failIfToldTo(call_));
    FRESHET_RETURN_IF_ERROR(
        txn.addEvent(statementEvent(call_.generic.lsid, txnNumber_, statement_, result)));
    record_.beginCommit(call_.services.store.journal().tailLsn());
    isCommitting_ = true;
    return Status::ok();
}

bool RetryableWrite::ended(const query::WriteResult* result) {
    if (!std::exchange(isCommitting_, false)) {
        return false;
    }
    if (result == nullptr) {
        record_.hasFailed();
        return false;
    }
    return record_.hasDone(txnNumber_, statement_, *result, platform::wallMillis());
}

void RetryableWrite::addTo(bson::Builder* reply) const {
    if (retried_.empty()) {
        return;
    }
    auto list = reply->array("retriedStmtIds");
    for (const int32_t statement : retried_) {
        list.push(statement);
    }
}

sync::Task<StatusOr<std::unique_ptr<RetryableWrite>>> beginRetryable(Invocation& call,
                                                                     size_t statements) {
    std::unique_ptr<RetryableWrite> retry;
    if (RetryableWrite::isMeant(call)) {
        retry = std::make_unique<RetryableWrite>(call);
        Status status = co_await retry->begin(statements);
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    }
    co_return std::move(retry);
}

}  // namespace freshet::command
