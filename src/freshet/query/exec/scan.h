// SPDX-License-Identifier: Apache-2.0
/// Scans: the leaves of a running plan. A scan gives each document at most once, in the plan's
/// order, unfiltered. It remembers its position by key, so it can continue in another transaction.
#pragma once

#include "freshet/query/exec/row.h"
#include "freshet/query/plan/planner.h"
#include "freshet/query/plan/stage_tree.h"

#include <memory>

namespace freshet::query {

class Scan {
public:
    virtual ~Scan() = default;
    /// Reads through `txn` from now on, after what was given before.
    virtual void attach(engine::Txn& txn) = 0;
    virtual void detach() = 0;
    /// One step. Ok with row->id != 0: a document. Ok with id 0 and isAtEnd(): the end. Ok with id
    /// 0 otherwise: an entry that led to no document. WouldBlock: wait for the transaction's token.
    virtual Status advance(Row* row) = 0;
    virtual bool isAtEnd() const = 0;
    /// A share of the document given last, if it is large; else empty. REQUIRES: no call since.
    virtual engine::ValueShare share() const { return {}; }
    /// Skips at most `most` of the next entries without looking at them: as many as whole pages
    /// hold. *passed is how many, also after WouldBlock (as advance()).
    virtual Status passOver(uint64_t /*most*/, uint64_t* passed) {
        *passed = 0;
        return Status::ok();
    }
    const ScanCounts& counts() const { return counts_; }

protected:
    ScanCounts counts_;
};

/// With `fetches` false, an index scan gives rows with an id and no document. The plan must outlive
/// the scan.
std::unique_ptr<Scan> makeScan(const Plan& plan, catalog::CollectionRef collection, bool fetches);

}  // namespace freshet::query
