// SPDX-License-Identifier: Apache-2.0
/// Start and stop. Blocking, one thread.
#include "freshet/journal/file/impl.h"
#include "freshet/journal/scan/log_scan.h"
#include "freshet/platform/clock.h"
#include "freshet/telemetry/log.h"

#include <algorithm>

namespace freshet::journal {
namespace {

constexpr uint32_t kSlotsMin = 4;
constexpr uint32_t kSlotsMax = 32;
constexpr uint32_t kSlotBytesMax = 2u << 20;
/// Slots that may have been joined and never written when a process dies: their LSNs and Timestamps
/// may have been seen, so a new era begins behind them.
constexpr uint64_t kSlotsSkipped = 2 * kSlotsMax;

uint64_t wallSeconds() {
    return static_cast<uint64_t>(platform::wallMillis() / 1000);
}

Status check(const Options& options) {
    if (options.files == nullptr || options.directory.empty()) {
        return Status(Code::kInvalid, "journal: no file system or directory");
    }
    if (options.slots < kSlotsMin || options.slots > kSlotsMax || options.slotBytes < kBlockAlign ||
        options.slotBytes > kSlotBytesMax || options.slotBytes % kBlockAlign != 0) {
        return Status(Code::kInvalid, "journal: number or size of slots out of range");
    }
    uint64_t ringBytes = uint64_t{options.slots} * options.slotBytes;
    if (options.segmentBytesFirst < ringBytes ||
        options.segmentBytesMax < options.segmentBytesFirst ||
        options.segmentBytesFirst % kBlockAlign != 0 ||
        options.segmentBytesMax % kBlockAlign != 0) {
        return Status(Code::kInvalid, "journal: segment sizes out of range");
    }
    return Status::ok();
}

/// For the segment behind the last one that is kept.
SegmentMaker makerAfter(const Options& options, const LogEnd& end, bool anyKept) {
    uint64_t bytes = options.segmentBytesFirst;
    size_t kept = anyKept ? end.last + 1 : 0;
    for (size_t i = 0; i < kept && bytes < options.segmentBytesMax; ++i) {
        bytes = std::min(bytes * 2, options.segmentBytesMax);
    }
    uint32_t index = anyKept ? end.segments[end.last].index + 1 : 0;
    return SegmentMaker(options.files, options.directory, index, bytes, options.segmentBytesMax);
}

/// What lies behind the segment where the log goes on is of no use: blocks there were never durable
/// as part of the log (the scan has checked), and new segments are made under the same names.
Status removeAfter(const Options& options, const LogEnd& end, uint32_t lastIndex) {
    bool removed = false;
    for (const FoundSegment& segment : end.segments) {
        if (segment.index > lastIndex) {
            FRESHET_RETURN_IF_ERROR(options.files->remove(segment.path));
            removed = true;
        }
    }
    return removed ? options.files->syncDirectory(options.directory) : Status::ok();
}

struct Era {
    uint64_t slotNo;
    uint64_t timeBase;
};

/// Writes the first block of the new era and makes it durable. Stale blocks behind it have lower
/// eras and slot numbers and other checksums, so they can never chain to it.
StatusOr<Era> beginEra(const LogEnd& end, BlockWriter& blocks) {
    Era era{1, wallSeconds() << 32};
    if (end.slotNoMax != 0) {
        uint64_t units = kSlotBytesMax / kUnitBytes;  // the slots before may have been larger
        era.slotNo = end.slotNoMax + kSlotsSkipped;
        era.timeBase = std::max(era.timeBase, end.timeBaseMax + kSlotsSkipped * units);
    }
    alignas(kUnitBytes) char block[kBlockAlign] = {};
    putInternalNoop(block + sizeof(BlockHeader));
    uint32_t fill = sizeof(BlockHeader) + kUnitBytes;
    FRESHET_RETURN_IF_ERROR(
        blocks.write(block, fill, era.slotNo, era.timeBase, slotStart(end.slotNo + 1)).status());
    for (const WrittenRange& range : blocks.takeWritten()) {
        FRESHET_RETURN_IF_ERROR(range.segment->file->sync());
    }
    return era;
}

}  // namespace

StatusOr<std::unique_ptr<Journal>> Journal::open(const Options& options, const RecordSink& replay) {
    FRESHET_RETURN_IF_ERROR(check(options));
    FRESHET_RETURN_IF_ERROR(options.files->makeDirectory(options.directory));
    FRESHET_ASSIGN_OR_RETURN(LogEnd end, scanLog(options, replay));

    LogPosition position;
    position.era = end.eraMax + 1;
    position.prevSlotNo = end.slotNo;
    position.prevBlockCrc = end.blockCrc;
    position.dbUuidLow = uuidLow(options);
    bool anyKept = end.slotNo != 0;
    SegmentMaker maker = makerAfter(options, end, anyKept);
    size_t kept = anyKept ? end.last + 1 : 0;
    if (anyKept && end.offset + kBlockAlign <= end.segments[end.last].bytes) {
        FoundSegment& last = end.segments[end.last];
        position.segment = std::make_shared<Segment>();
        position.segment->bytes = last.bytes / kBlockAlign * kBlockAlign;
        position.segment->index = last.index;
        position.segment->path = last.path;
        position.segment->file = std::move(last.file);
        position.offset = end.offset;
    } else {
        FRESHET_ASSIGN_OR_RETURN(position.segment, maker.makeNow());
        ++kept;
    }
    BlockWriter blocks(position);
    FRESHET_ASSIGN_OR_RETURN(Era era, beginEra(end, blocks));
    FRESHET_RETURN_IF_ERROR(removeAfter(options, end, position.segment->index));
    auto impl = std::make_unique<Impl>(
        options, std::move(blocks), era.slotNo, era.timeBase, std::move(maker), kept);
    return std::unique_ptr<Journal>(new Journal(std::move(impl)));
}

Journal::Impl::Impl(const Options& given,
                    BlockWriter blockWriter,
                    uint64_t eraSlot,
                    uint64_t timeBase,
                    SegmentMaker segmentMaker,
                    uint64_t segmentsKept)
    : options(given),
      ring(given.slots,
           given.slotBytes / kUnitBytes,
           eraSlot + 1,
           timeBase + given.slotBytes / kUnitBytes,
           &wallSeconds),
      writer(ring, *this, eraSlot + 1),
      writtenLsn(slotStart(eraSlot + 1)),
      durableLsn(slotStart(eraSlot + 1)),
      blocks(std::move(blockWriter)),
      maker(std::move(segmentMaker)),
      segments(segmentsKept),
      helper("journal", [this] { help(); }) {}

Journal::Impl::~Impl() {
    delete readySegment.load(sync::kRelaxed);  // relaxed: no other thread is left
    delete failure.load(sync::kRelaxed);
}

Status Journal::Impl::flushAll() {
    for (;;) {
        sync::WaitToken token;
        Status status = await(ring.tail() - 1, durableLsn, syncWanted, syncWaiters, &token);
        if (!status.isWouldBlock()) {
            return status;
        }
        sync::blockOn(token);
    }
}

/// Its header says that everything before is durable: from now on damage there is recognised as
/// damage and not taken for a torn tail.
Status Journal::Impl::appendClosingBlock() {
    RecordHeader header{};
    header.type = static_cast<uint8_t>(RecordType::kNoop);
    header.flags = kRecordInternal;
    for (;;) {
        Lsn lsn;
        uint64_t timestamp;
        sync::WaitToken token;
        Status status = place(header, {}, true, &lsn, &timestamp, &token);
        if (!status.isWouldBlock()) {
            return status;
        }
        sync::blockOn(token);
    }
}

Status Journal::Impl::close() {
    if (closed.load(sync::kAcquire)) {                     // [journal.closed]
        const Status* why = failure.load(sync::kAcquire);  // [journal.failure.load]
        return why != nullptr ? *why : Status::ok();
    }
    // [journal.closing] release: pairs with its loads in the helper.
    closing.store(true, sync::kRelease);
    bell.ring();
    Status status = flushAll();
    if (status.isOk()) {
        status = appendClosingBlock();
    }
    if (status.isOk()) {
        status = flushAll();
    }
    closed.store(true, sync::kRelease);    // [journal.closed]
    stopping.store(true, sync::kRelease);  // [journal.stopping]
    bell.ring();
    helper.join();
    return status;
}

}  // namespace freshet::journal
