// SPDX-License-Identifier: Apache-2.0
/// The course of a write operation, and what a document must be to be stored.
#include "freshet/query/exec/write_base.h"

#include <utility>

namespace freshet::query {

Status WriteBase::run() {
    sync::Slice slice(store_.epochs());
    conflicts_ = 0;
    turn_.start();
    while (!done_) {
        if (turn_.isOver()) {
            token_ = sync::WaitToken::completed();
            return Status::wouldBlock();
        }
        Status status = step();
        if (status.isWouldBlock()) {
            return status;
        }
        if (!status.isOk()) {
            if (status.reason() == Reason::kDuplicateKey && writer_.has_value()) {
                errorInfo_ = writer_->duplicateKeyInfo();
            }
            abandon();
            done_ = true;
            return status;
        }
    }
    return Status::ok();
}

Status WriteBase::enterGate(bool* changed) {
    *changed = false;
    FRESHET_RETURN_IF_ERROR(pass_.enter(collection_->gate, &token_));
    if (auto newer = catalog::newerDescription(*collection_)) {
        collection_ = std::move(newer);
        *changed = true;
    }
    return Status::ok();
}

Status WriteBase::fromTxn(Status status) {
    if (status.isWouldBlock()) {
        token_ = txn_->token();
    }
    return status;
}

Status WriteBase::commit() {
    FRESHET_RETURN_IF_ERROR(fromTxn(txn_->commit()));
    open_ = false;
    commitLsn_ = txn_->commitLsn();
    writer_.reset();
    pass_.release();
    return Status::ok();
}

void WriteBase::abandon() {
    writer_.reset();
    if (std::exchange(open_, false)) {
        txn_->abort();
    }
    pass_.release();
}

void WriteBase::begin() {
    open_ = true;
    if (txn_.has_value()) {
        txn_->begin();
    } else {
        txn_.emplace(store_);
    }
}

Status WriteBase::afterConflict() {
    if (++conflicts_ % kConflictsPerTurn != 0) {
        return Status::ok();
    }
    token_ = sync::WaitToken::completed();
    return Status::wouldBlock();
}

namespace {

Status checkId(const bson::Element& id) {
    switch (id.type()) {
        case bson::Type::kArray:
        case bson::Type::kRegex:
        case bson::Type::kUndefined:
            return invalid(
                Reason::kInvalidIdField,
                "The '_id' value cannot be of type " + std::string(bson::typeName(id.type())));
        case bson::Type::kObject:
            break;
        default:
            return Status::ok();
    }
    for (const bson::Element& field : id.document()) {
        if (field.name().starts_with('$')) {
            return invalid(Reason::kDollarPrefixedFieldName,
                           "_id fields may not contain '$'-prefixed fields: " +
                               std::string(field.name()) + " is not valid for storage.");
        }
    }
    return Status::ok();
}

/// A copy that begins with _id, made if there is none.
bson::OwnedDocument withIdInFront(bson::Document document) {
    const bson::Element id = document.find("_id");
    if (!id.isMissing() && id.whole().data() == document.begin()->whole().data()) {
        return bson::OwnedDocument(document);
    }
    bson::Builder builder;
    if (id.isMissing()) {
        builder.add("_id", bson::ObjectId::generate());
    } else {
        builder.add(id);
    }
    for (const bson::Element& field : document) {
        if (field.name() != "_id") {
            builder.add(field);
        }
    }
    return bson::OwnedDocument(builder.finish());
}

}  // namespace

StatusOr<bson::OwnedDocument> normalizeForInsert(bson::Document document) {
    bson::OwnedDocument result = withIdInFront(document);
    FRESHET_RETURN_IF_ERROR(checkId(*result.view().begin()));
    if (result.bytes().size() > bson::kDocumentBytesMax) {
        return Status(
            Code::kLimit,
            Reason::kBsonObjectTooLarge,
            "object to insert too large. size in bytes: " + std::to_string(result.bytes().size()) +
                ", max size: " + std::to_string(bson::kDocumentBytesMax));
    }
    return result;
}

}  // namespace freshet::query
