// SPDX-License-Identifier: Apache-2.0
/// Which plan is chosen, as explain shows it.
#include "freshet/query/exec/test_support.h"
#include "freshet/query/plan/bounds.h"

#include <gtest/gtest.h>

namespace freshet::query {
namespace {

/// The plan in one line: "FETCH IXSCAN a_1 forward".
std::string lineOf(bson::Document plan) {
    std::string line;
    for (bson::Document at = plan;;) {
        line += (line.empty() ? "" : " ") + std::string(at.find("stage").stringValue());
        if (at.find("indexName").isString()) {
            line += " " + std::string(at.find("indexName").stringValue());
        }
        if (at.find("direction").isString()) {
            line += " " + std::string(at.find("direction").stringValue());
        }
        if (at.find("inputStages").isArray()) {
            for (const bson::Element& input : at.find("inputStages").document()) {
                line += " (" + lineOf(input.document()) + ")";
            }
        }
        if (!at.find("inputStage").isObject()) {
            return line;
        }
        at = at.find("inputStage").document();
    }
}

std::string planOf(TestCollection& collection,
                   std::string_view filter,
                   std::string_view sort = "{}",
                   std::string_view hint = "{}") {
    FindRequest request;
    request.filter = doc(filter);
    request.sort = doc(sort);
    request.hint = doc(hint);
    auto cursor = makeFind(collection.engine(), collection.get(), std::move(request));
    return cursor.isOk() ? lineOf((*cursor)->describePlan().view())
                         : std::string(cursor.status().text());
}

TEST(Planner, PrefersTheTighterIndex) {
    TestCollection c;
    c.addIndex(R"({"a": 1})");
    c.addIndex(R"({"a": 1, "b": 1})");
    c.addIndex(R"({"b": -1})");
    EXPECT_EQ(planOf(c, "{}"), "COLLSCAN forward");
    EXPECT_EQ(planOf(c, R"({"x": 1})"), "COLLSCAN forward");
    EXPECT_EQ(planOf(c, R"({"_id": 1})"), "IDHACK");
    EXPECT_EQ(planOf(c, R"({"_id": 1, "x": 2})"), "FETCH IXSCAN _id_ forward");
    EXPECT_EQ(planOf(c, R"({"a": 1})"), "FETCH IXSCAN a_1 forward");
    EXPECT_EQ(planOf(c, R"({"a": 1, "b": {"$gt": 1}})"), "FETCH IXSCAN a_1_b_1 forward");
    EXPECT_EQ(planOf(c, R"({"a": {"$gt": 1}, "b": 1})"), "FETCH IXSCAN b_-1 forward");
    EXPECT_EQ(planOf(c, R"({"a": {"$in": [1, 2]}, "b": 1})"), "FETCH IXSCAN a_1_b_1 forward");
    EXPECT_EQ(planOf(c, R"({"a": {"$ne": 1}})"), "COLLSCAN forward");
    EXPECT_EQ(planOf(c, R"({"a": {"@regex": "^ab"}})"), "FETCH IXSCAN a_1 forward");
    EXPECT_EQ(planOf(c, R"({"a": {"@regex": "ab"}})"), "COLLSCAN forward");
    EXPECT_EQ(planOf(c, R"({"$or": [{"a": 1}, {"b": 2}]})"),
              "FETCH OR (IXSCAN a_1 forward) (IXSCAN b_-1 forward)");
    EXPECT_EQ(planOf(c, R"({"$or": [{"a": 1}, {"x": 2}]})"), "COLLSCAN forward");
}

TEST(Planner, TakesTheOrderFromAnIndex) {
    TestCollection c;
    c.addIndex(R"({"a": 1, "b": -1})");
    EXPECT_EQ(planOf(c, "{}", R"({"a": 1, "b": -1})"), "FETCH IXSCAN a_1_b_-1 forward");
    EXPECT_EQ(planOf(c, "{}", R"({"a": -1, "b": 1})"), "FETCH IXSCAN a_1_b_-1 backward");
    EXPECT_EQ(planOf(c, "{}", R"({"a": -1})"), "FETCH IXSCAN a_1_b_-1 backward");
    EXPECT_EQ(planOf(c, "{}", R"({"a": 1, "b": 1})"), "SORT COLLSCAN forward");
    EXPECT_EQ(planOf(c, "{}", R"({"b": 1})"), "SORT COLLSCAN forward");
    EXPECT_EQ(planOf(c, R"({"a": 3})", R"({"b": 1})"), "FETCH IXSCAN a_1_b_-1 backward");
    EXPECT_EQ(planOf(c, R"({"a": {"$in": [3, 4]}})", R"({"b": 1})"),
              "SORT FETCH IXSCAN a_1_b_-1 forward");
    EXPECT_EQ(planOf(c, R"({"a": {"$gt": 3}})", R"({"a": 1})"), "FETCH IXSCAN a_1_b_-1 forward");
    EXPECT_EQ(planOf(c, "{}", R"({"_id": -1})"), "FETCH IXSCAN _id_ backward");
    EXPECT_EQ(planOf(c, "{}", R"({"$natural": -1})"), "COLLSCAN backward");
    ASSERT_TRUE(c.insert(R"({"a": [1, 2]})").isOk());
    EXPECT_EQ(planOf(c, "{}", R"({"a": 1})"), "SORT COLLSCAN forward");
}

TEST(Planner, DoesNotTrustASparseIndexWithTheMissing) {
    TestCollection c;
    c.addIndex(R"({"s": 1})", false, true);
    EXPECT_EQ(planOf(c, R"({"s": 1})"), "FETCH IXSCAN s_1 forward");
    EXPECT_EQ(planOf(c, R"({"s": null})"), "COLLSCAN forward");
    EXPECT_EQ(planOf(c, R"({"s": {"$in": [1, null]}})"), "COLLSCAN forward");
    EXPECT_EQ(planOf(c, R"({"s": {"$exists": false}})"), "COLLSCAN forward");
    EXPECT_EQ(planOf(c, "{}", R"({"s": 1})"), "SORT COLLSCAN forward");
}

TEST(Planner, ObeysHints) {
    TestCollection c;
    c.addIndex(R"({"a": 1})");
    c.addIndex(R"({"b": 1})");
    EXPECT_EQ(planOf(c, R"({"a": 1})", "{}", R"({"b": 1})"), "FETCH IXSCAN b_1 forward");
    EXPECT_EQ(planOf(c, R"({"a": 1})", "{}", R"({"": "b_1"})"), "FETCH IXSCAN b_1 forward");
    EXPECT_EQ(planOf(c, R"({"a": 1})", "{}", R"({"$natural": -1})"), "COLLSCAN backward");
    std::string refusal =
        "error processing query: ns=db.c planner returned error :: caused by :: hint provided does "
        "not correspond to an existing index";
    EXPECT_EQ(planOf(c, R"({"a": 1})", "{}", R"({"b": -1})"), refusal);
    EXPECT_EQ(planOf(c, R"({"a": 1})", "{}", R"({"": "nope"})"), refusal);
}

void addIndexWith(TestCollection& c, std::string_view key, std::string_view options) {
    catalog::IndexRequest request;
    request.key = doc(key);
    request.spec = doc(options);
    catalog::IndexCounts counts;
    c.change(c.catalog().createIndexes("db", "c", {request}, &counts));
}

TEST(Planner, UsesAPartialIndexForWhatItHolds) {
    TestCollection c;
    addIndexWith(c, R"({"a": 1})", R"({"partialFilterExpression": {"b": {"$gt": 5}}})");
    EXPECT_EQ(planOf(c, R"({"a": 1})"), "COLLSCAN forward");
    EXPECT_EQ(planOf(c, R"({"a": 1, "b": 5})"), "COLLSCAN forward");
    EXPECT_EQ(planOf(c, R"({"a": 1, "b": 6})"), "FETCH IXSCAN a_1 forward");
    EXPECT_EQ(planOf(c, R"({"a": 1, "b": {"$gt": 7}})"), "FETCH IXSCAN a_1 forward");
    EXPECT_EQ(planOf(c, R"({"b": {"$gt": 7}})", R"({"a": 1})"), "FETCH IXSCAN a_1 forward");
    EXPECT_EQ(planOf(c, R"({"b": 7, "$or": [{"a": 1}, {"a": 2}]})"), "FETCH IXSCAN a_1 forward");
    EXPECT_EQ(planOf(c, R"({"b": 7, "$or": [{"a": 1}, {"a": {"$gt": 2}}]})"),
              "FETCH OR (IXSCAN a_1 forward) (IXSCAN a_1 forward)");
    EXPECT_EQ(planOf(c, "{}", R"({"a": 1})"), "SORT COLLSCAN forward");
}

TEST(Planner, MakesEqualitiesOfAnOrOneProbe) {
    TestCollection c;
    c.addIndex(R"({"a": 1})");
    c.addIndex(R"({"b": 1})");
    EXPECT_EQ(planOf(c, R"({"$or": [{"a": 1}, {"a": {"$in": [3, 4]}}]})"),
              "FETCH IXSCAN a_1 forward");
    EXPECT_EQ(planOf(c, R"({"$or": [{"a": 1}, {"b": 1}, {"a": 2}, {"b": 2}]})"),
              "FETCH OR (IXSCAN a_1 forward) (IXSCAN b_1 forward)");
    EXPECT_EQ(planOf(c, R"({"$or": [{"_id": 1}, {"$or": [{"_id": 2}, {"_id": 1}]}]})"),
              "FETCH IXSCAN _id_ forward");
    for (const char* document : {R"({"_id": 1, "a": 1})",
                                 R"({"_id": 2, "a": [2, 3]})",
                                 R"({"_id": 3})",
                                 R"({"_id": 4, "a": {"x": 1}})",
                                 R"({"_id": 5, "a": null})"}) {
        ASSERT_TRUE(c.insert(document).isOk());
    }
    const auto idsOf = [&](std::string_view filter) { return c.find(filter, R"({"_id": 1})"); };
    EXPECT_EQ(idsOf(R"({"$or": [{"a": 3}, {"a": 2}, {"a": 1}, {"a": 1}]})").size(), 2u);
    EXPECT_EQ(idsOf(R"({"$or": [{"a": null}, {"a": {"x": 1}}]})").size(), 3u);
    EXPECT_EQ(idsOf(R"({"$or": [{"a": [2, 3]}, {"a": 1}, {"a": {"@regex": "^q"}}]})").size(), 2u);
    EXPECT_EQ(idsOf(R"({"$nor": [{"$or": [{"a": 1}, {"a": 2}]}]})").size(), 3u);
}

TEST(Planner, DoesNotSeeHiddenIndexes) {
    TestCollection c;
    addIndexWith(c, R"({"a": 1})", R"({"hidden": true})");
    EXPECT_EQ(planOf(c, R"({"a": 1})"), "COLLSCAN forward");
    EXPECT_NE(planOf(c, R"({"a": 1})", "{}", R"({"a": 1})").find("hint provided does not"),
              std::string::npos);
}

TEST(Planner, BindsBothFieldsOfOneElement) {
    TestCollection c;
    c.addIndex(R"({"a.x": 1, "a.y": 1})");
    c.addIndex(R"({"n": 1})");
    ASSERT_TRUE(c.insert(R"({"a": [{"x": 1, "y": 2}, {"x": 2, "y": 1}], "n": [1, 9]})").isOk());
    const auto boundsOf = [&](std::string_view filter) {
        FindRequest request;
        request.filter = doc(filter);
        auto cursor = makeFind(c.engine(), c.get(), std::move(request));
        EXPECT_TRUE(cursor.isOk());
        return bson::toShellText(
            (*cursor)->describePlan().view().findPath("inputStage.indexBounds"));
    };
    EXPECT_EQ(boundsOf(R"({"a": {"$elemMatch": {"x": 1, "y": 2}}})"),
              "{ a.x: [ \"[1, 1]\" ], a.y: [ \"[2, 2]\" ] }");
    EXPECT_EQ(boundsOf(R"({"a.x": 1, "a.y": 2})"),
              "{ a.x: [ \"[1, 1]\" ], a.y: [ \"[MinKey, MaxKey]\" ] }");
    EXPECT_EQ(boundsOf(R"({"n": {"$elemMatch": {"$gt": 2, "$lt": 8}}})"), "{ n: [ \"(2, 8)\" ] }");
    EXPECT_EQ(boundsOf(R"({"n": {"$gt": 2, "$lt": 8}})"), "{ n: [ \"(2, inf]\" ] }");
}

TEST(Bounds, AfterPrefixIsTheNextSibling) {
    using namespace std::string_literals;
    EXPECT_EQ(afterPrefix("ab"), "ac");
    EXPECT_EQ(afterPrefix("a\xff\xff"), "b");
    EXPECT_EQ(afterPrefix("\xff"), "");
    EXPECT_EQ(afterPrefix("a\0"s), "a\x01");
}

Bounds boundsFor(std::string_view filter) {
    auto matcher = Matcher::compile(doc(filter).view());
    EXPECT_TRUE(matcher.isOk());
    auto bounds = boundsOf((*matcher)->root());
    EXPECT_TRUE(bounds.has_value()) << filter;
    return bounds.value_or(Bounds());
}

TEST(Bounds, IntersectToWhatBothAllow) {
    Bounds in = boundsFor(R"({"a": {"$in": [1, 5, 9, 12]}})");
    EXPECT_TRUE(in.areAllPoints());
    EXPECT_EQ(intersect(in, boundsFor(R"({"a": {"$gt": 1}})")).intervals.size(), 3u);
    EXPECT_EQ(intersect(in, boundsFor(R"({"a": {"$lte": 5}})")).intervals.size(), 2u);
    EXPECT_TRUE(intersect(boundsFor(R"({"a": {"$gte": 5}})"), boundsFor(R"({"a": {"$lte": 5.0}})"))
                    .isSinglePoint());
    EXPECT_TRUE(intersect(boundsFor(R"({"a": {"$gt": 5}})"), boundsFor(R"({"a": {"$lt": 5}})"))
                    .intervals.empty());
    EXPECT_TRUE(intersect(boundsFor(R"({"a": {"$gt": 5}})"), boundsFor(R"({"a": {"$lt": "x"}})"))
                    .intervals.empty());
    EXPECT_TRUE(intersect(boundsFor(R"({"a": null})"), boundsFor(R"({"a": null})")).hasMissing);
}

}  // namespace
}  // namespace freshet::query
