// SPDX-License-Identifier: Apache-2.0
/// QueryCursor: a running find or aggregate. Between attach() and detach() it belongs to one thread
/// and reads through a transaction of its own; detached it holds no snapshot and no page and may
/// move to another thread (getMore on another connection). It goes on behind the last key it has
/// seen.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/catalog/catalog.h"
#include "freshet/query/borrowed_documents.h"
#include "freshet/query/spill.h"
#include "freshet/query/work.h"
#include "freshet/sync/wait_token.h"

#include <memory>
#include <optional>
#include <string>

namespace freshet::query {

/// Documents on their way into a reply's array.
class Batch {
public:
    /// `documentsMax` and `bytesMax` bound it; the first document always fits.
    Batch(size_t documentsMax, size_t bytesMax) : Batch(&own_, documentsMax, bytesMax) {}
    /// Into `array`, which is empty and nobody else's until the batch is full. With `borrowed`,
    /// which is made when it is needed, documents that are shared are left out of the array.
    Batch(bson::Builder* array,
          size_t documentsMax,
          size_t bytesMax,
          std::unique_ptr<BorrowedDocuments>* borrowed = nullptr)
        : array_(array), borrowed_(borrowed), documentsMax_(documentsMax), bytesMax_(bytesMax) {}
    /// False: the document does not fit; nothing was added. `share`: of the document, or empty;
    /// not taken unless the document was added.
    bool add(bson::Document document, engine::ValueShare&& share = {});
    bool isFull() const { return count_ >= documentsMax_ || full_; }
    size_t count() const { return count_; }
    /// Ends a batch with an array of its own: the array's bytes.
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

/// What a cursor over a collection holds at least, with its parsed request.
inline constexpr size_t kCursorBytes = 4096;

class QueryCursor {
public:
    virtual ~QueryCursor() = default;
    /// A new snapshot to read through, on the calling thread.
    virtual void attach() = 0;
    virtual void detach() = 0;
    /// Adds documents until the batch is full or the query is at its end. WouldBlock: wait for
    /// token() (outside any slice) and call again; returned also, with a completed token, to let
    /// others run after 128 documents or 500 us. kCancelled (kQueryPlanKilled): the collection or
    /// an index in use is gone.
    virtual Status next(Batch* batch) = 0;
    virtual const sync::WaitToken& token() const = 0;
    /// True when next() will add nothing more.
    virtual bool isExhausted() const = 0;
    /// About how much memory it holds while it is detached: its request, and what it has gathered.
    virtual uint64_t heldBytes() const { return kCursorBytes; }
    /// What all calls of next() together have done.
    virtual WorkDone work() const { return {}; }
    /// What explain shows: {stage: "IXSCAN", ...}.
    virtual bson::OwnedDocument describePlan() const = 0;
    /// The plan with what it has done so far: {nReturned, totalKeysExamined, executionStages, ...};
    /// empty when the cursor does not keep count.
    virtual bson::OwnedDocument describeExecution(uint64_t /*elapsedMillis*/) const { return {}; }
};

/// A find. Documents are copied; absent ones are empty.
struct FindRequest {
    bson::OwnedDocument filter;
    bson::OwnedDocument projection;
    bson::OwnedDocument sort;
    bson::OwnedDocument hint;  // {} none, {$natural: 1}, a key pattern; or {"": "name"} for a name
    int64_t skip = 0;
    int64_t limit = 0;                 // 0: none
    std::optional<bool> allowDiskUse;  // absent: as the spill space has it
    SpillSpace* spill = nullptr;       // null: nothing goes to disk
    bson::OwnedDocument variables;     // as evaluateLet() makes them; {} none
    bson::OwnedDocument min;           // keys of the hinted index: from here on
    bson::OwnedDocument max;           // up to, not including, this one
    bool returnsKey = false;           // the indexed fields instead of the document
    bool showsRecordId = false;        // adds $recordId
    bool needsDocuments = true;        // else only their number: they may come empty
};

/// kInvalid with the client's reason when filter, sort, projection or hint are wrong. `collection`
/// may be null (no such collection): then the cursor is empty, but the request is still checked.
StatusOr<std::unique_ptr<QueryCursor>> makeFind(engine::Store& store,
                                                catalog::CollectionRef collection,
                                                FindRequest&& request);

/// Number of documents that match, as an operation like Write in write.h.
class CountOp {
public:
    static StatusOr<std::unique_ptr<CountOp>> make(engine::Store& store,
                                                   catalog::CollectionRef collection,
                                                   FindRequest request);
    virtual ~CountOp() = default;
    virtual Status run() = 0;
    virtual const sync::WaitToken& token() const = 0;
    virtual int64_t count() const = 0;
    virtual WorkDone work() const = 0;
};

/// The distinct values at a dotted path of the documents that match, elements of arrays each for
/// itself; an operation like CountOp.
class DistinctOp {
public:
    static StatusOr<std::unique_ptr<DistinctOp>> make(engine::Store& store,
                                                      catalog::CollectionRef collection,
                                                      FindRequest request,
                                                      std::string_view path);
    virtual ~DistinctOp() = default;
    /// kInvalid (17217) when the values do not fit in a document.
    virtual Status run() = 0;
    virtual const sync::WaitToken& token() const = 0;
    /// REQUIRES: run() returned ok. The bytes of an array, once.
    virtual std::string takeValues() = 0;
    virtual WorkDone work() const = 0;
};

}  // namespace freshet::query
