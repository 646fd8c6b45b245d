// SPDX-License-Identifier: Apache-2.0
/// Write operations on one collection: insert, update, delete. An operation is made, then run() is
/// called until it returns something else than WouldBlock. Each document is changed in a
/// transaction of its own together with its index entries; a conflict is run again inside from a
/// new snapshot. The caller waits for durability with commitLsn(). One thread from begin to end.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/catalog/catalog.h"
#include "freshet/query/work.h"

#include <memory>
#include <optional>

namespace freshet::query {

struct WriteResult {
    int64_t matched = 0;   // update: documents the filter found; delete: removed; insert: 1
    int64_t modified = 0;  // update: documents that really changed
    bool upserted = false;
    bson::OwnedDocument upsertedId;            // {_id: ...} when upserted
    std::optional<bson::OwnedDocument> value;  // as Returning asks; none when there is none
};

/// What an update or delete of one document gives back.
enum class Returning : uint8_t { kNothing, kBefore, kAfter };

/// Refuses a document that may not be stored.
using DocumentCheck = Status (*)(bson::Document document);

struct WriteOptions {
    bool bypassValidation = false;      // the collection's validator does not count
    bool keepsEmptyTimestamps = false;  // Timestamp(0, 0) stays what it is
    DocumentCheck check = nullptr;      // of each document as it will be stored
};

/// Writes what is to be committed with a document's change, in the same transaction. What it writes
/// comes last there; no two operations may have companions that write the same keys. Thread rule:
/// as the WriteOp.
class Companion {
public:
    virtual ~Companion() = default;
    /// `result` is what the operation will say of this document. On WouldBlock `*token` is to be
    /// waited for, and the call comes again; after kConflict it comes again with another
    /// transaction. REQUIRES: an open slice.
    virtual Status write(engine::Txn& txn, const WriteResult& result, sync::WaitToken* token) = 0;
};

class WriteOp {
public:
    virtual ~WriteOp() = default;
    /// Before the first run(). REQUIRES: one document at most, and `companion` outlives run().
    virtual void accompany(Companion* companion) = 0;
    /// Errors carry the client's reason; what was committed before stays (multi updates).
    /// kCancelled with kNamespaceNotFound: the collection was dropped meanwhile; make the operation
    /// anew.
    virtual Status run() = 0;
    virtual const sync::WaitToken& token() const = 0;
    virtual const WriteResult& result() const = 0;
    /// So far, also when it failed.
    virtual WorkDone work() const = 0;
    /// The newest commit so far, 0 when nothing was written.
    virtual journal::Lsn commitLsn() const = 0;
    /// After kDuplicateKey: {keyPattern, keyValue}; after kDocumentValidationFailure: {errInfo};
    /// else empty.
    virtual const bson::OwnedDocument& errorInfo() const = 0;
};

/// Adds an _id in front when there is none, moves it to the front when it is elsewhere. Checks size
/// and that _id is there once and no array, regex or undefined. Puts the time into empty
/// timestamps.
StatusOr<std::unique_ptr<WriteOp>> makeInsert(engine::Store& store,
                                              catalog::CollectionRef collection,
                                              bson::Document document,
                                              WriteOptions options = {});
/// Whether it may be inserted, without a collection to try.
Status checkInsert(bson::Document document);

struct UpdateRequest {
    bson::OwnedDocument filter;
    bson::OwnedDocument update;  // operators or a replacement; an array's bytes if isPipeline
    bool isPipeline = false;
    bson::OwnedDocument variables;  // as evaluateLet() makes them; {} none
    bson::OwnedDocument hint;
    bson::OwnedDocument sort;
    bson::OwnedDocument arrayFilters;  // an array's bytes; empty when absent
    bool multi = false;
    bool upsert = false;
    std::optional<bson::OwnedDocument> supplied;  // what an upsert inserts, whatever the update
    WriteOptions options;
    Returning returning = Returning::kNothing;  // REQUIRES: not multi
    bson::OwnedDocument projection;             // of what is returned
};
/// The request's filter, update and projection are good. For when there is no collection to try.
Status checkUpdate(const UpdateRequest& request);
/// What the request inserts when nothing matches is good. REQUIRES: upsert.
Status checkUpsert(const UpdateRequest& request);
StatusOr<std::unique_ptr<WriteOp>> makeUpdate(engine::Store& store,
                                              catalog::CollectionRef collection,
                                              UpdateRequest request);

struct DeleteRequest {
    bson::OwnedDocument filter;
    bson::OwnedDocument hint;
    bson::OwnedDocument variables;  // as evaluateLet() makes them; {} none
    bool justOne = false;
    bson::OwnedDocument sort;                   // REQUIRES: justOne
    Returning returning = Returning::kNothing;  // kBefore. REQUIRES: justOne
    bson::OwnedDocument projection;             // of what is returned
};
Status checkDelete(const DeleteRequest& request);
StatusOr<std::unique_ptr<WriteOp>> makeDelete(engine::Store& store,
                                              catalog::CollectionRef collection,
                                              DeleteRequest request);

/// A delete of what is past its time by a TTL index now. REQUIRES: index.expireAfterSeconds.
DeleteRequest expiryOf(const catalog::Index& index, int64_t nowMillis);

}  // namespace freshet::query
