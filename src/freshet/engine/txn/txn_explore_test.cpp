// SPDX-License-Identifier: Apache-2.0
/// Model checks of the transaction table: late helpers, recycled entries, laps of the ring, waiters
/// (INV-engine-6, INV-engine-7). Each seeded mistake must be found.
#include "freshet/engine/tree/version.h"
#include "freshet/engine/txn/mutant.h"
#include "freshet/engine/txn/txn_table.h"
#include "freshet/engine/txn/write_set.h"
#include "freshet/testing/sim/explorer.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace freshet::engine {
namespace {

using sync::kRelaxed;
using testing::check;
using testing::explore;
using testing::ExploreOptions;
using testing::ExploreResult;
using testing::Model;

/// Two cells, so that every third commit is a lap further; few entries, so that they are reused.
constexpr TxnLimits kTiny{.ringCells = 2, .entriesMax = 6, .entriesPerChunk = 8};

struct Table {
    static constexpr size_t kVersionsMax = 4;

    Table() {
        for (Version*& version : versions) {
            version = Version::create(VersionOp::kPut, {"v"}, false, 0);
        }
    }
    ~Table() {
        for (Version* version : versions) {
            Version::destroy(version);
        }
    }

    /// One writing transaction from begin to end.
    void commit(size_t i) {
        Version* version = versions[i];
        const uint64_t stamp = *txns.open();
        // relaxed: the tree's CAS would publish it; here readers may find it at any time.
        version->stamp.store(stamp, sync::kRelease);
        txns.setCommitting(stamp);
        const uint64_t given = txns.claim(stamp);
        check(txns.snapshot() >= given, "a claim that returned is complete");
        const Outcome outcome = txns.resolve(version->stamp);
        check(outcome.fate == Fate::kCommitted && outcome.ts == given,
              "a version is committed at the claimed timestamp");
        ts[i] = given;
        settle(txns, stamp, std::span<Version* const>(&version, 1), given);
    }
    void abort(size_t i) {
        const uint64_t stamp = *txns.open();
        versions[i]->stamp.store(stamp, sync::kRelease);
        txns.setAborted(stamp);
        settle(txns, stamp, std::span<Version* const>(&versions[i], 1), kStampAborted);
    }

    /// What a snapshot saw of a version.
    struct Sight {
        uint64_t snapshot = 0;
        Outcome outcome;
        bool looked = false;
    };
    void look(size_t i, Sight* sight) {
        const uint64_t snapshot = txns.snapshot();
        // In flight from the start or not begun: stamp 0 stands for "not written yet".
        if (versions[i]->stamp.load(sync::kAcquire) != 0) {
            *sight = {snapshot, txns.resolve(versions[i]->stamp), true};
        }
    }
    void judge(size_t i, const Sight& sight) const {
        if (!sight.looked || ts[i] == 0) {
            return;
        }
        const bool visible =
            sight.outcome.fate == Fate::kCommitted && sight.outcome.ts <= sight.snapshot;
        check(visible == (ts[i] <= sight.snapshot), "a snapshot sees exactly its past");
        check(sight.outcome.fate != Fate::kCommitted || sight.outcome.ts == ts[i],
              "a version has one timestamp");
    }

    TxnTable txns{kTiny};
    std::array<Version*, kVersionsMax> versions{};
    std::array<uint64_t, kVersionsMax> ts{};  // plain: written by the committer, read at the end
};

/// T1 commits twice with one entry, T2 commits once, T3 looks at both of T1's.
ExploreResult ring(Mutant mutant, ExploreOptions options) {
    activeMutant = mutant;
    ExploreResult result = explore(options, [](Model& model) {
        auto table = std::make_shared<Table>();
        auto sights = std::make_shared<std::array<Table::Sight, 2>>();
        model.thread([table] {
            table->commit(0);
            table->commit(1);
        });
        model.thread([table] { table->commit(2); });
        model.thread([table, sights] {
            table->look(0, &(*sights)[0]);
            table->look(1, &(*sights)[1]);
        });
        model.finally([table, sights] {
            table->judge(0, (*sights)[0]);
            table->judge(1, (*sights)[1]);
            check(table->txns.snapshot() == kTiny.ringCells + 3, "one timestamp for each commit");
            check(table->ts[0] < table->ts[1], "a thread's commits are in its order");
            check(table->ts[2] != table->ts[0] && table->ts[2] != table->ts[1], "all differ");
        });
    });
    activeMutant = Mutant::kNone;
    return result;
}

TEST(CommitRing, LateHelpersAndRecycledEntriesDoNoHarm) {
    const ExploreResult result = ring(Mutant::kNone, {.preemptions = 2});
    EXPECT_TRUE(result.passed()) << result.report;
    EXPECT_TRUE(result.complete) << result.executions;
    const ExploreResult stale =
        ring(Mutant::kNone, {.preemptions = 1, .staleLoads = 1, .executionsMax = 20'000});
    EXPECT_TRUE(stale.passed()) << stale.report;
    const ExploreResult random =
        ring(Mutant::kNone,
             {.mode = ExploreOptions::Mode::kRandom, .staleLoads = 2, .executionsMax = 5'000});
    EXPECT_TRUE(random.passed()) << random.report << " seed " << random.seed;
}

class CommitRingMutants : public ::testing::TestWithParam<Mutant> {};

TEST_P(CommitRingMutants, IsFound) {
    const ExploreResult result = ring(GetParam(), {.preemptions = 2});
    EXPECT_FALSE(result.passed()) << result.executions;
    std::cout << result.failure << " after " << result.executions << " executions\n";
}

INSTANTIATE_TEST_SUITE_P(All,
                         CommitRingMutants,
                         ::testing::Values(Mutant::kResolveOnce,
                                           Mutant::kHelperSkipsClock,
                                           Mutant::kClaimBeforeComplete,
                                           Mutant::kRecycleBeforeStamps));

/// One thread commits twice with one entry; a reader that meets the second owner must not take the
/// first one's version for undecided.
ExploreResult twoOwners(Mutant mutant) {
    activeMutant = mutant;
    ExploreResult result = explore({.preemptions = 3, .staleLoads = 1}, [](Model& model) {
        auto table = std::make_shared<Table>();
        auto sight = std::make_shared<Table::Sight>();
        model.thread([table] {
            table->commit(0);
            table->commit(1);
        });
        model.thread([table, sight] { table->look(0, sight.get()); });
        model.finally([table, sight] { table->judge(0, *sight); });
    });
    activeMutant = Mutant::kNone;
    return result;
}

TEST(RecycledEntry, TellsHowItsLastOwnerEnded) {
    const ExploreResult result = twoOwners(Mutant::kNone);
    EXPECT_TRUE(result.passed()) << result.report;
    EXPECT_TRUE(result.complete) << result.executions;
    const ExploreResult broken = twoOwners(Mutant::kRelaxedCommitting);
    EXPECT_FALSE(broken.passed()) << broken.executions;
}

/// A waiter is told of the end of just the transaction it met, however late it comes.
TEST(TxnWaiters, AreAlwaysWoken) {
    const ExploreResult result = explore({.preemptions = 3}, [](Model& model) {
        auto table = std::make_shared<Table>();
        auto tokens = std::make_shared<std::array<sync::WaitToken, 2>>();
        model.thread([table] {
            table->commit(0);
            table->abort(1);
        });
        for (size_t i = 0; i < 2; ++i) {
            model.thread([table, tokens, i] {
                if (table->versions[i]->stamp.load(sync::kAcquire) == 0) {
                    return;
                }
                const Outcome outcome = table->txns.resolve(table->versions[i]->stamp);
                if (outcome.fate == Fate::kInFlight) {
                    (*tokens)[i] = table->txns.endOf(outcome.stamp);
                }
            });
        }
        model.finally([table, tokens] {
            for (const sync::WaitToken& token : *tokens) {
                check(!token.isSet() || token.isDone(), "nobody waits for ever");
            }
        });
    });
    EXPECT_TRUE(result.passed()) << result.report;
    EXPECT_TRUE(result.complete) << result.executions;
}

}  // namespace
}  // namespace freshet::engine
