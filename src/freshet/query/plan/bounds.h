// SPDX-License-Identifier: Apache-2.0
/// Bounds: which part of one indexed field's values a predicate can match, as intervals of
/// ascending key forms. Bounds may be too wide, never too narrow: every document found is tested
/// again, unless the bounds are known to be exact. Pure; any thread.
#pragma once

#include "freshet/query/match.h"

#include <optional>
#include <string>
#include <vector>

namespace freshet::query {

struct Interval {
    std::string low;
    std::string high;
    bool lowOpen = false;
    bool highOpen = false;

    bool isPoint() const { return low == high; }
};

/// Ascending, disjoint. Empty: nothing can match.
struct Bounds {
    std::vector<Interval> intervals;
    bool hasMissing = false;  // a document without the field may match (sparse indexes lack it)
    bool isExact = false;     // no value within them fails, and none stands for an array

    bool areAllPoints() const;
    bool isSinglePoint() const { return intervals.size() == 1 && intervals[0].isPoint(); }
};

/// Nothing if an index cannot help with the predicate. REQUIRES: a leaf.
std::optional<Bounds> boundsOf(const MatchNode& leaf);

/// All values: the bounds of a field without a predicate.
Bounds allValues();

/// As explain shows it: "[1, 1]", "(5, inf]".
std::string textOf(const Interval& interval, bool descending);

/// The values that are in both.
Bounds intersect(const Bounds& a, const Bounds& b);

/// The smallest bytes greater than all that start with `prefix`; empty when there are none.
std::string afterPrefix(std::string prefix);

}  // namespace freshet::query
