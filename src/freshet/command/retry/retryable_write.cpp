// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/retry/retryable_write.h"

#include "freshet/bson/json.h"
#include "freshet/platform/clock.h"
#include "freshet/telemetry/fail_point.h"

#include <algorithm>
#include <utility>

namespace freshet::command {
namespace {

constexpr int kDropRacesMax = 16;
constexpr int64_t kStatementIdMax = INT32_MAX / 2;
/// How long a write can be retried: the thirty minutes of a session, plus the rounding of dates.
constexpr int32_t kExpireAfterSeconds = 31 * 60;

/// config.transactions, with the index that expires old entries.
catalog::IndexRequest expiryIndex() {
    catalog::IndexRequest request;
    bson::Builder key;
    key.add("lastWriteDate", int32_t{1});
    request.key = bson::OwnedDocument(key.finish());
    request.name = "lastWriteDate_1";
    bson::Builder spec;
    spec.add("key", request.key.view()).add("name", request.name);
    spec.add("expireAfterSeconds", kExpireAfterSeconds);
    request.spec = bson::OwnedDocument(spec.finish());
    return request;
}

Status tooOld(const Invocation& call, int64_t wanted, int64_t newest) {
    const bson::Document session(call.generic.lsid.data());
    return Status(Code::kInvalid,
                  Reason::kTransactionTooOld,
                  "Retryable write with txnNumber " + std::to_string(wanted) +
                      " is prohibited on session " + bson::toShellText(session) +
                      " because a newer retryable write with txnNumber " + std::to_string(newest) +
                      " has already started on this session.");
}

/// Reads the current version of one document by its _id.
class ReadById {
public:
    ReadById(engine::Store& store, catalog::CollectionRef collection, const bson::OwnedDocument& id)
        : store_(store), collection_(std::move(collection)) {
        bson::Builder holder;
        holder.add("_id", id.view());
        holder_ = bson::OwnedDocument(holder.finish());
    }
    Status run() {
        sync::Slice slice(store_.epochs());
        if (!txn_.has_value()) {
            txn_.emplace(store_);
        }
        catalog::RecordId id = 0;
        return catalog::readDocumentById(*txn_, *collection_, holder_.view(), &id, &document_);
    }
    const sync::WaitToken& token() const { return txn_->token(); }
    std::string takeDocument() { return std::move(document_); }

private:
    engine::Store& store_;
    const catalog::CollectionRef collection_;
    bson::OwnedDocument holder_;
    std::optional<engine::Txn> txn_;
    std::string document_;
};

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
    return call.generic.txnNumber.has_value() && call.generic.db != kSessionsDb;
}

RetryableWrite::RetryableWrite(Invocation& call)
    : call_(call), txnNumber_(*call.generic.txnNumber), done_(call.generic.lsid) {}

sync::Task<Status> RetryableWrite::begin(size_t statements) {
    FRESHET_CO_RETURN_IF_ERROR(readStatementIds(statements));
    StatusOr<SessionTurns::Held> turn =
        co_await call_.services.sessionTurns.take(call_, call_.generic.lsid);
    FRESHET_CO_RETURN_IF_ERROR(turn.status());
    turn_ = std::move(*turn);
    std::optional<bson::OwnedDocument> stored;
    Status status = co_await readDocument(done_.sessionId(), &stored);
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    if (stored.has_value()) {
        done_.read(stored->view());
    }
    if (done_.txnNumber() > txnNumber_) {
        co_return tooOld(call_, txnNumber_, done_.txnNumber());
    }
    if (done_.txnNumber() < txnNumber_) {
        done_.startNumber(txnNumber_);
        co_return Status::ok();
    }
    earlier_.read(stored->view());
    for (int32_t part = 0; part < done_.parts(); ++part) {
        Status read = co_await readDocument(done_.partId(part), &stored);
        FRESHET_CO_RETURN_IF_ERROR(std::move(read));
        if (stored.has_value() && stored->view().find("txnNum").toInt64() == txnNumber_) {
            earlier_.read(stored->view());
        }
    }
    co_return Status::ok();
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

sync::Task<Status> RetryableWrite::readDocument(const bson::OwnedDocument& id,
                                                std::optional<bson::OwnedDocument>* found) {
    found->reset();
    catalog::CollectionRef collection =
        call_.services.catalog.find(kSessionsDb, kSessionsCollection);
    if (collection == nullptr) {
        co_return Status::ok();
    }
    ReadById read(call_.services.store, std::move(collection), id);
    Status status = co_await drive(call_, read);
    if (status.isOk()) {
        *found = bson::OwnedDocument(read.takeDocument());
    }
    co_return status.code() == Code::kNotFound ? Status::ok() : status;
}

std::optional<query::WriteResult> RetryableWrite::earlier(size_t i) {
    const int32_t statement = idOf(i);
    std::optional<query::WriteResult> result = earlier_.find(statement);
    if (result.has_value()) {
        retried_.push_back(statement);
    }
    return result;
}

sync::Task<Status> RetryableWrite::prepare(size_t i) {
    ended(false);
    statement_ = idOf(i);
    Status status = co_await ensureCollection();
    co_return status;
}

sync::Task<Status> RetryableWrite::ensureCollection() {
    catalog::Catalog& catalog = call_.services.catalog;
    for (int attempt = 0; attempt < kDropRacesMax; ++attempt) {
        collection_ = catalog.find(kSessionsDb, kSessionsCollection);
        if (collection_ != nullptr) {
            co_return Status::ok();
        }
        catalog::IndexCounts counts;
        std::unique_ptr<catalog::Change> change =
            catalog.createIndexes(kSessionsDb, kSessionsCollection, {expiryIndex()}, &counts);
        Status status = co_await driveToEnd(*change);
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    }
    co_return Status(
        Code::kConflict, Reason::kWriteConflict, "config.transactions is dropped again and again");
}

void RetryableWrite::compose(const query::WriteResult& result) {
    next_ = done_;
    next_->add(statement_, result);
    pending_ = next_->write(platform::wallMillis());
    written_ = 0;
}

Status RetryableWrite::write(engine::Txn& txn,
                             const query::WriteResult& result,
                             sync::WaitToken* token) {
    if (!pass_.isInside()) {
        FRESHET_RETURN_IF_ERROR(pass_.enter(collection_->gate, token));
        if (auto newer = catalog::newerDescription(*collection_)) {
            collection_ = std::move(newer);
        }
    }
    if (!writer_.has_value()) {
        FRESHET_RETURN_IF_ERROR(failIfToldTo(call_));
        compose(result);
        writer_.emplace(txn, collection_);
    }
    for (; written_ < pending_.size(); ++written_) {
        Status status = writer_->put(pending_[written_].view());
        if (status.isWouldBlock()) {
            *token = writer_->token();
            return status;
        }
        if (!status.isOk()) {
            writer_.reset();
            return status;
        }
    }
    writer_.reset();
    return Status::ok();
}

void RetryableWrite::ended(bool isCommitted) {
    writer_.reset();
    pass_.release();
    if (isCommitted && next_.has_value()) {
        done_ = *std::move(next_);
    }
    next_.reset();
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
