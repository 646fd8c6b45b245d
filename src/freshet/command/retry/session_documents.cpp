// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/retry/session_documents.h"

#include "freshet/command/retry/done_statements.h"
#include "freshet/platform/clock.h"

namespace freshet::command {
namespace {

constexpr int kDropRacesMax = 16;
/// How long a document is needed: the thirty minutes of a session, plus the rounding of dates.
constexpr int32_t kExpireAfterSeconds = 31 * 60;

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

}  // namespace

catalog::IndexRequest expiryIndex(std::string_view field, std::string name, int32_t seconds) {
    catalog::IndexRequest request;
    bson::Builder key;
    key.add(field, int32_t{1});
    request.key = bson::OwnedDocument(key.finish());
    request.name = std::move(name);
    bson::Builder spec;
    spec.add("key", request.key.view()).add("name", request.name);
    spec.add("expireAfterSeconds", seconds);
    request.spec = bson::OwnedDocument(spec.finish());
    return request;
}

sync::Task<Status> readSessionDocument(Invocation& call,
                                       const bson::OwnedDocument& id,
                                       std::optional<bson::OwnedDocument>* found) {
    found->reset();
    catalog::CollectionRef collection =
        call.services.catalog.find(kSessionsDb, kSessionsCollection);
    if (collection == nullptr) {
        co_return Status::ok();
    }
    ReadById read(call.services.store, std::move(collection), id);
    Status status = co_await drive(call, read);
    if (status.isOk()) {
        *found = bson::OwnedDocument(read.takeDocument());
    }
    co_return status.code() == Code::kNotFound ? Status::ok() : status;
}

sync::Task<StatusOr<int64_t>> readNewestNumber(Invocation& call) {
    std::optional<bson::OwnedDocument> stored;
    Status status =
        co_await readSessionDocument(call, DoneStatements(call.generic.lsid).sessionId(), &stored);
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    DoneStatements newest(call.generic.lsid);
    if (stored.has_value()) {
        newest.read(stored->view());
    }
    co_return newest.txnNumber();
}

sync::Task<StatusOr<bool>> readWasCommitted(Invocation& call) {
    std::optional<bson::OwnedDocument> stored;
    Status status =
        co_await readSessionDocument(call, DoneStatements(call.generic.lsid).sessionId(), &stored);
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    if (!stored.has_value()) {
        co_return false;
    }
    const bson::Element number = stored->view().find("txnNum");
    const bson::Element state = stored->view().find("state");
    co_return number.isInteger() &&
        number.toInt64() == *call.generic.txnNumber&& state.isString() &&
        state.stringValue() == "committed";
}

sync::Task<Status> SessionDocumentWriter::prepare() {
    end();
    catalog::Catalog& catalog = call_.services.catalog;
    for (int attempt = 0; attempt < kDropRacesMax; ++attempt) {
        collection_ = catalog.find(kSessionsDb, kSessionsCollection);
        if (collection_ != nullptr) {
            co_return Status::ok();
        }
        catalog::IndexCounts counts;
        std::vector<catalog::IndexRequest> indexes;
        indexes.push_back(expiryIndex("lastWriteDate", "lastWriteDate_1", kExpireAfterSeconds));
        std::unique_ptr<catalog::Change> change =
            catalog.createIndexes(kSessionsDb, kSessionsCollection, std::move(indexes), &counts);
        Status status = co_await driveToEnd(*change);
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    }
    co_return Status(
        Code::kConflict, Reason::kWriteConflict, "config.transactions is dropped again and again");
}

Status SessionDocumentWriter::enter(sync::WaitToken* token) {
    if (pass_.isInside()) {
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(pass_.enter(collection_->gate, token));
    if (auto newer = catalog::newerDescription(*collection_)) {
        collection_ = std::move(newer);
    }
    return Status::ok();
}

Status SessionDocumentWriter::put(sync::WaitToken* token) {
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

Status SessionDocumentWriter::writeCommitted(engine::Txn& txn, sync::WaitToken* token) {
    return write(
        txn, &call_.services.store, token, [this]() -> StatusOr<std::vector<bson::OwnedDocument>> {
            DoneStatements none(call_.generic.lsid);
            none.startNumber(*call_.generic.txnNumber);
            std::vector<bson::OwnedDocument> documents = none.write(platform::wallMillis());
            bson::Builder out;
            out.addFields(documents.back().view()).add("state", "committed");
            documents.back() = bson::OwnedDocument(out.finish());
            return documents;
        });
}

void SessionDocumentWriter::end() {
    writer_.reset();
    pass_.release();
}

}  // namespace freshet::command
