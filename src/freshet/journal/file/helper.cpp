// SPDX-License-Identifier: Apache-2.0
/// The journal's threads. `journal`, the helper, flushes, and requests a flush of idle data in the
/// open slot. `journal-write` writes slots that no caller waits for, and takes a role that its
/// holder has passed on. Other threads compute all the time: while one of them wrote, the others
/// would preempt it again and again, and the ring would be full before it had finished. This thread
/// hardly computes, so the scheduler runs it at once. It neither flushes nor makes segments, which
/// is `journal-make`'s work: both wait for the disk, and the log must go on meanwhile.
#include "freshet/journal/file/flush.h"
#include "freshet/journal/file/impl.h"
#include "freshet/journal/slot/raise.h"
#include "freshet/platform/clock.h"
#include "freshet/telemetry/log.h"

#include <algorithm>

namespace freshet::journal {
namespace {

constexpr uint64_t kUntilSignalledMs = 3'600'000;  // an hour: taking a segment signals
/// Checks for idle data per commitIntervalMs: what the previous check saw is requested now, unless
/// another caller's flush has covered it.
constexpr uint64_t kIdleLooks = 2;
/// Flushes for waiting readers are at least so far apart: an event reaches its reader within a few
/// milliseconds, and a busy log is not flushed for each record.
constexpr uint64_t kReadersMs = 2;
constexpr uint64_t kNanosPerMilli = 1'000'000;

/// Ticks every so many milliseconds, counted from the tick before.
class Metronome {
public:
    explicit Metronome(uint64_t ms) : interval_(ms * kNanosPerMilli) {}
    uint64_t millisLeft() const {
        const uint64_t now = platform::monotonicNanos();
        return now >= due_ ? 0 : (due_ - now) / kNanosPerMilli + 1;
    }
    /// True once for each tick.
    bool ticks() {
        const uint64_t now = platform::monotonicNanos();
        if (now < due_) {
            return false;
        }
        due_ = now + interval_;
        return true;
    }

private:
    uint64_t interval_;
    uint64_t due_ = platform::monotonicNanos() + interval_;
};

/// Takes what is flushed out of the system's cache, a unit at a time: a call for each small flush
/// would cost more than it gives, and whoever waits for the flush would wait for it.
void forgetWholeUnits(const WrittenRange& range) {
    constexpr uint64_t kUnit = 128u << 10;
    const uint64_t from = range.from / kUnit * kUnit;
    const uint64_t to = range.to / kUnit * kUnit;
    if (to > from) {
        range.segment->file->forget(from, to - from);
    }
}

}  // namespace

void Journal::Impl::help() {
    platform::stepForward();
    Metronome metronome(std::max<uint64_t>(options.commitIntervalMs / kIdleLooks, 1));
    // [journal.stopping] acquire: pairs with its store in close().
    while (!stopping.load(sync::kAcquire)) {
        helperWake.wait(std::min(metronome.millisLeft(), millisUntilReaders()));
        flush();
        flushForReaders();
        if (metronome.ticks()) {
            askForIdleData();
        }
    }
}

void Journal::Impl::writeForOthers() {
    platform::stepForward();
    while (!stopping.load(sync::kAcquire)) {  // [journal.stopping]
        writerWake.wait(options.commitIntervalMs);
        writer.notify();
    }
}

void Journal::Impl::makeSegments() {
    platform::stepForward();
    Metronome metronome(options.commitIntervalMs);
    bool busy = true;
    while (!stopping.load(sync::kAcquire)) {  // [journal.stopping]
        // Out of space: try again at each tick only (relaxed: our own store), and go on while steps
        // succeed; but close() waits for an answer, and signals.
        const bool isShort = outOfSpace.load(sync::kRelaxed);
        makerWake.wait(busy ? 0 : isShort ? metronome.millisLeft() : kUntilSignalledMs);
        const bool may = busy || !isShort || metronome.ticks() ||
                         closing.load(sync::kAcquire);  // [journal.closing]
        busy = may && prepareSegment();
    }
}

void Journal::Impl::flush() {
    // [journal.flushTarget.get] acquire: pairs with [journal.flushTarget.set].
    uint64_t target = flushTarget.load(sync::kAcquire);
    if (target == 0 || failure.load(sync::kAcquire) != nullptr) {  // [journal.failure.load]
        return;
    }
    uint64_t begin = platform::monotonicNanos();
    for (const WrittenRange& range : flushRanges) {
        Status status = flushSegment(*range.segment->file);
        if (!status.isOk()) {
            // flushTarget keeps its value: no second flush can ever start.
            fail(status);
            return;
        }
        forgetWholeUnits(range);
    }
    flushRanges.clear();
    // [journal.count] relaxed: statistics.
    flushes.fetch_add(1, sync::kRelaxed);
    flushMicros.fetch_add((platform::monotonicNanos() - begin) / 1000, sync::kRelaxed);
    if (witness != nullptr) {
        witness->noteDurable(target);
    }
    // [journal.durable] release: pairs with [journal.reached].
    durableLsn.store(target, sync::kRelease);
    // [journal.flushTarget.clear] release: pairs with [journal.flushTarget.load]; gives flushRanges
    // back to the writer.
    flushTarget.store(0, sync::kRelease);
    syncWaiters.wake(target);
    writer.notify();  // closes the next batch: the records that arrived meanwhile
}

void Journal::Impl::askForIdleData() {
    const uint64_t end = servedAt(ring.tail() - 1);
    if (idleEnd > durableLsn.load(sync::kRelaxed)) {  // our own store
        raiseTo(syncWanted, end);
        writer.notify();
    }
    idleEnd = end;
}

void Journal::Impl::nudgeHelper() {
    // [journal.nudge] exchange. ORDER acq_rel: release, so that the helper finds what was appended
    //   before; it pairs with the exchange in flushForReaders().
    if (!isNudged.exchange(true, sync::kAcqRel)) {
        helperWake.signal();
    }
}

uint64_t Journal::Impl::millisUntilReaders() const {
    if (!isNudged.load(sync::kRelaxed)) {  // a later nudge signals
        return UINT64_MAX;
    }
    const uint64_t now = platform::monotonicNanos();
    return now >= readersDueNanos ? 0 : (readersDueNanos - now) / kNanosPerMilli + 1;
}

void Journal::Impl::flushForReaders() {
    if (millisUntilReaders() != 0) {
        return;
    }
    readersDueNanos = platform::monotonicNanos() + kReadersMs * kNanosPerMilli;
    isNudged.exchange(false, sync::kAcqRel);  // [journal.nudge]
    raiseTo(syncWanted, servedAt(ring.tail() - 1));
    writer.notify();
}

uint64_t Journal::Impl::bytesToKeepFree() {
    if (options.keepFreeBytes == 0 ||
        mayUseReserve.exchange(false, sync::kRelaxed)) {  // [journal.reserve]
        return 0;
    }
    // The checkpoint may have to write as much as the log has that is not recycled.
    const uint64_t used = segments.load(sync::kRelaxed);  // [journal.count]
    return options.keepFreeBytes + used * options.segmentBytesMax;
}

bool Journal::Impl::prepareSegment() {
    if (readySegment.load(sync::kRelaxed) != nullptr ||  // ours to set; a late null is seen
        failure.load(sync::kAcquire) != nullptr) {       // at the signal that goes with it
        return false;
    }
    const bool isMissed = segmentMissing.load(sync::kAcquire);  // [journal.segmentMissing]
    auto made = maker.step(isMissed ? Pace::kMissed : Pace::kInSteps, bytesToKeepFree());
    if (!made.isOk()) {
        noSegment(made.status().withContext("making a journal segment"));
        return false;
    }
    if (*made == nullptr) {
        return true;
    }
    if (outOfSpace.exchange(false, sync::kRelaxed)) {  // [journal.outOfSpace]
        telemetry::logInfo("journal", "there is room for segments again");
    }
    segments.fetch_add(1, sync::kRelaxed);  // [journal.count]
    // [journal.segment.ready] release: pairs with [journal.segment.take].
    readySegment.store(made->release(), sync::kRelease);
    writerWake.signal();  // the role may have been given up for lack of a segment
    return false;
}

void Journal::Impl::noSegment(const Status& why) {
    // A full disk may get space again, but close() cannot wait for that.
    bool hopeless = segmentMissing.load(sync::kAcquire) &&  // [journal.segmentMissing]
                    closing.load(sync::kAcquire);           // [journal.closing]
    if (why.code() != Code::kNoSpace || hopeless) {
        fail(why);
    } else if (!outOfSpace.exchange(true, sync::kRelaxed)) {  // [journal.outOfSpace]
        telemetry::logError("journal", "writes are refused: " + why.toString());
        freeWaiters.wake(0);  // appends that have not started are refused now, not kept waiting
    }
}

Status Journal::Impl::recycle(Lsn redoLsn) {
    FRESHET_RETURN_IF_ERROR(health());
    uint64_t gone = 0;
    auto now = static_cast<uint64_t>(platform::wallMillis() / 1000);
    // Readers must not be the reason for refusing writes.
    const bool isShort = outOfSpace.load(sync::kRelaxed);  // [journal.outOfSpace]
    Status status = recycler->recycle(
        redoLsn, durableLsn.load(sync::kAcquire), now, isShort, &gone);  // [journal.reached]
    segments.fetch_sub(gone, sync::kRelaxed);                            // [journal.count]
    if (status.isOk() || status.code() == Code::kNoSpace) {
        return status;
    }
    status = status.withContext("recycling journal segments");
    fail(status);
    return status;
}

void Journal::Impl::fail(const Status& why) {
    auto* mine = new Status(why);
    const Status* none = nullptr;
    // [journal.fail] CAS. Ends the journal.
    //   ORDER    acq_rel: release pairs with [journal.failure.load]; relaxed on failure, dropped.
    //   LOST     it has ended already, for another reason.
    //   PROGRESS one attempt.
    if (!failure.compare_exchange_strong(none, mine, sync::kAcqRel, sync::kRelaxed)) {
        delete mine;
        return;
    }
    if (options.onFatal) {
        options.onFatal(why);
    }
    writeWaiters.wake(UINT64_MAX);
    syncWaiters.wake(UINT64_MAX);
    freeWaiters.wake(UINT64_MAX);
}

}  // namespace freshet::journal
