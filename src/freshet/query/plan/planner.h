// SPDX-License-Identifier: Apache-2.0
/// The planner: how to find the documents that a filter may match, in which order they come, and
/// what explain says about it. It ranks without sampling: most fields bound by equality, then a
/// range, then an order that spares a sort; else the whole collection.
///
/// REQUIRES: the snapshot that the plan will be run on has been taken, so that isMultikey() tells
/// the truth about it (INV-catalog-3).
#pragma once

#include "freshet/catalog/catalog.h"
#include "freshet/query/match.h"
#include "freshet/query/plan/path_bounds.h"
#include "freshet/query/transform.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::query {

/// Keys from `low` up to, not including, `high`; an empty `high` means to the end.
struct KeyRange {
    std::string low;
    std::string high;
};

/// A walk along key ranges, which are made one at a time: an $in of a million values, or several
/// $in on the fields of one index, cost no memory but their values.
struct IndexScan {
    std::shared_ptr<const catalog::Index> index;
    std::vector<std::shared_ptr<const Bounds>> bounds;  // of the leading fields: lists of points,
                                                        // and at most one of ranges at the end
    KeyRange between;                                   // without bounds: this one range
    bool backward = false;
    bool wasMultikey = false;  // when it was planned

    /// How many there are; 0: nothing can match.
    uint64_t rangeCount() const;
    /// Ascending and disjoint, whichever way the scan goes. REQUIRES: at < rangeCount().
    KeyRange range(uint64_t at) const;
};

enum class PlanKind : uint8_t {
    kNothing,     // no document can match
    kCollection,  // every document in record order
    kId,          // the one document of an _id
    kIndex,       // one scan
    kUnion,       // several, one for each branch of an $or
};

struct Plan {
    PlanKind kind = PlanKind::kCollection;
    bool backward = false;         // kCollection
    std::string idKey;             // kId: the key in the _id index
    std::vector<IndexScan> scans;  // kIndex: one; kUnion: one for each branch
    bool givesOrder = false;       // documents come in the wanted order
    bool isExact = false;          // whoever has an entry in the ranges matches: kIndex, kUnion

    /// An index that was not multikey when this was planned is now.
    bool isOutdated() const;
};

struct PlanRequest {
    const catalog::Collection* collection = nullptr;
    const Matcher* matcher = nullptr;
    const SortPattern* sort = nullptr;  // null: any order
    bson::Document hint;                // as FindRequest::hint
    bson::Document min;                 // keys of the hinted index: from here on
    bson::Document max;                 // up to, not including, this one
};

/// kInvalid (kBadValue) when the hint names no index.
StatusOr<Plan> choosePlan(const PlanRequest& request);

// Parts of the planner.

/// The bounds for an index and what they are worth.
struct Candidate {
    IndexScan scan;
    int points = 0;         // leading fields bound to values
    bool hasRange = false;  // the next one bound to a range
    bool givesOrder = false;
    bool isExact = false;
    bool mayMissDocuments = false;  // sparse, and nothing demands a field

    bool isBounded() const { return points > 0 || hasRange; }
    bool isBetterThan(const Candidate& other) const;
};

Candidate considerIndex(const std::shared_ptr<const catalog::Index>& index,
                        PathBounds* predicates,
                        const SortPattern* sort);

/// The index from `min` up to `max`, either of which may be empty. kInvalid when they are no keys
/// of it.
StatusOr<Candidate> boundByKeys(const std::shared_ptr<const catalog::Index>& index,
                                bson::Document min,
                                bson::Document max,
                                const SortPattern* sort);

}  // namespace freshet::query
