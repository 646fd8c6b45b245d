// SPDX-License-Identifier: Apache-2.0
/// Epochs: when may memory that other threads could still read be freed, and what is the oldest
/// snapshot in use. Quiescent-state based: a thread announces itself once per *slice* (a batch of
/// engine calls), never per page. Design: docs/design/foundations.md, "Epochs"; K. Fraser,
/// "Practical lock-freedom", 2004.
///
/// Use: `Slice slice(domain);` around any code that touches nodes or versions; nested slices cost
/// nothing. A thread that parks, blocks or sleeps must have left its slice (sync::blockOn is called
/// outside).
#pragma once

#include "freshet/sync/atomic.h"
#include "freshet/sync/open_values.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace freshet::sync {

class EpochDomain;

/// A snapshot that outlives slices: while it is pinned, minReadTs() <= ts, unless it has been ended
/// (EpochDomain::hasEnded). Any thread may read by it and unpin it, also when the thread that
/// pinned it has ended; one thread at a time.
struct SnapshotPin {
    uint64_t ts = 0;
    OpenValues::Place* place = nullptr;
    bool isPinned() const { return place != nullptr; }
};

/// One thread's membership in a domain. Created on first use by EpochDomain::here(); ends with the
/// thread, and its retired memory then passes to the domain. All methods but unpin(): own thread
/// only.
class Participant {
public:
    /// REQUIRES inside a slice. Frees `object` by `free(object)` once no slice that could have seen
    /// it is open. `bytes`: its memory.
    void retire(void* object, void (*free)(void*), size_t bytes);
    template <typename T>
    void retire(T* object) {
        retire(
            object, [](void* p) { delete static_cast<T*>(p); }, sizeof(T));
    }

    /// REQUIRES inside a slice, and a build with FRESHET_HAZARDS. Frees `object` once no thread
    /// holds it (hazards.h).
    void retireHeld(void* object, void (*free)(void*), size_t bytes);

    /// The thread has changed something, so it will retire something sooner or later: in a crowd it
    /// takes turns like retiring threads. retire() implies this call.
    void noteWriting();

    bool inSlice() const;
    /// REQUIRES inside a slice: pin->ts was read from the clock in this slice, or SnapshotFloor
    /// calls it.
    void pin(SnapshotPin* pin);
    /// Any thread. REQUIRES: pinned.
    static void unpin(SnapshotPin* pin);
    /// 0-based, reused after a thread's end; below 65,536.
    uint16_t index() const;
    EpochDomain& domain() const;

private:
    friend class EpochDomain;
    friend class Slice;
    struct Impl;
    Participant();
    ~Participant();
    std::unique_ptr<Impl> impl_;
};

class EpochDomain {
public:
    /// `clock` is the newest complete commit timestamp; it must outlive the domain.
    explicit EpochDomain(const Atomic<uint64_t>* clock);
    /// REQUIRES: no slice open, no pin linked. Frees everything that was retired.
    ~EpochDomain();
    EpochDomain(const EpochDomain&) = delete;
    EpochDomain& operator=(const EpochDomain&) = delete;

    /// The calling thread's participant; registers it on first use. One thread-local look-up.
    Participant& here();
    /// E1: every snapshot in use, now or later, is >= the result. Any thread. Walks all
    /// participants; callers may cache it, since an older answer is only more cautious.
    uint64_t minReadTs() const;
    /// Ends all pinned snapshots below `ts`. A slice that begins after this call learns of it from
    /// hasEnded(). Once every slice that may not have seen it is over, such pins no longer hold
    /// back minReadTs(). Returns whether minReadTs() passes all ended snapshots; until then call
    /// again now and then. REQUIRES: the clock has reached ts; outside every slice; one thread.
    bool endSnapshotsBelow(uint64_t ts);
    /// Ended snapshots below this no longer hold back minReadTs(). For callers that keep snapshots
    /// besides the pins.
    uint64_t passedTs() const;
    /// REQUIRES inside a slice. A snapshot that has ended must not be read by any more; one that
    /// has not ended may be used until the slice ends. Call it in each slice before using a pinned
    /// snapshot.
    bool hasEnded(uint64_t ts) const {
        // [ended.look] relaxed: the fences of [epoch.enter] and [ended.raise] order it. A slice
        // whose fence came later sees the store; [ended.pass] waits for slices whose fence came
        // first.
        return ts < ended_.load(kRelaxed);
    }
    /// For isOver(): every slice that does not see what the calling thread has stored before is
    /// over by then, and every slice that was open together with one of those.
    uint64_t graceFromNow() const;
    /// Tries to advance the epoch. REQUIRES: outside every slice. When true, the effects of those
    /// slices are visible.
    bool isOver(uint64_t grace);
    /// Tries to advance the epoch and frees what the calling thread retired three epochs ago.
    /// Called automatically after a number of retires; call it in idle moments too.
    void tryAdvance();
    /// Bytes retired and not yet freed, over all participants.
    size_t retiredBytes() const;
    size_t participantCount() const;
    /// How often a thread has let others run between two slices in a crowd.
    uint64_t turnsEnded() const;

private:
    friend class Participant;
    friend class Slice;
    struct Impl;
    void announce();
    void renounce();
    std::unique_ptr<Impl> impl_;
    /// Pinned snapshots below this have ended. Written by: endSnapshotsBelow. Read by: hasEnded.
    ///   STEPS    only rises; never above the clock
    /// Outside impl_, since every read loads it.
    Atomic<uint64_t> ended_{0};
};

/// The calling thread is inside a slice of `domain` while this lives. One full fence on the
/// outermost.
class Slice {
public:
    explicit Slice(EpochDomain& domain);
    explicit Slice(Participant& participant);
    ~Slice();
    Slice(const Slice&) = delete;
    Slice& operator=(const Slice&) = delete;
    Participant& participant() const { return participant_; }

private:
    Participant& participant_;
};

}  // namespace freshet::sync
