// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/retry/session_documents.h"

#include "freshet/command/retry/session_records.h"

namespace freshet::command {
namespace {

/// Tries against conflicts and drops; then others get their turn, and after the last one it fails.
constexpr int kAttemptsPerTurn = 8;
constexpr int kAttemptsMax = 1'000;

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

ReadSessionDocument::ReadSessionDocument(catalog::Catalog& catalog, const bson::OwnedDocument& id)
    : store_(catalog.store()), collection_(catalog.find(kSessionsDb, kSessionsCollection)) {
    bson::Builder holder;
    holder.add("_id", id.view());
    holder_ = bson::OwnedDocument(holder.finish());
}

Status ReadSessionDocument::run() {
    if (collection_ == nullptr) {
        return Status::ok();
    }
    sync::Slice slice(store_.epochs());
    if (!txn_.has_value()) {
        txn_.emplace(store_);
    }
    catalog::RecordId id = 0;
    std::string document;
    Status status = catalog::readDocumentById(*txn_, *collection_, holder_.view(), &id, &document);
    if (status.isOk()) {
        found_ = bson::OwnedDocument(std::move(document));
    }
    return status.code() == Code::kNotFound ? Status::ok() : status;
}

ReadSession::ReadSession(catalog::Catalog& catalog, const std::string& session) : stored_(session) {
    read_.emplace(catalog, stored_.sessionId());
}

Status ReadSession::run() {
    FRESHET_RETURN_IF_ERROR(read_->run());
    if (read_->found().has_value()) {
        stored_.read(read_->found()->view());
    }
    return Status::ok();
}

Status ReadParts::run() {
    for (; part_ < stored_.parts(); ++part_) {
        if (!read_.has_value()) {
            read_.emplace(catalog_, stored_.partId(part_));
        }
        FRESHET_RETURN_IF_ERROR(read_->run());
        // One of an older number that is not overwritten yet does not count.
        if (read_->found().has_value() &&
            read_->found()->view().find("txnNum").toInt64() == stored_.txnNumber()) {
            found_.read(read_->found()->view());
        }
        read_.reset();
    }
    return Status::ok();
}

Status StoreSessionDocuments::run() {
    for (;;) {
        Status status = step();
        if (status.isWouldBlock()) {
            return status;
        }
        leave();
        const bool mayTryAgain =
            status.code() == Code::kConflict ||
            (status.code() == Code::kCancelled && status.reason() == Reason::kNamespaceNotFound);
        if (!mayTryAgain || ++attempts_ == kAttemptsMax) {
            return status;
        }
        if (attempts_ % kAttemptsPerTurn == 0) {
            token_ = sync::WaitToken::completed();
            return Status::wouldBlock();
        }
    }
}

Status StoreSessionDocuments::step() {
    FRESHET_RETURN_IF_ERROR(findCollection());
    sync::Slice slice(catalog_.store().epochs());
    FRESHET_RETURN_IF_ERROR(enter());
    return write();
}

Status StoreSessionDocuments::findCollection() {
    while (collection_ == nullptr) {
        if (change_ == nullptr) {
            collection_ = catalog_.find(kSessionsDb, kSessionsCollection);
        }
        if (collection_ != nullptr) {
            break;
        }
        if (change_ == nullptr) {
            std::vector<catalog::IndexRequest> indexes;
            indexes.push_back(expiryIndex(
                "lastWriteDate", "lastWriteDate_1", int32_t{SessionRecords::kNeededSeconds}));
            change_ = catalog_.createIndexes(
                kSessionsDb, kSessionsCollection, std::move(indexes), &ofChange_);
        }
        Status status = change_->run();
        if (status.isWouldBlock()) {
            token_ = change_->token();
            return status;
        }
        change_.reset();
        FRESHET_RETURN_IF_ERROR(status);
    }
    return Status::ok();
}

Status StoreSessionDocuments::enter() {
    if (pass_.isInside()) {
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(pass_.enter(collection_->gate, &token_));
    if (auto newer = catalog::newerDescription(*collection_)) {
        collection_ = std::move(newer);
    }
    return Status::ok();
}

Status StoreSessionDocuments::write() {
    if (!txn_.has_value()) {
        txn_.emplace(catalog_.store());
        FRESHET_RETURN_IF_ERROR(txn_->growDespiteShortage());
        writer_.emplace(*txn_, collection_);
    }
    for (; written_ < documents_.size(); ++written_) {
        Status status = writer_->put(documents_[written_].view());
        if (status.isWouldBlock()) {
            token_ = writer_->token();
        }
        FRESHET_RETURN_IF_ERROR(status);
    }
    Status status = txn_->commit();
    if (status.isWouldBlock()) {
        token_ = txn_->token();
    }
    return status;
}

void StoreSessionDocuments::leave() {
    writer_.reset();
    txn_.reset();
    pass_.release();
    collection_.reset();
    written_ = 0;
}

}  // namespace freshet::command
