// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/checkpoint/move_hand.h"

#include <gtest/gtest.h>

#include <vector>

namespace freshet::engine {
namespace {

constexpr uint64_t kBlocks = 8;

/// The number of looks that a checkpoint takes at each of the trees 1, 2 and 3, of three pages
/// each.
std::vector<int> looksOf(MoveHand* hand, uint64_t blocks, size_t looks) {
    hand->begin(blocks, looks);
    std::vector<int> taken;
    for (const uint32_t tree : {1, 2, 3}) {
        taken.push_back(0);
        while (taken.back() < 3 && hand->takeLook(tree)) {
            ++taken.back();
        }
    }
    return taken;
}

TEST(MoveHand, GoesOnWithTheTreeWhereItStopped) {
    MoveHand hand;
    EXPECT_EQ(looksOf(&hand, kBlocks, 4), (std::vector<int>{3, 1, 0}));
    EXPECT_EQ(looksOf(&hand, kBlocks, 4), (std::vector<int>{0, 3, 1}));
    EXPECT_EQ(looksOf(&hand, kBlocks, 4), (std::vector<int>{0, 0, 3})) << "and is at the end";
    EXPECT_EQ(looksOf(&hand, kBlocks, 100), (std::vector<int>{3, 3, 3}));
    EXPECT_EQ(looksOf(&hand, kBlocks, 100), (std::vector<int>{3, 3, 3}));
}

TEST(MoveHand, LooksNoFurtherThanItCanPayFor) {
    MoveHand hand;
    hand.begin(kBlocks, 100);
    EXPECT_TRUE(hand.takeLook(1));
    EXPECT_TRUE(hand.affords(kBlocks));
    EXPECT_FALSE(hand.affords(kBlocks + 1));
    hand.pay(kBlocks - 1);
    EXPECT_TRUE(hand.takeLook(2));
    EXPECT_FALSE(hand.affords(2));
    hand.pay(1);
    EXPECT_FALSE(hand.takeLook(2));
    EXPECT_FALSE(hand.takeLook(3));
    EXPECT_EQ(looksOf(&hand, kBlocks, 100), (std::vector<int>{0, 3, 3}));
}

TEST(MoveHand, WithoutAShareStaysWhereItIs) {
    MoveHand hand;
    EXPECT_EQ(looksOf(&hand, kBlocks, 5), (std::vector<int>{3, 2, 0}));
    EXPECT_EQ(looksOf(&hand, 0, 5), (std::vector<int>{0, 0, 0})) << "there was nothing to move";
    EXPECT_EQ(looksOf(&hand, kBlocks, 5), (std::vector<int>{0, 3, 2}));
}

}  // namespace
}  // namespace freshet::engine
