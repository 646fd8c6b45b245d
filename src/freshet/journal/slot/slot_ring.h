// SPDX-License-Identifier: Apache-2.0
/// SlotRing: K buffers in a ring, filled by any number of threads at once. It knows no files: a
/// joiner gets bytes to copy into, and the thread that completes a slot learns that from the return
/// value. There is no leader, no lock and no spin; every step that other threads depend on can be
/// done by any of them (close, advance). Source: "Breaking the WiredTiger Logjam: The Write-Ahead
/// Log" (MongoDB engineering blog) for consolidation and copying at once; for the packed word and
/// for closing and advancing by helping see docs/design/journal.md.
///
/// Policy is for the model checker: it builds the ring once as it is and once per seeded mistake.
#pragma once

#include "freshet/base/assert.h"
#include "freshet/journal/slot/lsn.h"
#include "freshet/journal/slot/raise.h"
#include "freshet/journal/slot/slot_word.h"
#include "freshet/sync/atomic.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace freshet::journal {

/// The correct ring and writer. Mutants in slot_explore_test.cpp override one line each.
struct SlotPolicy {
    static constexpr bool kAdvanceOnOldLap = true;        // never just retry
    static constexpr bool kNotifyOnClose = true;          // a close that completes a slot says so
    static constexpr auto kReleaseOrder = sync::kAcqRel;  // [slot.release]
    static constexpr auto kOpenOrder = sync::kRelease;    // [slot.open], [ring.freeFor.store]
    static constexpr bool kLeaveOnlyWithoutNotes = true;  // [role.leave] checks for notes
    static constexpr bool kPassRole = true;               // [role.drop] makes another thread serve
    static constexpr bool kWakeAfterPassing = true;       // the thread that wrote always wakes
    static constexpr uint32_t kRoundsMax = 2;             // own slot and one more batch
    static constexpr bool kHoldsWhenQuiet = true;         // holdsUpTo() checks for copies under way
    static constexpr bool kMarksEnds = true;              // slots' ends are marked
    static constexpr bool kHelpsMarking = true;           // also by threads that did not close them
};

/// Memory for a ring that is not to use its own.
struct RingMemory {
    char* buffers = nullptr;                  // slots * unitsPerSlot * kUnitBytes, in whole pages
    sync::Atomic<uint64_t>* marks = nullptr;  // slots * unitsPerSlot, all 0
};

/// Marks of a slot; those of the other units are for records.
inline constexpr uint32_t kTimeMark = 0;
inline constexpr uint32_t kEndMark = 1;
constexpr uint64_t endMark(uint64_t slotNo, uint32_t units) {
    constexpr unsigned kUnitsBits = 16;
    return slotNo << kUnitsBits | units;
}

/// What join() claimed: where a record's bytes are copied to.
struct JoinResult {
    bool ringFull = false;  // nothing was joined
    uint64_t slotNo = 0;
    uint32_t unit = 0;
};

template <typename PolicyType>
class BasicSlotRing {
public:
    using Policy = PolicyType;
    /// `firstSlot` is the number of the first active slot, `timeBase` its Timestamp. `wallSeconds`
    /// feeds the time bases of later slots.
    /// `memory` must outlive the ring; by default it has its own.
    /// REQUIRES 2 <= slots, kHeaderUnits < unitsPerSlot <= SlotWord::kUnitsMax.
    BasicSlotRing(uint32_t slots,
                  uint32_t unitsPerSlot,
                  uint64_t firstSlot,
                  uint64_t timeBase,
                  uint64_t (*wallSeconds)(),
                  const RingMemory& memory = {});
    BasicSlotRing(const BasicSlotRing&) = delete;
    BasicSlotRing& operator=(const BasicSlotRing&) = delete;

    /// Claims `units` units of the active slot, closing full slots and moving on as needed. Calls
    /// onDone() when it has completed a slot, which must then be written. REQUIRES units <=
    /// unitsPerSlot - kHeaderUnits. Lock-free.
    template <typename OnDone>
    JoinResult join(uint32_t units, OnDone&& onDone);
    /// Where to copy what was joined. Owned by the caller until release().
    char* bytes(uint64_t slotNo, uint32_t unit) {
        return at(slotNo).buffer + uint64_t{unit} * kUnitBytes;
    }
    /// The copy of the `units` that were joined at `place` is complete. True: this completed the
    /// slot and the caller must ensure that it is written. Exactly one of the release()s and
    /// close()s of a slot returns true.
    [[nodiscard]] bool release(const JoinResult& place, uint32_t units);
    /// True when every record that has joined slots up to `slotNo` by now is complete, and
    /// scan/ring_remains.h would find it from the ring's memory alone. Slots below `from` are not
    /// checked; written slots are complete. REQUIRES: slotNo <= active(). Lock-free,
    /// bounded.
    bool holdsUpTo(uint64_t from, uint64_t slotNo);

    /// Closes slot `slotNo` if it is open and not empty. True: as for release().
    [[nodiscard]] bool close(uint64_t slotNo);
    /// Moves `active` past slot `a` if that is closed. False: the ring is full. Idempotent.
    bool advance(uint64_t a);

    // For the writer, the only caller of reopen(); slots are reopened in number order.
    bool isDone(uint64_t slotNo) const;
    uint32_t joinedUnits(uint64_t slotNo) const;
    uint64_t timeBase(uint64_t slotNo) const;
    /// Slot `slotNo` has been written: its place becomes slot `slotNo + K`. The caller must then
    /// wake the threads that wait for a free slot.
    void reopen(uint64_t slotNo);

    uint64_t active() const { return active_.load(sync::kAcquire); }  // [ring.active.load]
    bool isOpenAndEmpty(uint64_t slotNo) const;
    bool isOpen(uint64_t slotNo) const;
    /// A lower bound on the LSN of every join that begins after this call.
    uint64_t tail() const;
    /// Timestamp of the tail: above that of every finished join, and not above that of any join
    /// that begins after this call (docs/design/journal.md). Lock-free.
    uint64_t now() const;
    /// A slot's mark as it is now (Slot::marks), for tests.
    uint64_t mark(uint64_t slotNo, uint32_t unit) const {
        return at(slotNo).marks[unit].load(sync::kAcquire);  // [ring.mark.test] as [slot.load]
    }
    uint32_t slots() const { return slots_; }
    uint32_t unitsPerSlot() const { return units_; }
    uint64_t joinRaces() const { return joinRaces_.load(sync::kRelaxed); }
    /// Joins that met a slot of a later lap than `active` says. At most one per thread and slot
    /// because each such thread moves `active` on; without that, unbounded.
    uint64_t oldLapMeetings() const { return oldLapMeetings_.load(sync::kRelaxed); }

private:
    /// One place of the ring.
    struct alignas(sync::kLineBytes) Slot {
        /// Written by: joiners, closers, the writer (reopen). Read by: all.
        ///   WORD     see SlotWord
        ///   STEPS    open -> closed -> done (joined == released) -> written -> open on the next
        ///            lap; no step is skipped or undone
        ///   INV-1    released <= joined <= unitsPerSlot
        ///   INV-2    joined changes only while open (INV-journal-1)
        ///   OWNS     units [a,b) belong to the thread that moved joined from a to b, until it adds
        ///            b-a to released; the header units and all of a done slot belong to the writer
        ///   RECLAIM  pooled, freed with the ring; a late reader sees a valid, perhaps newer, slot
        ///   ABA      a join that succeeds on a reloaded word is correct, since place and LSN come
        ///            from the word that the CAS replaced; the lap wraps after 2^23 * K slots (16
        ///            TiB of log at 8 x 256 KiB), far more than one load-to-CAS window can see
        sync::Atomic<uint64_t> word{0};
        /// The slot number that this place may become active as. Written by: the writer, rising.
        sync::Atomic<uint64_t> freeFor{0};
        char* buffer = nullptr;
        /// One for each unit, all rising only; possibly in memory that survives the process.
        ///   WORD     [kTimeMark]: Timestamp of the slot's first byte. Written by: helpers in
        ///            advance().  [kEndMark]: endMark() of the last slot here that was closed; a
        ///            reader of the ring goes on to the next slot only if this shows that it has
        ///            seen all of this one. Written by: its closer, and holdsUpTo().  Others: the
        ///            last slot here in which a record began at this unit and was complete. Written
        ///            by: its joiner.
        sync::Atomic<uint64_t>* marks = nullptr;
        sync::Atomic<uint64_t>& timeBase() const { return marks[kTimeMark]; }
    };
    static constexpr std::align_val_t kBufferAlign{4096};
    struct FreeBuffer {
        void operator()(char* p) const { ::operator delete(p, kBufferAlign); }
    };

    /// REQUIRES: the slot is closed, with this many units.
    void markEnd(uint64_t slotNo, uint32_t units) {
        if constexpr (Policy::kMarksEnds) {
            raiseTo(at(slotNo).marks[kEndMark], endMark(slotNo, units));
        }
    }
    Slot& at(uint64_t slotNo) { return ring_[slotNo % slots_]; }
    const Slot& at(uint64_t slotNo) const { return ring_[slotNo % slots_]; }
    uint64_t lapOf(uint64_t slotNo) const { return slotNo / slots_; }
    SlotWord load(uint64_t slotNo) const {
        // [slot.load] acquire: pairs with [slot.open] (a word of this lap is seen with the slot
        // given back), with [slot.release] (a done word is seen with all copies) and [slot.close].
        return SlotWord(at(slotNo).word.load(sync::kAcquire));
    }

    const uint32_t slots_;
    const uint32_t units_;
    uint64_t (*const wallSeconds_)();
    std::unique_ptr<char, FreeBuffer> ownBuffers_;
    std::unique_ptr<sync::Atomic<uint64_t>[]> ownMarks_;
    std::unique_ptr<Slot[]> ring_;
    /// Number of the slot that joiners try. Written by: any thread, in advance(). INV-journal-2:
    /// grows by 1 only, and only onto a slot whose freeFor is that number.
    alignas(sync::kLineBytes) sync::Atomic<uint64_t> active_;
    // Counters; nothing depends on them.
    alignas(sync::kLineBytes) sync::Atomic<uint64_t> joinRaces_{0};
    sync::Atomic<uint64_t> oldLapMeetings_{0};
};

using SlotRing = BasicSlotRing<SlotPolicy>;

template <typename Policy>
BasicSlotRing<Policy>::BasicSlotRing(uint32_t slots,
                                     uint32_t unitsPerSlot,
                                     uint64_t firstSlot,
                                     uint64_t timeBase,
                                     uint64_t (*wallSeconds)(),
                                     const RingMemory& memory)
    : slots_(slots), units_(unitsPerSlot), wallSeconds_(wallSeconds), active_(firstSlot) {
    invariant(slots >= 2 && unitsPerSlot > kHeaderUnits && unitsPerSlot <= SlotWord::kUnitsMax);
    constexpr size_t kPage = 4096;
    size_t slotBytes = (size_t{unitsPerSlot} * kUnitBytes + kPage - 1) / kPage * kPage;
    RingMemory place = memory;
    if (place.buffers == nullptr) {
        ownBuffers_.reset(static_cast<char*>(::operator new(slotBytes* slots, kBufferAlign)));
        std::memset(ownBuffers_.get(), 0, slotBytes * slots);
        ownMarks_ = std::make_unique<sync::Atomic<uint64_t>[]>(size_t{unitsPerSlot} * slots);
        place = {ownBuffers_.get(), ownMarks_.get()};
    }
    ring_ = std::make_unique<Slot[]>(slots);
    // [ring.init] relaxed: the creator publishes the ring to other threads.
    for (uint64_t s = firstSlot; s < firstSlot + slots; ++s) {
        Slot& slot = at(s);
        slot.buffer = place.buffers + slotBytes * (s % slots);
        slot.marks = place.marks + size_t{unitsPerSlot} * (s % slots);
        slot.word.store(SlotWord::open(lapOf(s)).raw(), sync::kRelaxed);
        slot.freeFor.store(s, sync::kRelaxed);
    }
    at(firstSlot).timeBase().store(timeBase, sync::kRelaxed);
}

template <typename Policy>
template <typename OnDone>
JoinResult BasicSlotRing<Policy>::join(uint32_t units, OnDone&& onDone) {
    dcheck(units > 0 && units <= units_ - kHeaderUnits);
    // Each turn that does not return means that another thread joined, closed, advanced or wrote.
    for (;;) {
        uint64_t a = active();
        SlotWord word = load(a);
        if (!word.isLap(lapOf(a))) {
            // The slot was written before any thread moved `active` past it. Waiting for the thread
            // that was about to move it would be a spin on that thread's time slice: move it
            // ourselves.
            oldLapMeetings_.fetch_add(1, sync::kRelaxed);  // [ring.count] a statistic
            if constexpr (Policy::kAdvanceOnOldLap) {
                advance(a);
            }
            continue;
        }
        if (word.hasRoom(units, units_)) {
            uint64_t expected = word.raw();
            // [slot.join] CAS. Claims the units; LINEARIZES the record's place in the log.
            //   ORDER    acq_rel: acquire pairs with [slot.open], so that we copy after the writer
            //            has finished with the bytes; release keeps what the caller did before its
            //            append ahead of it for any thread that loads the word (Journal::tailLsn).
            //            Relaxed on failure: the value is dropped.
            //   LOST     another thread joined, released or closed: look again. Counter: joinRaces.
            //   PROGRESS lock-free: our failure is another thread's success.
            if (at(a).word.compare_exchange_weak(
                    expected, word.withJoined(units).raw(), sync::kAcqRel, sync::kRelaxed)) {
                return {false, a, word.joined()};
            }
            joinRaces_.fetch_add(1, sync::kRelaxed);  // [ring.count] a statistic
            continue;
        }
        if (close(a)) {
            onDone();
        }
        if (!advance(a)) {
            return {true, 0, 0};
        }
    }
}

template <typename Policy>
bool BasicSlotRing<Policy>::release(const JoinResult& place, uint32_t units) {
    Slot& slot = at(place.slotNo);
    // [ring.mark] release: pairs with [ring.mark.read], so that a process that reads the ring after
    // this one was killed finds the copy as well. Published to other threads by [slot.release].
    slot.marks[place.unit].store(place.slotNo, sync::kRelease);
    // [slot.release] acq_rel: release pairs with [slot.load], so that the writer sees our copy; the
    // read-modify-writes of all joiners form one release sequence. Acquire: if ours completes the
    // slot, we go on as its writer and need the other joiners' copies.
    constexpr auto order = Policy::kReleaseOrder;
    SlotWord before(slot.word.fetch_add(SlotWord::releaseDelta(units), order));
    SlotWord after = before.withReleased(units);
    dcheck(after.released() <= after.joined());
    return after.isDone();
}

template <typename Policy>
bool BasicSlotRing<Policy>::close(uint64_t slotNo) {
    SlotWord word = load(slotNo);
    while (word.isLap(lapOf(slotNo)) && !word.isClosed() && !word.isEmpty()) {
        uint64_t expected = word.raw();
        // [slot.close] CAS. Ends joining.
        //   ORDER    acq_rel: acquire pairs with [slot.release], since the closer of a quiet slot
        //            becomes its writer; release pairs with [slot.load]: a thread that sees the bit
        //            and advances passes on what we saw. Acquire on failure, same reason.
        //   LOST     another thread joined or released: try again on the new word. Closed: done.
        //   PROGRESS lock-free: each failure is a join or a release of another thread, and a slot
        //            can take only so many.
        if (at(slotNo).word.compare_exchange_weak(
                expected, word.withClosed().raw(), sync::kAcqRel, sync::kAcquire)) {
            markEnd(slotNo, word.joined());
            return Policy::kNotifyOnClose && word.isQuiet();
        }
        word = SlotWord(expected);
    }
    return false;
}

template <typename Policy>
bool BasicSlotRing<Policy>::advance(uint64_t a) {
    SlotWord word = load(a);
    if (word.isLap(lapOf(a)) && !word.isClosed()) {
        return true;
    }
    Slot& next = at(a + 1);
    // [ring.freeFor.load] acquire: pairs with [ring.freeFor.store]; the next slot's open word is
    // visible to any thread that follows `active` onto it.
    uint64_t freeFor = next.freeFor.load(sync::kAcquire);
    if (freeFor != a + 1) {
        return freeFor > a + 1;  // greater: `active` is far past `a`
    }
    // [ring.timeBase.load] acquire: pairs with [ring.timeBase.cas]. Had we read a base of a later
    // lap, the check of `active` below would see the later number and we would return.
    uint64_t base = at(a).timeBase().load(sync::kAcquire);
    uint64_t nextBase = next.timeBase().load(sync::kAcquire);
    if (active() != a) {
        return true;
    }
    if (nextBase <= base) {
        uint64_t wanted = std::max(base + units_, wallSeconds_() << 32);
        // [ring.timeBase.cas] CAS. Sets the slot's time once.
        //   ORDER    acq_rel: release pairs with [ring.timeBase.load].
        //   LOST     another helper has set it: any value above `base` is right.
        //   PROGRESS one attempt.
        next.timeBase().compare_exchange_strong(nextBase, wanted, sync::kAcqRel, sync::kRelaxed);
    }
    uint64_t expected = a;
    // [ring.advance] CAS. Makes the next slot the active one.
    //   ORDER    acq_rel: release pairs with [ring.active.load]: the open word and the time base of
    //            the new slot are visible to its joiners.
    //   LOST     another helper has done it.
    //   PROGRESS one attempt.
    active_.compare_exchange_strong(expected, a + 1, sync::kAcqRel, sync::kRelaxed);
    return true;
}

template <typename Policy>
bool BasicSlotRing<Policy>::holdsUpTo(uint64_t from, uint64_t slotNo) {
    for (uint64_t n = from; n <= slotNo; ++n) {
        const SlotWord word = load(n);
        if (!word.isLap(lapOf(n))) {
            continue;  // written meanwhile
        }
        if (Policy::kHoldsWhenQuiet && !word.isQuiet()) {
            return false;
        }
        if (n != slotNo && Policy::kHelpsMarking) {
            // It is closed, since `active` has passed it; its closer may not have marked the end
            // yet.
            markEnd(n, word.joined());
        }
    }
    return true;
}

template <typename Policy>
bool BasicSlotRing<Policy>::isDone(uint64_t slotNo) const {
    SlotWord word = load(slotNo);
    return word.isLap(lapOf(slotNo)) && word.isDone();
}

template <typename Policy>
uint32_t BasicSlotRing<Policy>::joinedUnits(uint64_t slotNo) const {
    return load(slotNo).joined();
}

template <typename Policy>
uint64_t BasicSlotRing<Policy>::timeBase(uint64_t slotNo) const {
    return at(slotNo).timeBase().load(sync::kAcquire);  // [ring.timeBase.load]
}

template <typename Policy>
void BasicSlotRing<Policy>::reopen(uint64_t slotNo) {
    constexpr auto order = Policy::kOpenOrder;
    Slot& slot = at(slotNo);
    uint64_t next = slotNo + slots_;
    // [slot.open] release: pairs with [slot.join] and [slot.load]; our reads of the bytes come
    // before the next lap's copies into them. (Joiners arrive through `active`, so the release of
    // freeFor below would do for them; this one is for threads that load only the word.)
    slot.word.store(SlotWord::open(lapOf(next)).raw(), order);
    // [ring.freeFor.store] release: pairs with [ring.freeFor.load].
    slot.freeFor.store(next, order);
    // Possibly no thread is about to move `active` (all wait for a free slot, or the one that would
    // was preempted): do it here.
    advance(active());
}

template <typename Policy>
bool BasicSlotRing<Policy>::isOpen(uint64_t slotNo) const {
    SlotWord word = load(slotNo);
    return word.isLap(lapOf(slotNo)) && !word.isClosed();
}

template <typename Policy>
bool BasicSlotRing<Policy>::isOpenAndEmpty(uint64_t slotNo) const {
    SlotWord word = load(slotNo);
    return word.isLap(lapOf(slotNo)) && word.isEmpty();
}

template <typename Policy>
uint64_t BasicSlotRing<Policy>::tail() const {
    // [ring.tail] seq_cst: the store-load pair is a committer's "publish commitLow, then append"
    // against a checkpoint's "tail, then every commitLow" in the engine. If the checkpoint's load
    // of the word already counts the committer's join, [slot.join]'s release makes its commitLow
    // visible; if not, that join gets an LSN at or above the result.
    uint64_t a = active_.load(sync::kSeqCst);
    SlotWord word(at(a).word.load(sync::kSeqCst));
    return word.isLap(lapOf(a)) ? lsnAt(a, word.joined()) : slotStart(a + 1);
}

template <typename Policy>
uint64_t BasicSlotRing<Policy>::now() const {
    for (;;) {
        const uint64_t a = active();
        const uint64_t base = timeBase(a);
        const SlotWord word = load(a);
        if (word.isLap(lapOf(a))) {
            return base + word.joined();
        }
        // It was written and reopened. As long as no thread has moved `active` past it, the base is
        // still its own; else the base may be that of the next lap, above records to come.
        if (active() == a) {
            return base + units_;
        }
    }
}

}  // namespace freshet::journal
