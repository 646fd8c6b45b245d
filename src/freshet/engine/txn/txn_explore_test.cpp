// SPDX-License-Identifier: Apache-2.0
/// Model checks of the transaction table: late helpers, recycled entries, laps of the ring, waiters
/// (INV-engine-6, INV-engine-7), write sets that are suspended and ended by another thread
/// (INV-engine-21). Each seeded mistake must be found.
#include "freshet/engine/commits/txn_table.h"
#include "freshet/engine/txn/write_set.h"
#include "freshet/engine/value/version.h"
#include "freshet/engine/variants/mutant.h"
#include "freshet/testing/sim/explorer.h"

#include <gtest/gtest.h>

#include <algorithm>
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
constexpr TxnLimits kTiny{.ringCells = 2, .entriesMax = 6, .entriesPerChunk = 8, .freeLists = 1};

struct Table {
    static constexpr size_t kVersionsMax = 4;

    explicit Table(const TxnLimits& limits = kTiny) : txns(limits) {
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
    void commit(size_t i, uint32_t near = 0) {
        Version* version = versions[i];
        const uint64_t stamp = *txns.open(near);
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

    TxnTable txns;
    std::array<Version*, kVersionsMax> versions{};
    std::array<uint64_t, kVersionsMax> ts{};  // plain: written by the committer, read at the end
};

/// T1 commits twice with one entry, T2 commits once, T3 looks at both of T1's.
ExploreResult ring(Mutant mutant, ExploreOptions options, const TxnLimits& limits = kTiny) {
    activeMutant<Mutant> = mutant;
    ExploreResult result = explore(options, [&limits](Model& model) {
        auto table = std::make_shared<Table>(limits);
        auto sights = std::make_shared<std::array<Table::Sight, 2>>();
        model.thread([table] {
            table->commit(0);
            table->commit(1);
        });
        model.thread([table] { table->commit(2, 1); });
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
    activeMutant<Mutant> = Mutant::kNone;
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

/// Two lists: for a thread's second commit its own list is empty, and no fresh entry is left.
TEST(CommitRing, EntriesOfOtherListsDoNoHarm) {
    constexpr TxnLimits kLists{
        .ringCells = 2, .entriesMax = 3, .entriesPerChunk = 8, .freeLists = 2};
    const ExploreResult result = ring(Mutant::kNone, {.preemptions = 2}, kLists);
    EXPECT_TRUE(result.passed()) << result.report;
    EXPECT_TRUE(result.complete) << result.executions;
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

/// One thread commits twice with one entry; a reader that meets the second owner must not consider
/// the first one's version undecided.
ExploreResult twoOwners(Mutant mutant) {
    activeMutant<Mutant> = mutant;
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
    activeMutant<Mutant> = Mutant::kNone;
    return result;
}

TEST(RecycledEntry, ShowsHowItsLastOwnerEnded) {
    const ExploreResult result = twoOwners(Mutant::kNone);
    EXPECT_TRUE(result.passed()) << result.report;
    EXPECT_TRUE(result.complete) << result.executions;
    const ExploreResult broken = twoOwners(Mutant::kRelaxedCommitting);
    EXPECT_FALSE(broken.passed()) << broken.executions;
}

/// A waiter learns of the end of exactly the transaction that it met, however late it comes.
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
                check(!token.isSet() || token.isDone(), "no waiter waits for ever");
            }
        });
    });
    EXPECT_TRUE(result.passed()) << result.report;
    EXPECT_TRUE(result.complete) << result.executions;
}

/// A large write set, as its owner and the thread that ends it see it.
struct LargeSet : SuspendedWrites {
    void add(Version* version) {
        sync::notePlainWrite(this);
        versions[size++] = version;
    }
    std::span<Version* const> all() const {
        sync::notePlainRead(this);
        return {versions.data(), size};
    }
    std::array<Version*, 2> versions{};
    size_t size = 0;
};

/// Why a transaction is ended.
enum class EndsFor : uint8_t { kMemory, kAge };

/// An owner that suspends its writes after each one, and another thread that ends suspended writes.
struct Large {
    explicit Large(EndsFor why = EndsFor::kMemory) : endsFor(why) {}
    void write(size_t i) {
        table.versions[i]->stamp.store(stamp, sync::kRelease);
        set.add(table.versions[i]);
        table.txns.suspend(stamp, &set, {set.size, 0, 1});
    }
    /// Writes two versions and commits, unless it is ended in between.
    void own() {
        stamp = *table.txns.open();
        for (size_t i = 0; i < 2; ++i) {
            write(i);
            if (!table.txns.resume(stamp)) {
                return;
            }
        }
        table.txns.setCommitting(stamp);
        const uint64_t ts = table.txns.claim(stamp);
        settle(table.txns, stamp, set.all(), ts);
        table.ts[0] = table.ts[1] = ts;
    }
    void end() {
        const TxnTable::Ended found =
            endsFor == EndsFor::kAge ? table.txns.endDueBefore(2) : table.txns.endLargest(1, 0);
        if (found.writes != nullptr) {
            ended = true;
            const auto* writes = static_cast<LargeSet*>(found.writes);
            settle(table.txns, found.stamp, writes->all(), kStampAborted);
        }
    }
    void judge(const std::array<Table::Sight, 2>& sights) const {
        const bool committed = table.ts[0] != 0;
        check(committed != ended, "either it has committed or it was ended");
        for (size_t i = 0; i < sights.size(); ++i) {
            table.judge(i, sights[i]);
            check(committed || sights[i].outcome.fate != Fate::kCommitted,
                  "writes that were ended are visible nowhere");
        }
    }

    const EndsFor endsFor;
    Table table;
    LargeSet set;
    uint64_t stamp = 0;
    bool ended = false;
};

/// The thread that ends the writes uses the entry for a commit of its own, which the owner may then
/// meet.
ExploreResult endedByAnother(Mutant mutant,
                             ExploreOptions options,
                             EndsFor why = EndsFor::kMemory) {
    activeMutant<Mutant> = mutant;
    ExploreResult result = explore(options, [why](Model& model) {
        auto large = std::make_shared<Large>(why);
        auto sights = std::make_shared<std::array<Table::Sight, 2>>();
        model.thread([large] { large->own(); });
        model.thread([large] {
            large->end();
            large->table.commit(2);
        });
        model.thread([large, sights] {
            large->table.look(1, &(*sights)[1]);
            large->table.look(0, &(*sights)[0]);
        });
        model.finally([large, sights] { large->judge(*sights); });
    });
    activeMutant<Mutant> = Mutant::kNone;
    return result;
}

TEST(SuspendedWriteSets, CommitOrAreEndedAndAreSeenSo) {
    const ExploreResult result = endedByAnother(Mutant::kNone, {.preemptions = 2});
    EXPECT_TRUE(result.passed()) << result.report;
    EXPECT_TRUE(result.complete) << result.executions;
    const ExploreResult stale =
        endedByAnother(Mutant::kNone, {.preemptions = 1, .staleLoads = 1, .executionsMax = 20'000});
    EXPECT_TRUE(stale.passed()) << stale.report;
    const ExploreResult random = endedByAnother(
        Mutant::kNone,
        {.mode = ExploreOptions::Mode::kRandom, .staleLoads = 2, .executionsMax = 5'000});
    EXPECT_TRUE(random.passed()) << random.report << " seed " << random.seed;
}

TEST(SuspendedWriteSets, EndForTheirAgeAsForTheirSize) {
    const ExploreResult result = endedByAnother(Mutant::kNone, {.preemptions = 2}, EndsFor::kAge);
    EXPECT_TRUE(result.passed()) << result.report;
    EXPECT_TRUE(result.complete) << result.executions;
    for (const Mutant mutant : {Mutant::kRelaxedSuspend, Mutant::kEndsActive}) {
        EXPECT_FALSE(endedByAnother(mutant, {.preemptions = 2}, EndsFor::kAge).passed());
    }
}

class SuspendedMutants : public ::testing::TestWithParam<Mutant> {};

TEST_P(SuspendedMutants, IsFound) {
    const ExploreResult result = endedByAnother(GetParam(), {.preemptions = 2});
    EXPECT_FALSE(result.passed()) << result.executions;
    std::cout << result.failure << " after " << result.executions << " executions\n";
}

INSTANTIATE_TEST_SUITE_P(All,
                         SuspendedMutants,
                         ::testing::Values(Mutant::kRelaxedSuspend,
                                           Mutant::kResumedAnyway,
                                           Mutant::kEndsActive,
                                           Mutant::kRecycleBeforeStamps));

/// When an owner that reads asks whether it was ended.
enum class Asks : uint8_t { kAfterReading, kBeforeReading };

/// An owner does not miss its own writes unless it learns that they were ended.
ExploreResult ownerReads(Asks asks) {
    return explore({.preemptions = 3, .staleLoads = 1}, [asks](Model& model) {
        auto large = std::make_shared<Large>();
        model.thread([large, asks] {
            const TxnTable& txns = large->table.txns;
            large->stamp = *large->table.txns.open();
            large->write(0);
            const bool before = asks == Asks::kBeforeReading && txns.isOpen(large->stamp);
            const Outcome seen = txns.resolve(large->table.versions[0]->stamp);
            const bool open = before || (asks == Asks::kAfterReading && txns.isOpen(large->stamp));
            check(!open || seen.fate == Fate::kInFlight, "own writes are seen until it learns");
            if (large->table.txns.resume(large->stamp)) {
                large->table.txns.setAborted(large->stamp);
                settle(large->table.txns, large->stamp, large->set.all(), kStampAborted);
            }
        });
        model.thread([large] {
            large->end();
            large->table.commit(2);
        });
    });
}

TEST(SuspendedWriteSets, AreSeenByTheirOwnerUntilItLearnsOfTheEnd) {
    const ExploreResult result = ownerReads(Asks::kAfterReading);
    EXPECT_TRUE(result.passed()) << result.report;
    EXPECT_TRUE(result.complete) << result.executions;
    const ExploreResult broken = ownerReads(Asks::kBeforeReading);
    EXPECT_FALSE(broken.passed()) << broken.executions;
}

/// When an owner's own pin goes.
enum class Unpins : uint8_t { kWhenKept, kBeforeKept };

/// An owner that reads by a snapshot, a thread that ends it, and a thread that folds away what no
/// snapshot needs: the owner learns of its end before it misses anything.
ExploreResult keptSnapshot(Mutant mutant, Unpins unpins, ExploreOptions options) {
    struct Fold {
        sync::Atomic<uint64_t> pinLow{kTiny.ringCells};  // as a participant's
        sync::Atomic<bool> done{false};
    };
    activeMutant<Mutant> = mutant;
    ExploreResult result = explore(options, [unpins](Model& model) {
        auto large = std::make_shared<Large>();
        auto fold = std::make_shared<Fold>();
        model.thread([large, fold, unpins] {
            TxnTable& txns = large->table.txns;
            large->stamp = *txns.open();
            const auto unpin = [&] { fold->pinLow.store(UINT64_MAX, sync::kRelease); };
            if (unpins == Unpins::kBeforeKept) {
                unpin();
            }
            txns.keepSnapshot(large->stamp, kTiny.ringCells);
            if (unpins == Unpins::kWhenKept) {
                unpin();
            }
            large->write(0);
            const bool misses = fold->done.load(sync::kAcquire);
            check(!misses || !txns.isOpen(large->stamp), "what a snapshot needs exists");
            if (txns.resume(large->stamp)) {
                txns.setAborted(large->stamp);
                settle(txns, large->stamp, large->set.all(), kStampAborted);
            }
        });
        model.thread([large] {
            large->table.commit(2);
            large->end();
        });
        model.thread([large, fold] {
            // In the order of StoreCore::minReadTs().
            const uint64_t clock = large->table.txns.snapshot();
            const uint64_t pinLow = fold->pinLow.load(sync::kAcquire);
            const uint64_t kept = large->table.txns.oldestKept();
            if (std::min({clock, pinLow, kept}) > kTiny.ringCells) {
                fold->done.store(true, sync::kRelease);
            }
        });
    });
    activeMutant<Mutant> = Mutant::kNone;
    return result;
}

TEST(KeptSnapshot, HoldsUntilItsOwnerCanKnow) {
    const ExploreOptions exact{.preemptions = 2};
    const ExploreOptions stale{.preemptions = 2, .staleLoads = 1, .executionsMax = 100'000};
    const ExploreResult result = keptSnapshot(Mutant::kNone, Unpins::kWhenKept, exact);
    EXPECT_TRUE(result.passed()) << result.report;
    EXPECT_TRUE(result.complete) << result.executions;
    const ExploreResult late = keptSnapshot(Mutant::kNone, Unpins::kWhenKept, stale);
    EXPECT_TRUE(late.passed()) << late.report;
    const ExploreResult early = keptSnapshot(Mutant::kNone, Unpins::kBeforeKept, exact);
    EXPECT_FALSE(early.passed()) << early.executions;
    const ExploreResult relaxed = keptSnapshot(Mutant::kRelaxedLetGo, Unpins::kWhenKept, stale);
    EXPECT_FALSE(relaxed.passed()) << relaxed.executions;
    std::cout << result.executions << ", found after " << early.executions << " and "
              << relaxed.executions << " executions\n";
}

/// Whether the owner or the other thread ends it, waiters are completed.
TEST(SuspendedWriteSets, WakeTheirWaiters) {
    const ExploreResult result = explore({.preemptions = 3}, [](Model& model) {
        auto large = std::make_shared<Large>();
        auto token = std::make_shared<sync::WaitToken>();
        model.thread([large] { large->own(); });
        model.thread([large] { large->end(); });
        model.thread([large, token] {
            Version* version = large->table.versions[0];
            if (version->stamp.load(sync::kAcquire) == 0) {
                return;
            }
            const Outcome outcome = large->table.txns.resolve(version->stamp);
            if (outcome.fate == Fate::kInFlight) {
                *token = large->table.txns.endOf(outcome.stamp);
            }
        });
        model.finally(
            [token] { check(!token->isSet() || token->isDone(), "no waiter waits for ever"); });
    });
    EXPECT_TRUE(result.passed()) << result.report;
    EXPECT_TRUE(result.complete) << result.executions;
}

}  // namespace
}  // namespace freshet::engine
