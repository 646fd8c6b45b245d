// SPDX-License-Identifier: Apache-2.0
/// Predicates: a filter document compiled to a tree that answers "does this document match?" with
/// MongoDB's semantics (implicit array traversal, null matches missing, type bracketing of
/// comparisons). Immutable after compile; any thread.
#pragma once

#include "freshet/bson/builder.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::query {

enum class MatchOp : uint8_t {
    kAnd,
    kOr,
    kNor,
    kNot,  // children
    kEq,
    kGt,
    kGte,
    kLt,
    kLte,     // operand
    kIn,      // operands (values; regexes among them are children)
    kExists,  // flag
    kRegex,   // operand
    kElemMatchObject,
    kElemMatchValue,  // children
    kType,
    kSize,
    kMod,
    kBits,  // $bitsAllSet and similar
    kExpr,
    kWhere,
    kJsonSchema,
    kAlwaysTrue,
    kAlwaysFalse,
};

/// One node of the compiled tree, readable by the planner. Canonical form: $ne and $nin are kNot
/// over kEq and kIn; $all is kAnd of its members; kAnd has no kAnd child; kAnd and kOr have two or
/// more children (a single child replaces them, and an empty filter is kAlwaysTrue); equalities on
/// one path in a kOr are one kIn; the operands of kIn are sorted and distinct; the operand of
/// kRegex is of type regex, even if the filter used a string.
struct MatchNode {
    MatchOp op = MatchOp::kAlwaysTrue;
    std::string path;                     // leaves
    bson::Element operand;                // comparison value; points into the Matcher's own copy
    std::vector<bson::Element> operands;  // kIn
    bool flag = false;
    std::vector<std::unique_ptr<MatchNode>> children;
    struct Extra;  // compiled regex, type set, ...; see match/tree.h
    std::shared_ptr<const Extra> extra;
};

class Matcher {
public:
    /// kInvalid (kBadValue and others) with MongoDB's text. `variables`: the values of $$name in
    /// $expr, as evaluateLet() in transform.h makes them; copied.
    static StatusOr<std::unique_ptr<Matcher>> compile(bson::Document filter,
                                                      bson::Document variables = {});
    /// The same filter, but with each $or as it was written, for explaining what did not match.
    static StatusOr<std::unique_ptr<Matcher>> compileAsWritten(bson::Document filter,
                                                               bson::Document variables = {});
    ~Matcher();
    /// A $expr that fails counts as no match; use test() if the client must get the error. If the
    /// operation must end, the result means nothing; mayGoOn() in limits.h then fails as well.
    bool matches(bson::Document document) const;
    /// As matches; kInvalid when a $expr failed on this document; the status of mayGoOn().
    Status test(bson::Document document, bool* matched) const;
    const MatchNode& root() const;
    bson::Document filter() const;

    /// Index of the array element that made the filter match along `arrayPath`, for the positional
    /// `$` operator; -1 when none did.
    int matchedIndex(bson::Document document, std::string_view arrayPath) const;

private:
    friend StatusOr<std::unique_ptr<Matcher>> compileValueMatcher(bson::Document condition);
    friend bool matchesValue(const Matcher& matcher, const bson::Element& value);
    struct Impl;
    explicit Matcher(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Whether `condition` has operators on a value ({$gt: 5}) and is no filter of documents.
bool isConditionOnValues(bson::Document condition);
/// Tests a single value (for $pull and $elemMatch): `condition` is {$gt: 5, ...} or, for objects, a
/// filter.
StatusOr<std::unique_ptr<Matcher>> compileValueMatcher(bson::Document condition);
/// As Matcher::matches().
bool matchesValue(const Matcher& matcher, const bson::Element& value);

}  // namespace freshet::query
