// SPDX-License-Identifier: Apache-2.0
/// Which filters may be kept: those of partial indexes may use only a few operators.
#include "freshet/query/match/stored_predicate.h"

#include "freshet/bson/json.h"

#include <algorithm>

namespace freshet::query {
namespace {

bool isAllowedInIndex(const MatchNode& node) {
    switch (node.op) {
        case MatchOp::kAnd:
        case MatchOp::kOr:
            return std::all_of(node.children.begin(), node.children.end(), [](const auto& child) {
                return isAllowedInIndex(*child);
            });
        case MatchOp::kEq:
        case MatchOp::kGt:
        case MatchOp::kGte:
        case MatchOp::kLt:
        case MatchOp::kLte:
        case MatchOp::kType:
        case MatchOp::kAlwaysTrue:
            return true;
        case MatchOp::kIn:
            return node.children.empty();
        case MatchOp::kExists:
            return node.flag;
        default:
            return false;
    }
}

}  // namespace

StatusOr<catalog::PredicateRef> compilePredicate(bson::Document expression,
                                                 catalog::PredicateUse use) {
    const bool forIndex = use == catalog::PredicateUse::kPartialIndex;
    auto matcher = forIndex ? Matcher::compile(expression) : Matcher::compileAsWritten(expression);
    if (!matcher.isOk()) {
        return forIndex ? Status(matcher.status().code(),
                                 matcher.status().reason(),
                                 "Error in partialFilterExpression :: caused by :: " +
                                     std::string(matcher.status().text()))
                        : matcher.status();
    }
    if (forIndex && !isAllowedInIndex((*matcher)->root())) {
        return invalid(
            Reason::kCannotCreateIndex,
            "Expression not supported in partial index: " + bson::toShellText(expression));
    }
    return catalog::PredicateRef(std::make_shared<StoredPredicate>(*std::move(matcher)));
}

}  // namespace freshet::query
