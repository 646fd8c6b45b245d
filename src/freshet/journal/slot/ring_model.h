// SPDX-License-Identifier: Apache-2.0
/// For this room's tests only: a ring with its writer and a backend that keeps slots in memory
/// instead of writing them, and checks each. Used with real threads, with none, and under the
/// explorer.
#pragma once

#include "freshet/journal/slot/raise.h"
#include "freshet/journal/slot/ring_writer.h"
#include "freshet/journal/slot/slot_ring.h"
#include "freshet/journal/slot/wait_list.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace freshet::journal {

inline uint64_t stoppedClock() {
    return 1;
}

/// Content of a record's unit in these tests.
struct ModelUnit {
    uint32_t thread;
    uint32_t number;  // of the record in its thread
    uint32_t unit;    // in the record
    uint32_t units;   // of the record
};

template <typename Policy>
class RingModel {
public:
    using Ring = BasicSlotRing<Policy>;
    static constexpr uint64_t kFirstSlot = 1;

    /// `dataUnits` units for records in each slot.
    RingModel(uint32_t slots, uint32_t dataUnits)
        : ring(slots, dataUnits + kHeaderUnits, kFirstSlot, 1, &stoppedClock),
          writer(ring, *this, kFirstSlot) {}

    /// Appends one record without waiting: join, copy, release. False: the ring is full.
    bool tryAppend(uint32_t thread, uint32_t number, uint32_t units, uint64_t* lsn) {
        uint64_t before = ring.tail();
        JoinResult place = ring.join(units, [this] { writer.notify(); });
        if (place.ringFull) {
            return false;
        }
        *lsn = lsnAt(place.slotNo, place.unit);
        if (notesUnits) {
            unitsAt[*lsn] = units;
        }
        expect(*lsn >= before, "the tail is a lower bound");
        copy(place, thread, number, units);
        if (ring.release(place, units)) {
            writer.notify();
        }
        return true;
    }
    void copy(const JoinResult& place, uint32_t thread, uint32_t number, uint32_t units) {
        for (uint32_t i = 0; i < units; ++i) {
            char* p = ring.bytes(place.slotNo, place.unit + i);
            sync::notePlainWrite(p);
            *reinterpret_cast<ModelUnit*>(p) = {thread, number, i, units};
        }
    }
    /// Asks for everything up to `lsn`, as Journal::written() does.
    void want(uint64_t lsn) {
        raiseTo(wanted, servedAt(lsn));
        writer.notify();
    }

    /// As Journal::written(): true when what want() asked for has been written, else *token is set.
    bool isWritten(uint64_t lsn, sync::WaitToken* token) {
        const uint64_t end = servedAt(lsn);
        if (written.load(sync::kAcquire) >= end) {
            return true;
        }
        *token = waiters.add(end);
        return written.load(sync::kAcquire) >= end;
    }

    /// As Journal::written() with a ring in shared memory. A positive answer is checked against
    /// what scan/ring_remains.h would find now.
    bool isHeld(uint64_t lsn) {
        const uint64_t from = slotOf(written.load(sync::kAcquire));
        const bool held = ring.holdsUpTo(from, slotOf(lsn));
        for (uint64_t n = kFirstSlot + slotsWritten; held && n <= slotOf(lsn); ++n) {
            // Marks disappear once the slot has been written.
            const bool found = isFound(n, lsn) || n < kFirstSlot + slotsWritten;
            expect(found, "what is held would be found");
        }
        return held;
    }

    // RingWriter's backend.
    bool writeSlot(uint64_t slotNo) {
        expect(slotNo == kFirstSlot + slotsWritten, "slots are written in order");
        expect(ring.timeBase(slotNo) > lastTimeBase, "time rises from slot to slot");
        lastTimeBase = ring.timeBase(slotNo);
        uint32_t end = ring.joinedUnits(slotNo);
        expect(end > kHeaderUnits, "no empty slot is written");
        for (uint32_t unit = kHeaderUnits; unit < end;) {
            unit += takeRecord(slotNo, unit);
        }
        ++slotsWritten;
        written.store(slotStart(slotNo + 1), sync::kRelease);
        return true;
    }
    void afterWrites() {
        onWrites(*this);
        waiters.wake(written.load(sync::kAcquire));
    }
    uint64_t wantedEnd() const {
        uint64_t end = wanted.load(sync::kAcquire);
        return end > written.load(sync::kRelaxed) ? end : 0;
    }
    void startFlush() {}
    void passRole() { onPassRole(*this); }

    struct Record {
        uint32_t thread;
        uint32_t number;
        uint64_t lsn;
    };
    Ring ring;
    RingWriter<Ring, RingModel> writer;
    std::vector<Record> records;  // as written; owned by the writer, like all that follows
    uint64_t slotsWritten = 0;
    uint64_t lastTimeBase = 0;
    bool roleOffered = false;
    bool notesUnits = false;               // for isHeld(); not with real threads
    std::map<uint64_t, uint32_t> unitsAt;  // of each record, by LSN
    sync::Atomic<uint64_t> wanted{0};
    sync::Atomic<uint64_t> written{0};
    WaitList waiters;
    uint64_t wakes = 0;  // no thread of the model is interrupted at a plain variable
    /// Called to pass the role on to a thread of the model. Tests with real threads replace it.
    void (*onPassRole)(RingModel&) = [](RingModel& model) { model.roleOffered = true; };
    void (*onWrites)(RingModel&) = [](RingModel& model) { ++model.wakes; };
    /// Called for a broken expectation.
    void (*expect)(bool condition, const char* what) = [](bool condition, const char*) {
        invariant(condition);
    };

private:
    bool isFound(uint64_t slotNo, uint64_t lsn) {
        uint32_t unit = kHeaderUnits;
        while (unit < ring.unitsPerSlot() && ring.mark(slotNo, unit) == slotNo) {
            unit += unitsAt[lsnAt(slotNo, unit)];
        }
        return slotNo == slotOf(lsn) ? lsnAt(slotNo, unit) > lsn
                                     : ring.mark(slotNo, kEndMark) == endMark(slotNo, unit);
    }
    uint32_t takeRecord(uint64_t slotNo, uint32_t unit) {
        ModelUnit first = read(slotNo, unit);
        for (uint32_t i = 0; i < first.units; ++i) {
            ModelUnit part = read(slotNo, unit + i);
            expect(part.thread == first.thread && part.number == first.number && part.unit == i &&
                       part.units == first.units,
                   "a record's bytes are its own");
        }
        expect(first.units > 0, "every joined unit was copied");
        records.push_back({first.thread, first.number, lsnAt(slotNo, unit)});
        return first.units;
    }
    ModelUnit read(uint64_t slotNo, uint32_t unit) {
        char* p = ring.bytes(slotNo, unit);
        sync::notePlainRead(p);
        return *reinterpret_cast<ModelUnit*>(p);
    }
};

}  // namespace freshet::journal
