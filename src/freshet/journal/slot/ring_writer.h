// SPDX-License-Identifier: Apache-2.0
/// RingWriter: decides which thread writes. The role of writer is a counter: the thread that raises
/// it from 0 is the writer; every other thread leaves a note that the writer finds before it can
/// leave. No thread waits for the role, and a writer that has done enough for others passes it on
/// (docs/design/journal.md, "The writer's role").
///
/// INV-journal-5 (J5): whenever a done slot is unwritten, or a request is unserved, then the role
/// is held, or a flush is in flight, or the role is being passed on, or a segment is being made, or
/// a joiner still copies. Each of these ends in a call of notify().
///
/// Backend (Journal::Impl; a recorder in tests) provides, all called with the role held:
///   bool writeSlot(n)      writes slot n; false if that must wait; notify() follows later
///   uint64_t wantedEnd()   LSN up to which slots should be closed now, 0 when nothing is wanted
///   void startFlush()      starts a flush if one is wanted and none is in flight
/// and, called without it:
///   void afterWrites()     slots have been written and reopened: wakes the threads that wait
///   void passRole()        makes another thread call notify() soon
///
/// A woken thread may take the waker's core at once. So the holder of the role wakes no thread: the
/// woken threads would find the role held by a thread that does not run, and would wait in turn.
#pragma once

#include "freshet/journal/slot/lsn.h"
#include "freshet/sync/atomic.h"

#include <cstdint>

namespace freshet::journal {

template <typename Ring, typename Backend>
class RingWriter {
public:
    RingWriter(Ring& ring, Backend& backend, uint64_t firstSlot)
        : ring_(ring), backend_(backend), next_(firstSlot) {}

    /// "There may be something to write": a slot is done, a position is wanted, a flush has ended,
    /// a segment is ready. Any thread; does the work unless another thread is doing it. Bounded.
    void notify() {
        // [role.take] RMW acq_rel: acquire pairs with [role.leave], so that next_ and the file
        // position of the writer before us are visible; release pairs with [role.seen], so that the
        // writer that finds our note also sees the work that we announce.
        if (role_.fetch_add(1, sync::kAcqRel) != 0) {
            return;
        }
        bool wrote = false;
        bool passedRole = false;
        for (uint32_t round = 1;; ++round) {
            // [role.seen] acquire: pairs with [role.take]; all work announced up to this count
            // is visible to serve().
            uint64_t seen = role_.load(sync::kAcquire);
            wrote |= serve();
            // [role.leave] CAS. Gives the role back if no thread has left a note since `seen`.
            //   ORDER    acq_rel: release pairs with [role.take]; relaxed on failure, the value is
            //            loaded again.
            //   LOST     another thread left a note: serve again.
            //   PROGRESS bounded by Policy::kRoundsMax.
            if (role_.compare_exchange_strong(seen, 0, sync::kAcqRel, sync::kRelaxed)) {
                break;
            }
            if (round == Policy::kRoundsMax || !Policy::kLeaveOnlyWithoutNotes) {
                // Our own slot and one more batch are served. The thread that takes the role next
                // serves the notes left meanwhile. [role.drop] acq_rel: as [role.leave].
                role_.exchange(0, sync::kAcqRel);
                if constexpr (Policy::kPassRole && Policy::kLeaveOnlyWithoutNotes) {
                    backend_.passRole();
                    passedRole = true;
                }
                break;
            }
        }
        // The thread that wrote wakes the waiters of all that has been written by now. If another
        // thread has taken the role since, it will wake again for what this call may miss.
        if (wrote && (Policy::kWakeAfterPassing || !passedRole)) {
            backend_.afterWrites();
        }
    }

private:
    using Policy = typename Ring::Policy;

    /// True: slots have been written.
    bool serve() {
        bool wrote = writeDoneSlots();
        if (closeWanted()) {
            wrote |= writeDoneSlots();
        }
        backend_.startFlush();
        return wrote;
    }

    /// At most one lap: a slot that is done later was announced after `seen` was read.
    bool writeDoneSlots() {
        bool wrote = false;
        sync::notePlainRead(&next_);
        for (uint32_t i = 0; i < ring_.slots() && ring_.isDone(next_); ++i) {
            if (!backend_.writeSlot(next_)) {
                break;
            }
            ring_.reopen(next_);
            sync::notePlainWrite(&next_);
            ++next_;
            wrote = true;
        }
        return wrote;
    }

    /// Slots are closed on request here and nowhere else, except by a joiner that finds no room: so
    /// a batch is everything that arrived during the previous flush. True: the slot can be written
    /// now.
    bool closeWanted() {
        uint64_t active = ring_.active();
        if (slotStart(active) >= backend_.wantedEnd()) {
            return false;
        }
        bool done = ring_.close(active);
        ring_.advance(active);
        return done;
    }

    Ring& ring_;
    Backend& backend_;
    /// Notes left since the role was taken, 0 when it is free. Written by: all threads.
    ///   STEPS    0 -> n -> n+1 ... -> 0; only the holder sets it to 0
    ///   OWNS     next_ and the backend's file position belong to the thread that moved it from 0
    ///   ABA      64 bits: a holder cannot miss 2^64 notes
    alignas(sync::kLineBytes) sync::Atomic<uint64_t> role_{0};
    uint64_t next_;  // first slot not yet written; owned by the role
};

}  // namespace freshet::journal
