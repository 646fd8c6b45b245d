// SPDX-License-Identifier: Apache-2.0
/// The slot ring and the writer's role under every schedule (within bounds), and under schedules
/// with stale loads: K = 2 slots of 3 units, so that a handful of records wraps the ring. Then the
/// same with one seeded mistake at a time, each of which must be found.
#include "freshet/journal/slot/ring_model.h"
#include "freshet/testing/sim/explorer.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

namespace freshet::journal {
namespace {

using testing::check;
using testing::explore;
using testing::ExploreOptions;
using testing::ExploreResult;
using testing::Model;
using testing::waitUntil;

constexpr uint32_t kSlots = 2;
constexpr uint32_t kDataUnits = 3;

/// What each thread appends: units of its records in turn.
using Plan = std::vector<std::vector<uint32_t>>;

template <typename Policy>
struct World {
    World() { ring.expect = &check; }
    RingModel<Policy> ring{kSlots, kDataUnits};
    uint32_t running = 0;
};

enum class Waits : uint8_t {
    kNone,
    kFirst,  // checks what has been written
    kAll,    // sleep until woken
    kHeld,   // check, after each record, whether it would survive the process
};

struct Sleeper : sync::Waiter {
    Sleeper() {
        wake = [](sync::Waiter* self) { static_cast<Sleeper*>(self)->woken = true; };
    }
    bool woken = false;
};

template <typename Policy>
void appendAll(World<Policy>& world, uint32_t me, const std::vector<uint32_t>& units, Waits waits) {
    uint64_t lsn = 0;
    for (uint32_t number = 0; number < units.size(); ++number) {
        for (;;) {
            uint64_t wakes = world.ring.wakes;
            if (world.ring.tryAppend(me, number, units[number], &lsn)) {
                break;
            }
            // J5: some thread is going to write; otherwise this never ends and the explorer reports
            // it.
            waitUntil([&world, wakes] { return world.ring.wakes != wakes; });
        }
        if (waits == Waits::kHeld) {
            (void)world.ring.isHeld(lsn);
        }
    }
    if (waits == Waits::kAll) {
        world.ring.want(lsn);
        sync::WaitToken token;
        Sleeper sleeper;
        if (!world.ring.isWritten(lsn, &token) && token.arm(&sleeper)) {
            waitUntil([&sleeper] { return sleeper.woken; });
        }
    }
    if (waits == Waits::kFirst && me == 0) {
        world.ring.want(lsn);
        waitUntil([&world, lsn] {
            const auto& records = world.ring.records;
            return !records.empty() && records.back().lsn >= lsn;
        });
    }
    --world.running;
}

template <typename Policy>
void checkAll(World<Policy>& world, const Plan& plan) {
    world.ring.want(world.ring.ring.tail() - 1);
    if (world.ring.roleOffered) {
        world.ring.writer.notify();
    }
    std::map<uint32_t, uint32_t> next;
    uint64_t last = 0;
    for (const auto& record : world.ring.records) {
        check(record.number == next[record.thread]++, "each thread's records in its own order");
        check(record.lsn > last, "LSNs rise");
        last = record.lsn;
    }
    for (uint32_t t = 0; t < plan.size(); ++t) {
        check(next[t] == plan[t].size(), "every record is written once");
    }
}

/// Joiners by `plan`; those of `waits` wait for their last record to be written; one more thread
/// takes the role when it is passed on, as the journal's helper does.
template <typename Policy>
ExploreResult run(const ExploreOptions& options, const Plan& plan, Waits waits = Waits::kFirst) {
    return explore(options, [&plan, waits](Model& model) {
        auto world = std::make_shared<World<Policy>>();
        world->running = static_cast<uint32_t>(plan.size());
        world->ring.notesUnits = waits == Waits::kHeld;
        for (uint32_t t = 0; t < plan.size(); ++t) {
            model.thread([world, t, &plan, waits] { appendAll(*world, t, plan[t], waits); });
        }
        model.thread([world] {
            for (;;) {
                waitUntil([&world] { return world->ring.roleOffered || world->running == 0; });
                if (!world->ring.roleOffered) {
                    return;
                }
                world->ring.roleOffered = false;
                world->ring.writer.notify();
            }
        });
        model.finally([world, &plan] { checkAll(*world, plan); });
    });
}

/// Three joiners; seven units in slots of three: the ring wraps, fills up and the role is passed
/// on.
const Plan kThreeJoiners = {{2, 1}, {2}, {2}};
const Plan kTwoJoiners = {{2, 2, 1}, {2, 1}};

ExploreOptions exhaustive(unsigned preemptions, unsigned staleLoads) {
    ExploreOptions options;
    options.preemptions = preemptions;
    options.staleLoads = staleLoads;
    return options;
}

ExploreOptions randomly(uint64_t executions, unsigned staleLoads) {
    ExploreOptions options;
    options.mode = ExploreOptions::Mode::kRandom;
    options.executionsMax = executions;
    options.staleLoads = staleLoads;
    return options;
}

void expectClean(const ExploreResult& result) {
    EXPECT_TRUE(result.passed()) << result.report;
    ::testing::Test::RecordProperty("executions", static_cast<int>(result.executions));
}

TEST(SlotExplore, ThreeJoinersOneRingAllSchedules) {
    ExploreOptions options = exhaustive(2, 0);
    options.executionsMax = 1'000'000;
    ExploreResult result = run<SlotPolicy>(options, kThreeJoiners);
    expectClean(result);
    EXPECT_TRUE(result.complete) << result.executions;
}

TEST(SlotExplore, TwoJoinersDeeper) {
    ExploreOptions options = exhaustive(3, 0);
    options.executionsMax = 100'000;  // not all of them; the test above runs all
    expectClean(run<SlotPolicy>(options, kTwoJoiners));
}

TEST(SlotExplore, StaleLoads) {
    expectClean(run<SlotPolicy>(exhaustive(1, 2), kTwoJoiners));
}

TEST(SlotExplore, RandomSchedules) {
    expectClean(run<SlotPolicy>(randomly(20'000, 2), {{2, 1, 2, 1}, {2, 3, 1}, {1, 1, 2}}));
}

TEST(SlotExplore, WaitersAreWoken) {
    expectClean(run<SlotPolicy>(exhaustive(2, 0), {{2}, {1}}, Waits::kAll));
    expectClean(run<SlotPolicy>(exhaustive(1, 1), {{2}, {1}, {2}}, Waits::kAll));
    expectClean(run<SlotPolicy>(randomly(10'000, 2), {{2, 1}, {2, 3}, {1, 1}}, Waits::kAll));
}

TEST(SlotExplore, WhatIsHeldWouldBeFound) {
    expectClean(run<SlotPolicy>(exhaustive(2, 0), {{2, 1}, {2}}, Waits::kHeld));
    expectClean(run<SlotPolicy>(randomly(20'000, 0), {{2, 1, 2}, {2, 3}, {1, 1}}, Waits::kHeld));
}

struct OneRound : SlotPolicy {
    static constexpr uint32_t kRoundsMax = 1;
};
TEST(SlotExplore, RoleIsPassedOn) {
    expectClean(run<OneRound>(exhaustive(2, 0), {{2, 1}, {2}}));
    expectClean(run<OneRound>(randomly(10'000, 1), {{2, 1, 2}, {2, 2}, {3, 1}}));
    expectClean(run<OneRound>(randomly(10'000, 1), {{2, 1, 2}, {2, 2}, {3, 1}}, Waits::kAll));
}

template <typename Mutant>
void expectKilled(const Plan& plan = kThreeJoiners, Waits waits = Waits::kFirst) {
    ExploreResult result = run<Mutant>(exhaustive(2, 0), plan, waits);
    EXPECT_FALSE(result.passed()) << "survived " << result.executions << " executions";
    ::testing::Test::RecordProperty("failure", result.failure);
}

struct RetryOnOldLap : SlotPolicy {
    static constexpr bool kAdvanceOnOldLap = false;
};
TEST(SlotMutants, RetryInsteadOfAdvance) {
    expectKilled<RetryOnOldLap>();
}

struct HoldsWhatIsBeingCopied : SlotPolicy {
    static constexpr bool kHoldsWhenQuiet = false;
};
TEST(SlotMutants, HoldsWhatIsBeingCopied) {
    expectKilled<HoldsWhatIsBeingCopied>({{1}, {1}}, Waits::kHeld);
}

struct NoEnds : SlotPolicy {
    static constexpr bool kMarksEnds = false;
};
TEST(SlotMutants, SlotsEndUnmarked) {
    expectKilled<NoEnds>({{2, 1}, {1, 2}}, Waits::kHeld);
}

/// The thread that closed a slot may stop before it has marked the end.
struct OnlyCloserMarks : SlotPolicy {
    static constexpr bool kHelpsMarking = false;
};
TEST(SlotMutants, OnlyTheCloserMarksTheEnd) {
    expectKilled<OnlyCloserMarks>({{2, 1}, {1, 2}}, Waits::kHeld);
}

struct RelaxedRelease : SlotPolicy {
    static constexpr auto kReleaseOrder = sync::kRelaxed;
};
TEST(SlotMutants, RelaxedRelease) {
    expectKilled<RelaxedRelease>();
}

struct RelaxedOpen : SlotPolicy {
    static constexpr auto kOpenOrder = sync::kRelaxed;
};
TEST(SlotMutants, RelaxedOpen) {
    expectKilled<RelaxedOpen>();
}

struct SilentClose : SlotPolicy {
    static constexpr bool kNotifyOnClose = false;
};
TEST(SlotMutants, CloseWithoutNotify) {
    expectKilled<SilentClose>();
}

struct LeavesDespiteNotes : SlotPolicy {
    static constexpr bool kLeaveOnlyWithoutNotes = false;
};
TEST(SlotMutants, LeavingDespiteNotes) {
    expectKilled<LeavesDespiteNotes>();
}

struct DropsWithoutPassing : OneRound {
    static constexpr bool kPassRole = false;
};
TEST(SlotMutants, DropWithoutPassing) {
    expectKilled<DropsWithoutPassing>();
}

struct WakesNoneAfterPassing : OneRound {
    static constexpr bool kWakeAfterPassing = false;
};
TEST(SlotMutants, NoWakeUpAfterPassing) {
    expectKilled<WakesNoneAfterPassing>({{2}, {1}}, Waits::kAll);
}

}  // namespace
}  // namespace freshet::journal
