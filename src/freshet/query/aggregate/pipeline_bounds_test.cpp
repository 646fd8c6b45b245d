// SPDX-License-Identifier: Apache-2.0
/// Limits of pipelines: the nesting of what stages and variables make, the length of paths, and the
/// time that many fields, boundaries and conditions take.
#include "freshet/bson/json.h"
#include "freshet/bson/path.h"
#include "freshet/query/aggregate/stages.h"
#include "freshet/testing/sim/growth.h"

#include <gtest/gtest.h>

#include <functional>

namespace freshet::query {
namespace {

using bson::Builder;
using bson::Document;
using bson::OwnedDocument;

std::string dotted(size_t parts) {
    std::string path = "a";
    while (--parts > 0) {
        path += ".a";
    }
    return path;
}

/// Makes a pipeline and runs it over {_id: 1, x: [1]}; returns the status.
Status ran(const std::string& stages, std::string* last = nullptr) {
    const auto array = bson::fromJson(R"({"p":)" + stages + "}");
    EXPECT_TRUE(array.isOk()) << array.status().text();
    const auto document = bson::fromJson(R"({"_id":1,"x":[1]})");
    PipelineRun run("db", nullptr, Document());
    size_t stagesMade = 0;
    const PipelineMaker maker{run, 0, &stagesMade, Document()};
    std::vector<OwnedDocument> input;
    input.push_back(*document);
    auto chain =
        maker.makeBehind(array->view().begin()->document(), makeListStage(std::move(input)));
    if (!chain.isOk()) {
        return chain.status();
    }
    for (;;) {
        Output out;
        const Status status = (*chain)->next(&out);
        if (status.isWouldBlock()) {
            run.startTurn();
            continue;
        }
        if (!status.isOk() || out.isEnd) {
            return status;
        }
        EXPECT_TRUE(bson::nestsWithin(out.document, kComputedNestingMax));
        if (last != nullptr) {
            *last = out.document.bytes();
        }
    }
}

/// The same stage `count` times.
std::string repeated(const std::string& stage, int count) {
    std::string stages = "[";
    for (int i = 0; i < count; ++i) {
        stages += (i == 0 ? "" : ",") + stage;
    }
    return stages + "]";
}

TEST(PipelineBounds, StagesThatWrapWhatTheyGetAreStoppedSomewhere) {
    const char* stages[] = {
        R"({"$replaceWith":{"a":"$$ROOT"}})",
        R"({"$addFields":{"x":{"y":"$x"}}})",
        R"({"$addFields":{"x":["$x"]}})",
        R"({"$project":{"x":{"y":"$x"}}})",
        R"({"$group":{"_id":{"k":"$_id"}}})",
        R"({"$group":{"_id":1,"x":{"$push":"$$ROOT"}}})",
        R"({"$facet":{"x":[{"$match":{}}]}})",
    };
    for (const char* stage : stages) {
        EXPECT_TRUE(ran(repeated(stage, 20)).isOk()) << stage;
        const Status status = ran(repeated(stage, 250));
        EXPECT_EQ(status.reason(), Reason::kOverflow) << stage << status.text();
    }
}

TEST(PipelineBounds, DocumentsThatDoubleAreStoppedSomewhere) {
    // Each of the array's two members gets the whole array.
    const std::string doubling = repeated(R"({"$addFields":{"x":{"y":"$x"}}})", 40);
    const Status status = ran(R"([{"$addFields":{"x":[1,2]}},)" + doubling.substr(1));
    EXPECT_EQ(status.reason(), Reason::kExceededMemoryLimit) << status.text();
}

TEST(PipelineBounds, AThousandStagesRun) {
    EXPECT_TRUE(ran(repeated(R"({"$match":{}})", 1000)).isOk());
    EXPECT_TRUE(ran(repeated(R"({"$addFields":{"y":"$x"}})", 1000)).isOk());
    EXPECT_TRUE(ran(repeated(R"({"$group":{"_id":1}})", 1000)).isOk());
}

/// `levels` objects around `inside`.
std::string wrapped(const std::string& inside, int levels) {
    std::string text = inside;
    for (int i = 0; i < levels; ++i) {
        text = R"({"a":)" + text + "}";
    }
    return text;
}

TEST(PipelineBounds, VariablesMadeOfVariablesAreStoppedSomewhere) {
    const auto nested = [](int lets, int levels) {
        std::string body = R"("$$v")";
        for (int i = 0; i < lets; ++i) {
            body = R"({"$let":{"vars":{"v":)" + wrapped(i + 1 == lets ? "1" : R"("$$v")", levels) +
                   R"(},"in":)" + body + "}}";
        }
        return R"([{"$addFields":{"y":{"$eq":[1,)" + body + "]}}}]";
    };
    EXPECT_TRUE(ran(nested(4, 20)).isOk());
    EXPECT_EQ(ran(nested(20, 40)).reason(), Reason::kOverflow);
    const auto reduced = [](const std::string& count) {
        return R"([{"$addFields":{"y":{"$eq":[1,{"$reduce":{"input":{"$range":[0,)" + count +
               R"(]},"initialValue":1,"in":["$$value"]}}]}}}])";
    };
    EXPECT_TRUE(ran(reduced("100")).isOk());
    EXPECT_EQ(ran(reduced("300")).reason(), Reason::kOverflow);
}

TEST(PipelineBounds, PathsOfMoreThanTwoHundredPartsAreRefused) {
    const std::string path = dotted(bson::kPathPartsMax + 1);
    const std::string stages[] = {
        R"([{"$unwind":"$)" + path + R"("}])",
        R"([{"$unwind":{"path":"$x","includeArrayIndex":")" + path + R"("}}])",
        R"([{"$sort":{")" + path + R"(":1}}])",
        R"([{"$group":{"_id":"$)" + path + R"("}}])",
        R"([{"$group":{"_id":{"k":"$$ROOT.)" + path + R"("}}}])",
        R"([{"$unset":")" + path + R"("}])",
        R"([{"$addFields":{"y":{"$let":{"vars":{"v":"$x"},"in":"$$v.)" + path + R"("}}}}])",
        R"([{"$group":{"_id":1,"t":{"$top":{"output":"$x","sortBy":{")" + path + R"(":1}}}}}])",
    };
    for (const std::string& one : stages) {
        EXPECT_EQ(ran(one).reason(), Reason::kOverflow) << one.substr(0, 40);
    }
    EXPECT_EQ(ran(R"([{"$match":{")" + path + R"(":1}}])").reason(), location(5729100));
}

TEST(PipelineBounds, BucketsAreFoundByTheirBoundaries) {
    std::string last;
    ASSERT_TRUE(
        ran(R"([{"$bucket":{"groupBy":"$_id","boundaries":[0,1,5],"default":9}}])", &last).isOk());
    EXPECT_EQ(bson::toJson(Document(last)), R"({ "_id" : 1, "count" : 1 })");
    ASSERT_TRUE(
        ran(R"([{"$bucket":{"groupBy":"$no","boundaries":[0,1,5],"default":9}}])", &last).isOk());
    EXPECT_EQ(bson::toJson(Document(last)), R"({ "_id" : 9, "count" : 1 })");
    EXPECT_EQ(ran(R"([{"$bucket":{"groupBy":"$_id","boundaries":[2,3,5]}}])").reason(),
              Reason::kSwitchNoBranch);
    EXPECT_EQ(
        ran(R"([{"$bucket":{"groupBy":"$_id","boundaries":[0,5],"output":{"_id":{"$sum":1}}}}])")
            .reason(),
        location(15948));
}

std::string listOf(int count, const std::string& before, const std::string& after) {
    std::string list;
    for (int i = 0; i < count; ++i) {
        list += (i == 0 ? "" : ",") + before + std::to_string(i) + after;
    }
    return list;
}

void expectProportion(int count, const std::function<std::string(int)>& stages) {
    EXPECT_LT(testing::growthOf(count, [&](int n) { ASSERT_TRUE(ran(stages(n)).isOk()); }),
              testing::kGrowthMax)
        << stages(2);
}

TEST(PipelineBounds, ManyOfEverythingTakesTimeInProportion) {
    expectProportion(5'000, [](int n) {
        return R"([{"$bucket":{"groupBy":"$_id","boundaries":[)" + listOf(n, "", "") + "]}}]";
    });
    expectProportion(3'000, [](int n) {
        return R"([{"$group":{"_id":1,)" + listOf(n, "\"f", R"(":{"$sum":1})") + "}}]";
    });
    expectProportion(3'000, [](int n) {
        return R"([{"$addFields":{"y":{"$let":{"vars":{)" + listOf(n, "\"v", "\":1") +
               R"(},"in":{"$sum":[)" + listOf(n, "\"$$v", "\"") + "]}}}}}]";
    });
    expectProportion(3'000, [](int n) {
        return R"([{"$addFields":{"y":{"$switch":{"branches":[)" +
               listOf(n, R"({"case":{"$eq":["$_id",-)", R"(]},"then":1})") +
               R"(],"default":1}}}}])";
    });
    expectProportion(3'000,
                     [](int n) { return R"([{"$unset":[)" + listOf(n, "\"f", "\"") + "]}]"; });
    expectProportion(1'000, [](int n) {
        return R"([{"$addFields":{)" + listOf(n, "\"f", "\":1") + R"(}},{"$match":{)" +
               listOf(n, "\"g", "\":null") + "}}]";
    });
}

TEST(PipelineBounds, ArrangingManyConditionsTakesTimeInProportion) {
    const auto run = [](int n) {
        const auto stages = bson::fromJson(R"({"p":[{"$addFields":{)" + listOf(n, "\"f", "\":1") +
                                           R"(}},{"$match":{)" + listOf(n, "\"g", "\":1") + "}}]}");
        ASSERT_TRUE(stages.isOk());
        const auto arranged = arrange(stages->view().begin()->document(), Document());
        ASSERT_TRUE(arranged.isOk());
    };
    EXPECT_LT(testing::growthOf(3'000, run), testing::kGrowthMax);
}

}  // namespace
}  // namespace freshet::query
