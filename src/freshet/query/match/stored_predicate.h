// SPDX-License-Identifier: Apache-2.0
/// A filter that the catalog keeps, with access to its Matcher. Immutable; any thread.
#pragma once

#include "freshet/query/limits.h"
#include "freshet/query/match.h"
#include "freshet/query/predicate.h"

namespace freshet::query {

class StoredPredicate final : public catalog::DocumentPredicate {
public:
    explicit StoredPredicate(std::unique_ptr<Matcher> matcher) : matcher_(std::move(matcher)) {}
    /// A $expr that fails counts as no match.
    Status test(bson::Document document, bool* matched) const override {
        *matched = matcher_->matches(document);
        return mayGoOn();
    }
    const Matcher& matcher() const { return *matcher_; }

    /// REQUIRES: made by compilePredicate(), as are all predicates of a catalog that this room
    /// uses.
    static const Matcher& matcherOf(const catalog::DocumentPredicate& predicate) {
        return static_cast<const StoredPredicate&>(predicate).matcher();
    }

private:
    std::unique_ptr<Matcher> matcher_;
};

}  // namespace freshet::query
