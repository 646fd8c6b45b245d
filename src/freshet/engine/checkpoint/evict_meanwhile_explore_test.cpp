// SPDX-License-Identifier: Apache-2.0
/// Model checks of leaves that are evicted during a checkpoint, between two batches of its images
/// (decision 0036), or between two rounds whose images no checkpoint names (0048), beside writers,
/// readers and splits, with room on the disk and without.
#include "freshet/engine/checkpoint/checkpoint_model_test_support.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::engine {
namespace {

using testing::check;
using testing::ExploreOptions;
using testing::Model;
using testing::Uninterrupted;

/// Two leaves are due. Another one is changed, or read, while the checkpoint writes and evicts
/// them. `moved`: all images are also moved.
Setup changedMeanwhile(bool reads, bool moved) {
    return [=](Model& model) {
        auto world = std::make_shared<World>(kTinyPages);
        {
            Uninterrupted whole;
            world->beginWithTwoLeaves();
            world->put(0, "b", "2");
            world->put(0, "d", "2");
        }
        world->evictsBetween = true;
        world->moves = moved;
        model.thread([world] { world->putAnywhere(0, "d", "3"); });
        if (reads) {
            model.thread([world] { check(world->getAnywhere("b") == "2", "it is there"); });
        }
        model.thread([world] { world->checkpoint(); });
        model.finally([world] {
            world->expectRecovered();
            world->expectAllThere();
        });
    };
}

TEST(EvictMeanwhile, LosesNothing) {
    expectHolds(changedMeanwhile(false, false));
    expectHolds(changedMeanwhile(false, true), {.preemptions = 1});
    expectHolds(changedMeanwhile(true, false), {.preemptions = 1});
}

TEST(EvictMeanwhile, LeavesGo) {
    expectHolds(
        [](Model& model) {
            auto world = std::make_shared<World>(kTinyPages);
            model.thread([world] {
                Uninterrupted whole;
                world->beginWithTwoLeaves();
                world->put(0, "b", "2");
                world->put(0, "d", "2");
                world->evictsBetween = true;
                world->checkpoint();
                check(world->evicted == 2, "both leaves were evicted");
                world->expectRecovered();
                world->expectAllThere();
            });
        },
        {.preemptions = 0});
}

/// A leaf splits while it is due and others are evicted: its right half has no image yet.
Setup splitsMeanwhile() {
    return [](Model& model) {
        auto world = std::make_shared<World>(kTinyPages);
        {
            Uninterrupted whole;
            world->beginWithTwoLeaves();
            world->put(0, "b", "2");
            world->put(0, "g", "1");
            world->put(0, "h", "1");
        }
        world->evictsBetween = true;
        model.thread([world] {
            world->rebuild("g");
            world->putAnywhere(0, "h", "2");
        });
        model.thread([world] { world->checkpoint(); });
        model.finally([world] {
            world->expectRecovered();
            world->expectAllThere();
        });
    };
}

TEST(EvictMeanwhile, LosesNothingOfWhatSplits) {
    expectHolds(splitsMeanwhile(), {.preemptions = 1});
}

/// After `writes` images the disk is full, and leaves whose images no checkpoint names are evicted.
/// Then there is room again.
Setup fullMeanwhile(uint64_t writes) {
    return [writes](Model& model) {
        auto world = std::make_shared<World>(kTinyPages);
        {
            Uninterrupted whole;
            for (const char* key : {"b", "d", "f", "h", "j", "l"}) {
                world->put(0, key, "1");
                world->rebuild(key);
            }
            world->checkpoint();
            for (const char* key : {"b", "f", "j"}) {
                world->put(0, key, "2");
            }
        }
        world->evictsBetween = true;
        world->writesUntilFull = writes;
        model.thread([world] {
            world->checkpoint();
            world->writesUntilFull = UINT64_MAX;
            world->checkpoint();
        });
        model.thread([world] { world->putAnywhere(0, "b", "3"); });
        model.finally([world] {
            world->expectRecovered();
            world->expectAllThere();
        });
    };
}

TEST(EvictMeanwhile, LosesNothingWithAFullDisk) {
    for (const uint64_t writes : {0, 1, 2, 3}) {
        expectHolds(fullMeanwhile(writes), {.preemptions = 1});
    }
}

/// Two leaves are due, get images twice that no checkpoint names, and are evicted each time, while
/// one is changed. Then the images are named, or the power fails before.
Setup writtenBack(bool named) {
    return [named](Model& model) {
        auto world = std::make_shared<World>(kTinyPages);
        {
            Uninterrupted whole;
            world->beginWithTwoLeaves();
            world->put(0, "b", "2");
            world->put(0, "d", "2");
        }
        model.thread([world] {
            world->putAnywhere(0, "d", "3");
            world->putAnywhere(0, "b", "3");
        });
        model.thread([world, named] {
            for (int round = 0; round < 2; ++round) {
                check(world->writeBack().isOk(), "there is room");
                world->evict();
            }
            if (named) {
                world->checkpoint();
            }
        });
        model.finally([world] {
            world->expectRecovered();
            world->expectAllThere();
        });
    };
}

TEST(WriteBack, LosesNothingBeforeACheckpointNorAfterIt) {
    expectHolds(writtenBack(false), {.preemptions = 1});
    expectHolds(writtenBack(true), {.preemptions = 1});
    expectFound(Mutant::kEvictMarked, writtenBack(false), {.preemptions = 1});
}

TEST(EvictMeanwhile, MistakesAreFound) {
    expectFound(Mutant::kEvictMarked, changedMeanwhile(false, false));
    expectFound(Mutant::kEvictUnfrozen, changedMeanwhile(false, false));
    expectFound(Mutant::kSettleBeforeWritten, fullMeanwhile(2), {.preemptions = 1});
}

}  // namespace
}  // namespace freshet::engine
