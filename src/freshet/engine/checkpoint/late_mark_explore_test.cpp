// SPDX-License-Identifier: Apache-2.0
/// Model checks of marks that a checkpoint does not meet where it looks (INV-engine-17): marks of
/// late writers, on leaves that were evicted meanwhile, or that have split. A checkpoint looks only
/// at what is in memory, and yet no redo position may pass a change that is in no image.
#include "freshet/engine/checkpoint/checkpoint_model_test_support.h"

#include <memory>
#include <string>

namespace freshet::engine {
namespace {

using testing::check;
using testing::Model;
using testing::Uninterrupted;
using testing::waitUntil;

/// As kTinyPages; and a writer that is about to link a second version asks for the oldest snapshot.
constexpr TreeLimits kAskingPages{
    .leafBytesMax = 60, .joinedBytesMax = 0, .innerBytesMax = 60, .trimDepthMin = 1};

/// A tree whose leaves are all in images and have no marks. The last leaf holds so much that its
/// next rebuild splits it, and "i" goes to the right half.
struct AboutToSplit : World {
    AboutToSplit() : World(kAskingPages) {
        Uninterrupted whole;
        for (const char* key : {"b", "d", "f"}) {
            put(0, key, "1");
        }
        rebuild("");
        put(0, "g", "1");
        checkpoint();
        // It keeps the checkpoint from splitting resting leaves.
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
    /// Evictions and checkpoints alternate; in the store a mutex sees to that.
    void endTurn() {
        turns.fetch_add(1, sync::kRelease);
        isTurnOver = true;
    }
    void awaitTurn() {
        waitUntil([this] { return isTurnOver; });
        static_cast<void>(turns.load(sync::kAcquire));
    }
    /// Nothing is lost from memory, nor by the next checkpoint.
    void expectNothingLost() {
        expectAllThere();
        checkpoint();
        expectRecovered();
    }
    uint64_t old = 0;
    sync::Atomic<uint64_t> turns{0};
    bool isTurnOver = false;
};

/// A scan has taken a writer's first mark and missed its version, and the writer is stopped before
/// the second mark. Another thread splits the leaf and is stopped too, before the parent knows, and
/// the left half may be evicted. Now the version is in the right half, which has no image and no
/// mark, and a checkpoint has only the writer's mark to go by.
Setup lateMark() {
    return [](Model& model) {
        auto world = std::make_shared<AboutToSplit>();
        auto isWritten = std::make_shared<bool>(false);
        model.thread([world, isWritten] {
            // The writer asks between its mark and its version; stopping it there by the explorer
            // would take two preemptions more.
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

/// The thread that splits a leaf is stopped before the new page is known to be live; the
/// checkpoint's thread writes the page, and another thread changes it again. The power fails while
/// the first one stands there.
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

/// A writer marks a leaf that has been evicted, with the lowest LSN from before. Others commit and
/// make checkpoints until the writer brings the leaf back.
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
