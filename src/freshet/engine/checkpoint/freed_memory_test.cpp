// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/checkpoint/freed_memory.h"

#include <gtest/gtest.h>

namespace freshet::engine {
namespace {

constexpr uint64_t kMib = 1u << 20;

TEST(FreedMemory, LittleStaysForEver) {
    FreedMemory memory;
    for (int second = 0; second < 100; ++second) {
        EXPECT_TRUE(memory.look(800 * kMib, 0, 100 * kMib));
    }
}

TEST(FreedMemory, MuchStaysAsLongAsItIsNeededAgainSoon) {
    FreedMemory memory;
    for (int second = 0; second < 100; ++second) {
        EXPECT_TRUE(memory.look(100 * kMib, 0, second % 8 == 0 ? 0 : 400 * kMib)) << second;
    }
}

TEST(FreedMemory, MuchThatNobodyNeedsGoesBackUntilItIsLittle) {
    FreedMemory memory;
    int second = 0;
    while (memory.look(100 * kMib, 0, 400 * kMib)) {
        ASSERT_LT(++second, 11);
    }
    EXPECT_GT(second, 5);
    EXPECT_FALSE(memory.look(100 * kMib, 0, 400 * kMib));
    EXPECT_TRUE(memory.look(100 * kMib, 0, 2 * kMib));
}

TEST(FreedMemory, NearTheCeilingAllGoesBack) {
    FreedMemory memory;
    EXPECT_TRUE(memory.look(500 * kMib, 1'000 * kMib, 1 * kMib));
    EXPECT_FALSE(memory.look(700 * kMib, 1'000 * kMib, 1 * kMib));
    EXPECT_TRUE(memory.look(500 * kMib, 1'000 * kMib, 1 * kMib));
}

}  // namespace
}  // namespace freshet::engine
