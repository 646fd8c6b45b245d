// SPDX-License-Identifier: Apache-2.0
#include "freshet/sync/memory_pool.h"

#include "freshet/platform/thread.h"

#include <gtest/gtest.h>

#include <deque>

namespace freshet::sync {
namespace {

constexpr uint64_t kUnit = MemoryHold::kUnitBytes;

TEST(MemoryPool, RefusesWhatGoesBeyondTheBoundAndTakesNothingThen) {
    MemoryPool pool(10 * kUnit);
    MemoryHold first(&pool);
    MemoryHold second(&pool);
    EXPECT_TRUE(first.tryResize(7 * kUnit));
    EXPECT_FALSE(second.tryResize(4 * kUnit));
    EXPECT_EQ(0U, second.bytes());
    EXPECT_TRUE(second.tryResize(3 * kUnit));
    EXPECT_EQ(10 * kUnit, pool.used());
    first.release();
    EXPECT_EQ(3 * kUnit, pool.used());
}

TEST(MemoryPool, WhatIsSmallIsNotCounted) {
    MemoryPool pool(1);
    MemoryHold hold(&pool);
    EXPECT_TRUE(hold.tryResize(kUnit - 1));
    EXPECT_EQ(0U, pool.used());
    EXPECT_FALSE(hold.tryResize(kUnit));
}

TEST(MemoryPool, WhatIsThereAlreadyCountsBeyondTheBound) {
    MemoryPool pool(kUnit);
    MemoryHold hold(&pool);
    hold.resize(5 * kUnit);
    EXPECT_EQ(5 * kUnit, pool.used());
    EXPECT_FALSE(pool.tryTake(1));
    EXPECT_TRUE(hold.tryResize(kUnit)) << "to hold less is always allowed";
    EXPECT_EQ(kUnit, pool.used());
}

TEST(MemoryPool, ReportsGrowthBySixteenths) {
    MemoryPool pool(16'000);
    int calls = 0;
    pool.onGrowth([&calls] { ++calls; });
    pool.take(900);
    EXPECT_EQ(calls, 0);
    EXPECT_TRUE(pool.tryTake(200));
    EXPECT_EQ(calls, 1);
    pool.giveBack(1'000);
    pool.take(800);
    EXPECT_EQ(calls, 1) << "regaining an earlier amount is no growth";
    pool.take(5'000);
    EXPECT_EQ(calls, 2);
    EXPECT_FALSE(pool.tryTake(16'000));
    EXPECT_EQ(calls, 2);
}

TEST(MemoryPool, AHoldThatMovesIsGivenBackOnce) {
    MemoryPool pool;
    {
        MemoryHold hold(&pool);
        hold.resize(2 * kUnit);
        MemoryHold other(std::move(hold));
        MemoryHold third(&pool);
        third.resize(kUnit);
        third = std::move(other);
        EXPECT_EQ(2 * kUnit, pool.used());
    }
    EXPECT_EQ(0U, pool.used());
}

TEST(MemoryPool, AWaiterForRoomIsWokenWhenSomethingIsGivenBack) {
    MemoryPool pool(8 * kUnit);
    constexpr int kHolders = 4;
    constexpr int kRounds = 2'000;
    Atomic<uint64_t> most{0};
    {
        std::deque<platform::Thread> holders;
        for (int h = 0; h < kHolders; ++h) {
            holders.emplace_back("holder", [&] {
                for (int round = 0; round < kRounds; ++round) {
                    MemoryHold hold(&pool);
                    while (!hold.tryResize(5 * kUnit)) {
                        const WaitToken token = pool.whenGivenBack();
                        if (hold.tryResize(5 * kUnit)) {
                            break;
                        }
                        blockOn(token);
                    }
                    const uint64_t used = pool.used();
                    if (used > most.load(kRelaxed)) {
                        most.store(used, kRelaxed);
                    }
                }
            });
        }
    }
    EXPECT_EQ(5 * kUnit, most.load(kRelaxed)) << "two never hold five of eight";
    EXPECT_EQ(0U, pool.used());
}

}  // namespace
}  // namespace freshet::sync
