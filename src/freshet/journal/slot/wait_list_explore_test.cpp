// SPDX-License-Identifier: Apache-2.0
/// No wake-up is lost: one waiter and two wakers with different limits, under every schedule within
/// bounds, with stale loads.
#include "freshet/journal/slot/raise.h"
#include "freshet/journal/slot/wait_list.h"
#include "freshet/testing/sim/explorer.h"

#include <gtest/gtest.h>

#include <memory>

namespace freshet::journal {
namespace {

using testing::check;
using testing::explore;
using testing::ExploreOptions;
using testing::ExploreResult;
using testing::Model;

struct World {
    WaitList list;
    sync::Atomic<uint64_t> position{0};
    sync::WaitToken tokens[2];
    bool sawPosition[2] = {};
};

/// As Journal::Impl::await() does it; `looksAgain` is what the mutant leaves out.
void wait(World& world, int me, uint64_t end, bool looksAgain) {
    world.tokens[me] = world.list.add(end);
    world.sawPosition[me] = looksAgain && world.position.load(sync::kAcquire) >= end;
}

void reach(World& world, uint64_t limit) {
    raiseTo(world.position, limit);
    world.list.wake(limit);
}

ExploreResult run(unsigned staleLoads, bool looksAgain) {
    ExploreOptions options;
    options.preemptions = 2;
    options.staleLoads = staleLoads;
    options.executionsMax = 60'000;
    return explore(options, [looksAgain](Model& model) {
        auto world = std::make_shared<World>();
        model.thread([world, looksAgain] { wait(*world, 0, 10, looksAgain); });
        model.thread([world, looksAgain] { wait(*world, 1, 20, looksAgain); });
        model.thread([world] { reach(*world, 10); });
        model.thread([world] { reach(*world, 20); });
        model.finally([world] {
            for (int i = 0; i < 2; ++i) {
                check(world->sawPosition[i] || world->tokens[i].isDone(),
                      "no thread sleeps for ever");
            }
        });
    });
}

TEST(WaitListExplore, NoWakeUpIsLost) {
    for (unsigned staleLoads : {0u, 2u}) {
        ExploreResult result = run(staleLoads, true);
        EXPECT_TRUE(result.passed()) << result.report;
    }
}

TEST(WaitListMutants, NotLookingAgain) {
    EXPECT_FALSE(run(0, false).passed());
}

}  // namespace
}  // namespace freshet::journal
