// SPDX-License-Identifier: Apache-2.0
/// The catalog: names to collections and indexes, kept as BSON in the engine's catalog tree, and
/// the upkeep of a collection's documents and index entries as one.
///
/// Reading: find() gives an immutable snapshot of one collection's description; it costs no lock
/// and no shared write. Definition changes are operations that are called until they no longer
/// return WouldBlock. A writer enters the collection's gate for the length of its transaction; a
/// definition change closes the gate, waits for the writers inside and opens it again.
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

/// What changes about an index while its description stays; shared by all its descriptions.
struct IndexState;

/// Immutable description of an index.
struct Index {
    std::string name;
    std::vector<KeyField> fields;
    bool unique = false;
    bool sparse = false;
    bool hidden = false;  // kept up to date, and no plan uses it
    std::optional<int64_t> expireAfterSeconds;
    PredicateRef filter;  // of a partial index: who does not match has no entry; null: all have
    engine::TreeId treeId = 0;
    engine::TreeRef tree;
    bson::OwnedDocument spec;  // as listIndexes shows it: {v, key, name, ...}
    std::shared_ptr<IndexState> state;

    bool isId() const { return name == "_id_"; }
    std::vector<bool> descending() const;
    /// Some document has had an array along one of the paths; never reset. A planner asks after it
    /// has taken its snapshot: what it can see then agrees with the answer (INV-catalog-3).
    bool isMultikey() const;
    /// The index is gone. A reader asks after it has taken its snapshot, as with isMultikey().
    bool isDropped() const;
};

class Gate;              // who may write now; see gate.h
struct CollectionState;  // live parts

/// Immutable description of a collection; replaced as a whole by a definition change. Shared live
/// parts (record-id counter, gate) carry over from one description to the next.
struct Collection {
    std::string db;
    std::string name;
    std::string uuid;  // 16 bytes
    bson::OwnedDocument options;
    PredicateRef validator;  // null: none. How strictly it counts is in the options
    engine::TreeId treeId = 0;
    engine::TreeRef records;  // key: 8-byte big-endian RecordId; value: the document
    std::vector<std::shared_ptr<const Index>> indexes;  // [0] is _id_
    std::shared_ptr<Gate> gate;
    std::shared_ptr<sync::Atomic<RecordId>> nextRecordId;
    std::shared_ptr<CollectionState> state;
    uint64_t revision = 0;  // differs between two descriptions of one collection

    std::string ns() const { return db + "." + name; }
    /// The collection is gone. A reader asks after it has taken its snapshot.
    bool isDropped() const;
    const Index* findIndex(std::string_view indexName) const;
};
using CollectionRef = std::shared_ptr<const Collection>;

/// REQUIRES: inside the collection's gate. Null when `collection` is the current description, else
/// the one that is. A writer that holds an older one would miss an index.
CollectionRef newerDescription(const Collection& collection);

/// A definition change in progress. run() until it returns something else than WouldBlock, waiting
/// for token() in between. One thread from begin to end.
class Change {
public:
    virtual ~Change() = default;
    virtual Status run() = 0;
    virtual const sync::WaitToken& token() const = 0;
    /// REQUIRES: run() returned ok. The commit to wait for before acknowledging; 0 when nothing
    /// changed.
    virtual journal::Lsn commitLsn() const = 0;
};

struct IndexRequest {
    std::string name;          // made from the key when the client gave none
    bson::OwnedDocument key;   // {a: 1, "b.c": -1}
    bson::OwnedDocument spec;  // the client's own document: options beyond the two below
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
    bool dropTarget = false;  // a collection that has the new name goes
};

/// What a modification puts in place of what is there.
struct CollectionEdit {
    std::optional<bson::OwnedDocument> options;
    /// Index names with their whole new specs. Only what does not change the entries may differ.
    std::vector<std::pair<std::string, bson::OwnedDocument>> indexSpecs;
};

class Catalog {
public:
    /// Reads the catalog tree, drops trees it does not name, sets record-id counters. Blocks; at
    /// start. Without a compiler nothing may have a partial index or a validator (kUnsupported).
    static StatusOr<std::unique_ptr<Catalog>> open(engine::Store& store,
                                                   PredicateCompiler compiler = {});
    ~Catalog();

    /// Null when there is none. Any thread, no lock.
    CollectionRef find(std::string_view db, std::string_view collection) const;
    /// Sorted by name.
    std::vector<CollectionRef> collections(std::string_view db) const;
    /// Names of databases with at least one collection, sorted.
    std::vector<std::string> databases() const;
    /// Rises with every definition change.
    uint64_t version() const;

    /// kExists (kNamespaceExists) when it is there already, unless `options` are the same and
    /// `ifMissing`. kInvalid (kInvalidNamespace) for a bad name.
    std::unique_ptr<Change> createCollection(std::string db,
                                             std::string collection,
                                             bson::OwnedDocument options,
                                             bool ifMissing);
    /// kNotFound (kNamespaceNotFound) when there is none.
    std::unique_ptr<Change> dropCollection(std::string db, std::string collection);
    std::unique_ptr<Change> dropDatabase(std::string db);
    /// Creates the collection when missing. Same spec again: nothing happens. kInvalid with
    /// kIndexOptionsConflict / kIndexKeySpecsConflict / kCannotCreateIndex; kExists (kDuplicateKey)
    /// when a unique index finds two documents with one key: then nothing was created.
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
    /// One commit for all it does to names. The collection keeps its uuid, documents and indexes;
    /// who holds its description finds it dropped. kNotFound (kNamespaceNotFound); kExists
    /// (kNamespaceExists) unless dropTarget; kInvalid for bad names and a rename to itself.
    std::unique_ptr<Change> renameCollection(RenameRequest request);
    /// `edit` looks at the current description, with no other definition change in progress, and
    /// says what is to be different. Its error is the change's.
    std::unique_ptr<Change> modifyCollection(
        std::string db,
        std::string collection,
        std::function<Status(const Collection& current, CollectionEdit* edit)> edit);

    engine::Store& store() const;

private:
    struct Impl;
    explicit Catalog(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

bool isDatabaseName(std::string_view db);
/// kInvalid (kInvalidNamespace) unless both are legal names.
Status checkNames(std::string_view db, std::string_view collection);

}  // namespace freshet::catalog
