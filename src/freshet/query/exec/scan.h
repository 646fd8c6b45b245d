// SPDX-License-Identifier: Apache-2.0
/// Scans: the leaves of a running plan. A scan gives each document at most once, in the plan's
/// order, unfiltered. It remembers its place by key, so it can go on in another transaction.
#pragma once

#include "freshet/query/exec/row.h"
#include "freshet/query/plan/planner.h"
#include "freshet/query/plan/stage_tree.h"

#include <memory>

namespace freshet::query {

class Scan {
public:
    virtual ~Scan() = default;
    /// Reads through `txn` from now on, behind what was given before.
    virtual void attach(engine::Txn& txn) = 0;
    virtual void detach() = 0;
    /// One step: ok with row->id != 0 is a document; ok with id 0 and isAtEnd() is the end; ok with
    /// id 0 otherwise is an entry that led to none. WouldBlock: the transaction's token.
    virtual Status advance(Row* row) = 0;
    virtual bool isAtEnd() const = 0;
    /// Of the document given last, when it is large; else empty. REQUIRES: nothing was called
    /// since.
    virtual engine::ValueShare share() const { return {}; }
    /// Goes over at most `most` entries of those that are next without looking at them: as many as
    /// whole pages have. *passed is how many, also with WouldBlock (as advance()).
    virtual Status passOver(uint64_t /*most*/, uint64_t* passed) {
        *passed = 0;
        return Status::ok();
    }
    const ScanCounts& counts() const { return counts_; }

protected:
    ScanCounts counts_;
};

/// Without `fetches` an index scan gives rows with an id and no document. The plan must outlive the
/// scan.
std::unique_ptr<Scan> makeScan(const Plan& plan, catalog::CollectionRef collection, bool fetches);

}  // namespace freshet::query
