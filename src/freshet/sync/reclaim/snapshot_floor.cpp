// SPDX-License-Identifier: Apache-2.0
#include "freshet/sync/snapshot_floor.h"

#include "freshet/base/assert.h"
#include "freshet/sync/mutant.h"

namespace freshet::sync {

SnapshotFloor::~SnapshotFloor() {
    invariant(pins_.empty());
}

uint64_t SnapshotFloor::open() {
    invariant(floor() == kClosed && pins_.empty());
    SnapshotPin pin;
    {
        Slice slice(domain_);
        // [floor.clock] acquire: as every snapshot's.
        pin.ts = clock_.load(kAcquire);
        slice.participant().pin(&pin);
    }
    pins_.push_back(pin);
    // [floor.open] release: pairs with [floor.read]: the pin was made before.
    floor_.store(pin.ts, kRelease);
    return pin.ts;
}

void SnapshotFloor::raise(uint64_t ts) {
    dcheck(ts >= floor());
    if (ts != kClosed && !mutated(Mutant::kFloorPinnedLate)) {
        SnapshotPin pin{ts};
        Slice slice(domain_);
        slice.participant().pin(&pin);
        pins_.push_back(pin);
    }
    // [floor.raise] release: pairs with [floor.read]. The fence of graceFromNow() orders it: a
    // slice whose fence comes later sees it.
    floor_.store(ts, kRelease);
    grace_ = domain_.graceFromNow();
}

bool SnapshotFloor::isSettled() {
    const size_t kept = floor() == kClosed || mutated(Mutant::kFloorPinnedLate) ? 0 : 1;
    if (pins_.size() <= kept) {
        return true;
    }
    if (!domain_.isOver(grace_)) {
        return false;
    }
    while (pins_.size() > kept) {
        Participant::unpin(&pins_.front());
        pins_.erase(pins_.begin());
    }
    return true;
}

void SnapshotFloor::drop() {
    // [floor.drop] relaxed: nobody else is here.
    floor_.store(kClosed, kRelaxed);
    for (SnapshotPin& pin : pins_) {
        Participant::unpin(&pin);
    }
    pins_.clear();
}

bool SnapshotFloor::pin(Participant& participant, SnapshotPin* pin) {
    if (pin->ts < floor()) {
        return false;
    }
    participant.pin(pin);
    return true;
}

}  // namespace freshet::sync
