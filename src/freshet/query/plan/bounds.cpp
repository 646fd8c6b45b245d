// SPDX-License-Identifier: Apache-2.0
/// Bounds of single predicates and their intersection.
#include "freshet/query/plan/bounds.h"

#include "freshet/bson/json.h"
#include "freshet/bson/keyform.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace freshet::query {

namespace {

std::string formOf(const bson::Element& value) {
    std::string form;
    bson::appendKeyForm(value, false, &form, nullptr);
    return form;
}

Interval point(const bson::Element& value) {
    std::string form = formOf(value);
    return {form, form, false, false};
}

/// Null, missing, and the value that an empty array is indexed as.
Interval nullish() {
    static constexpr char kUndefined[] = {static_cast<char>(bson::Type::kUndefined), '\0'};
    static constexpr char kNull[] = {static_cast<char>(bson::Type::kNull), '\0'};
    return {formOf(bson::Element(kUndefined)), formOf(bson::Element(kNull)), false, false};
}

bool isNan(const bson::Element& value) {
    return value.isNumber() && std::isnan(value.toDouble());
}

/// The lowest number in key order; in predicates it equals only itself.
std::string nanForm() {
    bson::Builder builder;
    builder.add("", std::numeric_limits<double>::quiet_NaN());
    const bson::OwnedDocument holder(builder.finish());
    return formOf(*holder.view().begin());
}

/// Index entries hold an array's elements, not the array, so an array as operand bounds nothing.
/// MinKey and MaxKey compare with values of every type.
bool boundsNothing(const bson::Element& operand) {
    return operand.isArray() || operand.type() == bson::Type::kMinKey ||
           operand.type() == bson::Type::kMaxKey;
}

std::optional<Bounds> comparisonBounds(const MatchNode& leaf) {
    const bson::Element& operand = leaf.operand;
    if (boundsNothing(operand)) {
        return std::nullopt;
    }
    if (operand.isNull() || operand.type() == bson::Type::kUndefined) {
        const bool asksForNull = leaf.op != MatchOp::kGt && leaf.op != MatchOp::kLt;
        return asksForNull ? Bounds{{nullish()}, true} : Bounds{{}, false, true};
    }
    if (leaf.op == MatchOp::kEq) {
        return Bounds{{point(operand)}, false, true};
    }
    if (isNan(operand)) {
        const bool includes = leaf.op == MatchOp::kGte || leaf.op == MatchOp::kLte;
        return includes ? Bounds{{point(operand)}, false, true} : Bounds{{}, false, true};
    }
    Interval interval;
    if (leaf.op == MatchOp::kGt || leaf.op == MatchOp::kGte) {
        interval.low = formOf(operand);
        interval.lowOpen = leaf.op == MatchOp::kGt;
        bson::appendClassHigh(operand.type(), false, &interval.high);
        interval.highOpen = true;
    } else {
        if (operand.isNumber()) {
            interval.low = nanForm();
        } else {
            bson::appendClassLow(operand.type(), false, &interval.low);
        }
        interval.lowOpen = true;
        interval.high = formOf(operand);
        interval.highOpen = leaf.op == MatchOp::kLt;
    }
    return Bounds{{std::move(interval)}, false, true};
}

/// The text that every match of an anchored regular expression starts with; empty if unknown.
std::string literalPrefix(std::string_view pattern) {
    if (pattern.empty() || pattern.front() != '^' || pattern.find('|') != std::string_view::npos) {
        return {};
    }
    pattern.remove_prefix(1);
    size_t end =
        std::min(pattern.find_first_of(std::string_view("\\.[]{}()*+?^$\0", 14)), pattern.size());
    bool repeated = end < pattern.size() && (pattern[end] == '*' || pattern[end] == '?' ||
                                             pattern[end] == '+' || pattern[end] == '{');
    if (repeated && end > 0) {
        --end;  // the last character is optional: drop all of its bytes
        while (end > 0 && (static_cast<uint8_t>(pattern[end]) & 0xc0) == 0x80) {
            --end;
        }
    }
    return std::string(pattern.substr(0, end));
}

std::optional<Bounds> regexBounds(const MatchNode& leaf) {
    bson::RegexView regex = leaf.operand.regexValue();
    std::string prefix = regex.options.empty() ? literalPrefix(regex.pattern) : std::string();
    if (prefix.empty()) {
        return std::nullopt;
    }
    bson::Builder builder;
    builder.add("", prefix);
    bson::OwnedDocument holder(builder.finish());
    Interval strings;
    strings.low = formOf(*holder.view().begin());
    strings.low.pop_back();  // the end mark: other text follows the prefix
    strings.high = afterPrefix(strings.low);
    strings.highOpen = true;
    return Bounds{{std::move(strings), point(leaf.operand)}, false};
}

std::optional<Bounds> inBounds(const MatchNode& leaf) {
    Bounds bounds;
    bounds.isExact = true;
    for (const bson::Element& operand : leaf.operands) {
        if (boundsNothing(operand)) {
            return std::nullopt;
        }
        bool isNull = operand.isNull() || operand.type() == bson::Type::kUndefined;
        bounds.intervals.push_back(isNull ? nullish() : point(operand));
        bounds.hasMissing |= isNull;
        bounds.isExact &= !isNull;
    }
    if (!leaf.children.empty()) {
        return std::nullopt;  // regular expressions among the values
    }
    auto& list = bounds.intervals;
    std::sort(list.begin(), list.end(), [](const Interval& a, const Interval& b) {
        return a.low < b.low;
    });
    auto same = [](const Interval& a, const Interval& b) { return a.low == b.low; };
    list.erase(std::unique(list.begin(), list.end(), same), list.end());
    return bounds;
}

/// True when everything in `a` is below everything in `b`.
bool isBelow(const Interval& a, const Interval& b) {
    int order = a.high.compare(b.low);
    return order < 0 || (order == 0 && (a.highOpen || b.lowOpen));
}

Interval overlap(const Interval& a, const Interval& b) {
    Interval result;
    int low = a.low.compare(b.low);
    result.low = low >= 0 ? a.low : b.low;
    result.lowOpen = low == 0 ? a.lowOpen || b.lowOpen : low > 0 ? a.lowOpen : b.lowOpen;
    int high = a.high.compare(b.high);
    result.high = high <= 0 ? a.high : b.high;
    result.highOpen = high == 0 ? a.highOpen || b.highOpen : high < 0 ? a.highOpen : b.highOpen;
    return result;
}

/// A value's text; empty when the bytes are a limit rather than a value.
std::string valueText(const std::string& form) {
    auto values = bson::restoreKeyForm(form, {}, {false});
    return values.isOk() ? bson::toShellText(*values->view().begin()) : std::string();
}

/// An end of an interval, as explain shows it.
struct End {
    std::string text;
    bool isOpen = false;
};

/// An end that is not a value: the lowest key of a class, or what follows its highest.
End classEnd(bson::Type type, bool isLow) {
    switch (type) {
        case bson::Type::kDouble:
        case bson::Type::kInt32:
        case bson::Type::kInt64:
        case bson::Type::kDecimal:
            return {isLow ? "-inf" : "inf", false};
        case bson::Type::kString:
            return {isLow ? "\"\"" : "{}", !isLow};
        case bson::Type::kObject:
            return {isLow ? "{}" : "[]", !isLow};
        case bson::Type::kBool:
            return {isLow ? "false" : "true", false};
        case bson::Type::kObjectId:
            return {isLow ? "ObjectId('000000000000000000000000')"
                          : "ObjectId('ffffffffffffffffffffffff')",
                    false};
        case bson::Type::kDate:
            return {isLow ? "new Date(-9223372036854775808)" : "new Date(9223372036854775807)",
                    false};
        default:
            return {isLow ? "MinKey" : "MaxKey", false};
    }
}

/// `other`: the interval's other end, which has the same class.
End endOf(const std::string& end, const std::string& other, bool isOpen, bool isLow) {
    std::string edge;
    isLow ? bson::appendKeyFormMin(&edge) : bson::appendKeyFormMax(&edge);
    if (end == edge) {
        return {isLow ? "MinKey" : "MaxKey", false};
    }
    const std::string text = valueText(end);
    const bool isLowestNumber = isLow && isOpen && end == nanForm();
    if (!text.empty() && !isLowestNumber) {
        return {text, isOpen};
    }
    const auto values = bson::restoreKeyForm(other, {}, {false});
    return classEnd(values.isOk() ? values->view().begin()->type() : bson::Type::kEnd, isLow);
}

}  // namespace

bool Bounds::areAllPoints() const {
    return std::all_of(
        intervals.begin(), intervals.end(), [](const Interval& i) { return i.isPoint(); });
}

std::optional<Bounds> boundsOf(const MatchNode& leaf) {
    switch (leaf.op) {
        case MatchOp::kEq:
        case MatchOp::kGt:
        case MatchOp::kGte:
        case MatchOp::kLt:
        case MatchOp::kLte:
            return comparisonBounds(leaf);
        case MatchOp::kIn:
            return inBounds(leaf);
        case MatchOp::kRegex:
            return regexBounds(leaf);
        case MatchOp::kExists:
            return leaf.flag ? std::nullopt : std::optional(Bounds{{nullish()}, true});
        default:
            return std::nullopt;
    }
}

Bounds intersect(const Bounds& a, const Bounds& b) {
    Bounds result;
    result.hasMissing = a.hasMissing && b.hasMissing;
    result.isExact = a.isExact && b.isExact;
    size_t i = 0;
    size_t j = 0;
    while (i < a.intervals.size() && j < b.intervals.size()) {
        const Interval& left = a.intervals[i];
        const Interval& right = b.intervals[j];
        if (isBelow(left, right)) {
            ++i;
        } else if (isBelow(right, left)) {
            ++j;
        } else {
            result.intervals.push_back(overlap(left, right));
            left.high <= right.high ? ++i : ++j;
        }
    }
    return result;
}

Bounds allValues() {
    Interval all;
    bson::appendKeyFormMin(&all.low);
    bson::appendKeyFormMax(&all.high);
    return Bounds{{std::move(all)}, true, false};
}

std::string textOf(const Interval& interval, bool descending) {
    const End low = endOf(interval.low, interval.high, interval.lowOpen, true);
    const End high = endOf(interval.high, interval.low, interval.highOpen, false);
    const End& first = descending ? high : low;
    const End& last = descending ? low : high;
    return (first.isOpen ? "(" : "[") + first.text + ", " + last.text + (last.isOpen ? ")" : "]");
}

std::string afterPrefix(std::string prefix) {
    while (!prefix.empty() && static_cast<uint8_t>(prefix.back()) == 0xff) {
        prefix.pop_back();
    }
    if (!prefix.empty()) {
        prefix.back() = static_cast<char>(static_cast<uint8_t>(prefix.back()) + 1);
    }
    return prefix;
}

}  // namespace freshet::query
