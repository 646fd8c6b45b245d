// SPDX-License-Identifier: Apache-2.0
/// The planner: how to find the documents that a filter may match, in which order they come, and
/// what explain says about it. It ranks plans without sampling: most fields bound by equality
/// first, then a range, then an order that makes a sort unnecessary; otherwise it scans the
/// collection.
///
/// REQUIRES: the snapshot that the plan will run on has been taken, so that isMultikey() is right
/// for it (INV-catalog-3).
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

/// A walk along key ranges, which are computed one at a time: an $in of a million values, or
/// several $in on the fields of one index, need no memory beyond their values.
struct IndexScan {
    std::shared_ptr<const catalog::Index> index;
    // Of the leading fields: lists of points, then at most one list of ranges.
    std::vector<std::shared_ptr<const Bounds>> bounds;
    KeyRange between;  // if there are no bounds: this one range
    bool backward = false;
    bool wasMultikey = false;  // when it was planned

    /// How many ranges there are; 0: nothing can match.
    uint64_t rangeCount() const;
    /// Ascending and disjoint, in either direction of the scan. REQUIRES: at < rangeCount().
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
    bool isExact = false;          // every entry in the ranges is a match: kIndex, kUnion

    /// An index that was not multikey at planning has become multikey.
    bool isOutdated() const;
};

struct PlanRequest {
    const catalog::Collection* collection = nullptr;
    const Matcher* matcher = nullptr;
    const SortPattern* sort = nullptr;  // null: any order
    bson::Document hint;                // as FindRequest::hint
    bson::Document min;                 // lower bound, inclusive: keys of the hinted index
    bson::Document max;                 // upper bound, exclusive
};

/// kInvalid (kBadValue) when the hint names no index.
StatusOr<Plan> choosePlan(const PlanRequest& request);

// Parts of the planner.

/// The bounds for one index, and how useful they are.
struct Candidate {
    IndexScan scan;
    int points = 0;         // leading fields bound to values
    bool hasRange = false;  // the next field is bound to a range
    bool givesOrder = false;
    bool isExact = false;
    bool mayMissDocuments = false;  // sparse, and no predicate demands an indexed field

    bool isBounded() const { return points > 0 || hasRange; }
    bool isBetterThan(const Candidate& other) const;
};

Candidate considerIndex(const std::shared_ptr<const catalog::Index>& index,
                        PathBounds* predicates,
                        const SortPattern* sort);

/// Scans the index from `min` up to `max`, either of which may be empty. kInvalid when they are not
/// keys of this index.
StatusOr<Candidate> boundByKeys(const std::shared_ptr<const catalog::Index>& index,
                                bson::Document min,
                                bson::Document max,
                                const SortPattern* sort);

}  // namespace freshet::query
