// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/extent/free_map.h"

#include "freshet/block/extent/used_blocks.h"
#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace freshet::block {
namespace {

FreeMap freeAround(const std::vector<Extent>& extents, uint64_t fileBlocks) {
    UsedBlocks used(fileBlocks);
    for (const Extent& extent : extents) {
        invariant(used.add(extent).isOk());
    }
    return used.rest();
}

TEST(FreeMap, TakesTheSmallestStretchThatFits) {
    FreeMap map = freeAround({{0, 2}, {12, 1}, {17, 1}}, 20);  // free: 2-11, 13-16, 18-19
    EXPECT_EQ(map.take(3)->firstBlock, 13u);
    EXPECT_EQ(map.take(2)->firstBlock, 18u);
    EXPECT_EQ(map.take(10)->firstBlock, 2u);
    EXPECT_FALSE(map.fits(2));
    EXPECT_FALSE(map.take(2).has_value());
    EXPECT_EQ(map.take(1)->firstBlock, 16u);
    EXPECT_EQ(map.freeBlocks(), 0u);
}

TEST(FreeMap, TakesTheForemostStretchThatFits) {
    FreeMap map =
        freeAround({{0, 2}, {4, 1}, {15, 1}, {19, 1}}, 30);  // free: 2-3, 5-14, 16-18, 20-29
    EXPECT_EQ(map.foremost(3), 5u);
    EXPECT_EQ(map.takeForemost(9)->firstBlock, 5u);
    EXPECT_EQ(map.foremost(2), 2u);
    EXPECT_EQ(map.takeForemost(3)->firstBlock, 16u);
    EXPECT_EQ(map.takeForemost(10)->firstBlock, 20u);
    EXPECT_EQ(map.foremost(3), std::nullopt);
    EXPECT_FALSE(map.takeForemost(3).has_value());
    EXPECT_EQ(map.freeBlocks(), 3u);
}

TEST(FreeMap, NeighboursJoin) {
    FreeMap map = freeAround({{0, 9}}, 9);
    map.give(0, 3);
    map.give(6, 3);
    EXPECT_FALSE(map.fits(4));
    map.give(3, 3);
    EXPECT_EQ(map.freeBefore(9), 9u);
    EXPECT_EQ(map.take(9)->firstBlock, 0u);
}

TEST(FreeMap, IsCutInTheMiddleOfAStretch) {
    FreeMap map = freeAround({{0, 2}, {10, 2}}, 20);  // free: 2-9, 12-19
    FreeMap beyond = map.cutAt(5);
    EXPECT_EQ(map.freeBlocks(), 3u);
    EXPECT_EQ(beyond.freeBlocks(), 13u);
    EXPECT_EQ(beyond.take(8)->firstBlock, 12u);
    EXPECT_EQ(beyond.take(5)->firstBlock, 5u);
}

TEST(UsedBlocks, OverlapAndOverrunAreDamage) {
    const auto add = [](const std::vector<Extent>& extents) {
        UsedBlocks used(9);
        Status status;
        for (const Extent& extent : extents) {
            status = used.add(extent);
        }
        return status.code();
    };
    EXPECT_EQ(add({{0, 4}, {4, 5}}), Code::kOk);
    EXPECT_EQ(add({{0, 4}, {3, 1}}), Code::kCorruption);
    EXPECT_EQ(add({{8, 2}}), Code::kCorruption);
    EXPECT_EQ(add({{UINT64_MAX, 2}}), Code::kCorruption);
}

TEST(UsedBlocks, WhatIsNotUsedIsFreeWhereverItLies) {
    std::mt19937_64 random(testing::testSeed());
    for (int round = 0; round < 200; ++round) {
        const uint64_t blocks = 1 + random() % 400;
        UsedBlocks used(blocks);
        uint64_t inUse = 0;
        std::vector<Extent> gaps;
        for (uint64_t at = 0; at < blocks;) {
            const uint64_t length = std::min<uint64_t>(1 + random() % 150, blocks - at);
            const Extent extent{at, static_cast<uint32_t>(length)};
            if (random() % 2 == 0) {
                ASSERT_TRUE(used.add(extent).isOk());
                inUse += length;
            } else {
                gaps.push_back(extent);
            }
            at += length;
        }
        FreeMap free = used.rest();
        EXPECT_EQ(free.freeBlocks(), blocks - inUse);
        // Each gap can be taken out of it: none of its blocks is missing.
        for (const Extent& gap : gaps) {
            FreeMap beyond = free.cutAt(gap.firstBlock);
            FreeMap after = beyond.cutAt(gap.firstBlock + gap.blocks);
            EXPECT_EQ(beyond.freeBlocks(), gap.blocks);
            free.join(beyond);
            free.join(after);
        }
    }
}

TEST(FreeMap, AgreesWithAListOfBlocks) {
    constexpr uint64_t kBlocks = 300;
    std::mt19937_64 random(testing::testSeed());
    std::vector<bool> used(kBlocks, false);
    FreeMap map = freeAround({}, kBlocks);
    std::vector<Extent> taken;
    for (int i = 0; i < 5000; ++i) {
        if (random() % 2 == 0) {
            auto extent = map.take(static_cast<uint32_t>(1 + random() % 12));
            if (extent) {
                for (uint64_t b = extent->firstBlock; b < extent->firstBlock + extent->blocks;
                     ++b) {
                    ASSERT_FALSE(used[b]) << "block " << b << " given twice";
                    used[b] = true;
                }
                taken.push_back(*extent);
            }
        } else if (!taken.empty()) {
            std::swap(taken[random() % taken.size()], taken.back());
            map.give(taken.back().firstBlock, taken.back().blocks);
            std::fill_n(used.begin() + static_cast<long>(taken.back().firstBlock),
                        taken.back().blocks,
                        false);
            taken.pop_back();
        }
        if (random() % 8 == 0) {
            // Cut in two and joined again it is the same.
            const uint64_t block = random() % (kBlocks + 1);
            FreeMap beyond = map.cutAt(block);
            ASSERT_EQ(map.freeBlocks(),
                      static_cast<uint64_t>(std::count(
                          used.begin(), used.begin() + static_cast<long>(block), false)));
            map.join(beyond);
        }
        ASSERT_EQ(map.freeBlocks(),
                  static_cast<uint64_t>(std::count(used.begin(), used.end(), false)));
    }
    for (const Extent& extent : taken) {
        map.give(extent.firstBlock, extent.blocks);
    }
    EXPECT_TRUE(map.fits(kBlocks)) << "freed stretches did not join";
}

}  // namespace
}  // namespace freshet::block
