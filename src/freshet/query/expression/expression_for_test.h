// SPDX-License-Identifier: Apache-2.0
/// For tests of expressions: tables of their results on one document.
#pragma once

#include "freshet/query/expression/expression.h"
#include "freshet/query/match/json_for_test.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace freshet::query {

struct ExpressionCase {
    const char* expression;  // the value in {"v": ...}
    const char* wanted;      // likewise; null: missing
};

inline StatusOr<Value> evaluatedOn(const char* document, const std::string& expression) {
    const bson::OwnedDocument read = json(document);
    const bson::OwnedDocument spec = json(R"({"v":)" + expression + "}");
    FRESHET_ASSIGN_OR_RETURN(ExprPtr parsed, parseExpression(spec.view().find("v")));
    FRESHET_ASSIGN_OR_RETURN(const Value value, evaluateOnce(*parsed, read.view()));
    return value.own();
}

inline void checkOn(const char* document, std::initializer_list<ExpressionCase> cases) {
    for (const ExpressionCase& one : cases) {
        auto value = evaluatedOn(document, one.expression);
        ASSERT_TRUE(value.isOk()) << one.expression << ": " << value.status().text();
        bson::Builder builder;
        if (!value->isMissing()) {
            builder.addAs("v", value->element());
        }
        const std::string wanted =
            one.wanted == nullptr ? "{}" : R"({"v":)" + std::string(one.wanted) + "}";
        EXPECT_EQ(bson::toCanonicalJson(bson::OwnedDocument(builder.finish()).view()),
                  bson::toCanonicalJson(json(wanted).view()))
            << one.expression;
    }
}

}  // namespace freshet::query
