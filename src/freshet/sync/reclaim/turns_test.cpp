// SPDX-License-Identifier: Apache-2.0
/// When threads let each other run between two slices, and when not.
#include "freshet/sync/reclaim/turns.h"

#include "freshet/platform/thread.h"
#include "freshet/sync/epoch.h"
#include "freshet/sync/wait_token.h"

#include <gtest/gtest.h>

#include <vector>

namespace freshet::sync {
namespace {

constexpr uint64_t kNow = 1'000'000'000'000;

TEST(Crowd, IsMoreSlicesThanProcessorsCanRun) {
    Crowd crowd(4);
    crowd.note(4 * kCrowdPerCore, kNow);
    EXPECT_TRUE(crowd.neverWas());
    EXPECT_FALSE(crowd.lastsAt(kNow));
    crowd.note(4 * kCrowdPerCore + 1, kNow);
    EXPECT_FALSE(crowd.neverWas());
    EXPECT_TRUE(crowd.lastsAt(kNow));
}

TEST(Crowd, LastsUntilNoThreadHasSeenItForAWhile) {
    Crowd crowd(1);
    crowd.note(100, kNow);
    EXPECT_TRUE(crowd.lastsAt(kNow + kCrowdNanos - 1));
    crowd.note(0, kNow + kCrowdNanos - 1);  // threads that take turns do not end it
    EXPECT_TRUE(crowd.lastsAt(kNow + kCrowdNanos - 1));
    EXPECT_FALSE(crowd.lastsAt(kNow + kCrowdNanos));
    crowd.note(100, kNow + kCrowdNanos - 1);
    EXPECT_TRUE(crowd.lastsAt(kNow + kCrowdNanos));
}

TEST(Turn, IsLookedAtOnceInAWhileAndOverAfterItsTime) {
    const Pace pace;
    Turn turn;
    for (int round = 0; round < 3; ++round) {
        for (uint32_t i = 1; i < kSlicesPerLook; ++i) {
            EXPECT_FALSE(turn.isTimeToLook());
        }
        EXPECT_TRUE(turn.isTimeToLook());
    }
    turn.begin(kNow);
    EXPECT_FALSE(turn.isOver(kNow + kTurnNanos - 1, pace));
    EXPECT_TRUE(turn.isOver(kNow + kTurnNanos, pace));
}

void haveSlices(Turn* turn, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        turn->isTimeToLook();
    }
}

/// Turns are checked only once in a while.
uint32_t roundedToLooks(uint32_t slices) {
    return (slices + kSlicesPerLook - 1) / kSlicesPerLook * kSlicesPerLook;
}

/// The assumed interval of a writer's turns before one was measured.
constexpr uint64_t kUsual = kTurnNanos;

TEST(Turn, OfAReaderIsOverAfterManySlices) {
    const Pace pace;
    const uint32_t slices = roundedToLooks(pace.slicesPerReadingTurn(kUsual));
    Pace others;
    Turn turn;
    for (int round = 0; round < 3; ++round) {
        turn.end(kNow - kUsual, &others);
        turn.begin(kNow);
        haveSlices(&turn, slices - 1);
        EXPECT_FALSE(turn.isOver(kNow, pace));
        haveSlices(&turn, 1);
        EXPECT_TRUE(turn.isOver(kNow, pace));
    }
}

TEST(Turn, OfAWriterHasItsTimeAndTheNextOneToo) {
    Pace pace;
    const uint32_t slices = roundedToLooks(pace.slicesPerReadingTurn(kUsual));
    Turn turn;
    turn.end(kNow - kUsual, &pace);
    turn.begin(kNow);
    turn.noteWriting();
    for (int round = 0; round < 2; ++round) {
        haveSlices(&turn, 10 * slices);
        EXPECT_FALSE(turn.isOver(kNow, pace));
        EXPECT_TRUE(turn.isOver(kNow + kTurnNanos, pace));
        turn.begin(kNow);
    }
    haveSlices(&turn, slices);
    EXPECT_TRUE(turn.isOver(kNow, pace)) << "it has not written anything for two turns";
}

/// A writer's turn with `slices`, ended by its time and `nanos` after the previous one.
void haveWritingTurn(Pace* pace, uint32_t slices, uint64_t nanos = kUsual) {
    const uint64_t end = kNow + kTurnNanos;
    Turn turn;
    turn.end(end - nanos, pace);
    turn.begin(kNow);
    turn.noteWriting();
    haveSlices(&turn, slices);
    EXPECT_TRUE(turn.isOver(end, *pace));
    turn.end(end, pace);
}

TEST(Turn, OfAReaderIsLongWhereWritesAreCheap) {
    Pace pace;
    for (const uint32_t slices : {1'600u, 480u, 3'200u}) {
        for (int i = 0; i < 10 * kTurnsPerMean; ++i) {
            haveWritingTurn(&pace, slices);
        }
        EXPECT_NEAR(pace.slicesPerReadingTurn(kUsual),
                    slices * kReadingTurnPercent / 100,
                    kTurnsPerMean * kReadingTurnPercent / 100)
            << "but for what the division loses";
    }
    for (int i = 0; i < 20 * kTurnsPerMean; ++i) {
        haveWritingTurn(&pace, 16);
    }
    EXPECT_EQ(pace.slicesPerReadingTurn(kUsual), kSlicesPerReadingTurnMin)
        << "p99 must not be a turn";
    Turn reader;
    reader.end(kNow, &pace);
    reader.begin(kNow);
    haveSlices(&reader, 10 * kSlicesPerLook);
    reader.end(kNow + kUsual, &pace);
    haveWritingTurn(&pace, 16);
    EXPECT_EQ(pace.slicesPerReadingTurn(kUsual), kSlicesPerReadingTurnMin)
        << "readers do not count";
}

TEST(Turn, OfAReaderIsShorterWhereItsTurnsComeOftenerThanWriters) {
    Pace pace;
    constexpr uint32_t kSlices = 1'600;
    constexpr uint64_t kNanos = 20 * kTurnNanos;
    for (int i = 0; i < 20 * kTurnsPerMean; ++i) {
        haveWritingTurn(&pace, kSlices, kNanos);
    }
    const auto expectTurn = [&](uint64_t nanos, uint32_t slices) {
        EXPECT_NEAR(pace.slicesPerReadingTurn(nanos), slices, slices / 50)
            << nanos << " ns after the one before";
    };
    constexpr uint32_t kAlike = kSlices * kReadingTurnPercent / 100;
    expectTurn(kNanos, kAlike);
    expectTurn(kNanos * 4 / 5, kAlike * 4 / 5);
    expectTurn(kNanos * 5 / 4, kAlike * 5 / 4);
    expectTurn(1, kAlike * 3 / 5);  // writers that wait for the disk have few turns, too
    expectTurn(1'000 * kNanos, kAlike * 5 / 3);
    haveWritingTurn(&pace, kSlices, 1'000'000 * kNanos);
    expectTurn(kNanos, static_cast<uint32_t>(kAlike / (1 + (kLateTurn - 1.0) / kTurnsPerMean)));
}

TEST(Turn, OfAWriterCountsOthersNowAndThen) {
    Turn turn;
    for (int round = 0; round < 3; ++round) {
        const bool writes = round != 1;
        if (writes) {
            turn.noteWriting();
        }
        for (uint32_t i = 1; i < kLooksPerCount; ++i) {
            EXPECT_FALSE(turn.isTimeToCount());
        }
        EXPECT_EQ(turn.isTimeToCount(), writes);
    }
}

TEST(Turn, TheSystemGivesTimeWhileAThreadEndsItsTurnsItself) {
    platform::Thread("turns", [] {
        const uint64_t before = platform::turnNanos();
        Turn turn;
        turn.setOwn(true);
        const uint64_t during = platform::turnNanos();
        turn.setOwn(true);
        EXPECT_EQ(platform::turnNanos(), during);
        turn.setOwn(false);
        EXPECT_EQ(platform::turnNanos(), before);
        if (before >= kSystemTurnNanosMin && before < kSystemTurnNanos) {
            EXPECT_EQ(during, kSystemTurnNanos);
        } else {
            EXPECT_EQ(during, before);
        }
    });
}

TEST(Turn, AThreadThatAskedForShortOnesKeepsThem) {
    platform::Thread("short", [] {
        platform::stepForward();
        const uint64_t before = platform::turnNanos();
        Turn turn;
        turn.setOwn(true);
        EXPECT_EQ(platform::turnNanos(), before);
    });
}

/// Threads that each stay in a slice, as if preempted there.
class Stopped {
public:
    Stopped(EpochDomain* domain, uint32_t count) {
        for (uint32_t i = 0; i < count; ++i) {
            const WaitToken entered = WaitToken::create();
            leave_.push_back(WaitToken::create());
            threads_.emplace_back("stopped", [domain, entered, leave = leave_.back()] {
                Slice slice(*domain);
                entered.complete();
                blockOn(leave);
            });
            blockOn(entered);
        }
    }
    ~Stopped() {
        for (const WaitToken& token : leave_) {
            token.complete();
        }
    }

private:
    std::vector<WaitToken> leave_;
    std::vector<platform::Thread> threads_;
};

enum class Work { kReads, kWrites, kRetires };

/// Number of turns that the calling thread ends itself while it works beside `stopped` others.
uint64_t turnsBeside(uint32_t stopped, Work work) {
    Atomic<uint64_t> clock{1};
    EpochDomain domain(&clock);
    const Stopped others(&domain, stopped);
    const int slices = 2 * static_cast<int>(kLooksPerCount * kSlicesPerLook);
    for (int i = 0; i < slices && domain.turnsEnded() == 0; ++i) {
        Slice slice(domain);
        if (work == Work::kWrites) {
            slice.participant().noteWriting();
        } else if (work == Work::kRetires) {
            slice.participant().retire(new int(i));
        }
    }
    return domain.turnsEnded();
}

TEST(Turns, AreTakenByWritersWhereManyThreadsAreStopped) {
#ifdef FRESHET_EXPLORE
    GTEST_SKIP() << "the explorer's threads take no turns";
#endif
    const uint32_t few = kCrowdPerCore * platform::coreCount();
    EXPECT_EQ(turnsBeside(few - 1, Work::kRetires), 0u);
    EXPECT_EQ(turnsBeside(few + 1, Work::kRetires), 1u);
    EXPECT_EQ(turnsBeside(few + 1, Work::kWrites), 1u) << "it will retire something";
    EXPECT_EQ(turnsBeside(few + 1, Work::kReads), 0u) << "a reader retires nothing";
}

}  // namespace
}  // namespace freshet::sync
