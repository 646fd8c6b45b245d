// SPDX-License-Identifier: Apache-2.0
/// Model checks of what a snapshot of the log consists of: exactly the commits whose records have a
/// time up to its own, whatever the order of their timestamps. Each seeded mistake must be found.
#include "freshet/engine/commits/commit_steps.h"
#include "freshet/engine/commits/snapshot_search.h"
#include "freshet/testing/sim/explorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <optional>

namespace freshet::engine {
namespace {

using testing::check;
using testing::explore;
using testing::ExploreOptions;
using testing::ExploreResult;
using testing::Model;
using testing::Uninterrupted;
using testing::waitUntil;

struct World {
    static constexpr TxnLimits kTiny{
        .ringCells = 2, .entriesMax = 6, .entriesPerChunk = 8, .freeLists = 1};
    static constexpr size_t kCommits = 3;

    explicit World(uint32_t cells = 8) {
        Uninterrupted whole;
        domain.here();
        times.start(domain, cells);
        start = table.snapshot();
    }
    ~World() {
        times.stop();
        times.free();
    }

    /// A commit from its floor to its end. In this log a record's LSN is its time.
    void commit(size_t i, uint16_t participant) {
        uint64_t stamp = 0;
        {
            Uninterrupted whole;
            stamp = *table.open();
        }
        CommitSteps steps(table, floors, times, participant);
        steps.begin(stamp, tail.load(sync::kAcquire));
        const uint64_t time = tail.fetch_add(1, sync::kAcqRel);
        const uint64_t ts = steps.complete(stamp, time);
        Uninterrupted whole;
        made[i] = {time, ts};
        table.close(stamp);
    }
    SnapshotSearch::Result run(SnapshotSearch* search) {
        return search->run(
            table, floors, times.reader(), [this] { return tail.load(sync::kAcquire); });
    }
    /// A snapshot of now.
    void look() {
        SnapshotSearch search = begin();
        check(end(search) != SnapshotSearch::Result::kLost, "the notes are there");
    }
    SnapshotSearch begin() {
        const uint64_t base = table.snapshot();
        const uint64_t time = tail.load(sync::kAcquire) - 1;
        return SnapshotSearch(time, base, time + 1);
    }
    SnapshotSearch::Result end(SnapshotSearch& search) {
        SnapshotSearch::Result result = run(&search);
        for (int i = 0; i < 2 && result == SnapshotSearch::Result::kWait; ++i) {
            sync::exploreYield();
            result = run(&search);
        }
        if (result == SnapshotSearch::Result::kFound) {
            found = std::move(search);
        }
        return result;
    }
    void judge(SnapshotSearch& search) const {
        const std::vector<uint64_t> late = search.takeLate();
        for (const Made& commit : made) {
            const bool isSeen = commit.ts <= search.readTs() ||
                                std::find(late.begin(), late.end(), commit.ts) != late.end();
            check(isSeen == (commit.time <= search.time()), "a snapshot is a prefix of the log");
        }
    }
    /// Every commit is complete: each place of the log can be found from the start.
    void judgeAll() {
        for (uint64_t time = 0; time <= kCommits; ++time) {
            SnapshotSearch search(time, start, tail.load(sync::kAcquire));
            check(run(&search) == SnapshotSearch::Result::kFound, "nothing is under way");
            judge(search);
        }
    }

    TxnTable table{kTiny};
    sync::EpochDomain domain{&table.clock()};
    CommitFloors floors;
    CommitTimes times;
    sync::Atomic<uint64_t> tail{1};
    uint64_t start = 0;
    struct Made {
        uint64_t time = 0;
        uint64_t ts = 0;
    };
    std::array<Made, kCommits> made{};
    std::optional<SnapshotSearch> found;
};

ExploreResult searched(Mutant mutant, const ExploreOptions& options) {
    activeMutant<Mutant> = mutant;
    ExploreResult result = explore(options, [](Model& model) {
        auto world = std::make_shared<World>();
        model.thread([world] { world->commit(0, 0); });
        model.thread([world] {
            world->commit(1, 1);
            world->commit(2, 1);
        });
        model.thread([world] { world->look(); });
        model.finally([world] {
            if (world->found) {
                world->judge(*world->found);
            }
            world->judgeAll();
        });
    });
    activeMutant<Mutant> = Mutant::kNone;
    return result;
}

TEST(SnapshotSearchExplore, ASnapshotIsAPrefixOfTheLog) {
    const ExploreResult result = searched(Mutant::kNone, {.preemptions = 2});
    EXPECT_TRUE(result.passed() && result.complete) << result.report;
    const ExploreResult stale =
        searched(Mutant::kNone, {.preemptions = 1, .staleLoads = 1, .executionsMax = 100'000});
    EXPECT_TRUE(stale.passed()) << stale.report;
    const ExploreResult random = searched(Mutant::kNone,
                                          {.mode = ExploreOptions::Mode::kRandom,
                                           .preemptions = 4,
                                           .staleLoads = 2,
                                           .executionsMax = 20'000});
    EXPECT_TRUE(random.passed()) << random.report;
    std::cout << result.executions << " and " << stale.executions << " executions\n";
}

class SnapshotSearchMutants : public ::testing::TestWithParam<Mutant> {};

TEST_P(SnapshotSearchMutants, IsFound) {
    const ExploreResult result =
        searched(GetParam(), {.preemptions = 3, .executionsMax = 1'000'000});
    EXPECT_EQ("check failed: a snapshot is a prefix of the log", result.failure) << result.report;
    std::cout << result.executions << " executions\n";
}

/// There is room for two notes. While a thread commits, another one makes two commits; so the
/// second of these may be noted in the place of the first thread's, before that one is. The
/// reader's snapshot is of a moment between the two.
ExploreResult overtaken(Mutant mutant) {
    struct Lap : World {
        Lap() : World(2) {}
        bool isFirstDone = false;
        bool hasBegun = false;

        void join() {
            Uninterrupted whole;
            domain.here();
        }
        void commitInSlice(size_t i, uint16_t participant) {
            sync::Slice slice(domain);
            commit(i, participant);
        }
    };
    activeMutant<Mutant> = mutant;
    ExploreResult result =
        explore({.preemptions = 2, .executionsMax = 1'000'000}, [](Model& model) {
            auto world = std::make_shared<Lap>();
            model.thread([world] {
                world->join();
                world->commitInSlice(0, 0);
            });
            model.thread([world] {
                world->join();
                world->commitInSlice(1, 1);
                world->isFirstDone = true;
                waitUntil([world] { return world->hasBegun; });
                world->commitInSlice(2, 1);
            });
            model.thread([world] {
                world->join();
                waitUntil([world] { return world->isFirstDone; });
                SnapshotSearch search = world->begin();
                world->hasBegun = true;
                sync::Slice slice(world->domain);
                world->end(search);
            });
            model.finally([world] {
                if (world->found) {
                    world->judge(*world->found);
                }
            });
        });
    activeMutant<Mutant> = Mutant::kNone;
    return result;
}

TEST(SnapshotSearchExplore, AnOvertakenCommitSpoilsNoNote) {
    const ExploreResult result = overtaken(Mutant::kNone);
    EXPECT_TRUE(result.passed() && result.complete) << result.report;
    const ExploreResult mutant = overtaken(Mutant::kNotedInLaterLap);
    EXPECT_EQ("check failed: a snapshot is a prefix of the log", mutant.failure) << mutant.report;
    std::cout << result.executions << " and " << mutant.executions << " executions\n";
}

INSTANTIATE_TEST_SUITE_P(All,
                         SnapshotSearchMutants,
                         ::testing::Values(Mutant::kNotedLate,
                                           Mutant::kSearchesAtOnce,
                                           Mutant::kLateForgotten));

}  // namespace
}  // namespace freshet::engine
