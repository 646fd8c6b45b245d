// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/limits.h"

#include "freshet/platform/thread.h"
#include "freshet/query/match.h"
#include "freshet/query/match/json_for_test.h"
#include "freshet/query/transform.h"
#include "freshet/query/update.h"
#include "freshet/sync/local_executor.h"

#include <gtest/gtest.h>

namespace freshet::query {
namespace {

/// The limits of the test's thread, which can be interrupted.
class LimitsTest : public ::testing::Test {
protected:
    LimitsTest() { sync::TaskLocal::set(&limits_); }
    ~LimitsTest() override { sync::TaskLocal::set(nullptr); }

    Status interruption_;
    int asked_ = 0;
    OperationLimits limits_{nullptr, [this] {
                                ++asked_;
                                return interruption_;
                            }};
};

TEST(NoLimits, WhereNoOperationRunsNothingIsForbidden) {
    EXPECT_TRUE(mayGoOn().isOk());
    EXPECT_TRUE(mayTake(uint64_t{1} << 40).isOk());
}

TEST_F(LimitsTest, ALoopHearsOfAnInterruptionSoonAndAsksSeldom) {
    constexpr int kSteps = 10'000;
    for (int step = 0; step < kSteps; ++step) {
        ASSERT_TRUE(mayGoOn().isOk());
    }
    EXPECT_LT(asked_, kSteps / 50);
    interruption_ = Status(Code::kTimeout, Reason::kMaxTimeMsExpired, "late");
    int more = 0;
    while (mayGoOn().isOk() && more < kSteps) {
        ++more;
    }
    EXPECT_LT(more, 100);
    EXPECT_EQ(Reason::kMaxTimeMsExpired, mayTake(1u << 20).reason())
        << "at once before a large one";
}

TEST_F(LimitsTest, WhatIsAboutToBeTakenMustFitIntoTheLargestShare) {
    constexpr uint64_t kPoolBytes = 64u << 20;
    sync::MemoryPool pool(kPoolBytes);
    OperationLimits limits(&pool, [] { return Status::ok(); });
    EXPECT_TRUE(limits.check(kPoolBytes / 2).isOk());
    EXPECT_GE(pool.used(), kPoolBytes / 2 - 2 * sync::MemoryHold::kUnitBytes);
    EXPECT_EQ(Reason::kExceededMemoryLimit, limits.check(kPoolBytes / 2 + 1).reason());
    EXPECT_TRUE(limits.check().isOk());
    EXPECT_EQ(0U, pool.used()) << "what was only announced is given back";
}

TEST_F(LimitsTest, LittleIsAllowedAlsoWhenOthersHaveEverything) {
    sync::MemoryPool pool(1u << 20);
    pool.take(1u << 20);
    OperationLimits limits(&pool, [] { return Status::ok(); });
    EXPECT_TRUE(limits.check(256 * 1024).isOk());
    EXPECT_EQ(Reason::kExceededMemoryLimit, limits.check(2u << 20).reason());
    pool.giveBack(1u << 20);
}

TEST_F(LimitsTest, AnExpressionThatGoesOnForEverIsInterrupted) {
    // A million times a million steps, in one document.
    const bson::OwnedDocument holder = json(R"({"stages": [{"$set": {"n": {"$reduce": {
        "input": {"$range": ["$from", 1000000]}, "initialValue": 0,
        "in": {"$add": ["$$value", {"$reduce": {"input": {"$range": ["$from", 1000000]},
               "initialValue": 0, "in": {"$add": ["$$value", 1]}}}]}}}}}]})");
    const auto update = DocumentPipeline::parse(holder.view().find("stages").document());
    ASSERT_TRUE(update.isOk()) << update.status().toString();
    interruption_ = Status(Code::kCancelled, Reason::kInterrupted, "killed");
    const auto result = (*update)->apply(json(R"({"from": 0})").view());
    EXPECT_EQ(Reason::kInterrupted, result.status().reason());
}

TEST_F(LimitsTest, OnceInterruptedAnOperationHearsOfItAtEachStep) {
    interruption_ = Status(Code::kCancelled, Reason::kInterrupted, "killed");
    EXPECT_EQ(Reason::kInterrupted, mayTake(1u << 20).reason());
    for (int step = 0; step < 3; ++step) {
        EXPECT_EQ(Reason::kInterrupted, mayGoOn().reason());
    }
}

/// One document with an array of objects, and conditions and expressions with as many members: each
/// member with each object would take minutes.
class LongForOneDocument : public LimitsTest {
protected:
    static constexpr int kMany = 100'000;

    static std::string many(std::string_view member) {
        std::string list = "[";
        for (int i = 0; i < kMany; ++i) {
            list += (i == 0 ? "" : ",");
            list += member;
        }
        return list + "]";
    }
    void interrupt() { interruption_ = Status(Code::kCancelled, Reason::kInterrupted, "killed"); }
    void expectFilterIsInterrupted(const std::string& filter) {
        const auto matcher = Matcher::compile(json(filter).view());
        ASSERT_TRUE(matcher.isOk()) << matcher.status().toString();
        interrupt();
        bool isMatch = false;
        EXPECT_EQ(Reason::kInterrupted, (*matcher)->test(document_.view(), &isMatch).reason());
    }
    void expectStageIsInterrupted(const std::string& stage) {
        const bson::OwnedDocument holder = json(R"({"stages": [)" + stage + "]}");
        const auto stages = DocumentPipeline::parse(holder.view().find("stages").document());
        ASSERT_TRUE(stages.isOk()) << stages.status().toString();
        interrupt();
        EXPECT_EQ(Reason::kInterrupted, (*stages)->apply(document_.view()).status().reason());
    }

    const bson::OwnedDocument document_ = json(R"({"l": )" + many(R"({"a": 1})") + "}");
    const std::string conditions_ = many(R"({"a": {"$mod": [7, 8]}})");
    const std::string paths_ = many(R"("$missing")");
};

TEST_F(LongForOneDocument, AFilterIsInterrupted) {
    expectFilterIsInterrupted(R"({"l": {"$elemMatch": {"$or": )" + conditions_ + "}}}");
}

TEST_F(LongForOneDocument, ASchemaIsInterrupted) {
    expectFilterIsInterrupted(
        R"({"$jsonSchema": {"properties": {"l": {"items": {"not": {"anyOf": )" +
        many(R"({"bsonType": "string"})") + "}}}}}}");
}

TEST_F(LongForOneDocument, AnUpdateIsInterrupted) {
    const bson::OwnedDocument spec = json(R"({"$pull": {"l": {"$or": )" + conditions_ + "}}}");
    const auto update = UpdateProgram::compile(spec, {});
    ASSERT_TRUE(update.isOk()) << update.status().toString();
    interrupt();
    bool changed = false;
    EXPECT_EQ(Reason::kInterrupted,
              (*update)->apply(document_.view(), nullptr, &changed).status().reason());
}

TEST_F(LongForOneDocument, AProjectionOfMatchingElementsIsInterrupted) {
    const bson::OwnedDocument spec = json(R"({"l": {"$elemMatch": {"$or": )" + conditions_ + "}}}");
    const auto projection = Projection::compile(spec.view());
    ASSERT_TRUE(projection.isOk()) << projection.status().toString();
    interrupt();
    EXPECT_EQ(Reason::kInterrupted,
              (*projection)->apply(document_.view(), nullptr).status().reason());
}

TEST_F(LongForOneDocument, AnArrayComputedForEachElementIsInterrupted) {
    expectStageIsInterrupted(R"({"$set": {"l.b": )" + paths_ + "}}");
}

TEST_F(LongForOneDocument, FieldsComputedForEachElementAreInterrupted) {
    std::string fields;
    for (int i = 0; i < kMany; ++i) {
        fields += (i == 0 ? R"("l.f)" : R"(, "l.f)") + std::to_string(i) + R"(": "$missing")";
    }
    expectStageIsInterrupted(R"({"$set": {)" + fields + "}}");
}

TEST(MayTakeLong, IsSaidOfLoopsInLoopsAndOfWhatMakesMuchOfLittle) {
    for (const char* yes : {R"({"a": {"$range": [0, 9]}})",
                            R"({"a": {"$map": {"input": "$x", "in": {"$filter": {}}}}})",
                            R"({"a": [{"b": {"$reduce": {}}}]})"}) {
        EXPECT_TRUE(mayTakeLong(json(yes).view())) << yes;
    }
    for (const char* no :
         {R"({"a": {"$map": {"input": "$x", "in": 1}}})", R"({"$match": {"range": 1}})", "{}"}) {
        EXPECT_FALSE(mayTakeLong(json(no).view())) << no;
    }
}

TEST(Limits, GoWithTheirOperationFromThreadToThread) {
    sync::LocalExecutor here;
    sync::LocalExecutor there;
    const sync::WaitToken ended = sync::WaitToken::create();
    OperationLimits limits(nullptr, [] { return Status::ok(); });
    OperationLimits* seenThere = nullptr;
    OperationLimits* seenBack = nullptr;
    const auto untilEnd = [](sync::WaitToken token) -> sync::Task<void> {
        co_await sync::wait(token);
    };
    const auto travel = [&]() -> sync::Task<void> {
        sync::TaskLocal::set(&limits);
        co_await sync::moveTo(there);
        seenThere = OperationLimits::current();
        co_await sync::wait(sync::WaitToken::completed());
        co_await sync::moveTo(here);
        seenBack = OperationLimits::current();
        sync::TaskLocal::set(nullptr);
    };
    {
        platform::Thread thread("there", [&] { there.run(untilEnd(ended)); });
        here.run(travel());
        EXPECT_EQ(nullptr, OperationLimits::current());
        ended.complete();
    }
    EXPECT_EQ(&limits, seenThere);
    EXPECT_EQ(&limits, seenBack);
}

}  // namespace
}  // namespace freshet::query
