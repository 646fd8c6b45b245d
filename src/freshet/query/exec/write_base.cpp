// SPDX-License-Identifier: Apache-2.0
/// The steps of a write operation, and what a document must be to be stored.
#include "freshet/query/exec/write_base.h"

#include "freshet/bson/json.h"
#include "freshet/platform/clock.h"
#include "freshet/query/match/explain_failure.h"
#include "freshet/query/match/stored_predicate.h"
#include "freshet/sync/atomic.h"
#include "freshet/telemetry/log.h"

#include <algorithm>
#include <utility>

namespace freshet::query {

Status WriteBase::run() {
    sync::Slice slice(unit_.store.epochs());
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
    const Status entered = pass_.enter(collection_->gate, &token_);
    if (entered.isWouldBlock() && txn_.isShared() && unit_.transaction->hasChanges()) {
        // The definition change may wait for a writer inside, and that one for our transaction.
        return Status(Code::kConflict,
                      Reason::kWriteConflict,
                      "the definition of " + collection_->ns() + " is being changed");
    }
    FRESHET_RETURN_IF_ERROR(entered);
    if (auto newer = catalog::newerDescription(*collection_)) {
        if (txn_.isShared()) {
            return catalog::definitionChanged(*newer, unit_.transaction->txn().readTs());
        }
        collection_ = std::move(newer);
        *changed = true;
    }
    return Status::ok();
}

Status WriteBase::fromTxn(Status status) {
    if (status.isWouldBlock()) {
        token_ = writer_.has_value() ? writer_->token() : txn_->token();
    }
    return status;
}

Status WriteBase::commit(const WriteResult& result, size_t bytes) {
    if (txn_.isShared()) {
        unit_.transaction->noteWrite(collection_, bytes);
        writer_.reset();
        pass_.release();
        return Status::ok();
    }
    if (companion_ != nullptr && !isAccompanied_) {
        FRESHET_RETURN_IF_ERROR(companion_->write(*txn_, result, &token_));
        isAccompanied_ = true;
    }
    FRESHET_RETURN_IF_ERROR(fromTxn(txn_->commit()));
    open_ = false;
    commitLsn_ = txn_->commitLsn();
    writer_.reset();
    pass_.release();
    return Status::ok();
}

Status WriteBase::validate(const bson::Document* before, bson::Document after) {
    if (options_.check != nullptr) {
        FRESHET_RETURN_IF_ERROR(options_.check(after));
    }
    const catalog::DocumentPredicate* validator = collection_->validator.get();
    if (validator == nullptr || options_.bypassValidation) {
        return Status::ok();
    }
    bool isValid = false;
    FRESHET_RETURN_IF_ERROR(validator->test(after, &isValid));
    if (isValid) {
        return Status::ok();
    }
    const auto option = [this](std::string_view name) {
        const bson::Element element = collection_->options.view().find(name);
        return element.isString() ? element.stringValue() : std::string_view();
    };
    if (option("validationLevel") == "off") {
        return Status::ok();
    }
    if (option("validationLevel") == "moderate" && before != nullptr) {
        bool wasValid = false;
        FRESHET_RETURN_IF_ERROR(validator->test(*before, &wasValid));
        if (!wasValid) {
            return Status::ok();
        }
    }
    if (option("validationAction") == "warn") {
        telemetry::logWarning("query",
                              "Document would fail validation: " + collection_->ns() + ", " +
                                  bson::toShellText(after.find("_id")));
        return Status::ok();
    }
    bson::Builder builder;
    {
        auto info = builder.object("errInfo");
        info.addAs("failingDocumentId", after.find("_id"));
        info.add("details", whyNot(StoredPredicate::matcherOf(*validator), after).view());
    }
    errorInfo_ = bson::OwnedDocument(builder.finish());
    return invalid(Reason::kDocumentValidationFailure, "Document failed validation");
}

void WriteBase::abandon() {
    writer_.reset();
    if (std::exchange(open_, false)) {
        txn_->abort();
    }
    pass_.release();
}

void WriteBase::begin() {
    open_ = !txn_.isShared();
    isAccompanied_ = false;
    txn_.open();
}

void WriteBase::startWriting() {
    writer_.emplace(*txn_, collection_, txn_.isShared() ? &unit_.store : nullptr);
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

/// A copy that starts with _id, which is made if there is none.
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

/// The last timestamp given out. Written by: threads that need one. Read by: the same.
///   WORD     | seconds:32 | counter:32 |
///   STEPS    rises with every timestamp given out
sync::Atomic<uint64_t> lastTimestamp{0};

/// The current second, with a counter that distinguishes timestamps of one second.
uint64_t nextTimestamp() {
    const uint64_t now = static_cast<uint64_t>(platform::wallMillis() / 1000) << 32;
    // Relaxed: a first guess; the CAS below compares.
    uint64_t last = lastTimestamp.load(sync::kRelaxed);
    for (;;) {
        const uint64_t next = std::max(last, now) + 1;
        // [timestamp.next] CAS  takes the next one.
        //   ORDER    relaxed both ways: only that no two are equal matters
        //   LOST     another thread took it: the one after it is tried
        //   PROGRESS lock-free: our failure is another thread's success
        if (lastTimestamp.compare_exchange_weak(last, next, sync::kRelaxed, sync::kRelaxed)) {
            return next;
        }
    }
}

bool isEmptyTimestamp(const bson::Element& field) {
    return field.type() == bson::Type::kTimestamp && field.timestampValue() == 0 &&
           field.name() != "_id";
}

/// What one look at the top-level fields finds.
struct TopFields {
    int ids = 0;
    bool hasEmptyTimestamp = false;
};

TopFields topFieldsOf(bson::Document document) {
    TopFields found;
    for (const bson::Element& field : document) {
        found.ids += field.name() == "_id" ? 1 : 0;
        found.hasEmptyTimestamp |= isEmptyTimestamp(field);
    }
    return found;
}

Status twoIds() {
    return badValue("can't have multiple _id fields in one document");
}

void replaceTimestamps(bson::OwnedDocument* document) {
    bson::Builder builder;
    for (const bson::Element& field : document->view()) {
        if (isEmptyTimestamp(field)) {
            builder.add(field.name(), bson::Timestamp{nextTimestamp()});
        } else {
            builder.add(field);
        }
    }
    *document = bson::OwnedDocument(builder.finish());
}

}  // namespace

void fillTimestamps(bson::OwnedDocument* document) {
    if (topFieldsOf(document->view()).hasEmptyTimestamp) {
        replaceTimestamps(document);
    }
}

Status checkOneId(bson::Document document) {
    return topFieldsOf(document).ids <= 1 ? Status::ok() : twoIds();
}

StatusOr<bson::OwnedDocument> normalizeForInsert(bson::Document document, bool fillsTimestamps) {
    const TopFields fields = topFieldsOf(document);
    if (fields.ids > 1) {
        return twoIds();
    }
    bson::OwnedDocument result = withIdInFront(document);
    FRESHET_RETURN_IF_ERROR(checkId(*result.view().begin()));
    if (result.bytes().size() > bson::kDocumentBytesMax) {
        return badValue(
            "object to insert too large. size in bytes: " + std::to_string(result.bytes().size()) +
            ", max size: " + std::to_string(bson::kDocumentBytesMax));
    }
    if (fillsTimestamps && fields.hasEmptyTimestamp) {
        replaceTimestamps(&result);
    }
    return result;
}

}  // namespace freshet::query
