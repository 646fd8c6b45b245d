// SPDX-License-Identifier: Apache-2.0
/// Hazard pointers under the explorer: what is held is not freed, and what is freed is no longer
/// used. Each of its mutants must be caught.
#include "freshet/sync/hazards.h"
#include "freshet/sync/reclaim/retired.h"
#include "freshet/testing/sim/explorer.h"

#include <gtest/gtest.h>

#include <memory>

namespace freshet::sync {
namespace {

using testing::check;
using testing::explore;
using testing::ExploreOptions;
using testing::ExploreResult;
using testing::Model;
using testing::Uninterrupted;

struct Thing {
    bool freed = false;
};

struct Shared {
    Hazards hazards;
    Thing things[3];
    Atomic<Thing*> word{&things[0]};
    HazardCell* cells[2] = {hazards.join(), hazards.join()};

    /// Its memory stays, so that a late access is reported and harms nothing.
    static void free(void* object) {
        notePlainWrite(object);
        static_cast<Thing*>(object)->freed = true;
    }
    static void use(const Thing* thing) {
        check(!thing->freed, "it was freed while it was held");
        notePlainRead(thing);
        explorePoint();
        check(!thing->freed, "it was freed while it was held");
    }
    void replace(Thing* fresh) {
        Thing* old = word.exchange(fresh, kAcqRel);
        std::vector<RetiredObject> retired = {{old, Shared::free, 1}};
        hazards.freeUnheld(&retired);
        // Objects still held here are freed when the domain ends, which is later.
    }
};

/// A reader holds what the word leads to, twice, while two writers replace it.
void readerAndWriterModel(Model& model) {
    auto state = std::make_shared<Shared>();
    model.name(&state->word, "word");
    model.thread([state] {
        HazardCell& mine = *state->cells[0];
        mine.beginSlice();
        Thing* thing = mine.hold(state->word);
        Shared::use(thing);
        mine.drop(thing);
        Shared::use(mine.hold(state->word));
        mine.endSlice();
    });
    model.thread([state] {
        state->replace(&state->things[1]);
        state->replace(&state->things[2]);
    });
}

/// The same for a reader that holds everything.
void blanketModel(Model& model) {
    auto state = std::make_shared<Shared>();
    model.name(&state->word, "word");
    model.thread([state] {
        HazardCell& mine = *state->cells[0];
        mine.beginSlice();
        mine.holdAll();
        // [hazard.look] acquire: as in hold().
        Shared::use(state->word.load(kAcquire));
        Shared::use(state->word.load(kAcquire));
        mine.endSlice();
    });
    model.thread([state] {
        state->replace(&state->things[1]);
        state->replace(&state->things[2]);
    });
}

/// Two freeing threads: each frees only what it has unlinked itself.
void twoWritersModel(Model& model) {
    auto state = std::make_shared<Shared>();
    model.thread([state] {
        HazardCell& mine = *state->cells[0];
        mine.beginSlice();
        Shared::use(mine.hold(state->word));
        mine.endSlice();
    });
    for (int i = 1; i <= 2; ++i) {
        model.thread([state, i] { state->replace(&state->things[i]); });
    }
}

TEST(HazardExplore, WhatIsHeldIsNotFreed) {
    for (const auto& model : {readerAndWriterModel, blanketModel, twoWritersModel}) {
        const ExploreResult result = explore({.preemptions = 3, .staleLoads = 1}, model);
        EXPECT_TRUE(result.passed() && result.complete) << result.report;
    }
}

TEST(HazardExplore, EveryMistakeIsFound) {
    for (const Mutant mutant : {Mutant::kNoHoldFence, Mutant::kNoScanFence, Mutant::kDropRelaxed}) {
        activeMutant<Mutant> = mutant;
        const ExploreResult result =
            explore({.preemptions = 3, .staleLoads = 2}, readerAndWriterModel);
        activeMutant<Mutant> = Mutant::kNone;
        EXPECT_FALSE(result.passed()) << static_cast<int>(mutant);
    }
}

}  // namespace
}  // namespace freshet::sync
