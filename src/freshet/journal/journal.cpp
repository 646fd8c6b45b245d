// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/journal.h"

#include "freshet/journal/file/impl.h"
#include "freshet/journal/slot/raise.h"

namespace freshet::journal {

Status Journal::Impl::health() const {
    // [journal.failure.load] acquire: pairs with [journal.fail].
    const Status* why = failure.load(sync::kAcquire);
    if (why != nullptr) {
        return *why;
    }
    // [journal.closed] set and read by callers that close() excludes; acquire for symmetry only.
    return closed.load(sync::kAcquire) ? Status(Code::kUnavailable, "the journal is closed")
                                       : Status::ok();
}

Status Journal::Impl::refusal(bool started) const {
    // [journal.outOfSpace] relaxed: an append that slips through is safe, it waits in the ring. A
    // thread that waits for a free slot is woken after the flag was set: [waitList.push].
    if (!started && outOfSpace.load(sync::kRelaxed)) {
        return Status(Code::kNoSpace, "no room for another journal segment");
    }
    return health();
}

Status Journal::Impl::append(AppendOp& op) {
    FRESHET_RETURN_IF_ERROR(refusal(op.started_));
    ByteView body = op.body_;
    do {
        ByteView part = body.substr(op.done_, fragmentBytesMax());
        bool first = op.done_ == 0;
        bool last = op.done_ + part.size() == body.size();
        RecordHeader header{};
        header.type = static_cast<uint8_t>(op.type_);
        header.frag = static_cast<uint8_t>(first  ? (last ? Fragment::kFull : Fragment::kFirst)
                                           : last ? Fragment::kLast
                                                  : Fragment::kMiddle);
        header.participant = op.participant_;
        header.recId = op.first_;
        FRESHET_RETURN_IF_ERROR(
            place(header, part, op.started_, &op.lsn_, &op.timestamp_, &op.token_));
        op.started_ = true;
        op.done_ += part.size();
        op.first_ = first ? op.lsn_ : op.first_;
    } while (op.done_ < body.size());
    if (readersWait.load(sync::kRelaxed)) {  // [journal.readersWait]
        nudgeHelper();
    }
    return Status::ok();
}

Status Journal::Impl::place(const RecordHeader& unsealed,
                            ByteView body,
                            bool started,
                            Lsn* lsn,
                            uint64_t* timestamp,
                            sync::WaitToken* token) {
    RecordHeader header = unsealed;
    sealRecord(header, body);  // before the join: no other thread waits for our checksum
    uint32_t units = recordUnits(body.size());
    auto onDone = [this] { slotDone(); };
    FillingTurn turn(rule);
    JoinResult where = ring.join(units, onDone);
    if (where.ringFull) {
        *token = freeWaiters.add(0);
        FRESHET_RETURN_IF_ERROR(refusal(started));
        // A slot may have become free before the token was in the list.
        where = ring.join(units, onDone);
        if (where.ringFull) {
            fullWaits.fetch_add(1, sync::kRelaxed);  // [journal.count] a statistic
            return Status::wouldBlock();
        }
    }
    turn.joined(ring, where);
    copyRecord(ring.bytes(where.slotNo, where.unit), header, body);
    *lsn = lsnAt(where.slotNo, where.unit);
    *timestamp = ring.timeBase(where.slotNo) + where.unit;
    const bool done = ring.release(where, units);
    turn.end();
    if (done) {
        slotDone();
    }
    return Status::ok();
}

void Journal::Impl::slotDone() {
    // [journal.wanted] acquire: pairs with [raise.cas]. A later request calls notify() itself.
    if (writeWanted.load(sync::kAcquire) > writtenLsn.load(sync::kAcquire)) {  // [journal.reached]
        writer.notify();
    } else {
        writerWake.signal();
    }
}

Status Journal::Impl::await(Lsn lsn,
                            const sync::Atomic<uint64_t>& reached,
                            sync::Atomic<uint64_t>& wanted,
                            WaitList& waiters,
                            sync::WaitToken* token) {
    FRESHET_RETURN_IF_ERROR(health());
    // [journal.reached] acquire: pairs with [journal.written] and [journal.durable].
    if (lsn < reached.load(sync::kAcquire)) {
        return Status::ok();
    }
    uint64_t end = servedAt(std::min(lsn, ring.tail() - 1));
    if (end > reached.load(sync::kAcquire)) {
        raiseTo(wanted, end);
        writer.notify();
    }
    if (end <= reached.load(sync::kAcquire)) {
        return Status::ok();
    }
    *token = waiters.add(end);
    FRESHET_RETURN_IF_ERROR(health());
    return end <= reached.load(sync::kAcquire) ? Status::ok() : Status::wouldBlock();
}

bool Journal::Impl::outlivesProcess(Lsn lsn) {
    if (ringFile == nullptr) {
        return false;
    }
    // [journal.reached] acquire: pairs with [journal.written].
    const uint64_t written = writtenLsn.load(sync::kAcquire);
    const uint64_t last = slotOf(std::min(lsn, ring.tail() - 1));
    return ring.holdsUpTo(slotOf(written), last);
}

Journal::Journal(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Journal::~Journal() {
    static_cast<void>(close().isOk());  // a caller that needs the status calls close() first
}

Status Journal::append(AppendOp& op) {
    return impl_->append(op);
}

Status Journal::written(Lsn lsn, sync::WaitToken* token) {
    if (impl_->outlivesProcess(lsn)) {
        return impl_->health();
    }
    return impl_->await(lsn, impl_->writtenLsn, impl_->writeWanted, impl_->writeWaiters, token);
}

Status Journal::durable(Lsn lsn, sync::WaitToken* token) {
    return impl_->await(lsn, impl_->durableLsn, impl_->syncWanted, impl_->syncWaiters, token);
}

Status Journal::recycle(Lsn redoLsn) {
    return impl_->recycle(redoLsn);
}

std::vector<std::string> Journal::losses() const {
    return impl_->losses;
}

bool Journal::wasCutOff() const {
    return impl_->wasCutOff;
}

Lsn Journal::tailLsn() const {
    return impl_->ring.tail();
}

Lsn Journal::durableLsn() const {
    return impl_->durableLsn.load(sync::kAcquire);  // [journal.reached]
}

uint64_t Journal::now() const {
    return impl_->ring.now();
}

Status Journal::health() const {
    return impl_->health();
}

bool Journal::isOutOfSpace() const {
    return impl_->outOfSpace.load(sync::kRelaxed);  // [journal.outOfSpace]
}

bool Journal::useReserve() {
    const Options& options = impl_->options;
    if (options.keepFreeBytes == 0 ||
        options.files->spaceOf(options.directory).freeBytes < 2 * options.segmentBytesMax) {
        return false;
    }
    // [journal.reserve] relaxed: the signal publishes it; the maker resets it.
    impl_->mayUseReserve.store(true, sync::kRelaxed);
    // [journal.outOfSpace] relaxed: the maker sets it again if it cannot make the segment.
    impl_->outOfSpace.store(false, sync::kRelaxed);
    impl_->makerWake.signal();
    return true;
}

Status Journal::close() {
    return impl_->close();
}

Stats Journal::stats() const {
    // [journal.count] relaxed: numbers for people, each by itself.
    Stats stats;
    stats.records = impl_->records.load(sync::kRelaxed);
    stats.bytes = impl_->bytes.load(sync::kRelaxed);
    stats.slotsWritten = impl_->slotsWritten.load(sync::kRelaxed);
    stats.flushes = impl_->flushes.load(sync::kRelaxed);
    stats.joinRaces = impl_->ring.joinRaces();
    stats.oldLapMeetings = impl_->ring.oldLapMeetings();
    stats.segmentMissing = impl_->segmentMissing.load(sync::kAcquire);  // [journal.segmentMissing]
    stats.fullWaits = impl_->fullWaits.load(sync::kRelaxed);
    stats.segments = impl_->segments.load(sync::kRelaxed);
    stats.flushMicrosTotal = impl_->flushMicros.load(sync::kRelaxed);
    stats.segmentsRecycled = impl_->recycler->recycled();
    stats.retainedBytes = impl_->recycler->keptBytes();
    return stats;
}

}  // namespace freshet::journal
