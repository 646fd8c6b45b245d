// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/transaction.h"

#include "freshet/base/assert.h"

namespace freshet::query {

Transaction::Transaction(catalog::Catalog& catalog)
    : catalog_(catalog), txn_(catalog.store(), engine::OnConflict::kFail) {}

Transaction::~Transaction() {
    abort();
}

StatusOr<catalog::CollectionRef> Transaction::find(std::string_view db,
                                                   std::string_view collection) {
    if (!created_.empty()) {
        const auto made = created_.find(std::string(db) + "." + std::string(collection));
        if (made != created_.end()) {
            return catalog::CollectionRef(made->second);
        }
    }
    return catalog_.findAsOf(db, collection, txn_.readTs());
}

catalog::CollectionRef Transaction::findOrNull(std::string_view db, std::string_view collection) {
    StatusOr<catalog::CollectionRef> found = find(db, collection);
    if (!found.isOk()) {
        error_ = found.status();
        return nullptr;
    }
    return *std::move(found);
}

Status Transaction::create(const std::string& db,
                           const std::string& collection,
                           const bson::OwnedDocument& options) {
    FRESHET_ASSIGN_OR_RETURN(auto made, catalog_.makePending(txn_, db, collection, options));
    created_.emplace(made->ns(), std::move(made));
    return Status::ok();
}

Status Transaction::createIndexes(const std::string& db,
                                  const std::string& collection,
                                  const std::vector<catalog::IndexRequest>& requests,
                                  catalog::IndexCounts* counts) {
    FRESHET_ASSIGN_OR_RETURN(catalog::CollectionRef found, find(db, collection));
    const bool isMissing = found == nullptr;
    if (isMissing) {
        FRESHET_RETURN_IF_ERROR(create(db, collection, {}));
        FRESHET_ASSIGN_OR_RETURN(found, find(db, collection));
    }
    if (!hasCreated(*found)) {
        FRESHET_ASSIGN_OR_RETURN(bool areThere, catalog::haveIndexes(*found, requests));
        *counts = {static_cast<int>(found->indexes.size()),
                   static_cast<int>(found->indexes.size())};
        return areThere ? Status::ok()
                        : invalid(Reason::kOperationNotSupportedInTransaction,
                                  "Cannot create new indexes on existing collection " +
                                      found->ns() + " in a multi-document transaction.");
    }
    // Relaxed: the transaction's own.
    if (found->nextRecordId->load(sync::kRelaxed) != 1) {
        return invalid(Reason::kOperationNotSupportedInTransaction,
                       "Cannot create new indexes on non-empty collection " + found->ns() +
                           " in a multi-document transaction.");
    }
    FRESHET_ASSIGN_OR_RETURN(auto next, catalog_.addPendingIndexes(txn_, *found, requests, counts));
    counts->createdCollection = isMissing;
    created_[found->ns()] = std::move(next);
    return Status::ok();
}

bool Transaction::hasCreated(const catalog::Collection& collection) const {
    const auto made = created_.find(collection.ns());
    return made != created_.end() && made->second.get() == &collection;
}

void Transaction::noteWrite(const catalog::CollectionRef& collection, size_t bytes) {
    heldBytes_ += kWriteBytes + bytes;
    if (!hasCreated(*collection)) {
        // With the first description that was written with: if it changes, the commit fails.
        written_.emplace(collection->gate.get(), collection);
    }
}

std::unique_ptr<catalog::Change> Transaction::commit(
    std::function<Status(engine::Txn& txn, sync::WaitToken* token)> last) {
    catalog::TransactionCommit parts;
    parts.txn = &txn_;
    parts.last = std::move(last);
    for (const auto& [gate, collection] : written_) {
        parts.written.push_back(collection);
    }
    for (const auto& [ns, collection] : created_) {
        parts.created.push_back(collection);
    }
    return catalog_.commitTransaction(std::move(parts));
}

void Transaction::committed() {
    isOver_ = true;
    created_.clear();
    written_.clear();
}

void Transaction::abort() {
    if (std::exchange(isOver_, true)) {
        return;
    }
    txn_.abort();
    for (const auto& [ns, collection] : created_) {
        catalog_.dropPending(*collection);
    }
    created_.clear();
    written_.clear();
}

engine::Txn& UnitTxn::open() {
    if (isShared()) {
        txn_ = &unit_.transaction->txn();
    } else if (own_.has_value()) {
        own_->begin();
    } else {
        txn_ = &own_.emplace(unit_.store);
    }
    return *txn_;
}

void UnitTxn::close() {
    own_.reset();
    txn_ = nullptr;
}

}  // namespace freshet::query
