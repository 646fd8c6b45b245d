// SPDX-License-Identifier: Apache-2.0
/// The shared half of the epochs: the table of participants, advancing, the oldest reader.
#include "freshet/base/assert.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/mutant.h"
#include "freshet/sync/reclaim/epoch_state.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace freshet::sync {
namespace {

uint64_t graceEpochs() {
    return mutated(Mutant::kFreeOneEarly)   ? kGraceEpochs - 1
           : mutated(Mutant::kFreeTwoEarly) ? kGraceEpochs - 2
                                            : kGraceEpochs;
}

void freeAll(std::vector<RetiredObject>* objects) {
    for (const RetiredObject& object : std::exchange(*objects, {})) {
        object.free(object.object);
    }
}

uint64_t endedEpochs() {
    return mutated(Mutant::kPassAtOnce)     ? kEndedEpochs - 2
           : mutated(Mutant::kPassOneEarly) ? kEndedEpochs - 1
                                            : kEndedEpochs;
}

uint64_t nextDomainId() {
    static Atomic<uint64_t> last{0};
    // [epoch.id] relaxed: only the number matters.
    return last.fetch_add(1, kRelaxed) + 1;
}

}  // namespace

EpochDomain::Impl::Impl(EpochDomain* self, const Atomic<uint64_t>* clockWord)
    : domain(self), clock(clockWord), id(nextDomainId()), crowd(platform::coreCount()) {}

EpochDomain::Impl::~Impl() {
    for (Participant* participant : participants) {
        if (participant != nullptr) {
            invariant(participant->impl_->depth == 0);
            participant->impl_->bags.freeUpTo(UINT64_MAX);
            freeAll(&participant->impl_->held);
            delete participant;
        }
    }
    forEachCell([](const EpochCell& cell) { invariant(cell.pins.lowest() == kNoTs); });
    for (RetiredBag& bag : orphans) {
        bag.freeAll();
    }
    freeAll(&heldOrphans);
    for (auto& chunk : chunks) {
        // [epoch.end] relaxed: no other thread uses the domain any more.
        delete chunk.load(kRelaxed);
    }
}

const EpochCell& EpochDomain::Impl::cellAt(uint32_t index) const {
    // [epoch.chunk] relaxed: published by [epoch.join], taken by [epoch.cells].
    const Chunk* chunk = chunks[index / kCellsPerChunk].load(kRelaxed);
    return chunk->cells[index % kCellsPerChunk];
}

Participant* EpochDomain::Impl::join() {
    auto* participant = new Participant;
    std::lock_guard<Mutex> lock(mutex);
    uint32_t index;
    if (!freeIndexes.empty()) {
        index = freeIndexes.back();
        freeIndexes.pop_back();
    } else {
        index = static_cast<uint32_t>(participants.size());
        invariant(index < kParticipantsMax);
        participants.push_back(nullptr);
        auto& slot = chunks[index / kCellsPerChunk];
        // [epoch.chunk] relaxed: the store is published by [epoch.join] below, and only holders of
        // the mutex store.
        if (slot.load(kRelaxed) == nullptr) {
            slot.store(new Chunk, kRelaxed);
        }
        // [epoch.join] release: pairs with [epoch.cells]. Before the new thread's first fence, so a
        // walk whose fence comes later sees its cell.
        cellCount.store(index + 1, kRelease);
    }
    participants[index] = participant;
    participant->impl_->held.swap(heldOrphans);
    participant->impl_->domain = domain;
    participant->impl_->state = this;
    participant->impl_->index = static_cast<uint16_t>(index);
    participant->impl_->cell = const_cast<EpochCell*>(&cellAt(index));
    // [epoch.live] relaxed: a statistic.
    live.fetch_add(1, kRelaxed);
    return participant;
}

void EpochDomain::Impl::part(Participant* participant) {
    Participant::Impl& leaver = *participant->impl_;
    invariant(leaver.depth == 0);
    {
        std::lock_guard<Mutex> lock(mutex);
        leaver.bags.giveTo(orphans);
        heldOrphans.insert(heldOrphans.end(), leaver.held.begin(), leaver.held.end());
        // [epoch.bytes] relaxed: a statistic. Added before it is subtracted: never too low.
        size_t bytes = leaver.cell->retiredBytes.load(kRelaxed);
        orphanBytes.fetch_add(bytes, kRelaxed);
        leaver.cell->retiredBytes.store(0, kRelaxed);
        participants[leaver.index] = nullptr;
        freeIndexes.push_back(leaver.index);
        // [epoch.live] relaxed: a statistic.
        live.fetch_sub(1, kRelaxed);
    }
    delete participant;
}

uint32_t EpochDomain::Impl::openSlices() const {
    uint32_t open = 0;
    // [epoch.count] relaxed: a statistic.
    forEachCell([&](const EpochCell& cell) { open += cell.epoch.load(kRelaxed) != kNoEpoch; });
    return open;
}

void EpochDomain::Impl::freeOrphans(uint64_t upTo) {
    // [epoch.bytes] relaxed: a bag that we miss now is found by a later call.
    if (orphanBytes.load(kRelaxed) == 0) {
        return;
    }
    std::vector<RetiredBag> expired;
    {
        std::unique_lock<Mutex> lock(mutex, std::try_to_lock);
        if (!lock.owns_lock()) {
            return;
        }
        auto keep = std::partition(orphans.begin(), orphans.end(), [&](const RetiredBag& bag) {
            return bag.epoch > upTo;
        });
        std::move(keep, orphans.end(), std::back_inserter(expired));
        orphans.erase(keep, orphans.end());
    }
    for (RetiredBag& bag : expired) {
        orphanBytes.fetch_sub(bag.freeAll(), kRelaxed);
    }
}

EpochDomain::EpochDomain(const Atomic<uint64_t>* clock)
    : impl_(std::make_unique<Impl>(this, clock)) {
    announce();
}

EpochDomain::~EpochDomain() {
    renounce();
}

uint64_t EpochDomain::passedTs() const {
    // [epoch.passed] acquire: pairs with [ended.pass]; reads by pins below it happened before.
    return impl_->passed.load(kAcquire);
}

uint64_t EpochDomain::minReadTs() const {
    const Impl& state = *impl_;
    uint64_t low = kNoTs;
    // [epoch.fold] the clock comes first: a reader whose fence comes after ours takes its snapshot
    // from a clock that has at least this value; one whose fence came before shows its readLow.
    // acquire: pairs with the thread that raises the clock, and with [epoch.leave]
    // below.
    if (!mutated(Mutant::kClockAfterReadLow)) {
        low = state.clock->load(kAcquire);
    }
    if (!mutated(Mutant::kNoFoldFence)) {
        heavyFence();
    }
    const uint64_t passed = passedTs();
    state.forEachCell([&](const EpochCell& cell) {
        // readLow THEN the pins: a snapshot moves from the first to the second, so read in this
        // order it is seen at least once.
        uint64_t pinLow = mutated(Mutant::kPinLowFirst) ? cell.pins.lowest() : kNoTs;
        uint64_t readLow = cell.readLow.load(kAcquire);
        if (!mutated(Mutant::kPinLowFirst)) {
            pinLow = cell.pins.lowest();
        }
        low = std::min({low, readLow, std::max(pinLow, passed)});
    });
    if (mutated(Mutant::kClockAfterReadLow)) {
        low = std::min(low, state.clock->load(kAcquire));
    }
    return low;
}

bool EpochDomain::endSnapshotsBelow(uint64_t ts) {
    Impl& state = *impl_;
    // [ended.own] relaxed, both: only this thread writes them.
    uint64_t ended = ended_.load(kRelaxed);
    if (state.passed.load(kRelaxed) == ended && ts > ended) {
        ended = ts;
        // [ended.raise] relaxed: the fence pairs with that of [epoch.enter]: slices whose fence
        // comes later see it ([ended.look]). The epoch is read after the fence, so no slice whose
        // fence came first has a newer epoch, nor has any advance that was decided before such a
        // slice was visible. acquire: the value decides what is passed.
        ended_.store(ts, kRelaxed);
        if (!mutated(Mutant::kNoEndFence)) {
            heavyFence();
        }
        state.endedIn = state.epoch.load(kAcquire);
    }
    for (uint64_t i = 0; i < kEndedEpochs; ++i) {
        tryAdvance();
    }
    // [ended.pass] acquire on E: pairs with [epoch.advance], after which the effects of the slices
    // that it saw leave are visible. release: passes that on to [epoch.passed].
    if (state.epoch.load(kAcquire) >= state.endedIn + endedEpochs()) {
        state.passed.store(ended, kRelease);
    }
    return state.passed.load(kRelaxed) == ended && ended >= ts;  // [ended.own] relaxed: as above
}

uint64_t EpochDomain::graceFromNow() const {
    // The fence pairs with that of [epoch.enter]: slices whose fence comes later see our stores.
    if (!mutated(Mutant::kNoGraceFence)) {
        heavyFence();
    }
    // [grace.begin] acquire, like [ended.raise]: read after the fence, so no slice whose fence came
    // first has a newer epoch.
    return impl_->epoch.load(kAcquire) + (mutated(Mutant::kGraceOneShort) ? kGraceEpochs - 1
                                          : mutated(Mutant::kNoGrace)     ? 0
                                                                          : kGraceEpochs);
}

bool EpochDomain::isOver(uint64_t grace) {
    // [grace.end] acquire: pairs with [epoch.advance], after which the effects of the slices that
    // it saw leave are visible.
    for (uint64_t now = impl_->epoch.load(kAcquire), before = 0; now < grace;) {
        if (now == before) {
            return false;
        }
        before = now;
        tryAdvance();
        now = impl_->epoch.load(kAcquire);  // [grace.end]
    }
    return true;
}

void EpochDomain::tryAdvance() {
    Impl& state = *impl_;
    if constexpr (kUsesHazards) {
        here().impl_->freeUnheld();
    }
    // [epoch.scan] acquire on E: pairs with [epoch.advance]. The fence pairs with that of
    // [epoch.enter]: a slice that we do not see began after it and sees everything unlinked before.
    uint64_t now = state.epoch.load(kAcquire);
    if (!mutated(Mutant::kNoAdvanceFence)) {
        heavyFence();
    }
    bool all = true;
    state.forEachCell([&](const EpochCell& cell) {
        // acquire: pairs with [epoch.leave].
        uint64_t theirs = all ? cell.epoch.load(kAcquire) : kNoEpoch;
        all = theirs == kNoEpoch || theirs == now ? all : false;
    });
    if (all) {
        // [epoch.advance] CAS. ORDER: release publishes the effects of the scanned slices to
        //   [epoch.enter], [epoch.scan] and [epoch.retire]; acquire on both outcomes, as the value
        //   decides what is freed here.
        //   LOST     another thread advanced; that serves us too.
        //   PROGRESS one attempt.
        now = state.epoch.compare_exchange_strong(now, now + 1, kAcqRel, kAcquire) ? now + 1 : now;
    }
    if (now > graceEpochs()) {
        Participant::Impl& me = *here().impl_;
        me.retiresSinceAdvance = 0;
        me.bytesSinceAdvance = 0;
        me.subRetiredBytes(me.bags.freeUpTo(now - graceEpochs()));
        state.freeOrphans(now - graceEpochs());
    }
}

size_t EpochDomain::retiredBytes() const {
    // [epoch.bytes] relaxed: a statistic.
    size_t bytes = impl_->orphanBytes.load(kRelaxed);
    impl_->forEachCell([&](const EpochCell& cell) { bytes += cell.retiredBytes.load(kRelaxed); });
    return bytes;
}

uint64_t EpochDomain::turnsEnded() const {
    // [turns.add] relaxed: a statistic.
    return impl_->turnsEnded.load(kRelaxed);
}

size_t EpochDomain::participantCount() const {
    // [epoch.live] relaxed: a statistic.
    return impl_->live.load(kRelaxed);
}

}  // namespace freshet::sync
