// SPDX-License-Identifier: Apache-2.0
/// The ring by itself: the packed word, time bases, and progress when a thread stops in the worst
/// places. slot_explore_test.cpp covers schedules.
#include "freshet/journal/slot/slot_ring.h"

#include "freshet/journal/slot/ring_model.h"
#include "freshet/platform/thread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace freshet::journal {
namespace {

using Ring = RingModel<SlotPolicy>;

TEST(SlotWord, FieldsDoNotTouchEachOther) {
    for (uint64_t lap : {uint64_t{0}, uint64_t{1}, uint64_t{SlotWord::kLapMask}}) {
        SlotWord word = SlotWord::open(lap);
        EXPECT_TRUE(word.isLap(lap));
        EXPECT_TRUE(word.isLap(lap + SlotWord::kLapMask + 1));  // wraps
        EXPECT_FALSE(word.isLap(lap + 1));
        EXPECT_TRUE(word.isEmpty() && word.isQuiet());
        EXPECT_FALSE(word.isClosed() || word.isDone());

        uint32_t rest = SlotWord::kUnitsMax - kHeaderUnits;
        SlotWord full = word.withJoined(rest);
        EXPECT_EQ(full.joined(), SlotWord::kUnitsMax);
        EXPECT_EQ(full.released(), kHeaderUnits);
        EXPECT_FALSE(full.hasRoom(1, SlotWord::kUnitsMax));
        SlotWord closed = full.withClosed();
        EXPECT_TRUE(closed.isClosed() && !closed.isDone() && closed.isLap(lap));
        SlotWord done = closed.withReleased(rest);
        EXPECT_TRUE(done.isDone() && done.isLap(lap));
        EXPECT_EQ(done.released(), SlotWord::kUnitsMax);
    }
}

TEST(Lsn, IsServedAtTheEndOfItsSlot) {
    EXPECT_EQ(servedAt(lsnAt(7, kHeaderUnits)), slotStart(8));
    EXPECT_EQ(servedAt(lsnAt(7, 100)), slotStart(8));
    EXPECT_EQ(servedAt(lsnAt(7, kHeaderUnits) - 1), slotStart(7));  // before its first record
    EXPECT_EQ(servedAt(slotStart(7) - 1), slotStart(7));
}

TEST(SlotRing, AJoinerStoppedWhileCopyingStopsNoOtherUntilTheRingIsFull) {
    constexpr uint32_t kSlots = 4;
    constexpr uint32_t kUnits = 8;
    Ring model(kSlots, kUnits);
    uint64_t lsn = 0;
    uint32_t number = 0;
    // Some laps first, so that the stopped thread is in the middle of things.
    for (; number < 50; ++number) {
        ASSERT_TRUE(model.tryAppend(0, number, 1 + number % 3, &lsn));
    }
    model.want(lsn);
    size_t before = model.records.size();
    ASSERT_EQ(before, 50u);
    JoinResult stopped = model.ring.join(2, [] { FAIL(); });
    ASSERT_FALSE(stopped.ringFull);
    uint64_t slotsBefore = model.slotsWritten;

    uint32_t others = 0;
    while (model.tryAppend(1, others, 2, &lsn)) {
        ++others;
        ASSERT_LT(others, 1000u);
    }
    // All the room there was: the rest of the stopped thread's slot and three more.
    EXPECT_EQ(others, kSlots * kUnits / 2 - 1);
    EXPECT_EQ(model.slotsWritten, slotsBefore);
    model.want(lsn);  // returns at once
    EXPECT_EQ(model.records.size(), before);

    model.copy(stopped, 0, number, 2);
    ASSERT_TRUE(model.ring.release(stopped, 2));
    model.writer.notify();
    EXPECT_EQ(model.records.size(), before + 1 + others);
    EXPECT_TRUE(model.tryAppend(1, others, 2, &lsn));
}

TEST(SlotRing, CloserStoppedAfterClosingStopsNoOther) {
    Ring model(4, 4);
    uint64_t lsn = 0;
    ASSERT_TRUE(model.tryAppend(0, 0, 1, &lsn));
    uint64_t a = model.ring.active();
    ASSERT_TRUE(model.ring.close(a));  // and neither advances nor rings
    EXPECT_FALSE(model.ring.close(a));
    for (uint32_t i = 1; i < 12; ++i) {
        ASSERT_TRUE(model.tryAppend(0, i, 1, &lsn));
    }
    EXPECT_EQ(model.ring.active(), a + 3);
    model.want(lsn);
    EXPECT_EQ(model.records.size(), 12u);
}

TEST(SlotRing, EmptySlotIsNeverClosed) {
    Ring model(4, 4);
    uint64_t a = model.ring.active();
    EXPECT_FALSE(model.ring.close(a));
    model.want(model.ring.tail() + 1000);
    EXPECT_EQ(model.ring.active(), a);
    EXPECT_EQ(model.slotsWritten, 0u);
}

uint64_t jumpingClock() {
    static uint64_t calls = 0;
    return ++calls % 2 == 0 ? 1000 : 5;
}

TEST(SlotRing, TimeRisesWhateverTheWallClockDoes) {
    SlotRing ring(4, 8, 1, 7, &jumpingClock);
    uint64_t last = 0;
    for (uint64_t slot = 1; slot < 40; ++slot) {
        EXPECT_GT(ring.timeBase(slot), last);
        last = ring.timeBase(slot) + ring.unitsPerSlot() - 1;
        JoinResult place = ring.join(3, [] {});
        ASSERT_EQ(place.slotNo, slot);
        EXPECT_GE(ring.now(), ring.timeBase(slot) + place.unit);
        EXPECT_FALSE(ring.release(place, 3));
        EXPECT_TRUE(ring.close(slot));
        EXPECT_TRUE(ring.advance(slot));
        ring.reopen(slot);
    }
    EXPECT_GE(last >> 32, 1000u);
}

class SlotRingThreads : public ::testing::TestWithParam<uint32_t> {};

TEST_P(SlotRingThreads, EveryRecordOnceAndNoThreadSpins) {
    const uint32_t threads = GetParam();
    const uint32_t each = 20'000 / threads;
    Ring model(4, 64);
    model.onPassRole = model.onWrites = [](Ring&) {};
    std::vector<platform::Thread> running;
    for (uint32_t t = 0; t < threads; ++t) {
        running.emplace_back("joiner", [&, t] {
            uint64_t lsn = 0;
            for (uint32_t i = 0; i < each; ++i) {
                while (!model.tryAppend(t, i, 1 + i % 7, &lsn)) {
                    platform::yieldThread();
                    model.writer.notify();  // no other thread takes a role that was passed on
                }
            }
        });
    }
    running.clear();
    model.want(model.ring.tail() - 1);
    ASSERT_EQ(model.records.size(), size_t{threads} * each);
    std::vector<uint32_t> next(threads);
    for (const Ring::Record& record : model.records) {
        ASSERT_EQ(record.number, next[record.thread]++);
    }
    // A thread that helps meets an old lap at most once per slot; one that only retries, without
    // bound.
    EXPECT_LE(model.ring.oldLapMeetings(), (model.slotsWritten + 1) * threads);
}

INSTANTIATE_TEST_SUITE_P(Threads, SlotRingThreads, ::testing::Values(2, 8, 32, 64));

}  // namespace
}  // namespace freshet::journal
