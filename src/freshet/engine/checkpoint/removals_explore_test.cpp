// SPDX-License-Identifier: Apache-2.0
/// Model checks of removal: leaves are merged, and their pages' memory is freed, beside writers,
/// readers, splits, evictions and late separators (tree/leaf_removal.h). The explorer itself finds
/// memory that is freed too early.
#include "freshet/engine/checkpoint/checkpoint_model_test_support.h"
#include "freshet/engine/read_ahead.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::engine {
namespace {

using testing::check;
using testing::ExploreOptions;
using testing::Model;
using testing::Uninterrupted;

/// As a cursor does, which keeps only a key between two slices.
std::string keysByStepsIn(World& world) {
    std::string keys;
    WalkFrom from{Edge::kFirst, "", true};
    for (bool isOver = false; !isOver;) {
        WalkResult result;
        bool isFirst = false;
        {
            ModelEnv::Slice slice(&world.env);
            const View view{slice.snapshot, 0};
            result = world.tree.walk(Direction::kForward,
                                     from,
                                     {.entries = 1},
                                     view,
                                     [&](ByteView key, const ValueRef&) { keys += key; });
            isFirst = result.fault.leaf != nullptr && world.joins(result.fault);
        }
        if (result.fault.leaf != nullptr) {
            world.follow(result.fault, isFirst);
        }
        from = std::move(result.next);
        isOver = result.atEnd;
    }
    return keys;
}

/// The remains of four leaves of two keys are merged into fewer, while their keys are written, read
/// and walked over. `all`: each leaf has lost one key; else the second has lost both, and only that
/// leaf is removed.
struct RemovalCase {
    bool all = false;
    std::vector<const char*> written = {"f"};  // while it happens
    bool reads = false;
    bool steps = false;  // and once more upward, with a slice for each key
    bool rebuilds = false;
    bool evicts = false;
    int looks = 0;                 // number of pages that each checkpoint looks at to move them
    SparseHand::Share share = {};  // if any: all leaves begin on disk
    int checkpoints = 1;
    uint64_t writesUntilFull = UINT64_MAX;  // then a checkpoint is given up, and there is room
                                            // again
    uint32_t innerBytesMax = 4096;
};
Setup removals(const RemovalCase& given) {
    return [given](Model& model) {
        const TreeLimits limits{.leafBytesMax = 60,
                                .joinedBytesMax = given.all ? 4096u : 1u,
                                .innerBytesMax = given.innerBytesMax};
        auto world = std::make_shared<World>(limits);
        {
            Uninterrupted whole;
            for (const char* key : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
                world->put(0, key, "1");
                world->rebuild(key);
            }
            for (const char* key : {"c", "d"}) {
                world->put(0, key, "");
            }
            world->checkpoint();
            check(world->gone == 0, "what is not folded stays");
            if (given.share.looks != 0) {
                world->evict();
                check(world->evicted == 4, "all are on disk");
                world->share = given.share;
            }
        }
        world->writesUntilFull = given.writesUntilFull;
        world->looks = given.looks;
        model.thread([world, given] {
            for (const char* key : given.written) {
                world->putAnywhere(0, key, "2");
                if (given.rebuilds) {
                    world->rebuild(key);
                }
            }
        });
        model.thread([world, given] {
            for (int i = 0; i < given.checkpoints; ++i) {
                world->checkpoint();
                world->writesUntilFull = UINT64_MAX;
                if (given.evicts) {
                    world->evict();
                }
            }
        });
        if (given.reads) {
            model.thread([world] {
                check(keysIn(world->tree, &world->env, Direction::kBackward) == "hgfeba",
                      "downward");
                check(world->getAnywhere("e") == "1", "an unchanged key is found");
                check(keysIn(world->tree, &world->env, Direction::kForward) == "abefgh", "upward");
            });
        }
        if (given.steps) {
            model.thread([world] { check(keysByStepsIn(*world) == "abefgh", "step by step"); });
        }
        model.finally([world, given] {
            world->expectAllThere();
            world->expectRecovered();
            world->checkpoint();
            world->checkpoint();
            const bool wasEmpty = std::string_view(given.written[0]) >= "e";
            check(world->gone != 0 || !wasEmpty || given.evicts, "leaves have gone");
            check((world->tree.hintGeneration() != 0) == (world->gone != 0), "and are freed");
            world->expectAllThere();
            world->expectRecovered();
        });
    };
}

TEST(Removals, LoseNothing) {
    const ExploreOptions one{.preemptions = 1};
    expectHolds(removals({}), one);
    expectHolds(removals({.written = {"c"}}), one);
    expectHolds(removals({.written = {"e"}, .rebuilds = true}), one);
    expectHolds(removals({.written = {"b"}, .rebuilds = true}), one);
    expectHolds(removals({.written = {"d"}, .rebuilds = true, .checkpoints = 2}), one);
    expectHolds(removals({.all = true, .written = {"d"}, .rebuilds = true}), one);
    expectHolds(removals({.written = {"c"}}), {.preemptions = 1, .staleLoads = 1});
}

TEST(Removals, NorBesideSplits) {
    const ExploreOptions one{.preemptions = 1};
    // Splits of the merge target, of the left neighbour, and of the leaf that is to be removed,
    // each with its parent.
    for (const std::vector<const char*>& keys : std::vector<std::vector<const char*>>{
             {"ea", "eb", "ec"}, {"ba", "bb", "bc"}, {"ca", "cb", "cc"}}) {
        expectHolds(removals({.written = keys, .rebuilds = true, .innerBytesMax = 90}), one);
    }
}

TEST(Removals, NorWhenLeavesAreEvicted) {
    const ExploreOptions one{.preemptions = 1};
    expectHolds(removals({.written = {"f"}, .evicts = true, .checkpoints = 2}), one);
    expectHolds(removals({.written = {"c"}, .evicts = true, .checkpoints = 2}), one);
}

/// Whichever page is looked at next: it may be removed before that.
TEST(Removals, NorWhileImagesAreLookedAt) {
    for (int looks = 1; looks <= 6; ++looks) {
        expectHolds(removals({.all = true, .looks = looks, .checkpoints = 2}), {.preemptions = 1});
    }
}

/// The checkpoint brings back the leaves that it needs, beside other threads that read them.
TEST(Removals, NorWhenAllIsOnDisk) {
    const ExploreOptions one{.preemptions = 1};
    const SparseHand::Share enough{100, 100, 1u << 20};
    expectHolds(removals({.written = {"f"}, .share = enough}), one);
    expectHolds(removals({.written = {"c"}, .share = enough}), one);
    expectHolds(removals({.written = {"b"}, .rebuilds = true, .share = enough}), one);
    expectHolds(removals({.all = true, .written = {"d"}, .rebuilds = true, .share = enough}), one);
    expectHolds(removals({.written = {"f"}, .steps = true, .share = enough}), one);
    expectHolds(removals({.written = {"f"}, .evicts = true, .share = enough, .checkpoints = 2}),
                one);
    // The hand goes on where it stopped.
    const SparseHand::Share little{100, 1, 1u << 20};
    expectHolds(
        removals(
            {.all = true, .written = {"f"}, .evicts = true, .share = little, .checkpoints = 2}),
        one);
    for (uint64_t writes : {0, 1, 2, 3}) {
        expectHolds(
            removals(
                {.written = {"c"}, .share = enough, .checkpoints = 2, .writesUntilFull = writes}),
            one);
    }
    expectFound(Mutant::kLeavingUnfrozen, removals({.written = {"c"}, .share = enough}));
    expectFound(Mutant::kLeftNotRebuilt, removals({.share = enough}));
}

TEST(Removals, NorWhenACheckpointIsGivenUp) {
    for (uint64_t writes : {0, 1, 2, 3}) {
        for (int checkpoints : {1, 2}) {
            expectHolds(removals({.written = {writes % 2 == 0 ? "c" : "f"},
                                  .checkpoints = checkpoints,
                                  .writesUntilFull = writes}),
                        {.preemptions = 1});
        }
    }
}

/// A thread that has split a leaf posts its right half only when that is gone, and the right half's
/// merge target has taken over the left half as well.
Setup latePost() {
    return [](Model& model) {
        constexpr TreeLimits kOnlyEmpty{
            .leafBytesMax = 60, .joinedBytesMax = 1, .innerBytesMax = 4096};
        auto world = std::make_shared<World>(kOnlyEmpty);
        auto beforeBoth = std::make_shared<uint64_t>(0);
        auto between = std::make_shared<uint64_t>(0);
        {
            Uninterrupted whole;
            for (const char* key : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
                world->put(0, key, "1");
                world->rebuild(key);
            }
            world->checkpoint();
            // Deletes that old readers keep from being folded need more room than the deleted keys.
            *beforeBoth = world->table.snapshot();
            world->env.pin(*beforeBoth);
            world->put(0, "d", "");
            *between = world->table.snapshot();
            world->env.pin(*between);
            world->put(0, "c", "");
        }
        model.thread([world] { world->rebuild("c"); });
        model.thread([world, beforeBoth, between] {
            check(world->getAnywhere("d").empty(), "it is deleted");
            for (const auto& reader : {beforeBoth, between}) {
                world->env.unpin(*reader);
                world->checkpoint();
                world->checkpoint();
            }
        });
        model.finally([world] {
            world->checkpoint();
            world->expectAllThere();
            world->expectRecovered();
        });
    };
}

TEST(Removals, PostNothingThatIsGone) {
    expectHolds(latePost(), {.preemptions = 1});
}

TEST(Removals, HideNothingFromReaders) {
    expectHolds(removals({.written = {"f"}, .reads = true}), {.preemptions = 1});
    expectHolds(removals({.all = true, .written = {"g"}, .reads = true}), {.preemptions = 1});
}

TEST(Removals, FreeNothingThatAReaderMayMeet) {
    const ExploreOptions one{.preemptions = 1};
    expectHolds(removals({.written = {"f"}, .steps = true}), one);
    expectHolds(removals({.all = true, .written = {"f"}, .steps = true, .checkpoints = 2}), one);
    // Readers bring leaves back, whose pages are removed then.
    expectHolds(removals({.all = true, .written = {"c"}, .evicts = true, .checkpoints = 3}), one);
    expectHolds(removals({.all = true, .written = {"f"}, .rebuilds = true, .checkpoints = 2}),
                {.preemptions = 1, .staleLoads = 1});
    expectFound(Mutant::kGoneFreedAtOnce, removals({.written = {"f"}, .reads = true}), one);
    expectFound(Mutant::kGoneFreedAtOnce, removals({.written = {"c"}}), one);
    expectFound(Mutant::kGoneFreedAtOnce, latePost(), one);
}

/// A hint is made in one slice and used in others, while pages are removed and freed. `begunLate`:
/// its generation is only read when the leaf has been found.
Setup hinted(int checkpoints, bool begunLate = false) {
    return [checkpoints, begunLate](Model& model) {
        constexpr TreeLimits kAll{.leafBytesMax = 60, .joinedBytesMax = 4096};
        auto world = std::make_shared<World>(kAll);
        {
            Uninterrupted whole;
            for (const char* key : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
                world->put(0, key, "1");
                world->rebuild(key);
            }
            world->put(0, "d", "");
            world->checkpoint();
        }
        model.thread([world, begunLate] {
            LeafHint hint;
            {
                ModelEnv::Slice slice(&world->env);
                Probe probe;
                probe.begin(world->tree, "c");
                while (probe.step()) {
                }
                hint = probe.leaf();
                hint.generation = begunLate ? world->tree.hintGeneration() : hint.generation;
            }
            for (const char* key : {"c", "f"}) {
                ModelEnv::Slice slice(&world->env);
                const auto value = world->tree.get(key, {slice.snapshot, 0}, nullptr, hint);
                check(value && value->bytes == "1", "it is found, whatever the hint says");
            }
        });
        model.thread([world, checkpoints] {
            for (int i = 0; i < checkpoints; ++i) {
                world->checkpoint();
            }
        });
        model.finally([world] {
            check(world->tree.hintGeneration() != 0, "pages are freed");
            world->expectAllThere();
            world->expectRecovered();
        });
    };
}

TEST(Hints, LeadToNothingThatIsFreed) {
    expectHolds(hinted(1));
    expectHolds(hinted(2), {.preemptions = 1});
    expectHolds(hinted(1), {.preemptions = 1, .staleLoads = 1});
    expectFound(Mutant::kHintOfFreed, hinted(1));
    expectFound(Mutant::kNone, hinted(1, true));
    expectFound(Mutant::kGoneFreedAtOnce, hinted(1));
}

TEST(Removals, MistakesAreFound) {
    expectFound(Mutant::kTargetNotDue, removals({.all = true, .written = {"f"}}));
    expectFound(Mutant::kLeavingUnfrozen, removals({.written = {"c"}}));
    expectFound(Mutant::kGoneBeforeMerged, removals({.written = {"f"}, .reads = true}));
    expectFound(Mutant::kLeftNotRebuilt, removals({}));
    expectFound(Mutant::kTargetPosted, removals({.written = {"f"}}));
    expectFound(Mutant::kGonePosted, latePost(), {.preemptions = 1});
}

}  // namespace
}  // namespace freshet::engine
