// SPDX-License-Identifier: Apache-2.0
/// A disk that has no space even for a superblock, as on a file system that writes every block to a
/// new place: the file goes on with the previous checkpoint, and whatever part of the refused
/// superblock reached the disk, an opening finds one of the two checkpoints, whole.
#include "freshet/block/root/fixture_test_support.h"
#include "freshet/testing/sim/crash_states.h"
#include "freshet/testing/sim/faulty_file_system.h"
#include "freshet/testing/sim/passing_file_system.h"
#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <utility>

namespace freshet::block {
namespace {

using testing::CrashState;
using testing::FaultKind;
using testing::FaultRule;
using testing::MemoryFileSystem;

/// How much of a refused superblock reaches the disk: nothing, a part, all.
constexpr FaultKind kRefusals[] = {
    FaultKind::kError, FaultKind::kShortWrite, FaultKind::kLateError};

FaultRule refusal(FaultKind kind, uint64_t times) {
    return {.path = kTestPath,
            .kind = kind,
            .error = Status(Code::kNoSpace, "the disk is full"),
            .times = times,
            .below = 2 * kBlockBytes};
}

class FaultyDisk final : public testing::PassingFileSystem {
public:
    FaultyDisk() : PassingFileSystem(faulty_) {}
    MemoryFileSystem memory;
    testing::FaultPlan plan{testing::testSeed()};

private:
    testing::FaultyFileSystem faulty_{memory, plan};
};

class BlockRefusal : public ::testing::TestWithParam<FaultKind>, protected OneFile<FaultyDisk> {
protected:
    PagePlace write(PageId page, const std::string& body) {
        auto place = file_->writePage(imageOf(page, body));
        EXPECT_TRUE(place.isOk()) << place.status().toString();
        return place.isOk() ? *place : PagePlace{};
    }
    Status commit(const std::vector<BlockFile::Change>& changes) {
        return file_->commit(Root{}, changes);
    }
};
INSTANTIATE_TEST_SUITE_P(Kinds, BlockRefusal, ::testing::ValuesIn(kRefusals));

TEST_P(BlockRefusal, TheOneBeforeStandsAndTheNextOneSucceeds) {
    const PagePlace first = write(1, "first");
    ASSERT_TRUE(commit({{1, first}}).isOk());
    file_->settle();
    disk_.plan.add(refusal(GetParam(), 1));
    const PagePlace second = write(1, "second");
    EXPECT_EQ(commit({{1, second}}).code(), Code::kNoSpace);
    EXPECT_EQ(file_->root().checkpointNo, 1u);
    EXPECT_EQ(placeOf(*file_, 1).extent.firstBlock, first.extent.firstBlock);
    EXPECT_EQ(*readContents(*file_), (Contents{{1, "first"}}));
    const PagePlace other = write(2, "other");
    ASSERT_TRUE(commit({{1, second}, {2, other}}).isOk());
    file_->settle();
    EXPECT_EQ(file_->root().checkpointNo, 2u);
    reopen();
    EXPECT_EQ(*readContents(*file_), (Contents{{1, "second"}, {2, "other"}}));
    EXPECT_TRUE(file_->verify()->errors.empty());
}

TEST_P(BlockRefusal, HoweverOftenItTakesNoMoreRoomThanOnce) {
    ASSERT_TRUE(commit({{1, write(1, "first")}}).isOk());
    file_->settle();
    const size_t rule = disk_.plan.add(refusal(GetParam(), testing::kEver));
    PagePlace place = write(1, "0");
    EXPECT_EQ(commit({{1, place}}).code(), Code::kNoSpace);
    const Stats once = file_->stats();
    for (int i = 1; i < 200; ++i) {
        EXPECT_EQ(file_->makeRoom().code(), Code::kNoSpace);
        file_->discard(place);
        place = write(1, std::to_string(i));
        EXPECT_EQ(commit({{1, place}}).code(), Code::kNoSpace);
    }
    const Stats often = file_->stats();
    // The image that the refused superblock names is kept, although its page has another one.
    EXPECT_EQ(often.pendingBytes, once.pendingBytes + kBlockBytes);
    EXPECT_EQ(often.freeBytes + kBlockBytes, once.freeBytes);
    disk_.plan.cancel(rule);
    EXPECT_TRUE(file_->makeRoom().isOk());
    EXPECT_EQ(file_->stats().pendingBytes, 0u);
    EXPECT_GT(file_->stats().freeBytes, once.freeBytes);
    ASSERT_TRUE(commit({{1, place}}).isOk());
    reopen();
    EXPECT_EQ(*readContents(*file_), (Contents{{1, "199"}}));
}

TEST_P(BlockRefusal, AnOpeningFindsTheOneBeforeOrTheRefusedOne) {
    ASSERT_TRUE(commit({{1, write(1, "first")}, {2, write(2, "stays")}}).isOk());
    file_->settle();
    disk_.plan.add(refusal(GetParam(), 1));
    const PagePlace refused = write(1, "refused");
    EXPECT_EQ(commit({{1, refused}}).code(), Code::kNoSpace);
    // The image is discarded and others are written, wherever there is space; all becomes durable.
    file_->discard(refused);
    for (PageId page = 10; page < 200; ++page) {
        write(page, "x");
    }
    ASSERT_TRUE(file_->flush().isOk());
    disk_.memory.crash();
    reopen();
    const bool isWhole = GetParam() == FaultKind::kLateError;
    EXPECT_EQ(file_->root().checkpointNo, isWhole ? 2u : 1u);
    EXPECT_EQ(*readContents(*file_), (Contents{{1, isWhole ? "refused" : "first"}, {2, "stays"}}));
    EXPECT_TRUE(file_->verify()->errors.empty());
}

/// A run of the model's user on a disk that refuses superblocks now and then, with what was
/// acknowledged at which position of its trace.
class RefusedRun {
public:
    explicit RefusedRun(uint64_t seed) : plan_(seed), user_(seed) {
        invariant(disk_.makeDirectory(kTestDirectory).isOk());
        // If the power fails before the file exists, nothing has been acknowledged.
        auto file = openAndStart(testOptions(&disk_));
        invariant(file.isOk());
        promises_.push_back({recorder_.position(), 0});
        file_ = std::move(*file);
        for (const FaultKind kind : kRefusals) {
            FaultRule rule = refusal(kind, testing::kEver);
            rule.chance = 0.15;
            plan_.add(rule);
        }
    }
    void work(int steps) {
        ASSERT_EQ(user_.attach(file_.get()), "");
        for (int i = 0; i < steps; ++i) {
            const Status status = user_.step();
            ASSERT_TRUE(status.isOk() || status.code() == Code::kNoSpace) << status.toString();
            if (!status.isOk() && user_.pick(2) == 0) {
                const Status room = file_->makeRoom();
                ASSERT_TRUE(room.isOk() || room.code() == Code::kNoSpace) << room.toString();
            }
            if (user_.acknowledged() != promises_.back().second) {
                promises_.push_back({recorder_.position(), user_.acknowledged()});
            }
            // Long after a refusal the current checkpoint can still be read.
            ASSERT_EQ(*readContents(*file_), user_.committed());
        }
        EXPECT_GT(plan_.fired(), 10u) << plan_.summary();
    }
    Status judge(MemoryFileSystem& disk, const CrashState& state) const {
        uint64_t least = 0;
        for (const auto& [position, attempt] : promises_) {
            least = position <= state.prefix ? attempt : least;
        }
        FRESHET_ASSIGN_OR_RETURN(auto file, openAndStart(testOptions(&disk)));
        const std::string wrong = user_.judge(*file, least);
        FRESHET_ASSIGN_OR_RETURN(const VerifyReport report, file->verify());
        return !wrong.empty()          ? Status(Code::kCorruption, wrong)
               : report.errors.empty() ? Status::ok()
                                       : Status(Code::kCorruption, report.errors[0]);
    }
    testing::Trace trace() const { return recorder_.trace(); }
    size_t begin() const { return promises_.front().first; }

private:
    MemoryFileSystem memory_;
    testing::TraceRecorder recorder_{memory_};
    testing::FaultPlan plan_;
    testing::FaultyFileSystem disk_{recorder_, plan_};
    ModelUser user_;
    std::unique_ptr<BlockFile> file_;
    std::vector<std::pair<size_t, uint64_t>> promises_;  // position of the trace, attempt
};

TEST(BlockRefusals, EveryStateThatACrashLeavesHoldsWhatWasAcknowledged) {
    const uint64_t seed = testing::testSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    RefusedRun run(seed);
    ASSERT_NO_FATAL_FAILURE(run.work(400));
    testing::CrashStatesCount count;
    const Status status = forEachCrashState(
        run.trace(),
        {.seed = seed, .statesMax = testing::crashStatesWanted(3000), .from = run.begin()},
        [&](MemoryFileSystem& disk, const CrashState& state) { return run.judge(disk, state); },
        &count);
    EXPECT_TRUE(status.isOk()) << status.toString();
    EXPECT_GT(count.torn, 100u);
}

}  // namespace
}  // namespace freshet::block
