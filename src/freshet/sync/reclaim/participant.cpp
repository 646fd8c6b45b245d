// SPDX-License-Identifier: Apache-2.0
/// The own-thread half of the epochs: slices, pins, retiring.
#include "freshet/base/assert.h"
#include "freshet/sync/mutant.h"
#include "freshet/sync/reclaim/epoch_state.h"

namespace freshet::sync {

Participant::Participant() : impl_(std::make_unique<Impl>()) {}
Participant::~Participant() = default;

void Participant::Impl::enter() {
    if (depth++ != 0) {
        return;
    }
    if constexpr (kUsesHazards) {
        Hazards::here().beginSlice();
    }
    const auto epochOrder = mutated(Mutant::kEnterEpochRelaxed) ? kRelaxed : kRelease;
    const auto readLowOrder = mutated(Mutant::kEnterReadLowRelaxed) ? kRelaxed : kRelease;
    // [epoch.enter] E and clock: acquire, pairs with [epoch.advance] and with the thread that
    // raises the clock. The stores are release although the fence comes after them: a thread that
    // reads them must see the effects of our earlier slices (pins for [epoch.fold], unlinking for
    // [epoch.scan]), and a relaxed store would cut it off from the release store of [epoch.leave]
    // that it replaces. The fence orders them before every read of the slice, against the fences of
    // [epoch.scan] and [epoch.fold]: either those see our cell, or we see everything done before
    // them.
    cell->epoch.store(state->epoch.load(kAcquire), epochOrder);
    cell->readLow.store(state->clock->load(kAcquire), readLowOrder);
    if (!mutated(Mutant::kNoEnterFence)) {
        heavyFence();
    }
}

void Participant::Impl::leave() {
    dcheck(depth != 0);
    if (--depth != 0) {
        return;
    }
    const auto order = mutated(Mutant::kLeaveRelaxed) ? kRelaxed : kRelease;
    // [epoch.leave] release: pairs with [epoch.fold], which having read kNoTs here sees the pins
    // that pin() made before, and with [epoch.scan], which having read 0 sees all our unlinking.
    cell->readLow.store(kNoTs, order);
    cell->epoch.store(kNoEpoch, order);
    if constexpr (kUsesHazards) {
        Hazards::here().endSlice();
    }
    if (kTakesTurns && turn.isTimeToLook()) [[unlikely]] {
        lookAtTurn();
    }
}

void Participant::Impl::freeUnheld() {
    heldSinceLook = 0;
    heldBytesSinceLook = 0;
    subRetiredBytes(Hazards::all().freeUnheld(&held));
}

void Participant::Impl::addRetiredBytes(size_t bytes) {
    // [epoch.bytes] relaxed: one writer, and only a statistic, also used for admission.
    cell->retiredBytes.store(cell->retiredBytes.load(kRelaxed) + bytes, kRelaxed);
}

void Participant::Impl::subRetiredBytes(size_t bytes) {
    if (bytes != 0) {
        // [epoch.bytes] relaxed, as above.
        cell->retiredBytes.store(cell->retiredBytes.load(kRelaxed) - bytes, kRelaxed);
    }
}

void Participant::retire(void* object, void (*free)(void*), size_t bytes) {
    Impl& me = *impl_;
    invariant(me.depth != 0);
    // [epoch.retire] acquire: pairs with [epoch.advance]; an epoch read here is at most one behind.
    uint64_t epoch = me.state->epoch.load(kAcquire);
    me.turn.noteWriting();
    me.addRetiredBytes(bytes);
    me.subRetiredBytes(me.bags.add(epoch, {object, free, bytes}));
    me.bytesSinceAdvance += bytes;
    if (++me.retiresSinceAdvance >= kRetiresPerAdvance ||
        me.bytesSinceAdvance >= kBytesPerAdvance) {
        me.domain->tryAdvance();
    }
}

void Participant::retireHeld(void* object, void (*free)(void*), size_t bytes) {
    Impl& me = *impl_;
    invariant(kUsesHazards && me.depth != 0);
    me.turn.noteWriting();
    me.held.push_back({object, free, bytes});
    me.addRetiredBytes(bytes);
    me.heldBytesSinceLook += bytes;
    if (++me.heldSinceLook >= kHeldPerLook || me.heldBytesSinceLook >= kHeldBytesPerLook) {
        me.freeUnheld();
    }
}

void Participant::noteWriting() {
    impl_->turn.noteWriting();
}

bool Participant::inSlice() const {
    return impl_->depth != 0;
}

void Participant::pin(SnapshotPin* pin) {
    Impl& me = *impl_;
    invariant(me.depth != 0 && !pin->isPinned());
    // Before [epoch.leave] clears readLow: a folder that reads kNoTs there sees this pin.
    pin->place = me.cell->pins.open(pin->ts);
}

void Participant::unpin(SnapshotPin* pin) {
    invariant(pin->isPinned());
    // Reads by the snapshot happened before any folder may fold it away (INV-sync-6).
    OpenValues::close(pin->place);
    pin->place = nullptr;
}

uint16_t Participant::index() const {
    return impl_->index;
}

EpochDomain& Participant::domain() const {
    return *impl_->domain;
}

Slice::Slice(EpochDomain& domain) : Slice(domain.here()) {}

Slice::Slice(Participant& participant) : participant_(participant) {
    participant_.impl_->enter();
}

Slice::~Slice() {
    participant_.impl_->leave();
}

}  // namespace freshet::sync
