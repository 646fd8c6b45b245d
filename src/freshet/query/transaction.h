// SPDX-License-Identifier: Apache-2.0
/// Transaction: several statements that read one snapshot and commit together; and WorkUnit, which
/// tells an operation whose transaction it works in. A statement that fails leaves the transaction
/// in a state of which nothing may be committed: its owner aborts it.
///
/// Thread rule: one thread at a time, between two calls any other.
#pragma once

#include "freshet/catalog/catalog.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace freshet::query {

class Transaction {
public:
    /// Takes the snapshot. The catalog outlives the transaction.
    explicit Transaction(catalog::Catalog& catalog);
    /// Aborts unless committed.
    ~Transaction();

    /// Takes a snapshot of the past instead, and Txn::pause() and resume(): see there.
    Status beginAt(const engine::Snapshot& snapshot) { return txn_.beginAt(snapshot); }
    void pause() { txn_.pause(); }
    Status resume() { return txn_.resume(); }

    /// It ends so long after this call, also if it has only read: then each statement fails.
    Status endAfter(uint64_t millis) { return txn_.endAfter(millis); }

    engine::Txn& txn() { return txn_; }
    /// The collection as of the snapshot, or as this transaction has created it; null if there is
    /// none. kConflict (kSnapshotUnavailable) if its definition may be newer than the snapshot.
    StatusOr<catalog::CollectionRef> find(std::string_view db, std::string_view collection);
    /// As find(), for code that cannot return a status. The error is kept for takeError().
    catalog::CollectionRef findOrNull(std::string_view db, std::string_view collection);
    Status takeError() { return std::exchange(error_, Status::ok()); }

    /// Creates the collection in this transaction. REQUIRES: find() returned null.
    Status create(const std::string& db,
                  const std::string& collection,
                  const bson::OwnedDocument& options);
    /// Creates indexes in this transaction, and the collection if it is missing. Only a collection
    /// that the transaction has created, and that has no documents, can get new ones:
    /// kOperationNotSupportedInTransaction.
    Status createIndexes(const std::string& db,
                         const std::string& collection,
                         const std::vector<catalog::IndexRequest>& requests,
                         catalog::IndexCounts* counts);
    /// Whether this transaction has created the collection.
    bool hasCreated(const catalog::Collection& collection) const;
    /// A document of the collection has been written with this description. `bytes`: its size,
    /// before and after together.
    void noteWrite(const catalog::CollectionRef& collection, size_t bytes);
    /// About how much memory it holds.
    uint64_t heldBytes() const { return heldBytes_; }
    /// Whether anything was written or created.
    bool hasChanges() const { return !written_.empty() || !created_.empty(); }

    /// The commit, as a change to be driven to its end. `last` as TransactionCommit::last. After an
    /// error nothing was committed; abort. REQUIRES: called once, and the transaction outlives the
    /// change.
    std::unique_ptr<catalog::Change> commit(
        std::function<Status(engine::Txn& txn, sync::WaitToken* token)> last);
    /// The commit's change has returned ok.
    void committed();
    void abort();

private:
    static constexpr uint64_t kEmptyBytes = 2048;
    static constexpr uint64_t kWriteBytes = 512;  // of a document's write, with its index entries

    catalog::Catalog& catalog_;
    engine::Txn txn_;
    Status error_;
    std::map<const void*, catalog::CollectionRef> written_;  // by the collections' gates
    std::map<std::string, std::shared_ptr<catalog::Collection>> created_;  // by db.collection
    uint64_t heldBytes_ = kEmptyBytes;
    bool isOver_ = false;
};

/// What an operation reads and writes in: transactions of its own, one for each document that it
/// writes and for each batch that it reads; or a transaction of several statements.
struct WorkUnit {
    WorkUnit(engine::Store& inStore,
             Transaction* inTransaction = nullptr)  // NOLINT: usually a store
        : store(inStore), transaction(inTransaction) {}

    engine::Store& store;
    Transaction* transaction;  // null: its own
};

/// The engine transaction of one operation: its own, or the one of its unit.
class UnitTxn {
public:
    explicit UnitTxn(const WorkUnit& unit) : unit_(unit) {}

    bool isShared() const { return unit_.transaction != nullptr; }
    bool isOpen() const { return txn_ != nullptr; }
    /// Opens it; one of its own takes a new snapshot, also if it is open already. REQUIRES: nothing
    /// written, committed or aborted.
    engine::Txn& open();
    void close();
    engine::Txn& operator*() const { return *txn_; }
    engine::Txn* operator->() const { return txn_; }

private:
    const WorkUnit unit_;
    std::optional<engine::Txn> own_;
    engine::Txn* txn_ = nullptr;
};

}  // namespace freshet::query
