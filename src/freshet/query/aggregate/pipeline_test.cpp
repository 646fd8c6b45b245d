// SPDX-License-Identifier: Apache-2.0
/// Pipelines run over a few documents, as tables.
#include "freshet/query/aggregate/stages.h"
#include "freshet/query/match/json_for_test.h"

#include <algorithm>

namespace freshet::query {
namespace {

using Documents = std::vector<bson::OwnedDocument>;

/// Runs a pipeline over given documents; `others` are the collections that its stages name.
class TestRun {
public:
    explicit TestRun(const std::string& text, const MemoryRules& memory = {})
        : holder_(json(R"({"v":)" + text + "}")), run_("db", nullptr, bson::Document(), memory) {}

    StatusOr<Documents> over(const Documents& input) { return behind(makeListStage(input)); }

    StatusOr<Documents> behind(StagePtr source) {
        size_t stagesMade = 0;
        const PipelineMaker maker{run_, 0, &stagesMade, bson::Document()};
        FRESHET_ASSIGN_OR_RETURN(
            StagePtr last,
            maker.makeBehind(holder_.view().find("v").document(), std::move(source)));
        Documents result;
        for (;;) {
            Output out;
            Status status = last->next(&out);
            if (status.isWouldBlock()) {
                run_.startTurn();
                continue;
            }
            FRESHET_RETURN_IF_ERROR(std::move(status));
            if (out.isEnd) {
                return result;
            }
            result.emplace_back(out.document);
        }
    }

private:
    bson::OwnedDocument holder_;
    PipelineRun run_;
};

Documents arrayOf(const std::string& text) {
    Documents result;
    const bson::OwnedDocument holder = json(R"({"v":)" + text + "}");
    for (const bson::Element& element : holder.view().find("v").document()) {
        result.emplace_back(element.document());
    }
    return result;
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
        auto result = TestRun(one.pipeline).over(arrayOf(kSales));
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
        {R"([{"$group":{"_id":{"k":"$zz"}}}])", R"([{"_id":{"k":null}}])"},
        {R"([{"$group":{"_id":{"k":"$zz","l":"$zz"}}}])", R"([{"_id":{}}])"},
        {R"([{"$group":{"_id":{"k":{"l":"$zz"}}}}])", R"([{"_id":{"k":{}}}])"},
        {R"([{"$group":{"_id":"$item"}},{"$sort":{"_id":-1}},{"$limit":2}])",
         R"([{"_id":"c"},{"_id":"b"}])"},
        {R"([{"$sortByCount":"$item"},{"$limit":1}])", R"([{"_id":"a","count":2}])"},
        {R"([{"$match":{"_id":99}},{"$group":{"_id":null,"n":{"$sum":1}}}])", "[]"},
        {R"([{"$unwind":"$tags"},{"$group":{"_id":"$tags","n":{"$sum":"$q"}}},{"$sort":{"n":1}}])",
         R"([{"_id":"x","n":2},{"_id":"y","n":7}])"},
    });
}

TEST(Pipeline, GroupKeysAreComparedByValue) {
    auto result =
        TestRun(R"([{"$group":{"_id":"$k","n":{"$sum":1}}}])")
            .over(arrayOf(
                R"([{"k":1},{"k":1.0},{"k":{"$numberLong":"1"}},{"k":{"$numberDecimal":"1"}},{"k":"1"}])"));
    ASSERT_TRUE(result.isOk());
    EXPECT_EQ(textOf(*result), textOf(arrayOf(R"([{"_id":1,"n":4},{"_id":"1","n":1}])")));
}

TEST(Pipeline, SumsKeepTypesAndDigits) {
    const auto sum = [](const std::string& documents) {
        auto result =
            TestRun(R"([{"$group":{"_id":null,"s":{"$sum":"$v"}}}])").over(arrayOf(documents));
        return result.isOk() ? textOf(*result) : std::string(result.status().text());
    };
    EXPECT_NE(sum(R"([{"v":2147483647},{"v":1}])").find(R"("$numberLong" : "2147483648")"),
              std::string::npos);
    EXPECT_NE(sum(R"([{"v":0.1},{"v":0.2},{"v":0.3},{"v":0.4},{"v":0.5},{"v":0.6},
                      {"v":0.7},{"v":0.8},{"v":0.9},{"v":1.0}])")
                  .find(R"("$numberDouble" : "5.5")"),
              std::string::npos);
    EXPECT_NE(sum(R"([{"v":{"$numberLong":"9223372036854775807"}},
                      {"v":{"$numberLong":"9223372036854775807"}}])")
                  .find("numberDouble"),
              std::string::npos);
}

std::string arrangedText(const std::string& text) {
    const bson::OwnedDocument holder = json(R"({"v":)" + text + "}");
    auto arranged = arrange(holder.view().find("v").document(), bson::Document());
    if (!arranged.isOk()) {
        return std::string(arranged.status().text());
    }
    std::string result = bson::toShellText(arranged->filter.view()) +
                         bson::toShellText(arranged->sort.view()) + std::to_string(arranged->keep);
    for (const bson::Element& stage : arranged->rest) {
        result += " " + std::string(stage.name()) + bson::toShellText(stage);
    }
    return result;
}

TEST(Pipeline, ConditionsGoInFrontOfStagesThatDoNotTouchThem) {
    const struct {
        const char* pipeline;
        const char* wanted;
    } cases[] = {
        {R"([{"$match":{"a":1}},{"$match":{"b":2}},{"$sort":{"c":-1}},{"$limit":7},{"$skip":1}])",
         R"({ $and: [ { a: 1 }, { b: 2 } ] }{ c: -1 }7 $limit7 $skip1)"},
        {R"([{"$project":{"a":1}},{"$match":{"a":1}}])", R"({ a: 1 }{}0 $project{ a: 1 })"},
        {R"([{"$project":{"a":"$b"}},{"$match":{"a":1}}])",
         R"({}{}0 $project{ a: "$b" } $match{ a: 1 })"},
        {R"([{"$project":{"b":1}},{"$match":{"a":1}}])",
         R"({}{}0 $project{ b: 1 } $match{ a: 1 })"},
        {R"([{"$project":{"b":0}},{"$match":{"a":1,"b.c":2}}])",
         R"({ a: 1 }{}0 $project{ b: 0 } $match{ b.c: 2 })"},
        {R"([{"$addFields":{"a.x":1}},{"$match":{"a":1,"c":2}}])",
         R"({ c: 2 }{}0 $addFields{ a.x: 1 } $match{ a: 1 })"},
        {R"([{"$unwind":"$a"},{"$match":{"a":1,"b":2}}])",
         R"({ b: 2 }{}0 $unwind"$a" $match{ a: 1 })"},
        {R"([{"$group":{"_id":"$a"}},{"$match":{"_id":1}}])",
         R"({}{}0 $group{ _id: "$a" } $match{ _id: 1 })"},
        {R"([{"$limit":1},{"$match":{"a":1}}])", R"({}{}0 $limit1 $match{ a: 1 })"},
        {R"([{"$sort":{"a":1}},{"$match":{"$expr":{"$gt":["$a","$b"]}}}])",
         R"({ $expr: { $gt: [ "$a", "$b" ] } }{ a: 1 }0)"},
        {R"([{"$sort":{"a":1}},{"$project":{"b":1}},{"$skip":2},{"$limit":3}])",
         R"({}{ a: 1 }5 $project{ b: 1 } $skip2 $limit3)"},
        {R"([{"$match":{"$expr":{"$eq":["$a",{"$add":[1,2]}]}}}])",
         R"({ $and: [ { $expr: { $eq: [ "$a", { $add: [ 1, 2 ] } ] } }, { a: { $eq: 3 } } ] }{}0)"},
    };
    for (const auto& one : cases) {
        EXPECT_EQ(arrangedText(one.pipeline), one.wanted) << one.pipeline;
    }
}

/// Documents {a: count, pad: 1 MiB}, {a: count - 1, ...}, ...
class PaddedStage final : public Stage {
public:
    PaddedStage(int count, int* given) : left_(count), given_(given) {}
    Status next(Output* out) override {
        if (left_ == 0) {
            return out->end();
        }
        bson::Builder builder;
        builder.add("a", left_--).add("pad", std::string(1 << 20, 'x'));
        bytes_ = builder.finish();
        ++*given_;
        return out->give(bson::Document(bytes_));
    }

private:
    int left_;
    int* given_;
    std::string bytes_;
};

TEST(Pipeline, BlockingStagesWithoutADiskStopAtTheirMemoryLimit) {
    struct {
        const char* pipeline;
        Reason reason;
        const char* text;
    } const cases[] = {
        {R"([{"$project":{"pad":1}},{"$sort":{"b":1}}])",
         Reason::kMemoryLimitNoDiskUse,
         "Sort exceeded memory limit of 104857600 bytes, but did not opt in to external sorting."},
        {R"([{"$group":{"_id":null,"a":{"$push":"$pad"}}}])",
         Reason::kExceededMemoryLimit,
         "$push used too much memory and cannot spill to disk. Memory limit: 104857600 bytes"},
        {R"([{"$group":{"_id":"$a","a":{"$max":"$pad"}}}])",
         Reason::kMemoryLimitNoDiskUse,
         "Exceeded memory limit for $group, but didn't allow external sort. Pass "
         "allowDiskUse:true to opt in."},
        {R"([{"$bucketAuto":{"groupBy":"$a","buckets":3}}])",
         Reason::kMemoryLimitNoDiskUse,
         "did not opt in to external sorting."},
        {R"([{"$sample":{"size":1000}}])",
         Reason::kMemoryLimitNoDiskUse,
         "did not opt in to external sorting."},
    };
    for (const auto& one : cases) {
        MemoryRules memory;
        memory.limits.push += one.reason == Reason::kExceededMemoryLimit ? 0 : 1;
        memory.limits.group += one.reason == Reason::kExceededMemoryLimit ? 1u << 30 : 0;
        int given = 0;
        const Status status = TestRun(one.pipeline, memory)
                                  .behind(std::make_unique<PaddedStage>(200, &given))
                                  .status();
        EXPECT_EQ(status.code(), Code::kLimit) << one.pipeline;
        EXPECT_EQ(status.reason(), one.reason) << status.toString();
        EXPECT_NE(status.text().find(one.text), std::string_view::npos) << status.text();
        EXPECT_GT(given, 90);
        EXPECT_LT(given, 105);
    }
}

TEST(Pipeline, TopSortHoldsOnlyWhatIsWanted) {
    int given = 0;
    auto result = TestRun(R"([{"$sort":{"a":1}},{"$limit":2},{"$project":{"a":1}}])")
                      .behind(std::make_unique<PaddedStage>(150, &given));
    ASSERT_TRUE(result.isOk()) << result.status().text();
    EXPECT_EQ(textOf(*result), textOf(arrayOf(R"([{"a":1},{"a":2}])")));
    EXPECT_EQ(given, 150);
}

TEST(Pipeline, LimitEndsTheReading) {
    int given = 0;
    auto result = TestRun(R"([{"$project":{"a":1}},{"$limit":3},{"$group":{"_id":null}}])")
                      .behind(std::make_unique<PaddedStage>(50, &given));
    ASSERT_TRUE(result.isOk());
    EXPECT_EQ(given, 3);
}

TEST(Pipeline, Refuses) {
    struct ErrorCase {
        const char* pipeline;
        Reason reason;
        const char* text;
    };
    const ErrorCase cases[] = {
        {R"([{"$foo":1}])", Reason::kUnknownStage, "Unrecognized pipeline stage name: '$foo'"},
        {R"([{"$densify":{}}])",
         Reason::kUnknownStage,
         "The $densify stage is not supported yet by Freshet"},
        {R"([{"$match":{},"$limit":1}])",
         Reason::kStageNotSingleField,
         "A pipeline stage specification object must contain exactly one field."},
        {R"([{}])", Reason::kStageNotSingleField, "exactly one field"},
        {R"([1])", Reason::kTypeMismatch, "Each element of the 'pipeline' array must be an object"},
        {R"([{"$match":1}])", location(15959), "the match filter must be an expression"},
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
         location(40238),
         "The field 'n' must specify one accumulator"},
        {R"([{"$group":{"_id":1,"a.b":{"$sum":1}}}])",
         location(40235),
         "The field name 'a.b' cannot contain '.'"},
        {R"([{"$limit":0}])", Reason::kLimitNotPositive, "the limit must be positive"},
        {R"([{"$limit":-1}])", location(5107201), "Expected a non-negative number in: $limit: -1"},
        {R"([{"$skip":"x"}])", location(5107200), "Expected a number in: $skip"},
        {R"([{"$sort":1}])", location(15973), "the $sort key specification must be an object"},
        {R"([{"$sort":{}}])",
         Reason::kSortSpecInvalid,
         "$sort stage must have at least one sort key"},
        {R"([{"$sort":{"a":2}}])", location(15975), "$sort key ordering must be 1"},
        {R"([{"$project":{}}])",
         location(51272),
         "Invalid $project :: caused by :: projection specification must have at least one field"},
        {R"([{"$project":{"a":1,"b":0}}])",
         Reason::kProjectionMixed,
         "Invalid $project :: caused by :: Cannot do exclusion on field b in inclusion projection"},
        {R"([{"$project":{"a":{"$foo":1}}}])",
         location(31325),
         "Invalid $project :: caused by :: Unknown expression $foo"},
        {R"([{"$addFields":{}}])", location(40177), "Invalid $addFields"},
        {R"([{"$addFields":{"a":{"$foo":1}}}])",
         Reason::kUnknownExpression,
         "Invalid $addFields :: caused by :: Unrecognized expression '$foo'"},
        {R"([{"$count":""}])", location(40157), "the count field must be a non-empty string"},
        {R"([{"$count":"$a"}])", location(40158), "the count field cannot be a $-prefixed path"},
        {R"([{"$count":"a.b"}])", location(40160), "the count field cannot contain '.'"},
        {R"([{"$unwind":"a"}])", location(28818), "should be prefixed with a '$': a"},
        {R"([{"$unwind":{}}])", location(28812), "no path specified to $unwind stage"},
        {R"([{"$unset":1}])", location(31002), "$unset specification must be a string or an array"},
    };
    for (const ErrorCase& one : cases) {
        auto result = TestRun(one.pipeline).over({});
        ASSERT_FALSE(result.isOk()) << one.pipeline;
        EXPECT_EQ(result.status().reason(), one.reason) << result.status().toString();
        EXPECT_NE(result.status().text().find(one.text), std::string_view::npos)
            << one.pipeline << ": " << result.status().text();
    }
    auto failed = TestRun(R"([{"$replaceRoot":{"newRoot":"$q"}}])").over(arrayOf(kSales));
    ASSERT_FALSE(failed.isOk());
    EXPECT_NE(failed.status().text().find("must evaluate to an object"), std::string_view::npos);
}

}  // namespace
}  // namespace freshet::query
