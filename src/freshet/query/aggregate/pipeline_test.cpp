// SPDX-License-Identifier: Apache-2.0
/// Pipelines run over a few documents, as tables.
#include "freshet/query/match/json_for_test.h"
#include "freshet/query/transform.h"

#include <algorithm>

namespace freshet::query {
namespace {

using Documents = std::vector<bson::OwnedDocument>;

/// Runs the leading part as the storage would, then the stages.
StatusOr<Documents> run(const Documents& input, Pipeline& pipeline) {
    FRESHET_ASSIGN_OR_RETURN(auto matcher, Matcher::compile(pipeline.leadingMatch.view()));
    FRESHET_ASSIGN_OR_RETURN(const SortPattern sort,
                             SortPattern::compile(pipeline.leadingSort.view()));
    Documents at;
    for (const bson::OwnedDocument& document : input) {
        if (matcher->matches(document.view())) {
            at.push_back(document);
        }
    }
    std::stable_sort(at.begin(), at.end(), [&](const auto& a, const auto& b) {
        return sort.keyOf(a.view()) < sort.keyOf(b.view());
    });
    if (pipeline.leadingLimit != 0 && at.size() > static_cast<size_t>(pipeline.leadingLimit)) {
        at.resize(static_cast<size_t>(pipeline.leadingLimit));
    }
    for (const auto& stage : pipeline.stages) {
        Documents out;
        for (const bson::OwnedDocument& document : at) {
            FRESHET_RETURN_IF_ERROR(stage->push(document.view(), &out));
        }
        FRESHET_RETURN_IF_ERROR(stage->finish(&out));
        at = std::move(out);
    }
    return at;
}

Documents arrayOf(const std::string& text) {
    Documents result;
    const bson::OwnedDocument holder = json(R"({"v":)" + text + "}");
    for (const bson::Element& element : holder.view().find("v").document()) {
        result.emplace_back(element.document());
    }
    return result;
}

StatusOr<Pipeline> compile(const std::string& text) {
    const bson::OwnedDocument holder = json(R"({"v":)" + text + "}");
    return compilePipeline(holder.view().find("v").document());
}

std::string textOf(const Documents& documents) {
    std::string text;
    for (const bson::OwnedDocument& document : documents) {
        text += bson::toCanonicalJson(document.view()) + "\n";
    }
    return text;
}

constexpr const char* kSales = R"([
    {"_id": 1, "item": "a", "q": 2, "p": 10, "tags": ["x", "y"]},
    {"_id": 2, "item": "b", "q": 1, "p": 20, "tags": []},
    {"_id": 3, "item": "a", "q": 5, "p": 7.5, "tags": ["y"]},
    {"_id": 4, "item": "c", "q": 3, "p": 1, "tags": null},
    {"_id": 5, "q": 4, "p": 2}
])";

struct Case {
    const char* pipeline;
    const char* wanted;
};

void check(std::initializer_list<Case> cases) {
    for (const Case& one : cases) {
        auto pipeline = compile(one.pipeline);
        ASSERT_TRUE(pipeline.isOk()) << one.pipeline << ": " << pipeline.status().text();
        auto result = run(arrayOf(kSales), *pipeline);
        ASSERT_TRUE(result.isOk()) << one.pipeline << ": " << result.status().text();
        EXPECT_EQ(textOf(*result), textOf(arrayOf(one.wanted))) << one.pipeline;
    }
}

TEST(Pipeline, SimpleStages) {
    check({
        {R"([{"$match":{"q":{"$gt":3}}},{"$project":{"q":1}}])",
         R"([{"_id":3,"q":5},{"_id":5,"q":4}])"},
        {R"([{"$project":{"q":1}},{"$match":{"q":5}}])", R"([{"_id":3,"q":5}])"},
        {R"([{"$sort":{"q":-1}},{"$limit":2},{"$project":{"q":1}}])",
         R"([{"_id":3,"q":5},{"_id":5,"q":4}])"},
        {R"([{"$project":{"q":1}},{"$sort":{"q":-1}},{"$skip":1},{"$limit":2}])",
         R"([{"_id":5,"q":4},{"_id":4,"q":3}])"},
        {R"([{"$project":{"q":1}},{"$sort":{"q":1}},{"$limit":1}])", R"([{"_id":2,"q":1}])"},
        {R"([{"$skip":4},{"$project":{"_id":1}}])", R"([{"_id":5}])"},
        {R"([{"$count":"n"}])", R"([{"n":5}])"},
        {R"([{"$match":{"q":99}},{"$count":"n"}])", "[]"},
        {R"([{"$match":{"_id":1}},{"$addFields":{"t":{"$multiply":["$q","$p"]},"q":0}}])",
         R"([{"_id":1,"item":"a","q":0,"p":10,"tags":["x","y"],"t":20}])"},
        {R"([{"$match":{"_id":1}},{"$set":{"o.x":1,"o.y":"$q"}},{"$project":{"o":1}}])",
         R"([{"_id":1,"o":{"x":1,"y":2}}])"},
        {R"([{"$match":{"_id":1}},{"$unset":["tags","p"]}])", R"([{"_id":1,"item":"a","q":2}])"},
        {R"([{"$match":{"_id":1}},{"$unset":"tags"},{"$project":{"_id":0,"p":0}}])",
         R"([{"item":"a","q":2}])"},
        {R"([{"$match":{"_id":1}},{"$project":{"_id":0,"v":{"$add":["$q",1]},"item":1}}])",
         R"([{"item":"a","v":3}])"},
        {R"([{"$match":{"_id":1}},{"$replaceRoot":{"newRoot":{"a":"$q"}}}])", R"([{"a":2}])"},
        {R"([{"$match":{"_id":1}},{"$replaceWith":{"$mergeObjects":[{"z":1},{"q":"$q"}]}}])",
         R"([{"z":1,"q":2}])"},
        {R"([{"$match":{"$expr":{"$gt":["$p",{"$multiply":["$q",5]}]}}},{"$project":{"_id":1}}])",
         R"([{"_id":2}])"},
    });
}

TEST(Pipeline, Unwind) {
    check({
        {R"([{"$unwind":"$tags"},{"$project":{"tags":1}}])",
         R"([{"_id":1,"tags":"x"},{"_id":1,"tags":"y"},{"_id":3,"tags":"y"}])"},
        {R"([{"$unwind":{"path":"$tags","preserveNullAndEmptyArrays":true}},
            {"$project":{"tags":1}}])",
         R"([{"_id":1,"tags":"x"},{"_id":1,"tags":"y"},{"_id":2},{"_id":3,"tags":"y"},
             {"_id":4,"tags":null},{"_id":5}])"},
        {R"([{"$match":{"_id":1}},{"$unwind":{"path":"$tags","includeArrayIndex":"i"}},
            {"$project":{"i":1}}])",
         R"([{"_id":1,"i":{"$numberLong":"0"}},{"_id":1,"i":{"$numberLong":"1"}}])"},
        {R"([{"$match":{"_id":1}},{"$unwind":"$item"},{"$project":{"item":1}}])",
         R"([{"_id":1,"item":"a"}])"},
    });
}

TEST(Pipeline, Group) {
    check({
        {R"([{"$group":{"_id":"$item","n":{"$sum":1}}}])",
         R"([{"_id":"a","n":2},{"_id":"b","n":1},{"_id":"c","n":1},{"_id":null,"n":1}])"},
        {R"([{"$group":{"_id":null,"q":{"$sum":"$q"},"p":{"$sum":"$p"},"a":{"$avg":"$q"}}}])",
         R"([{"_id":null,"q":15,"p":40.5,"a":3.0}])"},
        {R"([{"$group":{"_id":null,"lo":{"$min":"$q"},"hi":{"$max":"$p"},"none":{"$max":"$zz"}}}])",
         R"([{"_id":null,"lo":1,"hi":20,"none":null}])"},
        {R"([{"$group":{"_id":null,"f":{"$first":"$item"},"l":{"$last":"$item"}}}])",
         R"([{"_id":null,"f":"a","l":null}])"},
        {R"([{"$group":{"_id":null,"all":{"$push":"$item"},"set":{"$addToSet":"$item"}}}])",
         R"([{"_id":null,"all":["a","b","a","c"],"set":["a","b","c"]}])"},
        {R"([{"$group":{"_id":{"i":"$item"},"n":{"$count":{}}}},{"$limit":1}])",
         R"([{"_id":{"i":"a"},"n":2}])"},
        {R"([{"$group":{"_id":{"$gt":["$q",2]},"t":{"$sum":{"$multiply":["$q","$p"]}}}}])",
         R"([{"_id":false,"t":40},{"_id":true,"t":48.5}])"},
        {R"([{"$group":{"_id":null,"d":{"$stdDevPop":"$q"},"s":{"$stdDevSamp":"$zz"}}}])",
         R"([{"_id":null,"d":1.4142135623730951,"s":null}])"},
        {R"([{"$match":{"_id":{"$lt":3}}},{"$group":{"_id":null,
             "m":{"$mergeObjects":{"a":"$q"}}}}])",
         R"([{"_id":null,"m":{"a":1}}])"},
        {R"([{"$group":{"_id":"$item"}},{"$sort":{"_id":-1}},{"$limit":2}])",
         R"([{"_id":"c"},{"_id":"b"}])"},
        {R"([{"$sortByCount":"$item"},{"$limit":1}])", R"([{"_id":"a","count":2}])"},
        {R"([{"$match":{"_id":99}},{"$group":{"_id":null,"n":{"$sum":1}}}])", "[]"},
        {R"([{"$unwind":"$tags"},{"$group":{"_id":"$tags","n":{"$sum":"$q"}}},{"$sort":{"n":1}}])",
         R"([{"_id":"x","n":2},{"_id":"y","n":7}])"},
    });
}

TEST(Pipeline, GroupKeysAreEqualAcrossNumericTypes) {
    auto pipeline = compile(R"([{"$group":{"_id":"$k","n":{"$sum":1}}}])");
    auto result = run(arrayOf(R"([{"k":1},{"k":1.0},{"k":{"$numberLong":"1"}},
                                  {"k":{"$numberDecimal":"1"}},{"k":"1"},{},{"k":null}])"),
                      *pipeline);
    ASSERT_TRUE(result.isOk());
    EXPECT_EQ(textOf(*result),
              textOf(arrayOf(R"([{"_id":1,"n":4},{"_id":"1","n":1},{"_id":null,"n":2}])")));
}

TEST(Pipeline, SumsKeepTypesAndPrecision) {
    auto pipeline = compile(R"([{"$group":{"_id":null,"s":{"$sum":"$v"}}}])");
    const auto sum = [](Pipeline& compiled, const char* documents) {
        auto result = run(arrayOf(documents), compiled);
        return result.isOk() ? bson::toCanonicalJson((*result)[0].view()) : "failed";
    };
    EXPECT_NE(
        sum(*pipeline, R"([{"v":2147483647},{"v":1}])").find(R"("$numberLong" : "2147483648")"),
        std::string::npos);
    pipeline = compile(R"([{"$group":{"_id":null,"s":{"$sum":"$v"}}}])");
    EXPECT_NE(sum(*pipeline, R"([{"v":0.1},{"v":0.2},{"v":0.3},{"v":0.4},{"v":0.5},{"v":0.6},
                                 {"v":0.7},{"v":0.8},{"v":0.9},{"v":1.0}])")
                  .find(R"("$numberDouble" : "5.5")"),
              std::string::npos);
    pipeline = compile(R"([{"$group":{"_id":null,"s":{"$sum":"$v"}}}])");
    EXPECT_NE(sum(*pipeline, R"([{"v":{"$numberLong":"9223372036854775807"}},
                                 {"v":{"$numberLong":"9223372036854775807"}}])")
                  .find("numberDouble"),
              std::string::npos);
}

TEST(Pipeline, LeadingStagesGoToTheStorage) {
    auto pipeline = compile(
        R"([{"$match":{"a":1}},{"$match":{"b":2}},{"$sort":{"c":-1}},{"$limit":7},{"$skip":1}])");
    ASSERT_TRUE(pipeline.isOk());
    EXPECT_EQ(bson::toJson(pipeline->leadingMatch.view()),
              bson::toJson(json(R"({"$and":[{"a":1},{"b":2}]})").view()));
    EXPECT_EQ(bson::toJson(pipeline->leadingSort.view()), bson::toJson(json(R"({"c":-1})").view()));
    EXPECT_EQ(pipeline->leadingLimit, 7);
    EXPECT_EQ(pipeline->stages.size(), 1u);
    pipeline = compile(R"([{"$project":{"a":1}},{"$match":{"a":1}}])");
    EXPECT_TRUE(pipeline->leadingMatch.view().isEmpty());
    EXPECT_EQ(pipeline->stages.size(), 2u);
    EXPECT_TRUE(compile(R"([{"$match":{"a":1}},{"$count":"n"}])")->needsNoFields);
    EXPECT_TRUE(compile(R"([{"$group":{"_id":1,"n":{"$sum":1}}}])")->needsNoFields);
    EXPECT_FALSE(compile(R"([{"$group":{"_id":1,"n":{"$sum":"$a"}}}])")->needsNoFields);
    EXPECT_FALSE(compile("[]")->needsNoFields);
}

TEST(Pipeline, LimitIsSatisfied) {
    auto pipeline = compile(R"([{"$project":{"a":1}},{"$limit":1}])");
    std::vector<bson::OwnedDocument> out;
    EXPECT_FALSE(pipeline->stages[1]->isSatisfied());
    ASSERT_TRUE(pipeline->stages[1]->push(bson::Document(), &out).isOk());
    EXPECT_TRUE(pipeline->stages[1]->isSatisfied());
    ASSERT_TRUE(pipeline->stages[1]->push(bson::Document(), &out).isOk());
    EXPECT_EQ(out.size(), 1u);
}

TEST(Pipeline, BlockingStagesStopAtTheirMemoryLimit) {
    const std::string big(1 << 20, 'x');
    for (const char* text : {R"([{"$project":{"a":1}},{"$sort":{"b":1}}])",
                             R"([{"$group":{"_id":null,"a":{"$push":"$a"}}}])"}) {
        auto pipeline = compile(text);
        ASSERT_TRUE(pipeline.isOk());
        Stage& stage = *pipeline->stages.back();
        std::vector<bson::OwnedDocument> out;
        Status status;
        int pushed = 0;
        while (status.isOk() && pushed < 200) {
            bson::Builder builder;
            builder.add("a", big);
            status = stage.push(bson::OwnedDocument(builder.finish()).view(), &out);
            ++pushed;
        }
        EXPECT_EQ(status.code(), Code::kLimit);
        EXPECT_EQ(status.reason(), Reason::kExceededMemoryLimit);
        EXPECT_GT(pushed, 90);
        EXPECT_LT(pushed, 105);
    }
}

TEST(Pipeline, TopSortHoldsOnlyWhatIsWanted) {
    auto pipeline = compile(R"([{"$project":{"a":1}},{"$sort":{"a":1}},{"$limit":2}])");
    Stage& sort = *pipeline->stages[1];
    std::vector<bson::OwnedDocument> out;
    const std::string big(1 << 20, 'x');
    for (int i = 0; i < 150; ++i) {
        bson::Builder builder;
        builder.add("a", int32_t{150 - i});
        builder.add("pad", big);
        ASSERT_TRUE(sort.push(bson::OwnedDocument(builder.finish()).view(), &out).isOk());
    }
    ASSERT_TRUE(sort.finish(&out).isOk());
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(out[0].view().find("a").int32Value(), 1);
    EXPECT_EQ(out[1].view().find("a").int32Value(), 2);
}

TEST(Pipeline, Refuses) {
    struct ErrorCase {
        const char* pipeline;
        Reason reason;
        const char* text;
    };
    const ErrorCase cases[] = {
        {R"([{"$foo":1}])", Reason::kUnknownStage, "Unrecognized pipeline stage name: '$foo'"},
        {R"([{"$match":{},"$limit":1}])",
         Reason::kStageNotSingleField,
         "A pipeline stage specification object must contain exactly one field."},
        {R"([{}])", Reason::kStageNotSingleField, "exactly one field"},
        {R"([1])", Reason::kTypeMismatch, "Each element of the 'pipeline' array must be an object"},
        {R"([{"$match":1}])", Reason::kSpecNotObject, "the match filter must be an expression"},
        {R"([{"$group":1}])",
         Reason::kSpecNotObject,
         "a group's fields must be specified in an object"},
        {R"([{"$group":{"n":{"$sum":1}}}])",
         Reason::kGroupMissingId,
         "a group specification must include an _id"},
        {R"([{"$group":{"_id":1,"n":{"$foo":1}}}])",
         Reason::kGroupUnknownOperator,
         "unknown group operator '$foo'"},
        {R"([{"$group":{"_id":1,"n":1}}])",
         Reason::kGroupFieldNotAccumulator,
         "The field 'n' must be an accumulator object"},
        {R"([{"$group":{"_id":1,"n":{"$sum":1,"$avg":1}}}])",
         Reason::kGroupFieldNotAccumulator,
         "The field 'n' must specify one accumulator"},
        {R"([{"$group":{"_id":1,"a.b":{"$sum":1}}}])",
         Reason::kGroupFieldNotAccumulator,
         "The field name 'a.b' cannot contain '.'"},
        {R"([{"$limit":0}])", Reason::kLimitNotPositive, "the limit must be positive"},
        {R"([{"$limit":-1}])",
         Reason::kFailedToParse,
         "Expected a non-negative number in: $limit: -1"},
        {R"([{"$skip":"x"}])", Reason::kFailedToParse, "Expected a number in: $skip"},
        {R"([{"$sort":1}])",
         Reason::kSortSpecInvalid,
         "the $sort key specification must be an object"},
        {R"([{"$sort":{}}])",
         Reason::kSortSpecInvalid,
         "$sort stage must have at least one sort key"},
        {R"([{"$sort":{"a":2}}])", Reason::kSortSpecInvalid, "$sort key ordering must be 1"},
        {R"([{"$project":{}}])",
         Reason::kProjectEmpty,
         "Invalid $project :: caused by :: projection specification must have at least one field"},
        {R"([{"$project":{"a":1,"b":0}}])",
         Reason::kProjectionMixed,
         "Invalid $project :: caused by :: Cannot do exclusion on field b in inclusion projection"},
        {R"([{"$project":{"a":{"$foo":1}}}])",
         Reason::kUnknownExpression,
         "Invalid $project :: caused by :: Unrecognized expression '$foo'"},
        {R"([{"$addFields":{}}])", Reason::kProjectEmpty, "Invalid $addFields"},
        {R"([{"$count":""}])",
         Reason::kCountFieldInvalid,
         "the count field must be a non-empty string"},
        {R"([{"$count":"$a"}])",
         Reason::kCountFieldInvalid,
         "the count field cannot be a $-prefixed path"},
        {R"([{"$count":"a.b"}])", Reason::kCountFieldInvalid, "the count field cannot contain '.'"},
        {R"([{"$unwind":"a"}])", Reason::kBadValue, "should be prefixed with a '$': a"},
        {R"([{"$unwind":{}}])", Reason::kBadValue, "no path specified to $unwind stage"},
        {R"([{"$unset":1}])",
         Reason::kSpecNotObject,
         "$unset specification must be a string or an array"},
    };
    for (const ErrorCase& one : cases) {
        auto pipeline = compile(one.pipeline);
        ASSERT_FALSE(pipeline.isOk()) << one.pipeline;
        EXPECT_EQ(pipeline.status().reason(), one.reason) << pipeline.status().text();
        EXPECT_NE(pipeline.status().text().find(one.text), std::string_view::npos)
            << one.pipeline << ": " << pipeline.status().text();
    }
    auto root = compile(R"([{"$replaceRoot":{"newRoot":"$q"}}])");
    auto failed = run(arrayOf(kSales), *root);
    ASSERT_FALSE(failed.isOk());
    EXPECT_NE(failed.status().text().find("must evaluate to an object"), std::string_view::npos);
}

}  // namespace
}  // namespace freshet::query
