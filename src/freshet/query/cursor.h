// SPDX-License-Identifier: Apache-2.0
/// QueryCursor: a running find or aggregate. Between attach() and detach() it belongs to one thread
/// and reads through a transaction of its own. Detached, it holds no snapshot and no page and may
/// move to another thread (getMore on another connection). Attached again, it continues after the
/// last key that it has seen.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/catalog/catalog.h"
#include "freshet/query/borrowed_documents.h"
#include "freshet/query/spill.h"
#include "freshet/query/tail.h"
#include "freshet/query/transaction.h"
#include "freshet/query/work.h"
#include "freshet/sync/wait_token.h"

#include <memory>
#include <optional>
#include <string>

namespace freshet::query {

/// Collects documents for a reply's array.
class Batch {
public:
    /// `documentsMax` and `bytesMax` bound it; the first document always fits.
    Batch(size_t documentsMax, size_t bytesMax) : Batch(&own_, documentsMax, bytesMax) {}
    /// Writes into `array`, which is empty and used by nothing else until the batch is full. With
    /// `borrowed`, which is created when first needed, shared documents are left out of the array.
    Batch(bson::Builder* array,
          size_t documentsMax,
          size_t bytesMax,
          std::unique_ptr<BorrowedDocuments>* borrowed = nullptr)
        : array_(array), borrowed_(borrowed), documentsMax_(documentsMax), bytesMax_(bytesMax) {}
    /// False: the document does not fit and was not added. `share`: of the document, or empty;
    /// taken only if the document was added.
    bool add(bson::Document document, engine::ValueShare&& share = {});
    bool isFull() const { return count_ >= documentsMax_ || full_; }
    size_t count() const { return count_; }
    /// Finishes a batch that has an array of its own; returns the array's bytes.
    std::string finishArray() { return own_.finish(); }

private:
    bool mayBorrow() const {
        return borrowed_ != nullptr && (*borrowed_ == nullptr || !(*borrowed_)->isFull());
    }
    size_t bytesLeftOut() const {
        return borrowed_ != nullptr && *borrowed_ != nullptr ? (*borrowed_)->bytes() : 0;
    }
    void borrow(engine::ValueShare document);

    bson::Builder own_;
    bson::Builder* array_;
    std::unique_ptr<BorrowedDocuments>* borrowed_;
    size_t count_ = 0;
    size_t documentsMax_;
    size_t bytesMax_;
    bool full_ = false;
};

/// The least that a cursor over a collection holds, including its parsed request.
inline constexpr size_t kCursorBytes = 4096;

class QueryCursor {
public:
    virtual ~QueryCursor() = default;
    /// Takes a new snapshot to read through, on the calling thread.
    virtual void attach() = 0;
    virtual void detach() = 0;
    /// Adds documents until the batch is full or the query ends. WouldBlock: wait for token()
    /// (outside any slice) and call again; also returned, with a completed token, to let other
    /// operations run after 128 documents or 500 us. kCancelled (kQueryPlanKilled): the collection
    /// or an index in use was dropped.
    virtual Status next(Batch* batch) = 0;
    virtual const sync::WaitToken& token() const = 0;
    /// True when next() will add nothing more.
    virtual bool isExhausted() const = 0;
    /// After WouldBlock: it has given everything that exists so far, and token() completes when
    /// there may be more, perhaps much later. It needs not be attached meanwhile.
    virtual bool awaitsData() const { return false; }
    /// From where a new cursor would continue behind the last document that was added to a batch,
    /// or further on if nothing was of interest since. {}: it has no such places.
    virtual bson::OwnedDocument resumeToken() const { return {}; }
    /// About how much memory it holds while it is detached: its request and what it has buffered.
    virtual uint64_t heldBytes() const { return kCursorBytes; }
    /// The work of all calls of next() together.
    virtual WorkDone work() const { return {}; }
    /// What explain shows: {stage: "IXSCAN", ...}.
    virtual bson::OwnedDocument describePlan() const = 0;
    /// The plan with what it has done so far: {nReturned, totalKeysExamined, executionStages, ...};
    /// empty when the cursor keeps no counts.
    virtual bson::OwnedDocument describeExecution(uint64_t /*elapsedMillis*/) const { return {}; }
};

/// A find. Its documents are copies; an empty document stands for an absent field.
struct FindRequest {
    bson::OwnedDocument filter;
    bson::OwnedDocument projection;
    bson::OwnedDocument sort;
    bson::OwnedDocument hint;  // {} none, {$natural: 1}, a key pattern; or {"": "name"} for a name
    int64_t skip = 0;
    int64_t limit = 0;                 // 0: none
    std::optional<bool> allowDiskUse;  // absent: the spill space's default
    SpillSpace* spill = nullptr;       // null: nothing goes to disk
    bson::OwnedDocument variables;     // as evaluateLet() makes them; {} none
    bson::OwnedDocument min;           // lower bound, inclusive: keys of the hinted index
    bson::OwnedDocument max;           // upper bound, exclusive
    bool returnsKey = false;           // the indexed fields instead of the document
    bool showsRecordId = false;        // adds $recordId
    bool needsDocuments = true;        // false: only their number counts, and they may be empty
};

/// kInvalid with the client's reason when the filter, sort, projection or hint is wrong.
/// `collection` may be null (no such collection): then the cursor is empty, but the request is
/// still checked.
StatusOr<std::unique_ptr<QueryCursor>> makeFind(const WorkUnit& unit,
                                                catalog::CollectionRef collection,
                                                FindRequest&& request);

/// The documents of a source that match, with skip, limit and projection. `endsWhenDry`: it is
/// exhausted when it has given everything that exists; else it goes on until the source is over.
/// They come in the source's order. kInvalid (a tail) or kUnsupported: the request wants another
/// order, or an index, keys or record ids.
StatusOr<std::unique_ptr<QueryCursor>> makeTailFind(const WorkUnit& unit,
                                                    FindRequest&& request,
                                                    std::unique_ptr<TailSource> source,
                                                    bool endsWhenDry);

/// Counts the documents that match; used like WriteOp in write.h.
class CountOp {
public:
    static StatusOr<std::unique_ptr<CountOp>> make(const WorkUnit& unit,
                                                   catalog::CollectionRef collection,
                                                   FindRequest request);
    virtual ~CountOp() = default;
    virtual Status run() = 0;
    virtual const sync::WaitToken& token() const = 0;
    virtual int64_t count() const = 0;
    virtual WorkDone work() const = 0;
};

/// The distinct values at a dotted path of the documents that match; each element of an array
/// counts by itself. Used like CountOp.
class DistinctOp {
public:
    static StatusOr<std::unique_ptr<DistinctOp>> make(const WorkUnit& unit,
                                                      catalog::CollectionRef collection,
                                                      FindRequest request,
                                                      std::string_view path);
    virtual ~DistinctOp() = default;
    /// kInvalid (17217) when the values do not fit in a document.
    virtual Status run() = 0;
    virtual const sync::WaitToken& token() const = 0;
    /// REQUIRES: run() returned ok. The bytes of an array; call once.
    virtual std::string takeValues() = 0;
    virtual WorkDone work() const = 0;
};

}  // namespace freshet::query
