// SPDX-License-Identifier: Apache-2.0
/// Model checks of the page tree: push against freeze and rebuild, carried chains against folding
/// and trimming with old readers, splits against inserts and reads (INV-engine-1 to 5). Each seeded
/// mistake must be found by one of the models.
#include "freshet/engine/tree/tree_check.h"
#include "freshet/engine/tree/tree_model_test_support.h"
#include "freshet/engine/txn/write_set.h"
#include "freshet/testing/sim/explorer.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace freshet::engine {
namespace {

using testing::check;
using testing::Model;
using testing::Uninterrupted;

struct World {
    explicit World(TreeLimits limits = {}) : env(&table, limits), tree(&env, 1) {}

    /// Writes without committing; the stamp names the transaction.
    Version* write(ByteView key, ByteView value, uint64_t stamp, uint64_t readTs) {
        const VersionOp op = value.empty() ? VersionOp::kDelete : VersionOp::kPut;
        const WriteResult result =
            tree.write({WriteKind::kPut, op, key, value, stamp, {readTs, stamp}});
        return result.kind == WriteResult::Kind::kDone ? result.version : nullptr;
    }
    void finish(uint64_t stamp, Version* version, bool commit) {
        uint64_t final = kStampAborted;
        if (commit) {
            table.setCommitting(stamp);
            final = table.claim(stamp);
        } else {
            table.setAborted(stamp);
        }
        settle(table, stamp, std::span<Version* const>(&version, 1), final);
    }
    /// A whole transaction. An empty value deletes. False: a conflict.
    bool put(ByteView key, ByteView value, bool commit = true) {
        ModelEnv::Slice slice(&env);
        const uint64_t stamp = *table.open();
        Version* version = write(key, value, stamp, slice.snapshot);
        if (version == nullptr) {
            table.setAborted(stamp);
            table.close(stamp);
            return false;
        }
        Uninterrupted rest;
        finish(stamp, version, commit);
        return true;
    }
    std::string get(ByteView key, uint64_t snapshot = 0) {
        ModelEnv::Slice slice(&env, snapshot);
        const std::optional<ValueRef> value = tree.get(key, {slice.snapshot, 0});
        return value ? std::string(value->bytes) : "none";
    }
    void rebuild(ByteView key) {
        ModelEnv::Slice slice(&env);
        tree.rebuildForTest(key);
    }
    std::string scan(Direction direction) { return keysIn(tree, &env, direction); }
    void expectSound() {
        ModelEnv::Slice slice(&env);
        const TreeShape shape = checkTree(tree);
        check(shape.error.empty(), shape.error.c_str());
    }

    TxnTable table{kTinyTable};
    ModelEnv env;
    PageTree tree;
};

/// One thread writes `key` while another rebuilds its leaf and a third reads. The delta has "b".
Setup pushAgainstRebuild(const std::string& key) {
    return [key](Model& model) {
        auto world = std::make_shared<World>();
        world->put("b", "old");
        world->put("e", "base");
        world->rebuild("");
        world->put("b", "older");
        model.thread([world, key] { check(world->put(key, "new"), "no conflict"); });
        model.thread([world] { world->rebuild(""); });
        model.thread([world, key] {
            const std::string value = world->get(key);
            check(value == "new" || value == (key == "b" ? "older" : "none"), "one of two states");
        });
        model.finally([world, key] {
            check(world->get(key) == "new", "the write is there");
            check(world->get("e") == "base", "its neighbour, too");
            check(world->get("b") == (key == "b" ? "new" : "older"), "the other key, too");
            world->expectSound();
        });
    };
}

TEST(PushAgainstRebuild, LosesNothing) {
    for (const char* key : {"a", "b", "c"}) {
        expectHolds(pushAgainstRebuild(key));
    }
}

TEST(PushAgainstRebuild, EveryMissingMarkIsFound) {
    expectFound(Mutant::kNoBucketMark, pushAgainstRebuild("a"));
    expectFound(Mutant::kNoVersionMark, pushAgainstRebuild("b"));
    expectFound(Mutant::kNoNextMark, pushAgainstRebuild("c"));
}

TEST(PushAgainstRebuild, RelaxedPublicationIsFound) {
    expectFound(Mutant::kRelaxedPush, pushAgainstRebuild("a"));
    expectFound(Mutant::kRelaxedPush, pushAgainstRebuild("b"));
    expectFound(Mutant::kRelaxedInstall, pushAgainstRebuild("b"));
}

std::string idKey(uint64_t id) {
    std::string key(kRecordIdBytes, '\0');
    storeBe64(key.data(), id);
    return key;
}

/// Two threads append a record each while the leaf is rebuilt, and another thread looks for
/// `first`, which is one of the two. Ids 1 and 2 are in the base, 3 has a cell.
Setup appendAgainstRebuild(uint64_t first, bool isThere) {
    return [first, isThere](Model& model) {
        auto world = std::make_shared<World>(TreeLimits{.deltaKeysMax = 4, .denseKeysMin = 2});
        world->put(idKey(1), "1");
        world->put(idKey(2), "2");
        world->rebuild("");
        world->put(idKey(3), "3");
        if (isThere) {
            world->put(idKey(first), "old");
        }
        model.thread([world, first] { check(world->put(idKey(first), "new"), "no conflict"); });
        model.thread([world] { world->rebuild(""); });
        model.thread([world, first, isThere] {
            const std::string value = world->get(idKey(first));
            check(value == "new" || value == (isThere ? "old" : "none"), "one of two states");
            check(world->get(idKey(3)) == "3", "its neighbour stays");
        });
        model.finally([world, first] {
            check(world->get(idKey(first)) == "new", "the write is there");
            const std::string all = idKey(1) + idKey(2) + idKey(3) + idKey(first);
            check(world->scan(Direction::kForward) == all, "all keys upward");
            check(
                world->scan(Direction::kBackward) == idKey(first) + idKey(3) + idKey(2) + idKey(1),
                "all keys downward");
            world->expectSound();
        });
    };
}

TEST(AppendAgainstRebuild, LosesNothing) {
    expectHolds(appendAgainstRebuild(4, false));
    expectHolds(appendAgainstRebuild(4, true));
    expectHolds(appendAgainstRebuild(1000, false));  // no cell for that
}

TEST(AppendAgainstRebuild, AMissingMarkOrReleaseIsFound) {
    expectFound(Mutant::kNoCellMark, appendAgainstRebuild(4, false));
    expectFound(Mutant::kNoCellMark, appendAgainstRebuild(4, true));
    expectFound(Mutant::kRelaxedPush, appendAgainstRebuild(4, false));
}

/// An append is in flight while the leaf is rebuilt: its chain is carried from cell to cell.
TEST(AppendAgainstRebuild, CarriesWhatIsUndecided) {
    expectHolds([](Model& model) {
        auto world = std::make_shared<World>(TreeLimits{.deltaKeysMax = 4, .denseKeysMin = 2});
        world->put(idKey(1), "1");
        world->put(idKey(2), "2");
        world->rebuild("");
        auto slice = std::make_shared<ModelEnv::Slice>(&world->env);
        const uint64_t stamp = *world->table.open();
        Version* mine = world->write(idKey(3), "mine", stamp, slice->snapshot);
        slice.reset();
        model.thread([world] { world->rebuild(""); });
        model.thread([world] { check(world->put(idKey(4), "4"), "no conflict"); });
        model.thread([world, stamp, mine] {
            ModelEnv::Slice inside(&world->env);
            world->finish(stamp, mine, true);
        });
        model.finally([world] {
            check(world->get(idKey(3)) == "mine", "as it was decided");
            check(world->get(idKey(4)) == "4", "the other one, too");
            world->rebuild("");
            check(world->get(idKey(3)) == "mine", "and folded");
            world->expectSound();
        });
    });
}

/// Two rebuilds and a writer at once: at most one replacement is installed, nothing is freed twice.
TEST(Rebuild, CanBeDoneByTwoAtOnce) {
    expectHolds([](Model& model) {
        auto world = std::make_shared<World>();
        world->put("a", "1");
        world->put("b", "2", false);
        world->put("c", "3");
        model.thread([world] { world->rebuild(""); });
        model.thread([world] { world->rebuild(""); });
        model.thread([world] { world->put("b", "4"); });
        model.finally([world] {
            check(world->scan(Direction::kForward) == "abc", "all keys");
            check(world->get("b") == "4", "the write is there");
            world->expectSound();
        });
    });
}

/// An old reader holds a snapshot while its key is updated, trimmed and folded.
Setup chainWithOldReader(unsigned trimDepth) {
    return [trimDepth](Model& model) {
        auto world = std::make_shared<World>(TreeLimits{.trimDepthMin = trimDepth});
        world->put("k", "v0");
        world->rebuild("");
        world->put("k", "v1");
        world->put("k", "v2");
        const uint64_t old = world->table.snapshot();
        world->env.pin(old);
        world->put("k", "v3");
        model.thread([world, old] {
            check(world->get("k", old) == "v2", "the snapshot stands");
            check(world->get("k", old) == "v2", "the snapshot still stands");
        });
        model.thread([world] {
            world->rebuild("");
            world->rebuild("");
        });
        model.thread([world] { world->put("k", "v4"); });
        model.finally([world, old] {
            check(world->get("k", old) == "v2", "to the end");
            check(world->get("k") == "v4", "and the newest is there");
            world->env.unpin(old);
        });
    };
}

TEST(Chains, KeepWhatAnOldReaderNeeds) {
    expectHolds(chainWithOldReader(1));
}

TEST(Chains, FoldingOrTrimmingTooMuchIsFound) {
    expectFound(Mutant::kFoldIgnoresReaders, chainWithOldReader(16));
    expectFound(Mutant::kTrimTakesKeeper, chainWithOldReader(1));
}

/// A transaction is in flight over a committed version while the leaf is rebuilt: the chain is
/// carried, and decided later.
Setup carriedChain(bool commits) {
    return [commits](Model& model) {
        auto world = std::make_shared<World>();
        world->put("k", "v0");
        world->rebuild("");
        world->put("k", "v1");
        auto slice = std::make_shared<ModelEnv::Slice>(&world->env);
        const uint64_t stamp = *world->table.open();
        Version* mine = world->write("k", "mine", stamp, slice->snapshot);
        slice.reset();
        model.thread([world] {
            world->rebuild("");
            world->rebuild("");
        });
        model.thread([world, stamp, mine, commits] {
            ModelEnv::Slice inside(&world->env);
            world->finish(stamp, mine, commits);
        });
        model.thread([world, commits] {
            const std::string value = world->get("k");
            check(value == "v1" || (commits && value == "mine"), "one of two states");
        });
        model.finally([world, commits] {
            check(world->get("k") == (commits ? "mine" : "v1"), "as it was decided");
            world->rebuild("");
            check(world->get("k") == (commits ? "mine" : "v1"), "and folded");
        });
    };
}

TEST(CarriedChains, AreDecidedOnce) {
    expectHolds(carriedChain(true));
    expectHolds(carriedChain(false));
}

TEST(CarriedChains, LeavingThemUnsaidIsFound) {
    expectFound(Mutant::kCarriedUnsaid, carriedChain(true));
}

TEST(CarriedChains, FoldingUnderThemIsFound) {
    expectFound(Mutant::kFoldUnderCarried, carriedChain(true));
}

/// A thread that knows that a key of the base has been changed reads the change, whatever bits
/// other keys have set; the leaf is rebuilt meanwhile.
Setup readAfterChange(bool isRebuilt) {
    return [isRebuilt](Model& model) {
        struct Signalled : World {
            sync::Atomic<bool> done{false};
        };
        auto world = std::make_shared<Signalled>();
        world->put("b", "base");
        world->put("e", "base");
        world->rebuild("");
        model.thread([world] {
            check(world->put("b", "new"), "no conflict");
            // [test.done] release: pairs with the load below.
            world->done.store(true, sync::kRelease);
        });
        model.thread([world, isRebuilt] {
            if (isRebuilt) {
                world->rebuild("");
            } else {
                world->put("e", "other");
            }
        });
        model.thread([world] {
            const bool isDone = world->done.load(sync::kAcquire);  // [test.done]
            const std::string value = world->get("b");
            check(value == "new" || (!isDone && value == "base"), "what was changed");
        });
        model.finally([world] { check(world->get("b") == "new", "the write is there"); });
    };
}

TEST(ReadAfterChange, SeesIt) {
    expectHolds(readAfterChange(true));
    expectHolds(readAfterChange(false));
}

TEST(ReadAfterChange, AChainUnsaidIsFound) {
    expectFound(Mutant::kChainUnsaid, readAfterChange(true));
    expectFound(Mutant::kChainUnsaid, readAfterChange(false));
}

/// A reader stands on an aborted version in the old leaf while the chain below it is folded.
Setup abortedAbove() {
    return [](Model& model) {
        auto world = std::make_shared<World>();
        world->put("k", "v0");
        world->rebuild("");
        world->put("k", "v1");
        world->put("k", "gone", false);
        model.thread([world] { check(world->get("k") == "v1", "the committed one"); });
        model.thread([world] { world->rebuild(""); });
        model.thread([world] { world->put("k", "v2", false); });
        model.finally([world] { check(world->get("k") == "v1", "the committed one"); });
    };
}

TEST(AbortedVersions, DoNotHideWhatLiesBelow) {
    expectHolds(abortedAbove());
}

TEST(AbortedVersions, TakingTheirLinksIsFound) {
    expectFound(Mutant::kTakeAbortedLinks, abortedAbove());
}

/// Leaves of two or three keys. `deep`: the tree has an inner node already.
Setup splitAgainstInsertAndRead(bool deep) {
    return [deep](Model& model) {
        auto world = std::make_shared<World>(TreeLimits{.leafBytesMax = 60, .innerBytesMax = 60});
        world->put("b", "1");
        world->put("f", "2");
        if (deep) {
            world->put("d", "3");
            world->put("h", "4");
            world->rebuild("");
            check(!world->tree.root().word.load(sync::kAcquire)->isLeaf(), "it has split");
            world->put("a", "5");
        }
        world->put("c", "6");
        model.thread([world] { world->rebuild("a"); });
        model.thread([world] { check(world->put("e", "7"), "no conflict"); });
        model.thread([world] {
            check(world->get("c") == "6", "present all the time");
            check(world->get("f") == "2", "present all the time");
        });
        model.finally([world, deep] {
            const std::string all = deep ? "abcdefh" : "bcef";
            check(world->scan(Direction::kForward) == all, "all keys upward");
            const std::string downward = world->scan(Direction::kBackward);
            check(std::string(downward.rbegin(), downward.rend()) == all, "all keys downward");
            world->expectSound();
        });
    };
}

TEST(Splits, LoseNothing) {
    expectHolds(splitAgainstInsertAndRead(false));
    expectHolds(splitAgainstInsertAndRead(true));
}

TEST(Splits, IgnoringTheFenceIsFound) {
    expectFound(Mutant::kNoMoveRight, splitAgainstInsertAndRead(true));
}

/// Walkers in both directions while pages split under them.
TEST(Walks, SeeOneStateDuringSplits) {
    expectHolds([](Model& model) {
        auto world = std::make_shared<World>(TreeLimits{.leafBytesMax = 60, .innerBytesMax = 60});
        for (const char* key : {"b", "d", "f", "h"}) {
            world->put(key, "1");
        }
        world->rebuild("");
        world->put("a", "1");
        world->put("c", "1");
        model.thread([world] { world->rebuild("a"); });
        model.thread([world] { check(world->scan(Direction::kBackward) == "hfdcba", "downward"); });
        model.thread([world] { check(world->scan(Direction::kForward) == "abcdfh", "upward"); });
        model.finally([world] { world->expectSound(); });
    });
}

/// Leaves come into memory while the eviction looks at those that are in memory already.
Setup residents() {
    return [](Model& model) {
        struct Shelf {
            PageEntry a{1}, b{2}, c{3};
            ResidentPages pages;
        };
        auto shelf = std::make_shared<Shelf>();
        shelf->pages.add(&shelf->a);
        model.thread([shelf] { shelf->pages.add(&shelf->b); });
        model.thread([shelf] { shelf->pages.add(&shelf->c); });
        model.thread([shelf] {
            for (int i = 0; i < 2; ++i) {
                check(shelf->pages.takeIn([](PageEntry*) {}) != 0, "what was there is there");
                shelf->pages.putLast(shelf->pages.takeFirst());
            }
        });
        model.finally([shelf] {
            check(shelf->pages.takeIn([](PageEntry*) {}) == 3, "each was taken in");
            std::set<PageEntry*> found;
            while (PageEntry* page = shelf->pages.takeFirst()) {
                found.insert(page);
            }
            check(found == std::set<PageEntry*>{&shelf->a, &shelf->b, &shelf->c}, "and once");
        });
    };
}

TEST(Residents, AreAllLookedAt) {
    expectHolds(residents());
    expectFound(Mutant::kResidentLost, residents());
    expectFound(Mutant::kRelaxedResident, residents());
}

}  // namespace
}  // namespace freshet::engine
