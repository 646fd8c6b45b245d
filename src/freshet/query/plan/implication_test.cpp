// SPDX-License-Identifier: Apache-2.0
/// When a partial index contains every document that a query can match.
#include "freshet/query/plan/implication.h"

#include "freshet/query/match/json_for_test.h"

#include <gtest/gtest.h>

namespace freshet::query {
namespace {

bool implied(const char* query, const char* filter) {
    auto stronger = Matcher::compile(json(query).view());
    auto weaker = Matcher::compile(json(filter).view());
    EXPECT_TRUE(stronger.isOk() && weaker.isOk()) << query << filter;
    return implies((*stronger)->root(), (*weaker)->root());
}

TEST(Implication, SeesWhatFollows) {
    const std::pair<const char*, const char*> cases[] = {
        {R"({"a": 1})", "{}"},
        {R"({"a": 1})", R"({"a": 1.0})"},
        {R"({"a": 5})", R"({"a": {"$gt": 3}})"},
        {R"({"a": {"$gt": 5}})", R"({"a": {"$gt": 3}})"},
        {R"({"a": {"$gt": 3}})", R"({"a": {"$gte": 3}})"},
        {R"({"a": {"$lte": 3}})", R"({"a": {"$lt": 4}})"},
        {R"({"a": {"$in": [4, 5]}})", R"({"a": {"$gt": 3}})"},
        {R"({"a": {"$in": [4, 5]}})", R"({"a": {"$in": [3, 4, 5]}})"},
        {R"({"a": 5})", R"({"a": {"$exists": true}})"},
        {R"({"a": {"@type": "int"}})", R"({"a": {"$exists": true}})"},
        {R"({"a": {"@type": "int"}})", R"({"a": {"@type": ["int", "string"]}})"},
        {R"({"a": 5})", R"({"a": {"@type": "number"}})"},
        {R"({"a": 5, "b": 1})", R"({"a": {"$gt": 3}})"},
        {R"({"a": 5, "b": 1})", R"({"a": {"$gt": 3}, "b": {"$exists": true}})"},
        {R"({"a": 5})", R"({"$or": [{"b": 1}, {"a": {"$gt": 3}}]})"},
        {R"({"$or": [{"a": 5}, {"a": 6, "c": 1}]})", R"({"a": {"$gt": 3}})"},
    };
    for (const auto& [query, filter] : cases) {
        EXPECT_TRUE(implied(query, filter)) << query << " implies " << filter;
    }
}

TEST(Implication, ClaimsNothingThatDoesNot) {
    const std::pair<const char*, const char*> cases[] = {
        {"{}", R"({"a": 1})"},
        {R"({"a": 3})", R"({"a": {"$gt": 3}})"},
        {R"({"a": {"$gte": 3}})", R"({"a": {"$gt": 3}})"},
        {R"({"a": {"$gt": 2}})", R"({"a": {"$gt": 3}})"},
        {R"({"a": {"$lt": 2}})", R"({"a": {"$gt": 0}})"},
        {R"({"a": {"$gt": "x"}})", R"({"a": {"$gt": 3}})"},
        {R"({"a": null})", R"({"a": {"$exists": true}})"},
        {R"({"a": {"$in": [1, null]}})", R"({"a": {"$exists": true}})"},
        {R"({"a": {"$exists": false}})", R"({"a": {"$exists": true}})"},
        {R"({"a": {"$ne": 1}})", R"({"a": {"$exists": true}})"},
        {R"({"a": 5})", R"({"a": {"@type": "int"}})"},
        {R"({"a": [5, 6]})", R"({"a": {"$gt": 3}})"},
        {R"({"b": 5})", R"({"a": 5})"},
        {R"({"$or": [{"a": 5}, {"b": 6}]})", R"({"a": {"$gt": 3}})"},
        {R"({"$nor": [{"a": 5}]})", R"({"a": 5})"},
    };
    for (const auto& [query, filter] : cases) {
        EXPECT_FALSE(implied(query, filter)) << query << " does not imply " << filter;
    }
}

}  // namespace
}  // namespace freshet::query
