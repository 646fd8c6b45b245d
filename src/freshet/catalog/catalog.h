// SPDX-License-Identifier: Apache-2.0
/// The catalog: names of collections and indexes, kept as BSON in the engine's catalog tree, and
/// the maintenance of documents together with their index entries.
///
/// Reading: find() returns an immutable description of one collection; it takes no lock and writes
/// nothing shared. Definition changes are operations that are called until they no longer return
/// WouldBlock. A writer is inside the collection's gate for the length of its transaction; a
/// definition change closes the gate, waits for the writers inside, and opens it again.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/builder.h"
#include "freshet/catalog/predicate.h"
#include "freshet/engine/store.h"
#include "freshet/sync/wait_token.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace freshet::catalog {

using RecordId = uint64_t;

/// One field of an index key pattern.
struct KeyField {
    std::string path;
    bool descending = false;
};

/// The changing part of an index, shared by all its descriptions.
struct IndexState;

/// Immutable description of an index.
struct Index {
    std::string name;
    std::vector<KeyField> fields;
    bool unique = false;
    bool sparse = false;
    bool hidden = false;  // maintained, but not used by plans
    std::optional<int64_t> expireAfterSeconds;
    PredicateRef filter;  // of a partial index: documents that do not match have no entry; null:
                          // all documents have one
    engine::TreeId treeId = 0;
    engine::TreeRef tree;
    bson::OwnedDocument spec;  // as listIndexes shows it: {v, key, name, ...}
    std::shared_ptr<IndexState> state;

    bool isId() const { return name == "_id_"; }
    std::vector<bool> descending() const;
    /// Some document has had an array along one of the paths; never reset. A planner asks after it
    /// has taken its snapshot: the answer is then right for everything in the snapshot
    /// (INV-catalog-3).
    bool isMultikey() const;
    /// The index was dropped. A reader asks after it has taken its snapshot, as for isMultikey().
    bool isDropped() const;
};

class Gate;              // which writers may run now; see gate.h
struct CollectionState;  // live parts

/// Immutable description of a collection; a definition change replaces it as a whole. The live
/// parts (record-id counter, gate) are shared by successive descriptions.
struct Collection {
    std::string db;
    std::string name;
    std::string uuid;  // 16 bytes
    bson::OwnedDocument options;
    PredicateRef validator;  // null: none. The options say how strictly it applies
    engine::TreeId treeId = 0;
    engine::TreeRef records;  // key: 8-byte big-endian RecordId; value: the document
    std::vector<std::shared_ptr<const Index>> indexes;  // [0] is _id_
    std::shared_ptr<Gate> gate;
    std::shared_ptr<sync::Atomic<RecordId>> nextRecordId;
    std::shared_ptr<CollectionState> state;
    uint64_t revision = 0;  // differs between two descriptions of one collection
    /// Snapshots from this one on (engine::Txn::readTs()) agree with the description; 0: all do.
    uint64_t since = 0;

    std::string ns() const { return db + "." + name; }
    /// The collection was dropped. A reader asks after it has taken its snapshot.
    bool isDropped() const;
    const Index* findIndex(std::string_view indexName) const;
};
using CollectionRef = std::shared_ptr<const Collection>;

/// kConflict (kSnapshotUnavailable): the definition is newer than the snapshot `readTs`.
Status definitionChanged(const Collection& current, uint64_t readTs);

/// Null if `collection` is the current description, else the current one. A writer with an older
/// description would miss an index. REQUIRES: inside the collection's gate.
CollectionRef newerDescription(const Collection& collection);

/// A definition change in progress. Call run() until it returns something other than WouldBlock; in
/// between wait for token(). One thread from begin to end.
class Change {
public:
    virtual ~Change() = default;
    virtual Status run() = 0;
    virtual const sync::WaitToken& token() const = 0;
    /// The commit to wait for before acknowledging; 0 if nothing changed. REQUIRES: run() returned
    /// ok.
    virtual journal::Lsn commitLsn() const = 0;
};

/// What a transaction of several statements commits together with its documents.
struct TransactionCommit {
    engine::Txn* txn = nullptr;          // outlives the change
    std::vector<CollectionRef> written;  // their documents were written with these descriptions
    std::vector<std::shared_ptr<Collection>> created;  // by makePending(), in this transaction
    /// Writes further data; the last writes of the transaction. Called again after WouldBlock, when
    /// it has set *token. May be empty.
    std::function<Status(engine::Txn& txn, sync::WaitToken* token)> last;
};

struct IndexRequest {
    std::string name;          // made from the key if the client gave none
    bson::OwnedDocument key;   // {a: 1, "b.c": -1}
    bson::OwnedDocument spec;  // the client's own document: options other than the two above
    bool unique = false;
    bool sparse = false;
};

/// What a change that touches indexes reports.
struct IndexCounts {
    int before = 0;
    int after = 0;
    bool createdCollection = false;
};

struct RenameRequest {
    std::string db;
    std::string collection;
    std::string toDb;
    std::string toCollection;
    bool dropTarget = false;  // an existing collection with the new name is dropped
};

/// The new values that a modification sets.
struct CollectionEdit {
    std::optional<bson::OwnedDocument> options;
    /// Index names with their complete new specs. Only options that do not affect the entries may
    /// differ.
    std::vector<std::pair<std::string, bson::OwnedDocument>> indexSpecs;
};

class Catalog {
public:
    /// Reads the catalog tree, drops trees that it does not name, sets record-id counters. Blocks;
    /// called at start. Without a compiler, partial indexes and validators are refused
    /// (kUnsupported).
    static StatusOr<std::unique_ptr<Catalog>> open(engine::Store& store,
                                                   PredicateCompiler compiler = {});
    ~Catalog();

    /// Null if there is none. Any thread, no lock.
    CollectionRef find(std::string_view db, std::string_view collection) const;
    /// Sorted by name.
    std::vector<CollectionRef> collections(std::string_view db) const;
    /// Names of databases with at least one collection, sorted.
    std::vector<std::string> databases() const;
    /// Rises with every definition change.
    uint64_t version() const;

    /// kExists (kNamespaceExists) when it already exists, unless `ifMissing` is set and the options
    /// are the same. kInvalid (kInvalidNamespace) for a bad name.
    std::unique_ptr<Change> createCollection(std::string db,
                                             std::string collection,
                                             bson::OwnedDocument options,
                                             bool ifMissing);
    /// kNotFound (kNamespaceNotFound) if there is none.
    std::unique_ptr<Change> dropCollection(std::string db, std::string collection);
    std::unique_ptr<Change> dropDatabase(std::string db);
    /// Creates the collection if it is missing. An equal existing index is left alone. kInvalid
    /// with kIndexOptionsConflict / kIndexKeySpecsConflict / kCannotCreateIndex; kExists
    /// (kDuplicateKey) when two documents have the same key of a unique index: then nothing is
    /// created.
    std::unique_ptr<Change> createIndexes(std::string db,
                                          std::string collection,
                                          std::vector<IndexRequest> requests,
                                          IndexCounts* counts);
    /// By names; {"*"} drops all but _id_. kNotFound (kIndexNotFound), kInvalid (kInvalidOptions)
    /// for _id_.
    std::unique_ptr<Change> dropIndexes(std::string db,
                                        std::string collection,
                                        std::vector<std::string> names,
                                        IndexCounts* counts);
    /// One commit for all changes of names. The collection keeps its uuid, documents and indexes;
    /// operations that hold its old description find it dropped. kNotFound (kNamespaceNotFound);
    /// kExists (kNamespaceExists) unless dropTarget; kInvalid for bad names and a rename to itself.
    std::unique_ptr<Change> renameCollection(RenameRequest request);
    /// `edit` is called with the current description, while no other definition change is in
    /// progress, and returns the new values. Its error is the change's.
    std::unique_ptr<Change> modifyCollection(
        std::string db,
        std::string collection,
        std::function<Status(const Collection& current, CollectionEdit* edit)> edit);

    /// As find(), for a transaction whose snapshot is `readTs`. kConflict (kSnapshotUnavailable) if
    /// the definition, or the absence of one, may be newer than the snapshot.
    StatusOr<CollectionRef> findAsOf(std::string_view db,
                                     std::string_view collection,
                                     uint64_t readTs) const;
    /// A new collection that only the calling transaction knows, until it commits. Errors as
    /// createCollection(), but an existing name is found by the commit. dropPending() forgets it.
    StatusOr<std::shared_ptr<Collection>> makePending(engine::Txn& txn,
                                                      const std::string& db,
                                                      const std::string& collection,
                                                      const bson::OwnedDocument& options);
    /// The same collection with more indexes, a new description. REQUIRES: pending, and without
    /// documents. Errors as createIndexes().
    StatusOr<std::shared_ptr<Collection>> addPendingIndexes(
        engine::Txn& txn,
        const Collection& pending,
        const std::vector<IndexRequest>& requests,
        IndexCounts* counts);
    void dropPending(const Collection& collection);
    /// Commits the transaction and publishes what it created. It waits for no other transaction,
    /// and for a definition change only if the transaction has written nothing that others wait
    /// for. kConflict: a definition has changed or is being changed, or another collection has the
    /// name of a created one; nothing was committed.
    std::unique_ptr<Change> commitTransaction(TransactionCommit commit);

    engine::Store& store() const;

private:
    struct Impl;
    explicit Catalog(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Whether the collection has all the indexes; an error if one of them conflicts with another one.
StatusOr<bool> haveIndexes(const Collection& collection, const std::vector<IndexRequest>& requests);

bool isDatabaseName(std::string_view db);
/// kInvalid (kInvalidNamespace) unless both are legal names.
Status checkNames(std::string_view db, std::string_view collection);

}  // namespace freshet::catalog
