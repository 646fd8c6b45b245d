// SPDX-License-Identifier: Apache-2.0
/// Which threads wait for memory, and for how long.
#include "freshet/engine/memory/memory_budget.h"

#include <gtest/gtest.h>

namespace freshet::engine {
namespace {

class MemoryBudgetTest : public ::testing::Test {
protected:
    MemoryBudgetTest() {
        budget_.setLimit(1, true);  // the process already uses more
        budget_.start([this] { ++calls_; });
        MemoryCount::add(kPiece);
    }
    ~MemoryBudgetTest() override {
        budget_.stop();
        MemoryCount::subtract(kPiece);
    }
    static constexpr size_t kPiece = 1u << 20;
    static constexpr uint64_t kMilli = 1'000'000;
    static constexpr uint64_t kNow = 12'345 * kMilli;
    using Round = MemoryBudget::Round;
    MemoryBudget budget_;
    int calls_ = 0;
};

TEST_F(MemoryBudgetTest, WaitingCallersGoOnAfterARoundInVain) {
    sync::WaitToken token;
    ASSERT_TRUE(budget_.mustWait(&token));
    EXPECT_EQ(calls_, 1);
    EXPECT_FALSE(token.isDone());
    EXPECT_FALSE(budget_.endRound(Round::kVain, kNow));
    EXPECT_TRUE(token.isDone());
}

TEST_F(MemoryBudgetTest, CallersAfterARoundInVainWaitForTheNext) {
    sync::WaitToken token;
    budget_.endRound(Round::kVain, kNow);
    ASSERT_TRUE(budget_.mustWait(&token));
    EXPECT_FALSE(token.isDone());
    budget_.endRound(Round::kVain, kNow);
    EXPECT_TRUE(token.isDone());
}

TEST_F(MemoryBudgetTest, NoCallerWaitsAfterManyRoundsInVain) {
    sync::WaitToken token;
    int rounds = 0;
    while (budget_.mustWait(&token)) {
        budget_.endRound(Round::kVain, kNow);
        ASSERT_LT(++rounds, 100);
    }
    EXPECT_GT(rounds, 1);
    EXPECT_FALSE(budget_.endRound(Round::kFreed, kNow)) << "no caller waits: no further round";
    EXPECT_TRUE(budget_.mustWait(&token)) << "one that frees something makes it worth waiting";
}

TEST_F(MemoryBudgetTest, CallersWaitBrieflyForMemoryThatIsHeldBack) {
    sync::WaitToken token;
    uint64_t now = kNow;
    for (; budget_.mustWait(&token); now += kMilli) {
        budget_.endRound(Round::kHeldBack, now);
        ASSERT_LT(now, kNow + 3'000 * kMilli);
    }
    EXPECT_GT(now, kNow + 500 * kMilli) << "as long as a thread may wait for its core";
    budget_.endRound(Round::kFreed, now);
    EXPECT_TRUE(budget_.mustWait(&token));
}

TEST_F(MemoryBudgetTest, RoundsThatFreeTooLittleFollowAtOnce) {
    sync::WaitToken token;
    ASSERT_TRUE(budget_.mustWait(&token));
    int rounds = 0;
    while (budget_.endRound(Round::kFreed, kNow)) {
        EXPECT_FALSE(token.isDone());
        ASSERT_LT(++rounds, 100);
    }
    EXPECT_GT(rounds, 1);
    EXPECT_TRUE(token.isDone());
}

TEST_F(MemoryBudgetTest, NoCallerWaitsWithoutEviction) {
    sync::WaitToken token;
    ASSERT_TRUE(budget_.mustWait(&token));
    budget_.stop();
    EXPECT_TRUE(token.isDone());
    EXPECT_FALSE(budget_.mustWait(&token));
}

TEST_F(MemoryBudgetTest, OtherMemoryLeavesPagesAtLeastHalf) {
    constexpr uint64_t kLimit = 1'000'000;
    budget_.setLimit(kLimit, true);
    EXPECT_EQ(budget_.high(), 800'000u);
    budget_.setBeside(300'000);
    EXPECT_EQ(budget_.high(), 560'000u);
    budget_.setBeside(10 * kLimit);
    EXPECT_EQ(budget_.high(), 400'000u);
    budget_.setBeside(0);
    EXPECT_EQ(budget_.high(), 800'000u);
    budget_.setLimit(kLimit, false);
    budget_.setBeside(300'000);
    EXPECT_EQ(budget_.high(), 800'000u) << "a ceiling of pages only";
    EXPECT_EQ(budget_.limit(), kLimit);
}

}  // namespace
}  // namespace freshet::engine
