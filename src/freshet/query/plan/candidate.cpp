// SPDX-License-Identifier: Apache-2.0
/// What one index can do for a query: the key ranges that its predicates leave, and the order.
#include "freshet/bson/json.h"
#include "freshet/bson/keyform.h"
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

/// What is known of one field of an index.
struct FieldBounds {
    Bounds bounds;
    const MatchNode* group = nullptr;
    size_t used = 0;  // predicates that are in the bounds
};

/// On a multikey index two predicates on a path may be met by two different elements, so of them
/// only one may bound it; but what an $elemMatch says of plain values is said of one of them.
bool meetInOneValue(const Predicate& predicate, const MatchNode* group, bool multikey) {
    return !multikey ||
           (group != nullptr && predicate.group == group && group->op == MatchOp::kElemMatchValue);
}

bool isTighter(const Bounds& a, const Bounds& b) {
    if (a.areAllPoints() != b.areAllPoints()) {
        return a.areAllPoints();
    }
    return a.areAllPoints() && a.intervals.size() < b.intervals.size();
}

/// What the predicates say of one path.
std::optional<FieldBounds> fieldBounds(const std::string& path,
                                       const std::vector<Predicate>& predicates,
                                       bool multikey) {
    std::optional<FieldBounds> result;
    for (const Predicate& predicate : predicates) {
        if (predicate.path != path) {
            continue;
        }
        std::optional<Bounds> bounds = boundsOf(*predicate.leaf);
        if (!bounds.has_value()) {
            continue;
        }
        if (result.has_value() && meetInOneValue(predicate, result->group, multikey)) {
            result->bounds = intersect(result->bounds, *bounds);
            ++result->used;
        } else if (!result.has_value() || isTighter(*bounds, result->bounds)) {
            result = {*std::move(bounds), predicate.group, 1};
        }
    }
    return result;
}

/// Two fields below one array are met by any two of its elements, but an entry holds both fields of
/// one: only the first of them may be bound, unless one $elemMatch speaks of both.
bool sharesArray(const Index& index, size_t field, const std::vector<FieldBounds>& bound) {
    const MatchNode* group = bound.back().group;
    for (size_t i = 0; i < field; ++i) {
        const bool related = topField(index.fields[i].path) == topField(index.fields[field].path);
        if (related && (group == nullptr || bound[i].group != group)) {
            return true;
        }
    }
    return false;
}

/// Bounds of the index's leading fields: lists of points, and at most one range at the end.
std::vector<FieldBounds> leadingBounds(const Index& index,
                                       const std::vector<Predicate>& predicates,
                                       bool multikey) {
    std::vector<FieldBounds> result;
    size_t ranges = 1;
    for (size_t i = 0; i < index.fields.size(); ++i) {
        std::optional<FieldBounds> field = fieldBounds(index.fields[i].path, predicates, multikey);
        if (!field.has_value() || ranges * field->bounds.intervals.size() > kRangesMax) {
            break;
        }
        result.push_back(*std::move(field));
        if (multikey && sharesArray(index, i, result)) {
            result.pop_back();
            break;
        }
        const Bounds& bounds = result.back().bounds;
        ranges *= bounds.intervals.size();
        if (!bounds.areAllPoints()) {
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

/// REQUIRES: the scan's bounds are set. An order may turn the scan round.
void decideOrder(const SortPattern* sort, Candidate* candidate) {
    IndexScan& scan = candidate->scan;
    const bool canOrder = sort != nullptr && !scan.wasMultikey && !isAmbiguous(*scan.index);
    candidate->givesOrder =
        canOrder && providesOrder(*scan.index, scan.bounds, *sort, &scan.backward);
    if (!candidate->givesOrder) {
        scan.backward = false;
    }
}

/// The key form of {a: 5, b: "x"}, fields in the index's order.
StatusOr<std::string> keyOfPattern(const Index& index, bson::Document values) {
    std::string key;
    auto value = values.begin();
    for (const KeyField& field : index.fields) {
        if (value == values.end() || value->name() != field.path) {
            return invalid(location(51174),
                           "The index chosen is not compatible with min/max: its fields are not "
                           "those of " +
                               bson::toShellText(values));
        }
        bson::appendKeyForm(*value, field.descending, &key, nullptr);
        ++value;
    }
    if (value != values.end()) {
        return invalid(location(51174),
                       "The index chosen is not compatible with min/max: too many fields");
    }
    return key;
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
                        const std::vector<Predicate>& predicates,
                        const SortPattern* sort) {
    Candidate result;
    result.scan.index = index;
    result.scan.wasMultikey = index->isMultikey();
    std::vector<FieldBounds> fields;
    if (!isAmbiguous(*index)) {
        fields = leadingBounds(*index, predicates, result.scan.wasMultikey);
    }
    size_t used = 0;
    bool demandsField = false;
    result.isExact = true;
    for (FieldBounds& field : fields) {
        field.bounds.areAllPoints() ? ++result.points : result.hasRange = true;
        demandsField |= !field.bounds.hasMissing;
        result.isExact &= field.bounds.isExact && field.group == nullptr;
        used += field.used;
        result.scan.bounds.push_back(std::move(field.bounds));
    }
    result.isExact &= used == predicates.size();
    result.scan.ranges = composeRanges(*index, result.scan.bounds);
    result.mayMissDocuments = index->sparse && !demandsField;
    decideOrder(sort, &result);
    return result;
}

StatusOr<Candidate> boundByKeys(const std::shared_ptr<const Index>& index,
                                bson::Document min,
                                bson::Document max,
                                const SortPattern* sort) {
    Candidate result;
    result.scan.index = index;
    result.scan.wasMultikey = index->isMultikey();
    result.hasRange = true;
    KeyRange range;
    if (!min.isEmpty()) {
        FRESHET_ASSIGN_OR_RETURN(range.low, keyOfPattern(*index, min));
    }
    if (!max.isEmpty()) {
        FRESHET_ASSIGN_OR_RETURN(range.high, keyOfPattern(*index, max));
    }
    if (!min.isEmpty() && !max.isEmpty() && range.low >= range.high) {
        return invalid(location(51175),
                       "The value provided for min() does not come before the value provided for "
                       "max() in the hinted index");
    }
    result.scan.ranges.push_back(std::move(range));
    decideOrder(sort, &result);
    return result;
}

}  // namespace freshet::query
