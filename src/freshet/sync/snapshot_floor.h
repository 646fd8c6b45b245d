// SPDX-License-Identifier: Apache-2.0
/// SnapshotFloor: while it is open, snapshots of the past can still be taken, from the floor on.
/// One pin holds what they need; the floor may rise at any time, and snapshots that were taken
/// before then stay.
///
///   INV-sync-7  while a snapshot that pin() has taken is pinned, it is >= any result of
///               minReadTs() that was computed in a slice (sync/README.md has the argument).
#pragma once

#include "freshet/sync/epoch.h"

#include <cstdint>
#include <vector>

namespace freshet::sync {

class SnapshotFloor {
public:
    static constexpr uint64_t kClosed = UINT64_MAX;

    /// `clock`: the domain's.
    SnapshotFloor(EpochDomain& domain, const Atomic<uint64_t>& clock)
        : domain_(domain), clock_(clock) {}
    /// REQUIRES: drop() was called, or it was never opened.
    ~SnapshotFloor();
    SnapshotFloor(const SnapshotFloor&) = delete;
    SnapshotFloor& operator=(const SnapshotFloor&) = delete;

    // One thread at a time, outside every slice:

    /// The floor is the present value of the clock, which is returned. REQUIRES: isSettled(), and
    /// it is closed.
    uint64_t open();
    /// From here on pin() refuses snapshots below `ts`; kClosed: all. What only those need becomes
    /// free once isSettled(). REQUIRES: ts >= floor(), and the clock has reached it unless it is
    /// kClosed.
    void raise(uint64_t ts);
    /// Whether minReadTs() has been let up to the floor. To be called now and then after raise().
    bool isSettled();
    /// Closes it at once. REQUIRES: no thread reads, or calls minReadTs(), any more.
    void drop();

    /// Any thread. kClosed: it is closed.
    uint64_t floor() const {
        // [floor.read] acquire: pairs with [floor.open] and [floor.raise].
        return floor_.load(kAcquire);
    }
    /// Pins the snapshot pin->ts. False: it is below the floor, and nothing was pinned. REQUIRES:
    /// inside a slice of `participant`; the clock has reached pin->ts.
    bool pin(Participant& participant, SnapshotPin* pin);

private:
    EpochDomain& domain_;
    const Atomic<uint64_t>& clock_;
    /// Written by: open(), raise(), drop(). Read by: all.
    ///   STEPS    kClosed -> clock, then only rises; kClosed again
    ///   INV      as long as a thread may pin a snapshot >= t by what it has read here, a pin of
    ///            this object is <= t
    Atomic<uint64_t> floor_{kClosed};
    /// The pin of the present floor, unless it is closed, and behind it those of lower floors that
    /// threads may still rely on.
    std::vector<SnapshotPin> pins_;
    uint64_t grace_ = 0;
};

}  // namespace freshet::sync
