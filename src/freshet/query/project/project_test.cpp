// SPDX-License-Identifier: Apache-2.0
/// find's projections and sort patterns, as tables.
#include "freshet/query/match/json_for_test.h"
#include "freshet/query/transform.h"

#include <algorithm>

namespace freshet::query {
namespace {

TEST(Projection, Applies) {
    struct Case {
        const char* spec;
        const char* document;
        const char* wanted;
        const char* filter = "{}";
    };
    const Case cases[] = {
        {"{}", R"({"_id":1,"a":1})", R"({"_id":1,"a":1})"},
        {R"({"a":1})", R"({"_id":1,"a":1,"b":2})", R"({"_id":1,"a":1})"},
        {R"({"a":true})", R"({"_id":1,"b":2})", R"({"_id":1})"},
        {R"({"a":1,"_id":0})", R"({"_id":1,"a":1,"b":2})", R"({"a":1})"},
        {R"({"_id":1})", R"({"_id":1,"a":1})", R"({"_id":1})"},
        {R"({"_id":0})", R"({"_id":1,"a":1})", R"({"a":1})"},
        {R"({"a":0})", R"({"_id":1,"a":1,"b":2})", R"({"_id":1,"b":2})"},
        {R"({"a":0,"_id":1})", R"({"_id":1,"a":1,"b":2})", R"({"_id":1,"b":2})"},
        {R"({"a":0,"_id":0})", R"({"_id":1,"a":1,"b":2})", R"({"b":2})"},
        {R"({"b":1,"a":1})", R"({"_id":1,"a":1,"b":2})", R"({"_id":1,"a":1,"b":2})"},
        {R"({"a.b":1})", R"({"_id":1,"a":{"b":1,"c":2}})", R"({"_id":1,"a":{"b":1}})"},
        {R"({"a":{"b":1}})", R"({"_id":1,"a":{"b":1,"c":2}})", R"({"_id":1,"a":{"b":1}})"},
        {R"({"a.b":1})", R"({"a":[{"b":1,"c":2},5,{"c":3}]})", R"({"a":[{"b":1},{}]})"},
        {R"({"a.b":1})", R"({"a":5})", "{}"},
        {R"({"a.$id":1})",
         R"({"a":{"$ref":"c","$id":{"$oid":"0123456789abcdef01234567"}}})",
         R"({"a":{"$id":{"$oid":"0123456789abcdef01234567"}}})"},
        {R"({"a.b":0})", R"({"a":[{"b":1,"c":2},5]})", R"({"a":[{"c":2},5]})"},
        {R"({"a.b":0})", R"({"a":5})", R"({"a":5})"},
        {R"({"a.b":1,"a.c":1})", R"({"a":{"b":1,"c":2,"d":3}})", R"({"a":{"b":1,"c":2}})"},
        {R"({"a":{"$slice":2}})", R"({"a":[1,2,3],"b":1})", R"({"a":[1,2],"b":1})"},
        {R"({"a":{"$slice":-2}})", R"({"a":[1,2,3]})", R"({"a":[2,3]})"},
        {R"({"a":{"$slice":[1,1]}})", R"({"a":[1,2,3]})", R"({"a":[2]})"},
        {R"({"a":{"$slice":[-2,1]}})", R"({"a":[1,2,3]})", R"({"a":[2]})"},
        {R"({"a":{"$slice":1},"b":1})", R"({"a":[1,2],"b":1,"c":1})", R"({"a":[1],"b":1})"},
        {R"({"a":{"$slice":1}})", R"({"a":5})", R"({"a":5})"},
        {R"({"a":{"$elemMatch":{"x":2}}})",
         R"({"_id":1,"a":[{"x":1},{"x":2},{"x":2}],"b":1})",
         R"({"_id":1,"a":[{"x":2}]})"},
        {R"({"a":{"$elemMatch":{"$gt":1}}})", R"({"a":[1,2,3]})", R"({"a":[2]})"},
        {R"({"a":{"$elemMatch":{"x":2}}})", R"({"_id":1,"a":[{"x":1}]})", R"({"_id":1})"},
        {R"({"a.$":1})", R"({"_id":1,"a":[1,2,3],"b":1})", R"({"_id":1,"a":[2]})", R"({"a":2})"},
        {R"({"a.$":1,"b":1})",
         R"({"a":[{"x":1},{"x":2}],"b":1})",
         R"({"a":[{"x":2}],"b":1})",
         R"({"a.x":2})"},
        {R"({"b":"$a"})", R"({"_id":1,"a":1})", R"({"_id":1,"b":1})"},
        {R"({"a":1,"c":{"$add":["$a",1]}})", R"({"a":1,"b":2})", R"({"a":1,"c":2})"},
        {R"({"c":"x"})", R"({"a":1})", R"({"c":"x"})"},
        {R"({"a.c":"$x"})", R"({"a":{"b":1},"x":7})", R"({"a":{"c":7}})"},
        {R"({"a.c":"$x"})", R"({"a":[{"b":1},5],"x":7})", R"({"a":[{"c":7},{"c":7}]})"},
        {R"({"c":"$missing"})", R"({"a":1})", "{}"},
    };
    for (const Case& one : cases) {
        auto projection = Projection::compile(json(one.spec).view());
        ASSERT_TRUE(projection.isOk()) << one.spec << ": " << projection.status().text();
        auto matcher = Matcher::compile(json(one.filter).view());
        auto result = (*projection)->apply(json(one.document).view(), matcher->get());
        ASSERT_TRUE(result.isOk()) << one.spec << ": " << result.status().text();
        EXPECT_EQ(bson::toJson(result->view()), bson::toJson(json(one.wanted).view()))
            << one.spec << " on " << one.document;
    }
}

TEST(Projection, Refuses) {
    struct Case {
        const char* spec;
        Reason reason;
        const char* text;
    };
    const Case cases[] = {
        {R"({"a":1,"b":0})",
         Reason::kProjectionMixed,
         "Cannot do exclusion on field b in inclusion projection"},
        {R"({"a":0,"b":1})",
         location(31253),
         "Cannot do inclusion on field b in exclusion projection"},
        {R"({"a":1,"a.b":1})", location(31249), "Path collision at a.b remaining portion b"},
        {R"({"a.b":1,"a":1})", Reason::kPathCollision, "Path collision at a"},
        {R"({"a":{}})", location(51270), "An empty sub-projection is not a valid value"},
        {R"({"":1})", Reason::kFieldPathInvalid, "FieldPath field names may not be empty strings."},
        {R"({"a.":1})", Reason::kFieldPathInvalid, "FieldPath must not end with a '.'."},
        {R"({"$a":1})", Reason::kFieldPathInvalid, "FieldPath field names may not start with '$'"},
        {R"({"a":{"$foo":1}})", location(31325), "Unknown expression $foo"},
        {R"({"a":{"$elemMatch":1}})", location(31274), "elemMatch: Invalid argument"},
        {R"({"a.b":{"$elemMatch":{"x":1}}})", location(31275), "on a nested field"},
        {R"({"a.$":1,"b.$":1})", location(31276), "more than one positional projection"},
        {R"({"a.$":1,"b":{"$elemMatch":{"x":1}}})", location(31255), "and $elemMatch."},
        {R"({"b":{"$elemMatch":{"x":1}},"a.$":1})", location(31256), "and $elemMatch."},
        {R"({"a.$":0})", location(31395), "cannot be used with exclusion"},
        {R"({"a.$":"x"})", location(31308), "cannot be used with a literal"},
        {R"({"a.$":{"$add":[1,1]}})", location(31271), "with an expression or sub object"},
        {R"({"a.$.b":1})", location(31394), "in the middle of a path"},
        {R"({"a":0,"b":{"$add":[1,1]}})", location(31252), "in exclusion projection"},
    };
    for (const Case& one : cases) {
        auto projection = Projection::compile(json(one.spec).view());
        ASSERT_FALSE(projection.isOk()) << one.spec;
        EXPECT_EQ(projection.status().reason(), one.reason) << projection.status().text();
        EXPECT_NE(projection.status().text().find(one.text), std::string_view::npos)
            << projection.status().text();
    }
}

TEST(Projection, FailsPerDocument) {
    auto positional = Projection::compile(json(R"({"a.$":1})").view());
    auto matcher = Matcher::compile(json(R"({"b":1})").view());
    auto result = (*positional)->apply(json(R"({"a":[1],"b":1})").view(), matcher->get());
    ASSERT_FALSE(result.isOk());
    EXPECT_EQ(result.status().reason(), Reason::kPositionalNoMatch);
    auto computed = Projection::compile(json(R"({"b":{"$divide":[1,"$a"]}})").view());
    EXPECT_TRUE((*computed)->apply(json(R"({"a":2})").view(), nullptr).isOk());
    EXPECT_FALSE((*computed)->apply(json(R"({"a":0})").view(), nullptr).isOk());
    EXPECT_TRUE((*computed)->apply(json(R"({"a":2})").view(), nullptr).isOk());
}

/// Documents in their sorted order, shown as one text of their n fields.
std::string sorted(const char* pattern, std::initializer_list<const char*> documents) {
    auto compiled = SortPattern::compile(json(pattern).view());
    EXPECT_TRUE(compiled.isOk()) << compiled.status().text();
    std::vector<std::pair<std::string, bson::OwnedDocument>> rows;
    for (const char* document : documents) {
        bson::OwnedDocument owned = json(document);
        rows.emplace_back(compiled->keyOf(owned.view()), owned);
    }
    std::stable_sort(
        rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string order;
    for (const auto& row : rows) {
        order += std::to_string(row.second.view().find("n").toInt64());
    }
    return order;
}

TEST(SortPattern, Orders) {
    EXPECT_EQ(sorted(R"({"a":1})", {R"({"n":1,"a":3})", R"({"n":2,"a":1})", R"({"n":3,"a":2})"}),
              "231");
    EXPECT_EQ(sorted(R"({"a":-1})", {R"({"n":1,"a":3})", R"({"n":2,"a":1})", R"({"n":3,"a":2})"}),
              "132");
    EXPECT_EQ(sorted(R"({"a":1})", {R"({"n":1,"a":"x"})", R"({"n":2,"a":5})", R"({"n":3})"}),
              "321");
    EXPECT_EQ(sorted(R"({"a":1,"b":-1})",
                     {R"({"n":1,"a":1,"b":1})", R"({"n":2,"a":1,"b":2})", R"({"n":3,"a":0})"}),
              "321");
    EXPECT_EQ(sorted(R"({"a":1})", {R"({"n":1,"a":[5,1]})", R"({"n":2,"a":3})"}), "12");
    EXPECT_EQ(sorted(R"({"a":-1})", {R"({"n":1,"a":[5,1]})", R"({"n":2,"a":3})"}), "12");
    EXPECT_EQ(sorted(R"({"a":1})", {R"({"n":1,"a":null})", R"({"n":2,"a":[]})"}), "21");
    EXPECT_EQ(
        sorted(R"({"a.b":1})", {R"({"n":1,"a":[{"b":4},{"b":2}]})", R"({"n":2,"a":{"b":3}})"}),
        "12");
    EXPECT_EQ(sorted(R"({"a":1})", {R"({"n":1,"a":2.5})", R"({"n":2,"a":{"$numberLong":"2"}})"}),
              "21");
}

TEST(SortPattern, Refuses) {
    for (const char* spec : {R"({"a":2})", R"({"a":0})", R"({"a":1.5})"}) {
        auto pattern = SortPattern::compile(json(spec).view());
        ASSERT_FALSE(pattern.isOk()) << spec;
        EXPECT_EQ(pattern.status().reason(), location(15975));
    }
    auto text = SortPattern::compile(json(R"({"a":"x"})").view());
    ASSERT_FALSE(text.isOk());
    EXPECT_EQ(text.status().reason(), location(15974));
    EXPECT_FALSE(SortPattern::compile(json(R"({"":1})").view()).isOk());
    EXPECT_FALSE(SortPattern::compile(json(R"({"a..b":1})").view()).isOk());
}

}  // namespace
}  // namespace freshet::query
