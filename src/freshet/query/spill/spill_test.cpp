// SPDX-License-Identifier: Apache-2.0
/// Sorts and groups that do not fit into memory give the same results as in memory, leave nothing
/// on disk, and fail cleanly if the disk does.
#include "freshet/query/aggregate/stages.h"
#include "freshet/query/exec/sorter.h"
#include "freshet/query/match/json_for_test.h"
#include "freshet/testing/sim/faulty_file_system.h"
#include "freshet/testing/sim/memory_file_system.h"
#include "freshet/testing/sim/seed.h"

#include <algorithm>
#include <random>

namespace freshet::query {
namespace {

using testing::FaultKind;
using testing::FaultPlan;
using testing::FaultyFileSystem;
using testing::FileOp;
using testing::kEver;
using testing::MemoryFileSystem;

using Documents = std::vector<bson::OwnedDocument>;

class SpillTest : public ::testing::Test {
protected:
    const uint64_t seed_ = testing::testSeed();
    std::mt19937_64 random_{seed_};
    MemoryFileSystem disk_;
    FaultPlan faults_{seed_};
    FaultyFileSystem files_{disk_, faults_};
    MemoryLimits limits_;
    std::unique_ptr<SpillSpace> space_ =
        std::make_unique<SpillSpace>(files_, "/db/_tmp", [this] { return limits_; });
    SpillCounts spilled_;

    uint64_t below(uint64_t bound) { return random_() % bound; }

    /// Sets all limits of stages to `bytes`.
    void limit(size_t bytes) { limits_.sort = limits_.group = limits_.bucketAuto = bytes; }

    StatusOr<Documents> run(const std::string& pipeline, const Documents& input, bool onDisk) {
        const bson::OwnedDocument holder = json(R"({"v":)" + pipeline + "}");
        PipelineRun run("db", nullptr, {}, memoryRules(onDisk ? space_.get() : nullptr, true));
        size_t stagesMade = 0;
        const PipelineMaker maker{run, 0, &stagesMade, bson::Document()};
        FRESHET_ASSIGN_OR_RETURN(
            StagePtr last,
            maker.makeBehind(holder.view().find("v").document(), makeListStage(input)));
        Documents result;
        for (;;) {
            Output out;
            Status status = last->next(&out);
            if (status.isWouldBlock()) {
                sync::blockOn(run.token());
                run.startTurn();
                continue;
            }
            spilled_ = *run.spilled();
            FRESHET_RETURN_IF_ERROR(std::move(status));
            if (out.isEnd) {
                return result;
            }
            result.emplace_back(out.document);
        }
    }

    std::string randomValue() {
        switch (below(9)) {
            case 0:
                return "null";
            case 1:
                return std::to_string(static_cast<double>(below(4000)) / 8);
            case 2:
                return R"({"$numberDecimal":")" + std::to_string(below(50)) + R"(.5"})";
            case 3:
                return R"({"$numberLong":")" + std::to_string(below(1000)) + R"("})";
            case 4:
                return '"' + std::string(below(40), 'x') + '"';
            case 5:
                return R"([1, {"a": )" + std::to_string(below(3)) + "}]";
            case 6:
                return R"({"n": )" + std::to_string(below(5)) + "}";
            default:
                return std::to_string(below(100));
        }
    }

    /// {_id, k (sometimes absent), v (sometimes absent), o}.
    Documents randomDocuments(size_t count, size_t keys) {
        Documents result;
        for (size_t i = 0; i < count; ++i) {
            std::string text = R"({"_id": )" + std::to_string(i);
            const uint64_t key = below(keys);
            text += key == 0   ? ""
                    : key == 1 ? R"(, "k": null)"
                    : key == 2 ? R"(, "k": {"a": 1, "b": [2]})"
                    : key == 3 ? R"(, "k": 3.0)"
                               : R"(, "k": )" + std::to_string(key - 1);
            text += below(8) == 0 ? "" : R"(, "v": )" + randomValue();
            text += R"(, "o": {"f)" + std::to_string(below(3)) + "\": " + std::to_string(i) + "}}";
            result.push_back(json(text));
        }
        return result;
    }

    static std::vector<std::string> textsOf(const Documents& documents) {
        std::vector<std::string> texts;
        for (const bson::OwnedDocument& document : documents) {
            texts.push_back(bson::toCanonicalJson(document.view()));
        }
        return texts;
    }

    void expectNothingLeft() {
        const auto left = disk_.list("/db/_tmp");
        EXPECT_TRUE(!left.isOk() || left->empty()) << left->front();
    }
};

constexpr const char* kAllAccumulators = R"([{"$group": {
    "_id": "$k", "sum": {"$sum": "$v"}, "avg": {"$avg": "$v"}, "count": {"$count": {}},
    "min": {"$min": "$v"}, "max": {"$max": "$v"}, "first": {"$first": "$v"},
    "last": {"$last": "$v"}, "push": {"$push": "$v"}, "set": {"$addToSet": "$v"},
    "merge": {"$mergeObjects": "$o"}, "pop": {"$stdDevPop": "$v"}, "samp": {"$stdDevSamp": "$v"},
    "firstN": {"$firstN": {"input": "$v", "n": 3}}, "lastN": {"$lastN": {"input": "$v", "n": 3}},
    "minN": {"$minN": {"input": "$v", "n": 2}}, "maxN": {"$maxN": {"input": "$v", "n": 2}},
    "top": {"$top": {"output": "$_id", "sortBy": {"v": 1}}},
    "topN": {"$topN": {"output": ["$_id", "$v"], "sortBy": {"v": -1}, "n": 3}},
    "bottom": {"$bottom": {"output": "$v", "sortBy": {"o.f1": 1}}},
    "bottomN": {"$bottomN": {"output": "$_id", "sortBy": {"v": 1}, "n": 2}},
    "median": {"$median": {"input": "$v", "method": "approximate"}},
    "percent": {"$percentile": {"input": "$v", "p": [0.1, 0.9], "method": "approximate"}}}}])";

TEST_F(SpillTest, GroupsAreWhatTheyAreInMemory) {
    for (const size_t bytes : {1u, 20'000u, 100'000u}) {
        for (const size_t keys : {5u, 70u, 600u}) {
            const Documents input = randomDocuments(1500, keys);
            limit(bytes);
            auto spilled = run(kAllAccumulators, input, true);
            ASSERT_TRUE(spilled.isOk()) << spilled.status().toString();
            EXPECT_GT(spilled_.spills, 0) << bytes << " " << keys;
            EXPECT_GT(spilled_.bytes, 0);
            limit(1u << 30);
            auto held = run(kAllAccumulators, input, false);
            ASSERT_TRUE(held.isOk());
            auto a = textsOf(*spilled);
            auto b = textsOf(*held);
            std::sort(a.begin(), a.end());
            std::sort(b.begin(), b.end());
            EXPECT_EQ(a, b) << "limit " << bytes << ", keys " << keys;
            expectNothingLeft();
        }
    }
}

TEST_F(SpillTest, SortsAreStableAndWhatTheyAreInMemory) {
    for (const size_t bytes : {1u, 9'000u, 60'000u}) {
        const Documents input = randomDocuments(1200, 30);
        for (const char* pipeline : {R"([{"$sort": {"k": 1}}])",
                                     R"([{"$sort": {"v": -1, "k": 1}}])",
                                     R"([{"$sort": {"k": -1}}, {"$limit": 300}])",
                                     R"([{"$sort": {"v": 1}}, {"$skip": 20}, {"$limit": 7}])",
                                     R"([{"$bucketAuto": {"groupBy": "$v", "buckets": 7,
                                         "output": {"n": {"$sum": 1}, "ids": {"$push": "$_id"}}}}])",
                                     R"([{"$bucketAuto": {"groupBy": "$k", "buckets": 50}}])",
                                     R"([{"$sortByCount": "$k"}, {"$limit": 3},
                                         {"$project": {"count": 1, "_id": 0}}])"}) {
            limit(bytes);
            auto spilled = run(pipeline, input, true);
            ASSERT_TRUE(spilled.isOk()) << spilled.status().toString();
            const bool isTop = std::string_view(pipeline).find("$limit") != std::string::npos;
            EXPECT_TRUE(isTop || spilled_.spills > 0) << bytes << " " << pipeline;
            limit(1u << 30);
            auto held = run(pipeline, input, false);
            ASSERT_TRUE(held.isOk());
            EXPECT_EQ(textsOf(*spilled), textsOf(*held)) << "limit " << bytes << " " << pipeline;
            expectNothingLeft();
        }
    }
}

TEST_F(SpillTest, ASampleFromDiskHasEveryDocumentAtMostOnce) {
    const Documents input = randomDocuments(500, 5);
    limit(5'000);
    for (const size_t size : {200u, 900u}) {
        auto sample = run(R"([{"$sample": {"size": )" + std::to_string(size) + "}}]", input, true);
        ASSERT_TRUE(sample.isOk()) << sample.status().toString();
        EXPECT_GT(spilled_.spills, 0);
        auto texts = textsOf(*sample);
        std::sort(texts.begin(), texts.end());
        EXPECT_EQ(std::unique(texts.begin(), texts.end()), texts.end());
        EXPECT_EQ(texts.size(), std::min<size_t>(size, 500));
    }
}

TEST_F(SpillTest, WhatIsWantedOfATopSortStaysInMemory) {
    const Documents input = randomDocuments(2000, 2000);
    limit(30'000);
    ASSERT_TRUE(run(R"([{"$sort": {"v": 1}}, {"$limit": 20}])", input, true).isOk());
    EXPECT_EQ(spilled_.spills, 0);
}

TEST_F(SpillTest, AGroupAloneMayGrowUpToItsAccumulatorsLimit) {
    const Documents input = randomDocuments(2000, 1);
    limit(1'000);
    const char* push = R"([{"$group": {"_id": null, "all": {"$push": "$$ROOT"}}}])";
    EXPECT_TRUE(run(push, input, true).isOk());
    for (const char* name : {"$push", "$addToSet"}) {
        limits_.push = limits_.addToSet = 50'000;
        const std::string pipeline = R"([{"$group": {"_id": "$nothing", "all": {")" +
                                     std::string(name) + R"(": "$$ROOT"}}}])";
        const Status failed = run(pipeline, input, true).status();
        EXPECT_EQ(failed.reason(), Reason::kExceededMemoryLimit) << failed.toString();
        EXPECT_NE(failed.text().find(std::string(name) + " used too much memory and cannot spill"),
                  std::string_view::npos);
    }
    expectNothingLeft();
}

TEST_F(SpillTest, AFullDiskIsACleanErrorAndSpaceCanComeBack) {
    const Documents input = randomDocuments(1500, 300);
    limit(10'000);
    for (const char* pipeline : {kAllAccumulators, R"([{"$sort": {"v": 1}}])"}) {
        for (const uint64_t nth : {1u, 4u}) {
            const size_t full = faults_.add({.path = "/db/_tmp/*",
                                             .op = FileOp::kWrite,
                                             .error = Status(Code::kNoSpace, "no space left"),
                                             .nth = nth,
                                             .times = kEver});
            const Status failed = run(pipeline, input, true).status();
            EXPECT_EQ(failed.code(), Code::kNoSpace) << failed.toString();
            EXPECT_EQ(faults_.fired(full), 1u) << "nothing goes on behind it";
            faults_.cancel(full);
            EXPECT_TRUE(run(pipeline, input, true).isOk());
            expectNothingLeft();
        }
    }
}

TEST_F(SpillTest, ADamagedRunIsAnErrorAndNeverWrongData) {
    const Documents input = randomDocuments(1500, 300);
    limit(10'000);
    for (const char* pipeline : {kAllAccumulators, R"([{"$sort": {"v": 1}}])"}) {
        for (const auto& [op, kind] : {std::pair(FileOp::kRead, FaultKind::kFlipOnRead),
                                       std::pair(FileOp::kWrite, FaultKind::kFlipAtRest),
                                       std::pair(FileOp::kWrite, FaultKind::kDroppedWrite),
                                       std::pair(FileOp::kWrite, FaultKind::kMisdirectedWrite)}) {
            const size_t rule =
                faults_.add({.path = "/db/_tmp/*", .op = op, .kind = kind, .nth = 1 + below(3)});
            const Status failed = run(pipeline, input, true).status();
            EXPECT_EQ(faults_.fired(rule), 1u);
            EXPECT_EQ(failed.code(), Code::kCorruption) << faults_.summary();
            faults_.cancel(rule);
        }
    }
}

TEST_F(SpillTest, FilesCannotBeOpenedIsAnErrorOfTheOperation) {
    faults_.add({.path = "/db/_tmp/*", .op = FileOp::kOpen});
    limit(1'000);
    EXPECT_EQ(run(R"([{"$sort": {"v": 1}}])", randomDocuments(500, 9), true).status().code(),
              Code::kIo);
}

TEST_F(SpillTest, AnOperationMayEndWhileItsRunIsWritten) {
    limits_.sort = 20'000;
    for (int i = 0; i < 20; ++i) {
        Sorter sorter(0, memoryRules(space_.get(), true), limits_.sort, &spilled_);
        Status status;
        while (status.isOk()) {
            status = sorter.add(std::to_string(random_()), std::string(100, 'x'));
        }
        ASSERT_TRUE(status.isWouldBlock()) << status.toString();
    }
    space_.reset();  // its threads have ended
    expectNothingLeft();
}

TEST_F(SpillTest, ManySortedItemsInMemoryAreSortedByAnotherThread) {
    Sorter sorter(0, memoryRules(space_.get(), true), 64u << 20, &spilled_);
    std::vector<std::string> keys;
    for (int i = 0; i < 10'000; ++i) {
        keys.push_back(std::to_string(below(5000)));
        ASSERT_TRUE(sorter.add(keys.back(), std::to_string(i)).isOk());
    }
    Status status = sorter.finish();
    EXPECT_TRUE(status.isWouldBlock());
    while (status.isWouldBlock()) {
        sync::blockOn(sorter.token());
        status = sorter.finish();
    }
    ASSERT_TRUE(status.isOk());
    std::stable_sort(keys.begin(), keys.end());
    SpillRecord record;
    bool isEnd = false;
    for (const std::string& key : keys) {
        ASSERT_TRUE(sorter.next(&record, &isEnd).isOk());
        ASSERT_FALSE(isEnd);
        ASSERT_EQ(record.key, key);
    }
    ASSERT_TRUE(sorter.next(&record, &isEnd).isOk());
    EXPECT_TRUE(isEnd);
    EXPECT_EQ(spilled_.spills, 0);
}

TEST_F(SpillTest, WhatACrashHasLeftIsRemovedAtStart) {
    ASSERT_TRUE(disk_.makeDirectory("/db/_tmp").isOk());
    disk_.put("/db/_tmp/spill-7", "left behind");
    SpillSpace space(files_, "/db/_tmp", [] { return MemoryLimits(); });
    expectNothingLeft();
}

TEST_F(SpillTest, TheDiskIsUsedByDefaultAndNotWhenTheOperationSaysSo) {
    EXPECT_TRUE(memoryRules(space_.get(), std::nullopt).maySpill());
    EXPECT_FALSE(memoryRules(space_.get(), false).maySpill());
    EXPECT_FALSE(memoryRules(nullptr, true).maySpill());
    limits_.usesDisk = false;
    EXPECT_FALSE(memoryRules(space_.get(), std::nullopt).maySpill());
    EXPECT_TRUE(memoryRules(space_.get(), true).maySpill());
}

}  // namespace
}  // namespace freshet::query
