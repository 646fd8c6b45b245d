// SPDX-License-Identifier: Apache-2.0
/// Every kind of fault has its effect, at the requested call, and is counted.
#include "freshet/testing/sim/faulty_file_system.h"

#include "freshet/platform/clock.h"
#include "freshet/testing/sim/fault_text.h"
#include "freshet/testing/sim/memory_file_system.h"

#include <gtest/gtest.h>

namespace freshet::testing {
namespace {

using platform::File;
using platform::OpenMode;

class FaultyFileSystemTest : public ::testing::Test {
protected:
    FaultyFileSystemTest() {
        memory_.put("/d/f", std::string(64 * 512, 'o'));
        file_ = std::move(*disk_.open("/d/f", OpenMode::kWrite));
    }

    std::string content(const std::string& path = "/d/f") {
        auto file = memory_.open(path, OpenMode::kRead);
        std::string bytes(*(*file)->size(), '\0');
        EXPECT_TRUE((*file)->pread(bytes.data(), bytes.size(), 0).isOk());
        return bytes;
    }
    /// Number of bits in which `found` differs from `expected`.
    size_t wrongBits(const std::string& found, const std::string& expected) {
        EXPECT_EQ(found.size(), expected.size());
        size_t bits = 0;
        for (size_t i = 0; i < found.size(); ++i) {
            bits += static_cast<size_t>(
                __builtin_popcount(static_cast<unsigned char>(found[i] ^ expected[i])));
        }
        return bits;
    }

    MemoryFileSystem memory_;
    FaultPlan plan_{17};
    FaultyFileSystem disk_{memory_, plan_};
    std::unique_ptr<File> file_;
};

TEST_F(FaultyFileSystemTest, WithoutRulesItIsTheFileSystemBelow) {
    ASSERT_TRUE(file_->pwrite("new", 3).isOk());
    EXPECT_EQ(content().substr(0, 8), "ooonewoo");
    ASSERT_TRUE(file_->truncate(6).isOk());
    EXPECT_EQ(*file_->size(), 6u);
    ASSERT_TRUE(file_->sync().isOk());
    ASSERT_TRUE(disk_.rename("/d/f", "/d/g").isOk());
    EXPECT_EQ(*disk_.list("/d"), std::vector<std::string>{"g"});
    ASSERT_TRUE(disk_.remove("/d/g").isOk());
    ASSERT_TRUE(disk_.syncDirectory("/d").isOk());
    EXPECT_EQ(plan_.fired(), 0u);
}

TEST_F(FaultyFileSystemTest, TheNthMatchingCallFailsAsOftenAsAskedAndIsCounted) {
    std::vector<std::string> reported;
    plan_.onFired([&](const std::string& line) { reported.push_back(line); });
    size_t rule = plan_.add({.path = "*/f", .op = FileOp::kSync, .nth = 2, .times = 2});
    size_t other = plan_.add({.path = "*/g", .op = FileOp::kSync});
    std::vector<bool> ok;
    for (int i = 0; i < 5; ++i) {
        ok.push_back(file_->sync().isOk());
    }
    EXPECT_EQ(ok, (std::vector<bool>{true, false, false, true, true}));
    EXPECT_EQ(plan_.fired(rule), 2u);
    EXPECT_EQ(plan_.fired(other), 0u);
    EXPECT_EQ(plan_.fired(), 2u);
    ASSERT_EQ(reported.size(), 2u);
    EXPECT_NE(reported[0].find("error in sync of /d/f"), std::string::npos) << reported[0];
    EXPECT_NE(plan_.summary().find("FRESHET_SEED=17, faults fired: 2"), std::string::npos);
}

TEST_F(FaultyFileSystemTest, RulesFollowAFileToItsNewName) {
    size_t rule = plan_.add({.path = "*/g", .op = FileOp::kSync, .times = kEver});
    EXPECT_TRUE(file_->sync().isOk());
    ASSERT_TRUE(disk_.rename("/d/f", "/d/g").isOk());
    EXPECT_FALSE(file_->sync().isOk());
    auto other = std::move(*disk_.open("/d/f", OpenMode::kCreate));
    EXPECT_TRUE(other->sync().isOk());
    EXPECT_EQ(plan_.fired(rule), 1u);
}

TEST_F(FaultyFileSystemTest, EveryOperationCanFail) {
    char byte;
    for (FileOp op : {FileOp::kOpen,
                      FileOp::kRead,
                      FileOp::kWrite,
                      FileOp::kSync,
                      FileOp::kTruncate,
                      FileOp::kRename,
                      FileOp::kRemove,
                      FileOp::kSyncDirectory}) {
        size_t rule = plan_.add({.op = op, .times = kEver});
        EXPECT_EQ(disk_.open("/d/f", OpenMode::kRead).isOk(), op != FileOp::kOpen);
        EXPECT_EQ(file_->pread(&byte, 1, 0).isOk(), op != FileOp::kRead);
        EXPECT_EQ(file_->pwrite("x", 0).isOk(), op != FileOp::kWrite);
        EXPECT_EQ(file_->sync().isOk(), op != FileOp::kSync);
        EXPECT_EQ(file_->truncate(100).isOk(), op != FileOp::kTruncate);
        EXPECT_EQ(disk_.rename("/d/f", "/d/f").isOk(), op != FileOp::kRename);
        EXPECT_EQ(disk_.syncDirectory("/d").isOk(), op != FileOp::kSyncDirectory);
        memory_.put("/d/gone", "");
        EXPECT_EQ(disk_.remove("/d/gone").isOk(), op != FileOp::kRemove);
        EXPECT_EQ(plan_.fired(rule), 1u);
        plan_.cancel(rule);
    }
}

TEST_F(FaultyFileSystemTest, ALateErrorComesWhenAllIsWrittenAndOffsetsCanBeLimited) {
    const size_t rule = plan_.add({.kind = FaultKind::kLateError, .times = kEver, .below = 512});
    EXPECT_TRUE(file_->pwrite("behind", 512).isOk());
    EXPECT_EQ(plan_.fired(rule), 0u);
    EXPECT_EQ(file_->pwrite("before", 511).code(), Code::kIo);
    EXPECT_EQ(content().substr(510, 9), "obeforedo");
    EXPECT_EQ(plan_.fired(rule), 1u);
}

TEST_F(FaultyFileSystemTest, ChancesFollowTheSeed) {
    auto pattern = [&](uint64_t seed) {
        FaultPlan plan(seed);
        FaultyFileSystem disk(memory_, plan);
        plan.add({.op = FileOp::kSync, .chance = 0.5, .times = kEver});
        auto file = std::move(*disk.open("/d/f", OpenMode::kWrite));
        std::string pattern;
        for (int i = 0; i < 64; ++i) {
            pattern += file->sync().isOk() ? 'o' : 'x';
        }
        return pattern;
    };
    EXPECT_EQ(pattern(1), pattern(1));
    EXPECT_NE(pattern(1), pattern(2));
    EXPECT_NE(pattern(1).find('x'), std::string::npos);
    EXPECT_NE(pattern(1).find('o'), std::string::npos);
}

TEST_F(FaultyFileSystemTest, AFullDiskRefusesToGrowUntilSpaceIsGivenBack) {
    size_t full = plan_.add({.op = FileOp::kWrite,
                             .error = Status(Code::kNoSpace, "No space left on device"),
                             .times = kEver,
                             .growingOnly = true});
    EXPECT_TRUE(file_->pwrite("in place", 0).isOk());
    EXPECT_EQ(file_->pwrite("behind", 64 * 512 - 1).code(), Code::kNoSpace);
    EXPECT_EQ(file_->pwrite("behind", 64 * 512).code(), Code::kNoSpace);
    plan_.cancel(full);
    EXPECT_TRUE(file_->pwrite("behind", 64 * 512).isOk());
}

TEST_F(FaultyFileSystemTest, AShortWriteLeavesAFirstPart) {
    plan_.add({.kind = FaultKind::kShortWrite});
    EXPECT_EQ(file_->pwrite(std::string(1000, 'n'), 0).code(), Code::kIo);
    std::string found = content();
    size_t part = found.find('o');
    EXPECT_LT(part, 1000u);
    EXPECT_EQ(found, std::string(part, 'n') + std::string(64 * 512 - part, 'o'));
}

TEST_F(FaultyFileSystemTest, ASplitWriteIsWhole) {
    size_t rule = plan_.add({.kind = FaultKind::kSplitWrite});
    ASSERT_TRUE(file_->pwrite(std::string(1000, 'n'), 10).isOk());
    EXPECT_EQ(content().substr(0, 1020),
              std::string(10, 'o') + std::string(1000, 'n') + std::string(10, 'o'));
    EXPECT_EQ(plan_.fired(rule), 1u);
}

TEST_F(FaultyFileSystemTest, ASlowCallDoesWhatItShouldButLater) {
    constexpr uint64_t kSlowMs = 30;
    size_t rule = plan_.add({.kind = FaultKind::kSlow, .slowMs = kSlowMs});
    const uint64_t began = platform::monotonicNanos();
    ASSERT_TRUE(file_->pwrite("new", 0).isOk());
    EXPECT_GE(platform::monotonicNanos() - began, kSlowMs * 1'000'000);
    EXPECT_EQ(content().substr(0, 4), "newo");
    EXPECT_EQ(plan_.fired(rule), 1u);
}

TEST_F(FaultyFileSystemTest, ALyingSyncMakesNothingDurable) {
    plan_.add({.op = FileOp::kSync, .kind = FaultKind::kLyingSync});
    plan_.add({.op = FileOp::kSyncDirectory, .kind = FaultKind::kLyingSync});
    ASSERT_TRUE(file_->pwrite("new", 0).isOk());
    ASSERT_TRUE(file_->sync().isOk());
    ASSERT_TRUE(disk_.rename("/d/f", "/d/g").isOk());
    ASSERT_TRUE(disk_.syncDirectory("/d").isOk());
    memory_.crash();
    EXPECT_EQ(*memory_.list("/d"), std::vector<std::string>{"f"});
    EXPECT_EQ(content().substr(0, 3), "ooo");
}

TEST_F(FaultyFileSystemTest, ATornWriteLeavesSomeSectorsAndThePowerMayGo) {
    plan_.add({.kind = FaultKind::kTornWrite, .powerOff = true});
    ASSERT_TRUE(file_->pwrite(std::string(32 * 512, 'n'), 0).isOk());
    EXPECT_EQ(file_->sync().code(), Code::kIo);
    EXPECT_EQ(disk_.open("/d/f", OpenMode::kRead).status().code(), Code::kIo);
    std::string found = content();
    size_t fresh = 0;
    for (size_t at = 0; at < 32 * 512; at += 512) {
        ASSERT_EQ(found.substr(at, 512), std::string(512, found[at]));
        fresh += found[at] == 'n' ? 1 : 0;
    }
    EXPECT_GT(fresh, 0u);
    EXPECT_LT(fresh, 32u);
    EXPECT_EQ(plan_.fired(), 1u);
}

TEST_F(FaultyFileSystemTest, WritesCanBeDroppedOrGoAstray) {
    const std::string before = content();
    plan_.add({.kind = FaultKind::kDroppedWrite});
    ASSERT_TRUE(file_->pwrite(std::string(4096, 'n'), 0).isOk());
    EXPECT_EQ(content(), before);
    plan_.add({.kind = FaultKind::kMisdirectedWrite});
    ASSERT_TRUE(file_->pwrite(std::string(4096, 'n'), 4096).isOk());
    std::string found = content();
    EXPECT_EQ(found.substr(4096, 4096), std::string(4096, 'o'));
    size_t at = found.find('n');
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(at % 4096, 0u);
    EXPECT_EQ(found.substr(at, 4096), std::string(4096, 'n'));
}

TEST_F(FaultyFileSystemTest, OneBitFlipsAtRestOrOnTheWay) {
    plan_.add({.kind = FaultKind::kFlipAtRest});
    ASSERT_TRUE(file_->pwrite(std::string(4096, 'n'), 0).isOk());
    EXPECT_EQ(wrongBits(content().substr(0, 4096), std::string(4096, 'n')), 1u);
    plan_.add({.op = FileOp::kRead, .kind = FaultKind::kFlipOnRead});
    std::string first(4096, '\0');
    std::string second(4096, '\0');
    ASSERT_TRUE(file_->pread(first.data(), 4096, 8192).isOk());
    ASSERT_TRUE(file_->pread(second.data(), 4096, 8192).isOk());
    EXPECT_EQ(wrongBits(first, second), 1u);
    EXPECT_EQ(second, std::string(4096, 'o'));
}

TEST(FaultText, SaysWhatARuleSays) {
    FaultRule rule =
        *parseFault("write */data.freshet flip nth=3 times=0 chance=0.25 nospace growing poweroff");
    EXPECT_EQ(rule.op, FileOp::kWrite);
    EXPECT_EQ(rule.path, "*/data.freshet");
    EXPECT_EQ(rule.kind, FaultKind::kFlipAtRest);
    EXPECT_EQ(rule.nth, 3u);
    EXPECT_EQ(rule.times, kEver);
    EXPECT_EQ(rule.chance, 0.25);
    EXPECT_EQ(rule.error.code(), Code::kNoSpace);
    EXPECT_TRUE(rule.growingOnly);
    EXPECT_TRUE(rule.powerOff);
    EXPECT_EQ(parseFault("syncdir * lie")->op, FileOp::kSyncDirectory);
    EXPECT_EQ(parseFault("sync * slow ms=40")->slowMs, 40u);
    for (const char* wrong : {"", "sync", "wipe * error", "sync * wrong", "sync * error nth3"}) {
        EXPECT_EQ(parseFault(wrong).status().code(), Code::kInvalid) << wrong;
    }
}

}  // namespace
}  // namespace freshet::testing
