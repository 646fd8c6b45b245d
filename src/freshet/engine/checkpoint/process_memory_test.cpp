// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/checkpoint/process_memory.h"

#include <gtest/gtest.h>

namespace freshet::engine {
namespace {

constexpr uint64_t kMib = 1u << 20;

TEST(FreedMemory, LittleStaysForEver) {
    ProcessMemory memory;
    for (int look = 0; look < 400; ++look) {
        EXPECT_FALSE(memory.givesBack(950 * kMib, 0, 800 * kMib, 100 * kMib));
    }
}

TEST(FreedMemory, MuchStaysAsLongAsItIsNeededAgainSoon) {
    ProcessMemory memory;
    for (int look = 0; look < 400; ++look) {
        const uint64_t freed = look % 32 == 0 ? 0 : 400 * kMib;
        EXPECT_FALSE(memory.givesBack(600 * kMib, 0, 100 * kMib, freed)) << look;
    }
}

TEST(FreedMemory, MuchThatNobodyNeedsGoesBack) {
    ProcessMemory memory;
    int look = 0;
    while (!memory.givesBack(600 * kMib, 0, 100 * kMib, 400 * kMib)) {
        ASSERT_LT(++look, 41);
    }
    EXPECT_GT(look, 20);
    EXPECT_FALSE(memory.givesBack(200 * kMib, 0, 100 * kMib, 2 * kMib));
}

TEST(FreedMemory, AboveTheCeilingAllGoesBack) {
    ProcessMemory memory;
    EXPECT_FALSE(memory.givesBack(999 * kMib, 1'000 * kMib, 500 * kMib, 100 * kMib));
    EXPECT_TRUE(memory.givesBack(1'001 * kMib, 1'000 * kMib, 500 * kMib, 100 * kMib));
}

/// What is said after `looks` of them have seen the same.
bool wantsHugePages(ProcessMemory* memory, uint64_t resident, uint64_t limit, int looks = 40) {
    bool wants = false;
    for (int look = 0; look < looks; ++look) {
        wants = memory->wantsHugePages(resident, limit);
    }
    return wants;
}

TEST(HugePages, AreForProcessesThatHaveRoom) {
    ProcessMemory memory;
    EXPECT_TRUE(wantsHugePages(&memory, 5'000 * kMib, 0)) << "no ceiling";
    EXPECT_TRUE(wantsHugePages(&memory, 900 * kMib, 1'000 * kMib));
    EXPECT_FALSE(wantsHugePages(&memory, 1'001 * kMib, 1'000 * kMib));
    EXPECT_FALSE(wantsHugePages(&memory, 900 * kMib, 1'000 * kMib)) << "it would be back at once";
    EXPECT_TRUE(wantsHugePages(&memory, 700 * kMib, 1'000 * kMib));
    EXPECT_TRUE(wantsHugePages(&memory, 900 * kMib, 1'000 * kMib));
}

TEST(HugePages, AreForProcessesThatDoNotGrow) {
    ProcessMemory memory;
    uint64_t resident = 100 * kMib;
    EXPECT_FALSE(wantsHugePages(&memory, resident, 0, 1)) << "nothing is known of it yet";
    EXPECT_TRUE(wantsHugePages(&memory, resident, 0));
    for (int look = 0; look < 40; ++look) {
        EXPECT_FALSE(wantsHugePages(&memory, resident += 10 * kMib, 0, 1));
    }
    EXPECT_FALSE(wantsHugePages(&memory, resident, 0, 1)) << "it may go on";
    EXPECT_TRUE(wantsHugePages(&memory, resident, 0));
    EXPECT_TRUE(wantsHugePages(&memory, resident / 2, 0, 1)) << "it has become smaller";
}

TEST(Outgrown, IsWhatHasMoreThanTheCeilingAndMoreThanItHad) {
    ProcessMemory memory;
    memory.besidePages(900 * kMib, 800 * kMib, 0);
    EXPECT_FALSE(memory.hasOutgrown(1'000 * kMib, 1'000 * kMib));
    EXPECT_TRUE(memory.hasOutgrown(1'001 * kMib, 1'000 * kMib));
    EXPECT_FALSE(memory.hasOutgrown(5'000 * kMib, 0)) << "no ceiling";
    memory.besidePages(1'100 * kMib, 800 * kMib, 0);
    EXPECT_FALSE(memory.hasOutgrown(1'110 * kMib, 1'000 * kMib)) << "as the look has left it";
    EXPECT_TRUE(memory.hasOutgrown(1'200 * kMib, 1'000 * kMib));
}

TEST(BesidePages, IsWhatIsNeitherCountedNorFreed) {
    ProcessMemory memory;
    EXPECT_EQ(memory.besidePages(600 * kMib, 500 * kMib, 60 * kMib), 40 * kMib);
    EXPECT_EQ(memory.besidePages(700 * kMib, 500 * kMib, 60 * kMib), 140 * kMib) << "at once";
}

TEST(BesidePages, BecomesLessByAndBy) {
    ProcessMemory memory;
    ASSERT_EQ(memory.besidePages(600 * kMib, 500 * kMib, 0), 100 * kMib);
    const uint64_t soon = memory.besidePages(500 * kMib, 600 * kMib, 0);
    EXPECT_GT(soon, 90 * kMib);
    EXPECT_LT(soon, 100 * kMib);
    for (int look = 0; look < 400; ++look) {
        memory.besidePages(500 * kMib, 600 * kMib, 0);
    }
    EXPECT_LT(memory.besidePages(500 * kMib, 600 * kMib, 0), kMib);
}

}  // namespace
}  // namespace freshet::engine
