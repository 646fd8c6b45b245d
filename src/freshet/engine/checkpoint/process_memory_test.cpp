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

TEST(FreedMemory, MuchUnusedMemoryGoesBack) {
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

constexpr uint64_t kDearNanos = 5'000'000;
constexpr uint64_t kCheapNanos = 300'000;

/// The answer after `looks` looks have seen the same.
bool wantsHugePages(ProcessMemory* memory, uint64_t resident, uint64_t limit, int looks = 40) {
    bool wants = false;
    for (int look = 0; look < looks; ++look) {
        wants = memory->wantsHugePages(resident, limit, [] { return std::optional(kDearNanos); });
    }
    return wants;
}

/// A process that has grown by `growth` at each look, and asks what a huge page costs.
class Growing {
public:
    explicit Growing(uint64_t growth, uint64_t limit = 0) : growth_(growth), limit_(limit) {}
    bool wants(std::optional<uint64_t> nanos) {
        return memory_.wantsHugePages(resident_ += growth_, limit_, [&] {
            ++asked_;
            return nanos;
        });
    }
    uint64_t resident() const { return resident_; }
    int asked() const { return asked_; }

private:
    ProcessMemory memory_;
    const uint64_t growth_;
    const uint64_t limit_;
    uint64_t resident_ = 0;
    int asked_ = 0;
};

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

TEST(HugePages, AreForProcessesThatGrowFastWhereTheyAreCheap) {
    Growing fast(100 * kMib);
    EXPECT_TRUE(fast.wants(kCheapNanos));
    EXPECT_TRUE(fast.wants(kCheapNanos));
    EXPECT_FALSE(fast.wants(std::nullopt)) << "there are none";
    Growing slow(10 * kMib);
    EXPECT_FALSE(slow.wants(kCheapNanos));
    EXPECT_EQ(slow.asked(), 0);
}

TEST(HugePages, ThatAreDearAreNotAskedForAtEachLook) {
    Growing fast(100 * kMib);
    EXPECT_FALSE(fast.wants(kDearNanos));
    int looks = 1;
    while (!fast.wants(kCheapNanos)) {
        ASSERT_LT(++looks, 100) << "never again";
    }
    EXPECT_EQ(fast.asked(), 2);
    EXPECT_GT(looks, 4);
}

TEST(HugePages, AreNotForProcessesThatGrowTowardsTheirCeiling) {
    Growing fast(100 * kMib, 1'000 * kMib);
    while (fast.resident() < 400 * kMib) {
        EXPECT_TRUE(fast.wants(kCheapNanos));
    }
    EXPECT_FALSE(fast.wants(kCheapNanos));
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
