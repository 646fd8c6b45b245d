// SPDX-License-Identifier: Apache-2.0
/// Epochs under the explorer. Two promises: E1, no snapshot in use is older than any computed
/// minReadTs(); E2, nothing retired is freed while a slice may see it. For each there is a model
/// that the code must pass, and a list of deliberate mistakes (mutant.h) that the same model
/// must catch: a checker that passes a mutant checks nothing.
#include "freshet/sync/epoch.h"
#include "freshet/sync/mutant.h"
#include "freshet/testing/sim/explorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <ostream>

namespace freshet::sync {

void PrintTo(Mutant mutant, std::ostream* out) {
    *out << "mutant " << static_cast<int>(mutant);
}

namespace {

using testing::check;
using testing::explore;
using testing::ExploreOptions;
using testing::ExploreResult;
using testing::Model;
using testing::Uninterrupted;
using testing::waitUntil;

ExploreResult exploreMutant(Mutant mutant,
                            const ExploreOptions& options,
                            const std::function<void(Model&)>& setup) {
    activeMutant<Mutant> = mutant;
    ExploreResult result = explore(options, setup);
    activeMutant<Mutant> = Mutant::kNone;
    return result;
}

struct Shared {
    Atomic<uint64_t> clock{5};
    EpochDomain domain{&clock};

    Shared() {
        // The first chunk of cells is created here, before any thread runs.
        domain.here();
    }
    /// These models do not cover registration.
    void joinQuietly() {
        Uninterrupted scope;
        domain.here();
    }
};

// --- E1: the oldest reader

struct OldestReader : Shared {
    uint64_t folded = 0;  // versions below this have been folded

    void use(uint64_t snapshot) const { check(snapshot >= folded, "E1: snapshot below minReadTs"); }
};

/// A reader takes a snapshot, carries it over the end of its slice by a pin, uses it in a second
/// slice and drops it. A writer commits, a folder folds what minReadTs() allows.
void oldestReaderModel(Model& model) {
    auto state = std::make_shared<OldestReader>();
    model.name(&state->clock, "clock");
    model.thread([state] {
        state->joinQuietly();
        SnapshotPin pin;
        {
            Slice slice(state->domain);
            pin.ts = state->clock.load(kAcquire);
            state->use(pin.ts);
            slice.participant().pin(&pin);
        }
        state->use(pin.ts);
        {
            Slice slice(state->domain);
            state->use(pin.ts);
            Participant::unpin(&pin);
        }
    });
    model.thread([state] {
        state->clock.store(6, kRelease);
        state->clock.store(7, kRelease);
    });
    model.thread([state] {
        uint64_t low = state->domain.minReadTs();
        state->folded = std::max(state->folded, low);
    });
}

/// A reader of short slices: only the fences of [epoch.enter] and [epoch.fold] order it.
void shortReaderModel(Model& model) {
    auto state = std::make_shared<OldestReader>();
    model.name(&state->clock, "clock");
    model.thread([state] {
        state->joinQuietly();
        Slice slice(state->domain);
        uint64_t snapshot = state->clock.load(kAcquire);
        explorePoint();
        state->use(snapshot);
    });
    model.thread([state] {
        state->clock.store(6, kRelease);
        uint64_t low = state->domain.minReadTs();
        state->folded = std::max(state->folded, low);
    });
}

TEST(EpochExplore, NoSnapshotIsOlderThanMinReadTs) {
    auto result = explore({.preemptions = 3}, oldestReaderModel);
    EXPECT_TRUE(result.passed() && result.complete) << result.report;
    RecordProperty("executions", std::to_string(result.executions));
}

TEST(EpochExplore, NoSnapshotIsOlderThanMinReadTsWithStaleLoads) {
    auto pinned = explore({.preemptions = 2, .staleLoads = 1}, oldestReaderModel);
    EXPECT_TRUE(pinned.passed() && pinned.complete) << pinned.report;
    auto brief = explore({.preemptions = 3, .staleLoads = 3}, shortReaderModel);
    EXPECT_TRUE(brief.passed() && brief.complete) << brief.report;
}

TEST(EpochExplore, MutantsOfMinReadTsAreKilled) {
    for (Mutant mutant : {Mutant::kClockAfterReadLow, Mutant::kPinLowFirst}) {
        auto result = exploreMutant(mutant, {.preemptions = 3}, oldestReaderModel);
        EXPECT_EQ(result.failure, "check failed: E1: snapshot below minReadTs")
            << ::testing::PrintToString(mutant) << "\n"
            << result.report;
    }
    auto unpublished = exploreMutant(
        Mutant::kEnterReadLowRelaxed, {.preemptions = 2, .staleLoads = 1}, oldestReaderModel);
    EXPECT_EQ(unpublished.failure, "check failed: E1: snapshot below minReadTs")
        << unpublished.report;
    for (Mutant mutant : {Mutant::kNoEnterFence, Mutant::kNoFoldFence}) {
        auto result = exploreMutant(mutant, {.preemptions = 3, .staleLoads = 2}, shortReaderModel);
        EXPECT_EQ(result.failure, "check failed: E1: snapshot below minReadTs")
            << ::testing::PrintToString(mutant) << "\n"
            << result.report;
    }
}

// --- snapshots that another thread goes on with

/// A reader pins a snapshot; another thread reads by it and unpins it, and then the first one pins
/// a newer snapshot, in the same place. A folder frees what nobody reads by any more.
void movedPinModel(Model& model) {
    struct State : Shared {
        SnapshotPin pin;
        Atomic<SnapshotPin*> handed{nullptr};
        Atomic<uint32_t>* seenByOld = new Atomic<uint32_t>{1};
        bool isHanded = false;
        bool isUnpinned = false;
        bool isFreed = false;

        ~State() {
            if (!isFreed) {
                delete seenByOld;
            }
        }
    };
    auto state = std::make_shared<State>();
    model.name(&state->clock, "clock");
    model.thread([state] {
        state->joinQuietly();
        {
            Slice slice(state->domain);
            state->pin.ts = state->clock.load(kAcquire);
            slice.participant().pin(&state->pin);
        }
        state->handed.store(&state->pin, kRelease);
        state->isHanded = true;
        state->clock.store(6, kRelease);
        waitUntil([state] { return state->isUnpinned; });
        SnapshotPin newer;
        {
            Slice slice(state->domain);
            newer.ts = state->clock.load(kAcquire);
            slice.participant().pin(&newer);
        }
        Participant::unpin(&newer);
    });
    model.thread([state] {
        waitUntil([state] { return state->isHanded; });
        SnapshotPin* pin = state->handed.load(kAcquire);
        if (pin == nullptr) {
            pin = state->handed.load(kAcquire);  // the first load may have been stale
        }
        check(!state->isFreed, "E1: read by a snapshot below minReadTs");
        state->seenByOld->load(kRelaxed);
        Participant::unpin(pin);
        state->isUnpinned = true;
    });
    model.thread([state] {
        for (int i = 0; i < 2 && !state->isFreed; ++i) {
            if (state->domain.minReadTs() > 5) {
                state->isFreed = true;
                delete state->seenByOld;
            }
        }
    });
}

TEST(EpochExplore, APinMayBeGivenUpByAnotherThread) {
    auto result =
        explore({.preemptions = 3, .staleLoads = 1, .executionsMax = 2'000'000}, movedPinModel);
    EXPECT_TRUE(result.passed() && result.complete) << result.report;
    RecordProperty("executions", std::to_string(result.executions));
}

/// A thread pins a second snapshot while its first one is in use.
void twoPinsModel(Model& model) {
    auto state = std::make_shared<OldestReader>();
    model.name(&state->clock, "clock");
    model.thread([state] {
        state->joinQuietly();
        std::array<SnapshotPin, 2> pins;
        for (SnapshotPin& pin : pins) {
            Slice slice(state->domain);
            pin.ts = state->clock.load(kAcquire);
            slice.participant().pin(&pin);
        }
        state->use(pins[0].ts);
        Participant::unpin(&pins[0]);
        state->use(pins[1].ts);
        Participant::unpin(&pins[1]);
    });
    model.thread([state] { state->clock.store(6, kRelease); });
    model.thread([state] {
        const uint64_t low = state->domain.minReadTs();
        state->folded = std::max(state->folded, low);
    });
}

TEST(EpochExplore, EachPinOfAThreadCounts) {
    auto result = explore({.preemptions = 3}, twoPinsModel);
    EXPECT_TRUE(result.passed() && result.complete) << result.report;
    auto taken = exploreMutant(Mutant::kPlaceTaken, {.preemptions = 3}, twoPinsModel);
    EXPECT_EQ(taken.failure, "check failed: E1: snapshot below minReadTs") << taken.report;
}

// --- snapshots that are ended

/// A reader pins a snapshot and continues to read by it in a later slice, unless hasEnded() says
/// that it has ended. Once there has been a commit, the other thread ends it and folds what
/// minReadTs() allows. The reader advances the epoch, too, so that the other thread may have read
/// an old value of it.
void endedSnapshotModel(Model& model) {
    struct State : OldestReader {
        bool committed = false;
    };
    auto state = std::make_shared<State>();
    model.name(&state->clock, "clock");
    model.thread([state] {
        state->joinQuietly();
        SnapshotPin pin;
        {
            Uninterrupted scope;
            Slice slice(state->domain);
            pin.ts = state->clock.load(kAcquire);
            slice.participant().pin(&pin);
            state->clock.store(6, kRelease);
        }
        state->committed = true;
        state->domain.tryAdvance();
        {
            Slice slice(state->domain);
            if (!state->domain.hasEnded(pin.ts)) {
                explorePoint();
                state->use(pin.ts);
            }
        }
        Uninterrupted scope;
        Slice slice(state->domain);
        Participant::unpin(&pin);
    });
    model.thread([state] {
        state->joinQuietly();
        waitUntil([state] { return state->committed; });
        for (int i = 0; i < 2; ++i) {
            state->domain.endSnapshotsBelow(6);
            state->folded = std::max(state->folded, state->domain.minReadTs());
        }
    });
}

TEST(EpochExplore, NoThreadReadsByASnapshotThatWasPassed) {
    auto result = explore({.preemptions = 3, .staleLoads = 1}, endedSnapshotModel);
    EXPECT_TRUE(result.passed() && result.complete) << result.report;
    RecordProperty("executions", std::to_string(result.executions));
}

TEST(EpochExplore, MutantsOfEndingSnapshotsAreKilled) {
    for (Mutant mutant : {Mutant::kPassAtOnce, Mutant::kPassOneEarly, Mutant::kNoEndFence}) {
        auto result =
            exploreMutant(mutant, {.preemptions = 3, .staleLoads = 1}, endedSnapshotModel);
        EXPECT_EQ(result.failure, "check failed: E1: snapshot below minReadTs")
            << ::testing::PrintToString(mutant) << "\n"
            << result.report;
    }
}

// --- E2: reclamation

struct Node {
    Atomic<uint32_t> value{1};
};

struct Reclaiming : Shared {
    Atomic<Node*> head{new Node};

    ~Reclaiming() { delete head.load(kRelaxed); }
};

/// A reader looks at the node behind `head` while a writer unlinks it, retires it and advances the
/// epoch; a third thread advances too.
void reclaimingModel(Model& model) {
    auto state = std::make_shared<Reclaiming>();
    model.name(&state->head, "head");
    model.thread([state] {
        state->joinQuietly();
        Slice slice(state->domain);
        if (Node* node = state->head.load(kAcquire)) {
            node->value.load(kRelaxed);
        }
    });
    model.thread([state] {
        state->joinQuietly();
        {
            Slice slice(state->domain);
            Node* old = state->head.exchange(nullptr, kAcqRel);
            slice.participant().retire(old);
        }
        state->domain.tryAdvance();
        state->domain.tryAdvance();
    });
    model.thread([state] {
        state->joinQuietly();
        state->domain.tryAdvance();
        state->domain.tryAdvance();
    });
}

TEST(EpochExplore, NothingIsFreedWhileVisible) {
    auto result = explore({.preemptions = 2}, reclaimingModel);
    EXPECT_TRUE(result.passed() && result.complete) << result.report;
    RecordProperty("executions", std::to_string(result.executions));
}

/// The node was used after its end, or its end is not ordered after a use: two symptoms of one
/// mistake.
bool freedTooEarly(const ExploreResult& result) {
    return result.failure.find("after its end") != std::string::npos ||
           result.failure.find("destroys") != std::string::npos;
}

ExploreOptions randomly(unsigned staleLoads) {
    ExploreOptions options;
    options.mode = ExploreOptions::Mode::kRandom;
    options.preemptions = 4;
    options.staleLoads = staleLoads;
    options.executionsMax = 30'000;
    return options;
}

TEST(EpochExplore, NothingIsFreedWhileVisibleWithStaleLoads) {
    auto result = explore(randomly(3), reclaimingModel);
    EXPECT_TRUE(result.passed()) << result.report;
}

TEST(EpochExplore, MutantsOfMovedPinsAreKilled) {
    for (Mutant mutant : {Mutant::kCloseRelaxed, Mutant::kFindRelaxed}) {
        auto result = exploreMutant(mutant, {.preemptions = 3, .staleLoads = 1}, movedPinModel);
        EXPECT_TRUE(freedTooEarly(result)) << ::testing::PrintToString(mutant) << "\n"
                                           << result.report;
    }
}

class ReclamationMutant : public ::testing::TestWithParam<Mutant> {};

TEST_P(ReclamationMutant, IsKilled) {
    auto options = randomly(3);
    options.executionsMax = 2'000'000;
    options.seed = 7;
    auto result = exploreMutant(GetParam(), options, reclaimingModel);
    EXPECT_TRUE(freedTooEarly(result)) << result.report;
    RecordProperty("executions", std::to_string(result.executions));
}

INSTANTIATE_TEST_SUITE_P(EpochExplore,
                         ReclamationMutant,
                         ::testing::Values(Mutant::kFreeOneEarly,
                                           Mutant::kFreeTwoEarly,
                                           Mutant::kNoEnterFence,
                                           Mutant::kNoAdvanceFence,
                                           Mutant::kLeaveRelaxed));

/// The writer enters a second slice right after the first: a thread that sees the second one's
/// epoch must know what the first one unlinked, or a reader that enters later may still find it.
/// Five steps in a row are needed to show that, so waitUntil() leads to the right state.
void reenteringModel(Model& model) {
    struct State : Reclaiming {
        bool retired = false;
        bool advancedOnce = false;
        bool advancedTwice = false;
        bool writerDone = false;
    };
    auto state = std::make_shared<State>();
    model.name(&state->head, "head");
    model.thread([state] {
        state->joinQuietly();
        waitUntil([state] { return state->advancedTwice; });
        Slice slice(state->domain);
        Node* node = state->head.load(kAcquire);
        waitUntil([state] { return state->writerDone; });
        if (node != nullptr) {
            node->value.load(kRelaxed);
        }
    });
    model.thread([state] {
        state->joinQuietly();
        {
            Slice slice(state->domain);
            slice.participant().retire(state->head.exchange(nullptr, kAcqRel));
            state->retired = true;
            waitUntil([state] { return state->advancedOnce; });
        }
        { Slice again(state->domain); }
        state->domain.tryAdvance();
        state->writerDone = true;
    });
    model.thread([state] {
        state->joinQuietly();
        waitUntil([state] { return state->retired; });
        state->domain.tryAdvance();
        state->advancedOnce = true;
        exploreYield();
        state->domain.tryAdvance();
        state->advancedTwice = true;
    });
}

TEST(EpochExplore, ASecondSliceCarriesWhatTheFirstUnlinked) {
    ExploreOptions options{.preemptions = 1, .staleLoads = 1};
    auto result = explore(options, reenteringModel);
    EXPECT_TRUE(result.passed() && result.complete) << result.report;
    auto mutant = exploreMutant(Mutant::kEnterEpochRelaxed, options, reenteringModel);
    EXPECT_TRUE(freedTooEarly(mutant)) << mutant.report;
}

/// A thread ends with objects retired: other threads free them, once and not too early.
void dyingThreadModel(Model& model) {
    auto state = std::make_shared<Reclaiming>();
    model.thread([state] {
        state->joinQuietly();
        Slice slice(state->domain);
        Node* old = state->head.exchange(nullptr, kAcqRel);
        slice.participant().retire(
            old, [](void* node) { delete static_cast<Node*>(node); }, 16);
    });
    model.thread([state] {
        state->joinQuietly();
        Slice slice(state->domain);
        if (Node* node = state->head.load(kAcquire)) {
            node->value.load(kRelaxed);
        }
    });
    model.thread([state] {
        state->joinQuietly();
        for (int i = 0; i < 3; ++i) {
            state->domain.tryAdvance();
        }
    });
    model.finally([state] {
        for (int i = 0; i < 4; ++i) {
            state->domain.tryAdvance();
        }
        check(state->domain.retiredBytes() == 0, "freed");
    });
}

TEST(EpochExplore, ADeadThreadsRetiredObjectsAreFreedByOthers) {
    auto result = explore({.preemptions = 2}, dyingThreadModel);
    EXPECT_TRUE(result.passed() && result.complete) << result.report;
    auto mutant = exploreMutant(Mutant::kFreeTwoEarly, {.preemptions = 2}, dyingThreadModel);
    EXPECT_TRUE(freedTooEarly(mutant)) << mutant.report;
}

}  // namespace
}  // namespace freshet::sync
