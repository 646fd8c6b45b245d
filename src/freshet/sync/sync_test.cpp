// SPDX-License-Identifier: Apache-2.0
/// WaitToken, Alarms, Task and LocalExecutor.
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/alarms.h"
#include "freshet/sync/local_executor.h"
#include "freshet/sync/task_frames.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace freshet::sync {
namespace {

struct CountingWaiter : Waiter {
    Atomic<int> woken{0};
    CountingWaiter() {
        wake = [](Waiter* self) {
            static_cast<CountingWaiter*>(self)->woken.fetch_add(1, kRelaxed);
        };
    }
};

TEST(WaitToken, WakesTheArmedWaiterOnceHoweverOftenItIsCompleted) {
    WaitToken token = WaitToken::create();
    WaitToken copy = token;
    CountingWaiter waiter;
    ASSERT_TRUE(token.arm(&waiter));
    EXPECT_FALSE(copy.isDone());
    copy.complete();
    copy.complete();
    EXPECT_EQ(waiter.woken.load(kRelaxed), 1);
    EXPECT_TRUE(token.isDone());
}

TEST(WaitToken, ArmingACompleteTokenSaysSoAndNeverWakes) {
    WaitToken token = WaitToken::completed();
    CountingWaiter waiter;
    EXPECT_FALSE(token.arm(&waiter));
    token.complete();
    EXPECT_EQ(waiter.woken.load(kRelaxed), 0);
    EXPECT_FALSE(WaitToken().isSet());
}

TEST(WaitToken, ADisarmedWaiterIsNotWokenAndAnotherMayBeArmed) {
    WaitToken token = WaitToken::create();
    CountingWaiter first;
    CountingWaiter second;
    ASSERT_TRUE(token.arm(&first));
    EXPECT_TRUE(token.disarm(&first));
    ASSERT_TRUE(token.arm(&second));
    token.complete();
    EXPECT_EQ(0, first.woken.load(kRelaxed));
    EXPECT_EQ(1, second.woken.load(kRelaxed));
    EXPECT_FALSE(token.disarm(&second));
}

TEST(Alarms, RingInTheOrderOfTheirTimesAndNotWhenCancelled) {
    Alarms alarms;
    const uint64_t now = platform::monotonicNanos();
    WaitToken later = WaitToken::create();
    WaitToken never = WaitToken::create();
    WaitToken soon = WaitToken::create();
    alarms.set(now + 2'000'000, later);
    const Alarms::Id cancelled = alarms.set(now + 1'500'000, never);
    alarms.set(now + 1'000'000, soon);
    alarms.cancel(cancelled);
    blockOn(later);
    EXPECT_GE(platform::monotonicNanos(), now + 2'000'000);
    EXPECT_TRUE(soon.isDone());
    EXPECT_FALSE(never.isDone());
    EXPECT_EQ(0u, alarms.count());
}

TEST(Alarms, TheEndCompletesAllThatWait) {
    WaitToken token = WaitToken::create();
    {
        Alarms alarms;
        alarms.set(platform::monotonicNanos() + 3'600'000'000'000, token);
    }
    EXPECT_TRUE(token.isDone());
}

TEST(WaitToken, AThreadBlocksUntilAnotherCompletes) {
    for (int round = 0; round < 200; ++round) {
        WaitToken token = WaitToken::create();
        int data = 0;
        platform::Thread completer("completer", [&data, token] {
            data = 7;
            token.complete();
        });
        blockOn(token);
        EXPECT_EQ(data, 7);
    }
}

Task<int> twice(int x) {
    co_return x * 2;
}

Task<int> sumOfTwice(int count) {
    int sum = 0;
    for (int i = 0; i < count; ++i) {
        sum += co_await twice(i);
    }
    co_return sum;
}

TEST(Task, YieldsItsValueToItsAwaiter) {
    LocalExecutor executor;
    EXPECT_EQ(executor.run(sumOfTwice(4)), 12);
}

TEST(Task, ALongChainDoesNotGrowTheStack) {
    LocalExecutor executor;
    EXPECT_EQ(executor.run(sumOfTwice(30'000)), 30'000 * 29'999);
}

Task<void> note(std::vector<std::string>* seen, std::string text, WaitToken token) {
    co_await wait(token);
    seen->push_back(text);
}

TEST(TaskFrames, AreUsedAgainByTheirThreadAndMayGoBackOnAnother) {
    std::vector<std::pair<void*, size_t>> frames;
    for (size_t bytes : {1u, 63u, 64u, 65u, 2'000u, 2'048u, 2'049u, 10'000u}) {
        for (int i = 0; i < 100; ++i) {  // more than a thread keeps of one size
            void* frame = allocateFrame(bytes);
            std::memset(frame, i, bytes);
            frames.emplace_back(frame, bytes);
        }
    }
    std::set<void*> distinct;
    for (const auto& [frame, bytes] : frames) {
        EXPECT_TRUE(distinct.insert(frame).second);
    }
    platform::Thread elsewhere("frames", [&] {
        for (const auto& [frame, bytes] : frames) {
            freeFrame(frame, bytes);
        }
        for (int i = 0; i < 100; ++i) {
            void* frame = allocateFrame(64);
            std::memset(frame, i, 64);
            freeFrame(frame, 64);
        }
    });
    elsewhere.join();
}

TEST(LocalExecutor, WaitingForACompleteTokenLetsOthersRunFirst) {
    LocalExecutor executor;
    std::vector<std::string> seen;
    auto all = [](LocalExecutor* on, std::vector<std::string>* seen) -> Task<void> {
        spawn(*on, note(seen, "spawned", WaitToken::completed()));
        co_await wait(WaitToken::completed());
        seen->push_back("first");
        co_await wait(WaitToken::completed());
        seen->push_back("second");
    };
    executor.run(all(&executor, &seen));
    EXPECT_EQ(seen, (std::vector<std::string>{"first", "spawned", "second"}));
}

TEST(LocalExecutor, TimersFireInTheOrderOfTheirTimesAndNotEarly) {
    LocalExecutor executor;
    std::vector<std::string> seen;
    auto all = [](LocalExecutor* on, std::vector<std::string>* seen) -> Task<void> {
        WaitToken late = on->after(20);
        spawn(*on, note(seen, "early", on->after(1)));
        co_await note(seen, "late", late);
    };
    uint64_t start = platform::monotonicNanos();
    executor.run(all(&executor, &seen));
    EXPECT_GE(platform::monotonicNanos() - start, 20'000'000u);
    EXPECT_EQ(seen, (std::vector<std::string>{"early", "late"}));
}

TEST(LocalExecutor, ACoroutineResumesOnItsOwnThreadWhicheverThreadCompletes) {
    LocalExecutor executor;
    EXPECT_EQ(Executor::current(), nullptr);
    auto waiting = [](LocalExecutor* on, WaitToken token) -> Task<bool> {
        co_await wait(token);
        co_return Executor::current() == on;
    };
    for (int round = 0; round < 100; ++round) {
        WaitToken token = WaitToken::create();
        platform::Thread completer("completer", [token] { token.complete(); });
        EXPECT_TRUE(executor.run(waiting(&executor, token)));
    }
    EXPECT_EQ(Executor::current(), nullptr);
}

struct Posted : WorkItem {
    std::vector<int>* seen = nullptr;
    int number = 0;
};

TEST(LocalExecutor, KeepsTheOrderOfEachPoster) {
    LocalExecutor executor;
    constexpr int kPosters = 3;
    constexpr int kItems = 200;
    std::vector<int> seen;
    std::vector<Posted> items(kPosters * kItems);
    std::vector<platform::Thread> posters;
    WaitToken done = WaitToken::create();
    Atomic<int> left{kPosters};
    for (int p = 0; p < kPosters; ++p) {
        posters.emplace_back("poster", [&, p] {
            for (int i = 0; i < kItems; ++i) {
                Posted& item = items[static_cast<size_t>(p * kItems + i)];
                item.seen = &seen;
                item.number = p * kItems + i;
                item.run = [](WorkItem* self) {
                    auto* posted = static_cast<Posted*>(self);
                    posted->seen->push_back(posted->number);
                };
                executor.post(&item);
            }
            if (left.fetch_sub(1, kAcqRel) == 1) {
                done.complete();
            }
        });
    }
    auto waiting = [](WaitToken token) -> Task<void> { co_await wait(token); };
    executor.run(waiting(done));
    std::vector<int> last(kPosters, -1);
    for (int number : seen) {
        int& before = last[static_cast<size_t>(number / kItems)];
        EXPECT_GT(number, before);
        before = number;
    }
    EXPECT_EQ(seen.size(), items.size());
}

}  // namespace
}  // namespace freshet::sync
