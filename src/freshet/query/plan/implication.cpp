// SPDX-License-Identifier: Apache-2.0
/// Implication, predicate by predicate. It is sound for arrays because a predicate on a path is
/// fulfilled by one element, and that element then fulfils the weaker predicate too.
#include "freshet/query/plan/implication.h"

#include "freshet/bson/compare.h"
#include "freshet/query/match/tree.h"

#include <algorithm>
#include <cmath>

namespace freshet::query {
namespace {

using bson::Element;
using bson::Type;

bool isComparison(MatchOp op) {
    return op == MatchOp::kEq || op == MatchOp::kGt || op == MatchOp::kGte || op == MatchOp::kLt ||
           op == MatchOp::kLte;
}

/// A value that has no special rules in comparisons, as null, arrays, MinKey, MaxKey and NaN have.
bool isPlain(const Element& value) {
    switch (value.type()) {
        case Type::kEnd:
        case Type::kNull:
        case Type::kUndefined:
        case Type::kArray:
        case Type::kMinKey:
        case Type::kMaxKey:
            return false;
        default:
            return !value.isNumber() || !std::isnan(value.toDouble());
    }
}

bool sameOperands(const MatchNode& a, const MatchNode& b) {
    return std::equal(a.operands.begin(),
                      a.operands.end(),
                      b.operands.begin(),
                      b.operands.end(),
                      bson::equalValues);
}

/// The two predicates are equal.
bool isSame(const MatchNode& a, const MatchNode& b) {
    if (a.op != b.op || a.path != b.path || a.flag != b.flag || !a.children.empty() ||
        !b.children.empty()) {
        return false;
    }
    if (isComparison(a.op) || a.op == MatchOp::kRegex) {
        return bson::equalValues(a.operand, b.operand);
    }
    if (a.op == MatchOp::kIn) {
        return sameOperands(a, b);
    }
    if (a.op == MatchOp::kType) {
        return (a.extra->types & ~b.extra->types).none();
    }
    return a.op == MatchOp::kExists;
}

/// A document without the path cannot match.
bool demandsPath(const MatchNode& node) {
    switch (node.op) {
        case MatchOp::kEq:
        case MatchOp::kGt:
        case MatchOp::kGte:
        case MatchOp::kLt:
        case MatchOp::kLte:
            return isPlain(node.operand);
        case MatchOp::kIn:
            return std::all_of(node.operands.begin(), node.operands.end(), isPlain);
        case MatchOp::kExists:
            return node.flag;
        case MatchOp::kRegex:
        case MatchOp::kElemMatchObject:
        case MatchOp::kElemMatchValue:
        case MatchOp::kType:
        case MatchOp::kSize:
        case MatchOp::kMod:
        case MatchOp::kBits:
            return true;
        default:
            return false;
    }
}

/// Every value equal to `value` fulfils `filter`.
bool valueImplies(const Element& value, const MatchNode& filter) {
    if (!isPlain(value)) {
        return false;
    }
    if (filter.op == MatchOp::kType) {  // 5 equals 5.0: all types of the class must be wanted
        for (int type = 0; type < 256; ++type) {
            const auto other = static_cast<Type>(type);
            if (bson::typeName(other) != "missing" &&
                bson::canonicalClass(other) == bson::canonicalClass(value.type()) &&
                !filter.extra->types.test(static_cast<size_t>(type))) {
                return false;
            }
        }
        return true;
    }
    MatchRun run;
    return (isComparison(filter.op) || filter.op == MatchOp::kIn) &&
           matchSingle(filter, value, &run);
}

/// {$gt: 10} implies {$gt: 5}.
bool rangeImplies(const MatchNode& query, const MatchNode& filter) {
    if (!isPlain(query.operand) || !isPlain(filter.operand) ||
        bson::canonicalClass(query.operand.type()) != bson::canonicalClass(filter.operand.type())) {
        return false;
    }
    const int order = bson::compareValues(query.operand, filter.operand);
    const auto isUp = [](MatchOp op) { return op == MatchOp::kGt || op == MatchOp::kGte; };
    const auto isDown = [](MatchOp op) { return op == MatchOp::kLt || op == MatchOp::kLte; };
    const bool edgeIsIn = filter.op == MatchOp::kGte || filter.op == MatchOp::kLte;
    const bool edgeIsAsked = query.op == MatchOp::kGte || query.op == MatchOp::kLte;
    if (isUp(query.op) && isUp(filter.op)) {
        return order > 0 || (order == 0 && (edgeIsIn || !edgeIsAsked));
    }
    if (isDown(query.op) && isDown(filter.op)) {
        return order < 0 || (order == 0 && (edgeIsIn || !edgeIsAsked));
    }
    return false;
}

bool leafImplies(const MatchNode& query, const MatchNode& filter) {
    if (query.path != filter.path) {
        return false;
    }
    if (isSame(query, filter)) {
        return true;
    }
    if (filter.op == MatchOp::kExists) {
        return filter.flag && demandsPath(query);
    }
    if (query.op == MatchOp::kEq) {
        return valueImplies(query.operand, filter);
    }
    if (query.op == MatchOp::kIn && query.children.empty()) {
        return std::all_of(query.operands.begin(), query.operands.end(), [&](const Element& value) {
            return valueImplies(value, filter);
        });
    }
    return isComparison(query.op) && isComparison(filter.op) && rangeImplies(query, filter);
}

}  // namespace

bool implies(const MatchNode& query, const MatchNode& filter) {
    const auto isImpliedBy = [](const MatchNode& stronger) {
        return [&](const auto& child) { return implies(stronger, *child); };
    };
    const auto impliesFilter = [&](const auto& child) { return implies(*child, filter); };
    if (filter.op == MatchOp::kAlwaysTrue || query.op == MatchOp::kAlwaysFalse) {
        return true;
    }
    if (filter.op == MatchOp::kAnd) {
        return std::all_of(filter.children.begin(), filter.children.end(), isImpliedBy(query));
    }
    if (query.op == MatchOp::kOr) {
        return std::all_of(query.children.begin(), query.children.end(), impliesFilter);
    }
    if (query.op == MatchOp::kAnd) {
        return std::any_of(query.children.begin(), query.children.end(), impliesFilter);
    }
    if (filter.op == MatchOp::kOr) {
        return std::any_of(filter.children.begin(), filter.children.end(), isImpliedBy(query));
    }
    return leafImplies(query, filter);
}

}  // namespace freshet::query
