// SPDX-License-Identifier: Apache-2.0
/// SnapshotFloor under the explorer: no snapshot of the past that a thread has pinned is older than
/// any computed minReadTs() (INV-sync-7). Each deliberate mistake must be caught.
#include "freshet/sync/mutant.h"
#include "freshet/sync/snapshot_floor.h"
#include "freshet/testing/sim/explorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>

namespace freshet::sync {
namespace {

using testing::check;
using testing::explore;
using testing::ExploreOptions;
using testing::ExploreResult;
using testing::Model;
using testing::Uninterrupted;
using testing::waitUntil;

struct Past {
    static constexpr uint64_t kOldest = 5;
    Atomic<uint64_t> clock{kOldest};
    EpochDomain domain{&clock};
    SnapshotFloor floor{domain, clock};
    bool isOpen = false;
    uint64_t folded = 0;  // versions below this have been folded
    bool hasFolded = false;

    // The first chunk of cells is created before any thread runs.
    Past() { domain.here(); }
    /// The models do not cover registration.
    void join() {
        Uninterrupted scope;
        domain.here();
    }
    void openAndCommit() {
        Uninterrupted scope;
        domain.here();
        check(floor.open() == kOldest, "the floor is the clock");
        clock.store(kOldest + 2, kRelease);
        isOpen = true;
    }
    void waitForFloor() {
        join();
        waitUntil([this] { return isOpen; });
    }
    /// Takes a snapshot of the past and reads by it in the end.
    void readAt(uint64_t ts) {
        SnapshotPin pin{ts};
        {
            Slice slice(domain);
            floor.pin(slice.participant(), &pin);
        }
        use(&pin);
    }
    void use(SnapshotPin* pin) {
        if (pin->isPinned()) {
            waitUntil([this] { return hasFolded; });
            check(pin->ts >= folded, "INV-sync-7: snapshot below minReadTs");
            Participant::unpin(pin);
        }
    }
    void fold() {
        {
            Slice slice(domain);
            folded = domain.minReadTs();
        }
        hasFolded = true;
    }
};

/// One thread raises the floor, or closes it, while another one takes a snapshot and a third one
/// folds.
ExploreResult raised(uint64_t to, uint64_t readsAt, Mutant mutant, const ExploreOptions& options) {
    activeMutant<Mutant> = mutant;
    ExploreResult result = explore(options, [=](Model& model) {
        auto past = std::make_shared<Past>();
        model.name(&past->clock, "clock");
        model.thread([past, readsAt] {
            past->waitForFloor();
            past->readAt(readsAt);
        });
        model.thread([past, to] {
            past->openAndCommit();
            past->floor.raise(to);
            past->floor.isSettled();
        });
        model.thread([past] {
            past->waitForFloor();
            past->fold();
        });
        model.finally([past] { past->floor.drop(); });
    });
    activeMutant<Mutant> = Mutant::kNone;
    return result;
}

constexpr uint64_t kBelow = Past::kOldest;
constexpr uint64_t kAt = Past::kOldest + 1;

TEST(SnapshotFloorExplore, NoSnapshotOfThePastIsBelowMinReadTs) {
    for (const uint64_t to : {kAt, SnapshotFloor::kClosed}) {
        for (const uint64_t readsAt : {kBelow, kAt}) {
            const ExploreResult result = raised(to, readsAt, Mutant::kNone, {.preemptions = 2});
            EXPECT_TRUE(result.passed() && result.complete) << result.report;
            const ExploreResult stale =
                raised(to, readsAt, Mutant::kNone, {.preemptions = 1, .staleLoads = 1});
            EXPECT_TRUE(stale.passed() && stale.complete) << stale.report;
            std::cout << result.executions << " and " << stale.executions << " executions\n";
        }
    }
}

/// A folder's slice begins while the thread that takes a snapshot has read the floor and pinned
/// nothing yet; the folder looks at that thread's pins before the snapshot is pinned, and at the
/// floor's afterwards. Many steps in a row are needed for that, so waitUntil() leads there.
ExploreResult overlapping(Mutant mutant) {
    struct Overlap : Past {
        bool isReading = false;
        bool hasAdvanced = false;
        bool isPinned = false;
    };
    activeMutant<Mutant> = mutant;
    ExploreResult result = explore({.preemptions = 2}, [](Model& model) {
        auto past = std::make_shared<Overlap>();
        model.thread([past] {
            past->waitForFloor();
            SnapshotPin pin{kBelow};
            {
                Slice slice(past->domain);
                past->isReading = true;
                past->floor.pin(slice.participant(), &pin);
            }
            past->isPinned = true;
            past->use(&pin);
        });
        model.thread([past] {
            past->openAndCommit();
            waitUntil([past] { return past->isReading; });
            past->floor.raise(kAt);
            past->domain.tryAdvance();
            past->hasAdvanced = true;
            waitUntil([past] { return past->isPinned; });
            past->floor.isSettled();
        });
        model.thread([past] {
            past->join();
            waitUntil([past] { return past->hasAdvanced; });
            past->fold();
        });
        model.finally([past] { past->floor.drop(); });
    });
    activeMutant<Mutant> = Mutant::kNone;
    return result;
}

/// Another thread advances the epoch, so only the fences tell a slice that begins later that the
/// floor was raised.
ExploreResult raisedUnseen(Mutant mutant) {
    struct Unseen : Past {
        bool isRaised = false;
        bool hasAdvanced = false;
        bool isSettled = false;
    };
    activeMutant<Mutant> = mutant;
    ExploreResult result = explore({.preemptions = 1, .staleLoads = 1}, [](Model& model) {
        auto past = std::make_shared<Unseen>();
        model.thread([past] {
            past->join();
            waitUntil([past] { return past->hasFolded; });
            past->readAt(kBelow);
        });
        model.thread([past] {
            past->openAndCommit();
            past->floor.raise(kAt);
            past->isRaised = true;
            waitUntil([past] { return past->hasAdvanced; });
            past->floor.isSettled();
            past->isSettled = true;
        });
        model.thread([past] {
            past->join();
            waitUntil([past] { return past->isRaised; });
            for (int i = 0; i < 3; ++i) {
                past->domain.tryAdvance();
            }
            past->hasAdvanced = true;
            waitUntil([past] { return past->isSettled; });
            past->fold();
        });
        model.finally([past] { past->floor.drop(); });
    });
    activeMutant<Mutant> = Mutant::kNone;
    return result;
}

TEST(SnapshotFloorExplore, WhatComesLateIsWaitedForOrRefused) {
    const ExploreResult overlap = overlapping(Mutant::kNone);
    EXPECT_TRUE(overlap.passed() && overlap.complete) << overlap.report;
    const ExploreResult unseen = raisedUnseen(Mutant::kNone);
    EXPECT_TRUE(unseen.passed() && unseen.complete) << unseen.report;
    std::cout << overlap.executions << " and " << unseen.executions << " executions\n";
}

TEST(SnapshotFloorExplore, MutantsAreKilled) {
    constexpr const char* kFailure = "check failed: INV-sync-7: snapshot below minReadTs";
    const ExploreResult none = raised(kAt, kBelow, Mutant::kNoGrace, {.preemptions = 2});
    EXPECT_EQ(kFailure, none.failure) << none.report;
    const ExploreResult late = raised(kAt, kAt, Mutant::kFloorPinnedLate, {.preemptions = 2});
    EXPECT_EQ(kFailure, late.failure) << late.report;
    const ExploreResult brief = overlapping(Mutant::kGraceOneShort);
    EXPECT_EQ(kFailure, brief.failure) << brief.report;
    const ExploreResult unfenced = raisedUnseen(Mutant::kNoGraceFence);
    EXPECT_EQ(kFailure, unfenced.failure) << unfenced.report;
}

}  // namespace
}  // namespace freshet::sync
