// SPDX-License-Identifier: Apache-2.0
/// Write operations on one collection: insert, update, delete. An operation is made, then run() is
/// called until it returns something other than WouldBlock. Each document is changed in a
/// transaction of its own, together with its index entries; after a conflict the operation retries
/// in a new snapshot by itself. The caller waits for durability with commitLsn(). One thread from
/// begin to end.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/catalog/catalog.h"
#include "freshet/query/transaction.h"
#include "freshet/query/work.h"

#include <memory>
#include <optional>

namespace freshet::query {

struct WriteResult {
    int64_t matched = 0;   // update: documents the filter found; delete: removed; insert: 1
    int64_t modified = 0;  // update: documents that were really changed
    bool upserted = false;
    bson::OwnedDocument upsertedId;            // {_id: ...} when upserted
    std::optional<bson::OwnedDocument> value;  // as Returning asks; none without a document
};

/// Which state of its document an update or delete of one document returns.
enum class Returning : uint8_t { kNothing, kBefore, kAfter };

/// Refuses a document that may not be stored.
using DocumentCheck = Status (*)(bson::Document document);

struct WriteOptions {
    bool bypassValidation = false;      // the collection's validator is not applied
    bool keepsEmptyTimestamps = false;  // Timestamp(0, 0) is stored as it is
    DocumentCheck check = nullptr;      // called for each document as it will be stored
};

/// Writes further data in the transaction of a document's change. Its writes are the last ones of
/// the transaction; companions of two operations must not write the same keys. Thread rule: as the
/// WriteOp.
class Companion {
public:
    virtual ~Companion() = default;
    /// `result` is what the operation will report for this document. After WouldBlock the operation
    /// waits for *token and calls again; after kConflict it calls again with another transaction.
    /// REQUIRES: an open slice.
    virtual Status write(engine::Txn& txn, const WriteResult& result, sync::WaitToken* token) = 0;
};

class WriteOp {
public:
    virtual ~WriteOp() = default;
    /// Before the first run(). REQUIRES: one document at most, and `companion` outlives run().
    virtual void accompany(Companion* companion) = 0;
    /// Errors carry the client's reason; what was committed before stays (multi updates).
    /// kCancelled with kNamespaceNotFound: the collection was dropped meanwhile; make the operation
    /// again.
    virtual Status run() = 0;
    virtual const sync::WaitToken& token() const = 0;
    virtual const WriteResult& result() const = 0;
    /// So far, also after a failure.
    virtual WorkDone work() const = 0;
    /// The newest commit so far, 0 when nothing was written.
    virtual journal::Lsn commitLsn() const = 0;
    /// After kDuplicateKey: {keyPattern, keyValue}; after kDocumentValidationFailure: {errInfo};
    /// else empty.
    virtual const bson::OwnedDocument& errorInfo() const = 0;
};

/// Adds an _id in front if there is none, or moves it to the front. Checks the size, and that there
/// is exactly one _id, not an array, regex or undefined. Fills empty timestamps with the time.
StatusOr<std::unique_ptr<WriteOp>> makeInsert(const WorkUnit& unit,
                                              catalog::CollectionRef collection,
                                              bson::Document document,
                                              WriteOptions options = {});
/// Whether the document may be inserted, for when there is no collection to insert it into.
Status checkInsert(bson::Document document);

struct UpdateRequest {
    bson::OwnedDocument filter;
    bson::SharedDocument update;  // operators or a replacement; an array's bytes if isPipeline
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
/// Checks the request's filter, update and projection, for when there is no collection to apply
/// them to.
Status checkUpdate(const UpdateRequest& request);
/// Checks what the request inserts if nothing matches. REQUIRES: upsert.
Status checkUpsert(const UpdateRequest& request);
StatusOr<std::unique_ptr<WriteOp>> makeUpdate(const WorkUnit& unit,
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
StatusOr<std::unique_ptr<WriteOp>> makeDelete(const WorkUnit& unit,
                                              catalog::CollectionRef collection,
                                              DeleteRequest request);

/// A delete of the documents that have expired by a TTL index. REQUIRES: index.expireAfterSeconds.
DeleteRequest expiryOf(const catalog::Index& index, int64_t nowMillis);

}  // namespace freshet::query
