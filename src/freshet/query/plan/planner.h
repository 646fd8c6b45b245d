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
#include "freshet/query/plan/bounds.h"
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

struct IndexScan {
    std::shared_ptr<const catalog::Index> index;
    std::vector<KeyRange> ranges;  // ascending, disjoint
    std::vector<Bounds> bounds;    // of the leading fields, as the ranges were made from them
    bool backward = false;
    bool wasMultikey = false;  // when it was planned
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

/// A condition that every document looked for fulfils.
struct Predicate {
    const MatchNode* leaf = nullptr;
    std::string path;                  // of the leaf, from the document's root
    const MatchNode* group = nullptr;  // the $elemMatch that it is part of: one element of its
                                       // array fulfils all that it says
};

/// The conditions below `node`: of nested $and, and those inside of an $elemMatch.
std::vector<Predicate> collectPredicates(const MatchNode& node);

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
                        const std::vector<Predicate>& predicates,
                        const SortPattern* sort);

/// The index from `min` up to `max`, either of which may be empty. kInvalid when they are no keys
/// of it.
StatusOr<Candidate> boundByKeys(const std::shared_ptr<const catalog::Index>& index,
                                bson::Document min,
                                bson::Document max,
                                const SortPattern* sort);

}  // namespace freshet::query
