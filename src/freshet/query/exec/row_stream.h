// SPDX-License-Identifier: Apache-2.0
/// RowStream: the documents that match a filter, in the wanted order; shared by find, aggregate,
/// count, update and delete. Between attach() and detach() it reads through the caller's
/// transaction; attached again, it continues after the last document.
#pragma once

#include "freshet/query/exec/scan.h"
#include "freshet/query/exec/sorter.h"
#include "freshet/query/work.h"

#include <memory>
#include <optional>

namespace freshet::query {

struct StreamRequest {
    catalog::CollectionRef collection;
    std::shared_ptr<const Matcher> matcher;
    bson::OwnedDocument sort;  // {} none; {$natural: -1} is a hint
    bson::OwnedDocument hint;
    uint64_t keep = 0;  // only the first `keep` are wanted; 0: all
    bson::OwnedDocument min;
    bson::OwnedDocument max;
    MemoryRules memory;
    bool needsDocuments = true;  // false: rows may have only an id (counting)
};

class RowStream {
public:
    /// kInvalid when the sort or hint is wrong.
    static StatusOr<std::unique_ptr<RowStream>> make(StreamRequest request);

    /// REQUIRES: the transaction's snapshot is taken.
    void attach(engine::Txn& txn);
    void detach();
    /// The next document, or row->id 0 at the end. WouldBlock: wait for token(); if the turn is
    /// over, it is already complete. kCancelled (kQueryPlanKilled): the collection or an index in
    /// use was dropped. REQUIRES: attached, and inside a slice.
    Status next(Row* row);
    /// A share of the document that next() gave, if it is large and unchanged from storage; else
    /// empty.
    engine::ValueShare share() const {
        return sorter_.has_value() ? engine::ValueShare() : scan_->share();
    }
    /// Skips at most `most` of the documents that next() would give, without looking at them: as
    /// many as the plan allows. *passed is how many, also after WouldBlock. Rules and errors as for
    /// next().
    Status passOver(uint64_t most, uint64_t* passed);
    const sync::WaitToken& token() const { return token_; }
    /// What it holds in order to sort.
    uint64_t heldBytes() const { return sorter_.has_value() ? sorter_->heldBytes() : 0; }
    /// To be called when the stream gets its turn; it lets others run after kDocumentsPerTurn.
    void startTurn() { turn_.start(); }

    /// The plan as explain shows it.
    bson::OwnedDocument describe() const { return describeTree(stages(), false); }
    /// The plan and what it has done.
    StageNode stages() const;
    const Plan& plan() const { return plan_; }
    WorkDone work() const;

private:
    explicit RowStream(StreamRequest request) : request_(std::move(request)) {}

    Status makePlan();
    bool fetches() const { return request_.needsDocuments || !plan_.isExact; }
    bool matchesAll() const { return request_.matcher->filter().isEmpty(); }
    Status nextFromScan(Row* row);
    Status sortAll();
    Status nextSorted(Row* row);
    /// Makes the stream wait for what the sorter waits for.
    Status asStream(Status status);
    bool isKilled() const;
    PlanName planName() const;
    std::string branchNames(std::string_view kind) const;

    StreamRequest request_;
    std::optional<SortPattern> pattern_;
    Plan plan_;
    std::unique_ptr<Scan> scan_;    // of plan_
    std::optional<Sorter> sorter_;  // null if the plan gives the order
    bool scanned_ = false;          // all documents are in the sorter
    bool sorted_ = false;
    bool started_ = false;
    bool killed_ = false;
    SpillCounts spilled_;
    uint64_t matched_ = 0;
    uint64_t given_ = 0;
    engine::Txn* txn_ = nullptr;
    Turn turn_;
    sync::WaitToken token_;
};

/// What a cursor returns when the collection or an index in use was dropped.
inline Status planKilled(const catalog::Collection& collection) {
    return Status(Code::kCancelled,
                  Reason::kQueryPlanKilled,
                  collection.ns() + " or an index in use was dropped");
}

/// `stream` may be null: there is no collection.
inline WorkDone workOf(const RowStream* stream) {
    if (stream != nullptr) {
        return stream->work();
    }
    WorkDone nothing;
    nothing.plan.kind = "EOF";
    return nothing;
}

}  // namespace freshet::query
