// SPDX-License-Identifier: Apache-2.0
/// What the holder of the writer's role does with slots: see slot/ring_writer.h for when.
#include "freshet/journal/file/impl.h"

namespace freshet::journal {

bool Journal::Impl::writeSlot(uint64_t slotNo) {
    if (failure.load(sync::kAcquire) != nullptr) {  // [journal.failure.load]
        return false;
    }
    uint32_t fill = ring.joinedUnits(slotNo) * kUnitBytes;
    if (!blocks.hasRoom(fill) && !takeNextSegment()) {
        return false;  // the thread that makes it calls notify() when it is ready
    }
    // [journal.reached] acquire: pairs with [journal.durable].
    auto sealed = blocks.write(ring.bytes(slotNo, 0),
                               fill,
                               slotNo,
                               ring.timeBase(slotNo),
                               durableLsn.load(sync::kAcquire));
    if (!sealed.isOk()) {
        fail(sealed.status());
        return false;
    }
    if (feed.takes(fill)) {
        feed.give(copyOfBlock(slotNo, fill));
    }
    if (witness != nullptr) {
        witness->noteWritten(slotStart(slotNo + 1));
    }
    // [journal.written] release: pairs with [journal.reached].
    writtenLsn.store(slotStart(slotNo + 1), sync::kRelease);
    // [journal.count] relaxed: statistics.
    records.fetch_add(sealed->records, sync::kRelaxed);
    bytes.fetch_add(fill, sync::kRelaxed);
    slotsWritten.fetch_add(1, sync::kRelaxed);
    return true;
}

LogBlockRef Journal::Impl::copyOfBlock(uint64_t slotNo, uint32_t fill) {
    auto block = std::make_shared<LogBlock>();
    block->bytes.assign(ring.bytes(slotNo, 0), fill);
    block->header = loadLe<BlockHeader>(block->bytes.data());
    block->segment = blocks.position().segment->index;
    block->end = blocks.position().offset;
    return block;
}

bool Journal::Impl::takeNextSegment() {
    // [journal.segment.take] acq_rel: acquire pairs with [journal.segment.ready].
    Segment* next = readySegment.exchange(nullptr, sync::kAcqRel);
    if (next != nullptr) {
        recycler->finished(blocks.moveTo(std::shared_ptr<Segment>(next)));
    }
    // [journal.segmentMissing] release: pairs with its loads in noSegment() and stats().
    segmentMissing.store(next == nullptr, sync::kRelease);
    makerWake.signal();  // to make the next one
    return next != nullptr;
}

void Journal::Impl::afterWrites() {
    writeWaiters.wake(writtenLsn.load(sync::kAcquire));  // [journal.reached]
    freeWaiters.wake(0);
}

uint64_t Journal::Impl::wantedEnd() const {
    if (failure.load(sync::kAcquire) != nullptr) {  // [journal.failure.load]
        return 0;
    }
    // [journal.wanted] acquire: pairs with [raise.cas].
    uint64_t end = writeWanted.load(sync::kAcquire);
    if (end <= writtenLsn.load(sync::kRelaxed)) {  // our own store
        end = 0;
    }
    // [journal.flushTarget.load] acquire: pairs with [journal.flushTarget.clear]; durableLsn, read
    // after it, is at least the position that that flush reached.
    bool flushing = flushTarget.load(sync::kAcquire) != 0;
    uint64_t wanted = syncWanted.load(sync::kAcquire);            // [journal.wanted]
    if (!flushing && wanted > durableLsn.load(sync::kAcquire)) {  // [journal.reached]
        end = std::max(end, wanted);
    }
    return end;
}

void Journal::Impl::startFlush() {
    uint64_t written = writtenLsn.load(sync::kRelaxed);  // our own store
    if (failure.load(sync::kAcquire) != nullptr ||       // [journal.failure.load]
        flushTarget.load(sync::kAcquire) != 0) {         // [journal.flushTarget.load]
        return;
    }
    uint64_t durable = durableLsn.load(sync::kAcquire);  // [journal.reached]
    // [journal.wanted] acquire: pairs with [raise.cas].
    if (syncWanted.load(sync::kAcquire) > durable && written > durable) {
        flushRanges = blocks.takeWritten();
        // [journal.flushTarget.set] release: pairs with [journal.flushTarget.get], which reads
        // flushRanges.
        flushTarget.store(written, sync::kRelease);
        helperWake.signal();
    }
}

void Journal::Impl::passRole() {
    writerWake.signal();
}

}  // namespace freshet::journal
