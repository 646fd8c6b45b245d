// SPDX-License-Identifier: Apache-2.0
/// What one index can do for a query: the key ranges that its predicates leave, and the order.
#include "freshet/query/plan/planner.h"

#include <algorithm>
#include <tuple>

namespace freshet::query {

namespace {

using catalog::Index;
using catalog::KeyField;

constexpr size_t kRangesMax = 4'096;  // key ranges of one scan, from products of $in lists

std::string_view topField(std::string_view path) {
    return path.substr(0, path.find('.'));
}

/// What the predicates say of one path. Two predicates on a path along arrays may be met by two
/// different elements, so of them only one may bound a multikey index.
std::optional<Bounds> fieldBounds(const std::string& path,
                                  const std::vector<const MatchNode*>& predicates,
                                  bool multikey) {
    std::optional<Bounds> result;
    for (const MatchNode* leaf : predicates) {
        std::optional<Bounds> bounds = leaf->path == path ? boundsOf(*leaf) : std::nullopt;
        if (!bounds.has_value()) {
            continue;
        }
        if (!result.has_value()) {
            result = std::move(bounds);
        } else if (!multikey) {
            result = intersect(*result, *bounds);
        } else if (bounds->areAllPoints() &&
                   (!result->areAllPoints() ||
                    bounds->intervals.size() < result->intervals.size())) {
            result = std::move(bounds);
        }
    }
    return result;
}

/// Two fields below one array are met by any two of its elements, but an entry holds both fields of
/// one: only the first of them may be bound.
bool sharesArray(const Index& index, size_t field, const std::vector<Bounds>& bound) {
    for (size_t i = 0; i < bound.size(); ++i) {
        if (topField(index.fields[i].path) == topField(index.fields[field].path)) {
            return true;
        }
    }
    return false;
}

/// Bounds of the index's leading fields: lists of points, and at most one range at the end.
std::vector<Bounds> leadingBounds(const Index& index,
                                  const std::vector<const MatchNode*>& predicates,
                                  bool multikey) {
    std::vector<Bounds> result;
    size_t ranges = 1;
    for (size_t i = 0; i < index.fields.size(); ++i) {
        if (multikey && sharesArray(index, i, result)) {
            break;
        }
        std::optional<Bounds> bounds = fieldBounds(index.fields[i].path, predicates, multikey);
        if (!bounds.has_value() || ranges * bounds->intervals.size() > kRangesMax) {
            break;
        }
        ranges *= bounds->intervals.size();
        bool points = bounds->areAllPoints();
        result.push_back(*std::move(bounds));
        if (!points) {
            break;
        }
    }
    return result;
}

std::string complement(std::string form) {
    for (char& byte : form) {
        byte = static_cast<char>(~byte);
    }
    return form;
}

/// The interval in the byte order of a descending field.
Interval mirrored(const Interval& interval) {
    return {
        complement(interval.high), complement(interval.low), interval.highOpen, interval.lowOpen};
}

KeyRange rangeOf(const std::string& prefix, const Interval& interval) {
    std::string low = prefix + interval.low;
    std::string high = prefix + interval.high;
    return {interval.lowOpen ? afterPrefix(std::move(low)) : std::move(low),
            interval.highOpen ? std::move(high) : afterPrefix(std::move(high))};
}

std::vector<KeyRange> composeRanges(const Index& index, const std::vector<Bounds>& bound) {
    std::vector<std::string> prefixes{""};
    std::vector<KeyRange> ranges;
    for (size_t i = 0; i < bound.size(); ++i) {
        std::vector<Interval> intervals = bound[i].intervals;
        if (index.fields[i].descending) {
            std::reverse(intervals.begin(), intervals.end());
            std::transform(intervals.begin(), intervals.end(), intervals.begin(), mirrored);
        }
        bool last = i + 1 == bound.size();
        std::vector<std::string> next;
        for (const std::string& prefix : prefixes) {
            for (const Interval& interval : intervals) {
                if (last) {
                    ranges.push_back(rangeOf(prefix, interval));
                } else {
                    next.push_back(prefix + interval.low);
                }
            }
        }
        prefixes = std::move(next);
    }
    if (bound.empty()) {
        ranges.push_back({"", ""});
    }
    return ranges;
}

/// Whether a walk along the ranges meets documents in the wanted order, and in which direction it
/// must go. Fields held at one value do not disturb an order.
bool providesOrder(const Index& index,
                   const std::vector<Bounds>& bound,
                   const SortPattern& sort,
                   bool* backward) {
    size_t wanted = 0;
    bool directionKnown = false;
    const auto& fields = sort.fields();
    for (size_t i = 0; i < index.fields.size() && wanted < fields.size(); ++i) {
        const KeyField& field = index.fields[i];
        if (field.path == fields[wanted].path) {
            bool against = field.descending != fields[wanted].descending;
            if (directionKnown && against != *backward) {
                return false;
            }
            *backward = against;
            directionKnown = true;
            ++wanted;
        } else if (i >= bound.size() || !bound[i].isSinglePoint()) {
            return false;
        }
    }
    return wanted == fields.size();
}

/// A component that is a number may be an array index or a name; entries know one reading only.
bool hasNumericComponent(std::string_view path) {
    while (!path.empty()) {
        std::string_view part = path.substr(0, path.find('.'));
        if (!part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos) {
            return true;
        }
        path.remove_prefix(std::min(path.size(), part.size() + 1));
    }
    return false;
}

bool isAmbiguous(const Index& index) {
    return std::any_of(index.fields.begin(), index.fields.end(), [](const KeyField& field) {
        return hasNumericComponent(field.path);
    });
}

}  // namespace

bool Candidate::isBetterThan(const Candidate& other) const {
    auto rank = [](const Candidate& c) { return std::tuple(c.points, c.hasRange, c.givesOrder); };
    if (rank(*this) != rank(other)) {
        return rank(*this) > rank(other);
    }
    return scan.index->unique && !other.scan.index->unique;
}

Candidate considerIndex(const std::shared_ptr<const Index>& index,
                        const std::vector<const MatchNode*>& predicates,
                        const SortPattern* sort) {
    Candidate result;
    result.scan.index = index;
    result.scan.wasMultikey = index->isMultikey();
    std::vector<Bounds> bound;
    if (!isAmbiguous(*index)) {
        bound = leadingBounds(*index, predicates, result.scan.wasMultikey);
    }
    result.scan.ranges = composeRanges(*index, bound);
    for (const Bounds& bounds : bound) {
        bounds.areAllPoints() ? ++result.points : result.hasRange = true;
    }
    bool demandsField = std::any_of(
        bound.begin(), bound.end(), [](const Bounds& bounds) { return !bounds.hasMissing; });
    result.mayMissDocuments = index->sparse && !demandsField;
    bool canOrder = sort != nullptr && !result.scan.wasMultikey && !isAmbiguous(*index);
    result.givesOrder = canOrder && providesOrder(*index, bound, *sort, &result.scan.backward);
    if (!result.givesOrder) {
        result.scan.backward = false;
    }
    return result;
}

}  // namespace freshet::query
