// SPDX-License-Identifier: Apache-2.0
/// Who waits for memory, and how long.
#include "freshet/engine/txn/memory_budget.h"

#include <gtest/gtest.h>

namespace freshet::engine {
namespace {

class MemoryBudgetTest : public ::testing::Test {
protected:
    MemoryBudgetTest() {
        budget_.setLimit(1);  // what the process has by now is more
        budget_.start([this] { ++calls_; });
        MemoryCount::add(kPiece);
    }
    ~MemoryBudgetTest() override {
        budget_.stop();
        MemoryCount::subtract(kPiece);
    }
    static constexpr size_t kPiece = 1u << 20;
    MemoryBudget budget_;
    int calls_ = 0;
};

TEST_F(MemoryBudgetTest, WhoeverWaitsGoesOnAfterARoundInVain) {
    sync::WaitToken token;
    ASSERT_TRUE(budget_.mustWait(&token));
    EXPECT_EQ(calls_, 1);
    EXPECT_FALSE(token.isDone());
    EXPECT_FALSE(budget_.endRound(false));
    EXPECT_TRUE(token.isDone());
}

TEST_F(MemoryBudgetTest, WhoeverComesAfterARoundInVainWaitsForTheNext) {
    sync::WaitToken token;
    budget_.endRound(false);
    ASSERT_TRUE(budget_.mustWait(&token));
    EXPECT_FALSE(token.isDone());
    budget_.endRound(false);
    EXPECT_TRUE(token.isDone());
}

TEST_F(MemoryBudgetTest, NobodyWaitsWhenRoundAfterRoundIsInVain) {
    sync::WaitToken token;
    int rounds = 0;
    while (budget_.mustWait(&token)) {
        budget_.endRound(false);
        ASSERT_LT(++rounds, 100);
    }
    EXPECT_GT(rounds, 1);
    EXPECT_FALSE(budget_.endRound(true)) << "nobody waits: no further round";
    EXPECT_TRUE(budget_.mustWait(&token)) << "one that frees something makes it worth waiting";
}

TEST_F(MemoryBudgetTest, RoundsThatFreeTooLittleFollowAtOnce) {
    sync::WaitToken token;
    ASSERT_TRUE(budget_.mustWait(&token));
    int rounds = 0;
    while (budget_.endRound(true)) {
        EXPECT_FALSE(token.isDone());
        ASSERT_LT(++rounds, 100);
    }
    EXPECT_GT(rounds, 1);
    EXPECT_TRUE(token.isDone());
}

TEST_F(MemoryBudgetTest, NobodyWaitsWhenNobodyEvicts) {
    sync::WaitToken token;
    ASSERT_TRUE(budget_.mustWait(&token));
    budget_.stop();
    EXPECT_TRUE(token.isDone());
    EXPECT_FALSE(budget_.mustWait(&token));
}

}  // namespace
}  // namespace freshet::engine
