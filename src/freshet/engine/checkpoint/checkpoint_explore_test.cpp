// SPDX-License-Identifier: Apache-2.0
/// Model checks of the checkpoint: writers, committers, rebuilds and splits run beside it, then the
/// power fails. The images, and the journal from the redo position on, must give exactly what was
/// committed (INV-engine-11 to 14). Every seeded mistake must be found.
#include "freshet/engine/checkpoint/checkpoint_model_test_support.h"
#include "freshet/engine/node/leaf_merge.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::engine {
namespace {

using testing::check;
using testing::ExploreOptions;
using testing::ExploreResult;
using testing::Model;
using testing::Uninterrupted;

/// A page that is due (or clean, with an image) is written while one of its keys changes and, if
/// `rebuilt`, its leaf is rebuilt.
Setup writerAgainstScan(bool due, bool rebuilt, bool commits = true, bool moved = false) {
    return [due, rebuilt, commits, moved](Model& model) {
        auto world = std::make_shared<World>();
        {
            Uninterrupted whole;
            world->put(0, "b", "old");
            world->checkpoint();
            if (due) {
                world->put(0, "f", "first");
            }
        }
        world->moves = moved;
        world->aborted = {"c"};
        model.thread([world, commits] {
            ModelEnv::Slice slice(&world->env);
            World::Open open = world->write(0, commits ? "b" : "c", "new");
            if (!commits) {
                world->abort(open);
                return;
            }
            world->begin(open);
            world->append(open);
            world->complete(open);
        });
        model.thread([world] { world->checkpoint(); });
        if (rebuilt) {
            model.thread([world] { world->rebuild("b"); });
        }
        model.finally([world] { world->expectRecovered(); });
    };
}

TEST(WriterAgainstScan, NothingIsLost) {
    expectHolds(writerAgainstScan(false, false), {.preemptions = 3});
    expectHolds(writerAgainstScan(true, false), {.preemptions = 3});
    expectHolds(writerAgainstScan(true, false, false), {.preemptions = 3});
    expectHolds(writerAgainstScan(true, false), {.preemptions = 2, .staleLoads = 1});
}

TEST(WriterAgainstScan, NorWhenACleanPageIsMoved) {
    expectHolds(writerAgainstScan(false, false, true, true), {.preemptions = 3});
    expectHolds(writerAgainstScan(false, true, true, true));
}

TEST(WriterAgainstScan, NorWhenTheLeafIsRebuilt) {
    expectHolds(writerAgainstScan(true, true));
}

TEST(WriterAgainstScan, MistakesAreFound) {
    expectFound(Mutant::kMarkOnlyBefore, writerAgainstScan(true, false));
    expectFound(Mutant::kNoInFlightMark, writerAgainstScan(true, false));
    expectFound(Mutant::kScanLowLate, writerAgainstScan(true, false));
    expectFound(Mutant::kRedoLowAfterMarks, writerAgainstScan(false, false));
    expectFound(Mutant::kNoFloor, writerAgainstScan(true, false));
}

/// A version and its page's mark, as seen by a thread that decides by the mark alone, like the
/// eviction: a version that is in no image implies a mark.
Setup versionAndMark() {
    return [](Model& model) {
        auto world = std::make_shared<World>();
        {
            Uninterrupted whole;
            world->put(0, "b", "old");
            world->rebuild("");
            world->checkpoint();
        }
        model.thread([world] { world->put(0, "b", "new"); });
        model.thread([world] {
            ModelEnv::Slice slice(&world->env);
            bool linked = false;
            const Node* node = world->tree.root().word.load(sync::kAcquire);
            mergeUp(static_cast<const LeafNode&>(*node),
                    nullptr,
                    [&](ByteView, const std::optional<ValueRef>&, auto* chain) {
                        linked |= chain != nullptr;
                        return true;
                    });
            check(!linked || world->tree.root().effectiveLsn() != 0, "a version leaves its mark");
        });
        model.finally([world] { world->expectRecovered(); });
    };
}

TEST(Marks, AreThereBeforeTheVersion) {
    expectHolds(versionAndMark());
    expectFound(Mutant::kMarkOnlyAfter, versionAndMark());
}

/// Two threads commit to one page, each through the journal in its own way.
Setup delayedCommitters() {
    return [](Model& model) {
        auto world = std::make_shared<World>();
        {
            Uninterrupted whole;
            world->put(0, "b", "old");
            world->checkpoint();
            world->put(0, "f", "first");
        }
        model.thread([world] { world->put(0, "b", "1"); });
        model.thread([world] { world->put(1, "d", "2"); });
        model.thread([world] { world->checkpoint(); });
        model.finally([world] { world->expectRecovered(); });
    };
}

/// One participant with two commits under way: both appends were parked, and go on in either order.
Setup twoOpenCommits(bool firstFirst) {
    return [firstFirst](Model& model) {
        auto world = std::make_shared<World>();
        {
            Uninterrupted whole;
            world->put(1, "b", "old");
            world->checkpoint();
            world->put(1, "f", "first");
        }
        model.thread([world, firstFirst] {
            ModelEnv::Slice slice(&world->env);
            World::Open first = world->write(0, "b", "1");
            World::Open second = world->write(0, "d", "2");
            world->begin(first);
            world->append(first);
            world->begin(second);
            world->append(second);
            world->complete(firstFirst ? first : second);
            world->complete(firstFirst ? second : first);
        });
        model.thread([world] { world->checkpoint(); });
        model.finally([world] { world->expectRecovered(); });
    };
}

/// A transaction whose records are a chain; another one commits between them.
Setup chainOfTwo(bool lateFloor) {
    return [lateFloor](Model& model) {
        auto world = std::make_shared<World>();
        {
            Uninterrupted whole;
            world->put(0, "b", "old");
            world->checkpoint();
            world->put(0, "f", "first");
        }
        model.thread([world, lateFloor] { world->putChain(0, {"b", "d"}, "1", lateFloor); });
        model.thread([world] { world->put(1, "f", "2"); });
        model.thread([world] { world->checkpoint(); });
        model.finally([world] { world->expectRecovered(); });
    };
}

TEST(CommitLow, CoversChains) {
    expectHolds(chainOfTwo(false), {.preemptions = 2, .executionsMax = 400'000});
    expectFound(Mutant::kNone, chainOfTwo(true));
}

TEST(CommitLow, CoversLateCommitters) {
    expectHolds(delayedCommitters(), {.preemptions = 2, .executionsMax = 400'000});
    expectHolds(twoOpenCommits(true));
    expectHolds(twoOpenCommits(false));
}

TEST(CommitLow, MistakesAreFound) {
    expectFound(Mutant::kTailAfterFloors, writerAgainstScan(true, false), {.preemptions = 3});
    expectFound(Mutant::kFloorEndsEarly, delayedCommitters());
    expectFound(sync::Mutant::kPlaceTaken, twoOpenCommits(false));
}

/// A leaf splits, by a writer or when a checkpoint folds it, and one of its keys changes, while
/// checkpoints are made. `deep`: the leaf is not the root. `atOnce`: splitter and writer are two
/// threads.
Setup split(bool deep, int checkpoints, bool atOnce = false) {
    return [deep, checkpoints, atOnce](Model& model) {
        auto world = std::make_shared<World>(kTinyPages);
        {
            Uninterrupted whole;
            // Two keys fill a page; the first checkpoint must not split any.
            world->put(0, "b", "1");
            world->put(0, "f", "1");
            if (deep) {
                world->put(0, "d", "1");
                world->rebuild("");
                check(!world->tree.root().word.load(sync::kAcquire)->isLeaf(), "it has split");
                world->put(0, "g", "1");
            }
            world->checkpoint();
            world->put(0, deep ? "i" : "c", "1");
        }
        auto change = [world, deep] { world->put(0, deep ? "g" : "f", "2"); };
        model.thread([world, atOnce, change] {
            world->rebuild("i");
            if (!atOnce) {
                change();
            }
        });
        if (atOnce) {
            model.thread(change);
        }
        model.thread([world, checkpoints] {
            for (int i = 0; i < checkpoints; ++i) {
                world->checkpoint();
            }
        });
        model.finally([world] { world->expectRecovered(); });
    };
}

TEST(CheckpointSplits, LoseNothing) {
    expectHolds(split(false, 1));
    expectHolds(split(true, 1));
    expectHolds(split(false, 1, true), {.preemptions = 1});
    expectHolds(split(true, 1, true), {.preemptions = 1});
}

TEST(CheckpointSplits, LoseNothingBesideTwoCheckpoints) {
    expectHolds(split(false, 2), {.preemptions = 1});
    expectHolds(split(true, 2), {.preemptions = 1});
}

TEST(CheckpointSplits, MistakesAreFound) {
    expectFound(Mutant::kForgetOrigin, split(false, 2));
    expectFound(Mutant::kNoUnwrittenFirst, split(true, 1));
}

/// The state of a leaf that matches its image: with nothing beside its base, with changes, or on
/// disk.
enum class Start : uint8_t { kFolded, kChanged, kGone };

/// A leaf is evicted, beside checkpoints if wanted, while one of its keys changes and is read, and
/// the leaf is rebuilt.
Setup evictions(Start start, bool checkpoints, bool reads, bool rebuilds) {
    return [=](Model& model) {
        auto world = std::make_shared<World>();
        {
            Uninterrupted whole;
            const uint64_t old = world->table.snapshot();
            if (start == Start::kChanged) {
                world->env.pin(old);  // an old reader keeps the checkpoint from folding
            }
            world->put(0, "b", "old");
            world->put(0, "f", "stays");
            world->checkpoint();
            if (start == Start::kChanged) {
                world->env.unpin(old);
            }
            if (start == Start::kGone) {
                world->evict();
                check(world->evicted == 1, "it is evicted");
            }
        }
        model.thread([world, rebuilds] {
            world->putAnywhere(0, "b", "new");
            if (rebuilds) {
                world->rebuild("b");
            }
        });
        model.thread([world, checkpoints] {
            if (checkpoints) {
                world->checkpoint();
            }
            world->evict();
            world->evict();
            if (checkpoints) {
                world->checkpoint();
            }
        });
        if (reads) {
            model.thread([world] {
                check(world->getAnywhere("f") == "stays", "an unchanged key is always found");
            });
        }
        model.finally([world] {
            world->expectAllThere();
            world->expectRecovered();
        });
    };
}

TEST(Evictions, LoseNothingThatIsWritten) {
    expectHolds(evictions(Start::kFolded, false, false, false));
    expectHolds(evictions(Start::kFolded, false, false, true));
    expectHolds(evictions(Start::kChanged, false, false, false));
    expectHolds(evictions(Start::kChanged, false, false, true));
    expectHolds(evictions(Start::kChanged, true, false, false), {.preemptions = 1});
    expectHolds(evictions(Start::kGone, false, false, true));
    expectHolds(evictions(Start::kFolded, true, false, true), {.preemptions = 1});
    expectHolds(evictions(Start::kFolded, true, false, false));
    expectHolds(evictions(Start::kGone, true, false, false));
    expectHolds(evictions(Start::kFolded, false, false, true), {.preemptions = 2, .staleLoads = 1});
}

TEST(Evictions, BringBackForAllCallers) {
    expectHolds(evictions(Start::kGone, false, true, false));
    expectHolds(evictions(Start::kFolded, false, true, false), {.preemptions = 1});
    expectHolds(evictions(Start::kChanged, false, true, false), {.preemptions = 1});
    expectHolds(evictions(Start::kGone, true, true, true), {.preemptions = 1});
}

TEST(Evictions, MistakesAreFound) {
    expectFound(Mutant::kEvictMarked, evictions(Start::kFolded, false, false, true));
    expectFound(Mutant::kEvictUnfrozen, evictions(Start::kFolded, false, false, false));
    expectFound(Mutant::kEvictMarked, evictions(Start::kChanged, false, false, false));
    expectFound(Mutant::kEvictUnfrozen, evictions(Start::kChanged, false, false, false));
}

/// One thread brings a leaf back, another one writes to it, and a checkpoint looks at what is in
/// memory.
Setup writeAfterBringBack() {
    return [](Model& model) {
        auto world = std::make_shared<World>(kTinyPages);
        {
            Uninterrupted whole;
            world->beginWithTwoLeaves();
            world->evict();
            check(world->evicted == 2, "both leaves go");
        }
        model.thread([world] { check(world->getAnywhere("b") == "1", "it is there"); });
        model.thread([world] { world->putAnywhere(0, "d", "2"); });
        model.thread([world] { world->checkpoint(); });
        model.finally([world] { world->expectRecovered(); });
    };
}

TEST(Evictions, WritesAfterBringingBackAreInTheRedoPosition) {
    expectHolds(writeAfterBringBack(), {.preemptions = 1});
    expectFound(Mutant::kResidentLate, writeAfterBringBack(), {.preemptions = 1});
}

/// As split(true, ...), with evictions. `atOnce`: the page that splits is due; else it is clean and
/// its image is older than the split.
Setup evictedSplit(bool atOnce) {
    return [atOnce](Model& model) {
        auto world = std::make_shared<World>(kTinyPages);
        {
            Uninterrupted whole;
            for (const char* key : {"b", "d", "f"}) {
                world->put(0, key, "1");
            }
            world->rebuild("");
            world->put(0, "g", "1");
            world->checkpoint();
            // An old reader keeps the checkpoint from folding, and hence splitting, resting leaves.
            const uint64_t old = world->table.snapshot();
            world->env.pin(old);
            world->put(0, "h", "1");
            world->put(0, "i", "1");
            if (!atOnce) {
                world->checkpoint();
            }
            world->env.unpin(old);
        }
        model.thread([world] {
            world->rebuild("i");
            world->putAnywhere(0, "i", "2");
        });
        model.thread([world] {
            world->evict();
            world->evict();
            world->checkpoint();
            world->evict();
        });
        model.finally([world] {
            world->expectRecovered();
            world->expectAllThere();
        });
    };
}

TEST(EvictedSplits, LoseNothing) {
    expectHolds(evictedSplit(false), {.preemptions = 1});
    expectHolds(evictedSplit(true), {.preemptions = 1});
}

TEST(EvictedSplits, MistakesAreFound) {
    expectFound(Mutant::kBringBackWhole, evictedSplit(false));
}

/// The disk becomes full in the middle of a checkpoint; the next one succeeds.
TEST(FullDisk, LeavesEverythingDue) {
    for (uint64_t writes : {0, 1, 2}) {
        expectHolds(
            [writes](Model& model) {
                auto world = std::make_shared<World>(kTinyPages);
                {
                    Uninterrupted whole;
                    for (const char* key : {"b", "d", "f", "h"}) {
                        world->put(0, key, "1");
                    }
                    world->rebuild("");
                }
                world->writesUntilFull = writes;
                model.thread([world] {
                    world->checkpoint();
                    world->writesUntilFull = UINT64_MAX;
                    world->checkpoint();
                });
                model.thread([world] { world->put(0, "b", "2"); });
                model.finally([world] { world->expectRecovered(); });
            },
            {.preemptions = 2});
    }
}

/// A tree of some levels that no checkpoint has written yet: most of its pages have no mark of
/// their own. After `writes` images the disk is full; then there is room again.
Setup firstImages(uint64_t writes) {
    return [writes](Model& model) {
        auto world = std::make_shared<World>(kTinyPages);
        model.thread([world, writes] {
            Uninterrupted whole;
            for (const char* key : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}) {
                world->put(0, key, "1");
                world->rebuild(key);
            }
            world->writesUntilFull = writes;
            world->checkpoint();
            world->expectRecovered();
            world->writesUntilFull = UINT64_MAX;
            world->checkpoint();
            world->expectRecovered();
        });
    };
}

TEST(FullDisk, LeavesNoPageOut) {
    std::map<Mutant, int> found{{Mutant::kOwedNotDue, 0}, {Mutant::kSettleBeforeWritten, 0}};
    for (uint64_t writes = 0; writes < 20; ++writes) {
        const ExploreOptions once{.preemptions = 0};
        const ExploreResult result = run(Mutant::kNone, firstImages(writes), once);
        EXPECT_TRUE(result.passed()) << writes << ": " << result.report;
        for (auto& [mutant, times] : found) {
            times += run(mutant, firstImages(writes), once).passed() ? 0 : 1;
        }
    }
    for (const auto& [mutant, times] : found) {
        EXPECT_GT(times, 0) << "mutant " << static_cast<int>(mutant) << " survived";
    }
}

}  // namespace
}  // namespace freshet::engine
