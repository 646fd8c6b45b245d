// SPDX-License-Identifier: Apache-2.0
#include "freshet/sync/background_threads.h"

#include "freshet/sync/atomic.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace freshet::sync {
namespace {

/// Returns the executor that the task ran on in between.
Task<Executor*> thereAndBack(BackgroundThreads& threads, Executor& home) {
    BackgroundThreads::Stay stay = threads.begin();
    co_await moveTo(stay.executor());
    Executor* const there = Executor::current();
    co_await moveTo(home);
    EXPECT_EQ(&home, Executor::current());
    co_return there;
}

TEST(BackgroundThreads, RunATaskElsewhereAndLetItComeBack) {
    BackgroundThreads threads(2);
    LocalExecutor home;
    Executor* const there = home.run(thereAndBack(threads, home));
    EXPECT_NE(nullptr, there);
    EXPECT_NE(&home, there);
    // No Stay exists now, so the same thread is used again.
    EXPECT_EQ(there, home.run(thereAndBack(threads, home)));
}

TEST(BackgroundThreads, ThoseWhoStayAreSpreadOverAsManyThreadsAsThereMayBe) {
    BackgroundThreads threads(3);
    std::vector<BackgroundThreads::Stay> stays;
    std::multiset<Executor*> executors;
    for (int i = 0; i < 6; ++i) {
        stays.push_back(threads.begin());
        executors.insert(&stays.back().executor());
    }
    EXPECT_EQ(2U, executors.count(&stays[0].executor()));
    EXPECT_EQ(2U, executors.count(&stays[1].executor()));
    EXPECT_EQ(2U, executors.count(&stays[2].executor()));
    Executor* const freed = &stays[1].executor();
    stays[1].end();
    EXPECT_EQ(freed, &threads.begin().executor()) << "the one with the fewest";
}

}  // namespace
}  // namespace freshet::sync
