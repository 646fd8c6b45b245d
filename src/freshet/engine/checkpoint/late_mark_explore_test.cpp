// SPDX-License-Identifier: Apache-2.0
/// Model checks of marks that a checkpoint does not meet where it looks (INV-engine-17): of writers
/// who are late, on leaves that were evicted meanwhile, or that have split. A checkpoint looks at
/// what is in memory only, and yet no redo position may pass what is in no image.
#include "freshet/engine/checkpoint/checkpoint_model_test_support.h"

#include <memory>
#include <string>

namespace freshet::engine {
namespace {

using testing::check;
using testing::Model;
using testing::Uninterrupted;
using testing::waitUntil;

/// As kTinyPages; and a writer who is about to link a second version asks for the oldest snapshot.
constexpr TreeLimits kAskingPages{
    .leafBytesMax = 60, .joinedBytesMax = 0, .innerBytesMax = 60, .trimDepthMin = 1};

/// A tree of leaves that are all in images and have no marks, of which the last one holds so much
/// that its next rebuild splits it, and "i" goes to the right.
struct AboutToSplit : World {
    AboutToSplit() : World(kAskingPages) {
        Uninterrupted whole;
        for (const char* key : {"b", "d", "f"}) {
            put(0, key, "1");
        }
        rebuild("");
        put(0, "g", "1");
        checkpoint();
        // It keeps the checkpoint from splitting what rests.
        old = table.snapshot();
        env.pin(old);
        put(0, "h", "1");
        put(0, "i", "1");
        checkpoint();
        checkpoint();
        check(tree.root().effectiveLsn() == 0, "nothing is due");
    }
    void splits() {
        env.unpin(old);
        rebuild("i");
    }
    /// Evictions and checkpoints take turns; in the store by a mutex.
    void endTurn() {
        turns.fetch_add(1, sync::kRelease);
        isTurnOver = true;
    }
    void awaitTurn() {
        waitUntil([this] { return isTurnOver; });
        static_cast<void>(turns.load(sync::kAcquire));
    }
    /// Neither from memory nor by the next checkpoint.
    void expectNothingLost() {
        expectAllThere();
        checkpoint();
        expectRecovered();
    }
    uint64_t old = 0;
    sync::Atomic<uint64_t> turns{0};
    bool isTurnOver = false;
};

/// A writer whose first mark a scan has taken, and missed his version, is stopped before the second
/// one. The leaf is split by somebody who is stopped as well, before the parent knows, and what is
/// left of it may go: the version is in the right half, which has no image and no mark, and a
/// checkpoint that comes then has nothing but the writer's mark to go by.
Setup lateMark() {
    return [](Model& model) {
        auto world = std::make_shared<AboutToSplit>();
        auto isWritten = std::make_shared<bool>(false);
        model.thread([world, isWritten] {
            // He asks between his mark and his version, lest that take two interruptions more.
            world->env.whenAsked = [world] {
                world->checkpoint();
                world->endTurn();
            };
            world->putAnywhere(0, "i", "2");
            *isWritten = true;
        });
        model.thread([world] {
            world->awaitTurn();
            world->splits();
        });
        model.thread([world, isWritten] {
            world->awaitTurn();
            world->evict();
            waitUntil([isWritten] { return *isWritten; });
            Uninterrupted whole;
            world->checkpoint();
            world->expectRecovered();
        });
        model.finally([world] { world->expectNothingLost(); });
    };
}

TEST(LateMarks, StandForTheRightHalf) {
    // It holds with two as well: 198,929 executions, one and a half minutes.
    expectHolds(lateMark(), {.preemptions = 1});
    expectFound(Mutant::kEvictOrigin, lateMark());
}

/// Who splits a leaf is stopped before the new page is known for good; the checkpoint's thread
/// writes it, and somebody changes it again. The power fails while he stands there.
Setup lateSplitter() {
    return [](Model& model) {
        auto world = std::make_shared<AboutToSplit>();
        model.thread([world] { world->splits(); });
        model.thread([world] {
            for (const char* value : {"2", "3"}) {
                world->putAnywhere(0, "i", value);
                world->checkpoint();
                world->expectRecovered();
                world->evict();
            }
            world->putAnywhere(0, "i", "4");
            world->checkpoint();
            world->expectRecovered();
        });
        model.finally([world] { world->expectNothingLost(); });
    };
}

TEST(LateSplitters, LeaveNoPageOutOfSight) {
    expectHolds(lateSplitter(), {.preemptions = 1});
    expectFound(Mutant::kLiveEarly, lateSplitter(), {.preemptions = 1});
}

/// A writer marks a leaf that has been evicted, with what was the lowest LSN before. Others commit
/// and make checkpoints until he brings it back.
Setup oldMark() {
    return [](Model& model) {
        auto world = std::make_shared<World>(kTinyPages);
        world->beginWithTwoLeaves();
        model.thread([world] { world->putAnywhere(0, "b", "2"); });
        model.thread([world] {
            world->evict();
            world->putAnywhere(1, "f", "2");
            world->checkpoint();
            world->checkpoint();
        });
        model.finally([world] {
            world->expectRecovered();
            world->expectAllThere();
        });
    };
}

TEST(OldMarks, TakeNoPositionBack) {
    expectHolds(oldMark());
    expectFound(Mutant::kRedoGoesBack, oldMark());
}

}  // namespace
}  // namespace freshet::engine
