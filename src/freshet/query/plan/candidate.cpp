// SPDX-License-Identifier: Apache-2.0
/// What one index can do for a query: the key ranges that its predicates allow, and its order.
#include "freshet/bson/json.h"
#include "freshet/bson/keyform.h"
#include "freshet/query/plan/planner.h"

#include <algorithm>
#include <tuple>

namespace freshet::query {

namespace {

using catalog::Index;
using catalog::KeyField;

constexpr uint64_t kRangesMax = uint64_t{1} << 48;  // of one scan: counting stops here

std::string_view topField(std::string_view path) {
    return path.substr(0, path.find('.'));
}

using Field = PathBounds::Field;

/// Conditions on two fields below one array may be fulfilled by two different elements, but an
/// entry holds both fields of one element. So only the first of them may be bound, unless one
/// $elemMatch has both conditions.
bool sharesArray(const Index& index, size_t field, const std::vector<Field>& bound) {
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
std::vector<Field> leadingBounds(const Index& index, PathBounds* predicates, bool multikey) {
    std::vector<Field> result;
    uint64_t ranges = 1;
    for (size_t i = 0; i < index.fields.size(); ++i) {
        const Field* field = predicates->of(index.fields[i].path, multikey);
        if (field == nullptr || ranges * field->bounds->intervals.size() > kRangesMax) {
            break;
        }
        result.push_back(*field);
        if (multikey && sharesArray(index, i, result)) {
            result.pop_back();
            break;
        }
        ranges *= field->bounds->intervals.size();
        if (!field->bounds->areAllPoints()) {
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

/// Whether a walk along the ranges meets documents in the wanted order, and in which direction it
/// must go. A field that is bound to a single value does not disturb an order.
bool providesOrder(const Index& index,
                   const std::vector<std::shared_ptr<const Bounds>>& bound,
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
        } else if (i >= bound.size() || !bound[i]->isSinglePoint()) {
            return false;
        }
    }
    return wanted == fields.size();
}

/// A component that is a number may be an array index or a field name; entries follow only one of
/// the two readings.
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

/// REQUIRES: the scan's bounds are set. May make the scan run backward to get the wanted order.
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

uint64_t IndexScan::rangeCount() const {
    uint64_t count = 1;
    for (const auto& field : bounds) {
        count *= field->intervals.size();
    }
    return count;
}

KeyRange IndexScan::range(uint64_t at) const {
    if (bounds.empty()) {
        return between;
    }
    uint64_t behind = rangeCount();
    std::string prefix;
    for (size_t i = 0;; ++i) {
        const std::vector<Interval>& intervals = bounds[i]->intervals;
        behind /= intervals.size();
        const uint64_t place = at / behind;
        at %= behind;
        const bool descending = index->fields[i].descending;
        const Interval& interval = intervals[descending ? intervals.size() - 1 - place : place];
        if (i + 1 == bounds.size()) {
            return rangeOf(prefix, descending ? mirrored(interval) : interval);
        }
        prefix += descending ? complement(interval.low) : interval.low;
    }
}

Candidate considerIndex(const std::shared_ptr<const Index>& index,
                        PathBounds* predicates,
                        const SortPattern* sort) {
    Candidate result;
    result.scan.index = index;
    result.scan.wasMultikey = index->isMultikey();
    std::vector<Field> fields;
    if (!isAmbiguous(*index)) {
        fields = leadingBounds(*index, predicates, result.scan.wasMultikey);
    }
    size_t used = 0;
    bool demandsField = false;
    result.isExact = true;
    for (Field& field : fields) {
        field.bounds->areAllPoints() ? ++result.points : result.hasRange = true;
        demandsField |= !field.bounds->hasMissing;
        result.isExact &= field.bounds->isExact && field.group == nullptr;
        used += field.used;
        result.scan.bounds.push_back(std::move(field.bounds));
    }
    result.isExact &= used == predicates->predicates().size();
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
    KeyRange& range = result.scan.between;
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
    decideOrder(sort, &result);
    return result;
}

}  // namespace freshet::query
