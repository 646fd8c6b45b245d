// SPDX-License-Identifier: Apache-2.0
/// Definition changes. Each holds the change lock from its first step to its last, closes the gates
/// of the collections it touches, writes one transaction to the catalog tree, publishes, and opens
/// the gates. A change that fails or is destroyed half-way undoes what it did; a crash half-way
/// leaves at most trees that no record names, and open() drops those.
#pragma once

#include "freshet/catalog/event.h"
#include "freshet/catalog/names/catalog_impl.h"

namespace freshet::catalog {

std::unique_ptr<Change> makeCreateCollection(CatalogCore& core,
                                             std::string db,
                                             std::string collection,
                                             bson::OwnedDocument options,
                                             bool ifMissing);
std::unique_ptr<Change> makeDropCollection(CatalogCore& core,
                                           std::string db,
                                           std::string collection);
std::unique_ptr<Change> makeDropDatabase(CatalogCore& core, std::string db);
std::unique_ptr<Change> makeCreateIndexes(CatalogCore& core,
                                          std::string db,
                                          std::string collection,
                                          std::vector<IndexRequest> requests,
                                          IndexCounts* counts);
std::unique_ptr<Change> makeDropIndexes(CatalogCore& core,
                                        std::string db,
                                        std::string collection,
                                        std::vector<std::string> names,
                                        IndexCounts* counts);

std::unique_ptr<Change> makeRenameCollection(CatalogCore& core, RenameRequest request);
std::unique_ptr<Change> makeModifyCollection(
    CatalogCore& core,
    std::string db,
    std::string collection,
    std::function<Status(const Collection&, CollectionEdit*)> edit);

std::unique_ptr<Change> makeTransactionCommit(CatalogCore& core, TransactionCommit commit);

/// Adds the event, unless the collection has none.
Status addDefinitionEvent(engine::Txn& txn,
                          EventKind kind,
                          const Collection& collection,
                          bson::Document details = {});

/// The steps that all changes share. Subclasses say what changes.
class DefinitionChange : public Change {
public:
    explicit DefinitionChange(CatalogCore& core) : core_(core) {}
    Status run() final;
    const sync::WaitToken& token() const final { return token_; }
    journal::Lsn commitLsn() const final { return commitLsn_; }

protected:
    /// With the change lock held: looks up names and decides what to do. Fills gated_. Sets
    /// nothingToDo_ if everything is already as requested.
    virtual Status prepare() = 0;
    /// With the gates closed: long work, resumable; on WouldBlock sets token_.
    virtual Status work() { return Status::ok(); }
    /// Writes the records. Called again after WouldBlock.
    virtual Status write(engine::Txn& txn) = 0;
    /// Adds the events, after write() has returned ok.
    virtual Status addEvents(engine::Txn& txn) = 0;
    /// After the commit, gates still closed.
    virtual void publish() = 0;
    /// Nothing was committed: frees what prepare() and work() made.
    virtual void undo() {}
    /// Undoes an unfinished change. Each subclass calls it in its destructor, while its undo() can
    /// still be called.
    void giveUp();

    CatalogCore& core_;
    sync::WaitToken token_;
    std::vector<CollectionRef> gated_;
    bool nothingToDo_ = false;
    uint64_t since_ = 0;  // for publish(): a snapshot that sees what was committed

private:
    enum class Step { kLock, kPrepare, kGates, kWork, kWrite, kCommit, kDone };

    Status step();
    Status commit();
    void finish();

    Step step_ = Step::kLock;
    size_t gatesClosed_ = 0;
    bool gateWaiting_ = false;  // the next gate is being closed
    std::optional<engine::Txn> txn_;
    journal::Lsn commitLsn_ = 0;
};

}  // namespace freshet::catalog
