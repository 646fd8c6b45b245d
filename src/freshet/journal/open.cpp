// SPDX-License-Identifier: Apache-2.0
/// Start and stop. Blocking, one thread.
#include "freshet/journal/file/impl.h"
#include "freshet/journal/file/ring_format.h"
#include "freshet/journal/read/read_service.h"
#include "freshet/journal/scan/log_scan.h"
#include "freshet/platform/clock.h"
#include "freshet/telemetry/log.h"

#include <algorithm>
#include <filesystem>

namespace freshet::journal {
namespace {

constexpr uint32_t kSlotsMin = 4;
/// Slots that may have been joined but never written when a process dies: their LSNs and Timestamps
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

/// For the segment behind the last one that is kept. Its size grows with the number of segments
/// that redo needs.
SegmentMaker makerAfter(const Options& options, const LogEnd& end, SparePool& spares) {
    uint64_t bytes = options.segmentBytesFirst;
    uint32_t index = 0;
    if (end.slotNo != 0) {
        index = end.segments[end.last].index + 1;
        for (size_t i = end.first; i <= end.last && bytes < options.segmentBytesMax; ++i) {
            bytes = std::min(bytes * 2, options.segmentBytesMax);
        }
    }
    return SegmentMaker(options.files,
                        options.directory,
                        index,
                        bytes,
                        options.segmentBytesMax,
                        options.zeroedPerSecondMax,
                        spares);
}

/// Segments in front of the current one wait to be recycled.
size_t noteFinished(const LogEnd& end, uint32_t currentIndex, Recycler& recycler) {
    size_t count = 0;
    for (size_t i = 0; end.slotNo != 0 && i <= end.last; ++i) {
        const FoundSegment& segment = end.segments[i];
        if (segment.index != currentIndex) {
            bool last = i == end.last;
            recycler.finished({.path = segment.path,
                               .bytes = segment.bytes,
                               .end = last ? slotStart(end.slotNo + 1) : segment.end,
                               .timestamp = last ? end.timeBaseMax : segment.timestamp});
            ++count;
        }
    }
    return count;
}

/// Segments behind the current one lose their names: their blocks were never durable as part of the
/// log (the scan has checked that), or have been given up. Their eras and slot numbers are below
/// those of the new era, which is durable.
Status spareBehind(const Options& options,
                   const LogEnd& end,
                   uint32_t currentIndex,
                   Recycler& recycler) {
    bool any = false;
    for (const FoundSegment& segment : end.segments) {
        bool kept = end.slotNo != 0 && segment.index <= currentIndex;
        if (!kept && segment.index != currentIndex) {
            FRESHET_RETURN_IF_ERROR(recycler.spareOne(segment.path, segment.bytes));
            any = true;
        }
    }
    return any ? syncNames(*options.files, options.directory) : Status::ok();
}

/// Makes the directory's name durable too.
Status makeDirectory(const Options& options) {
    FRESHET_RETURN_IF_ERROR(options.files->makeDirectory(options.directory));
    std::filesystem::path parent = std::filesystem::path(options.directory).parent_path();
    return options.files->syncDirectory(parent.empty() ? "." : parent.string());
}

Status syncWritten(BlockWriter& blocks) {
    for (const WrittenRange& range : blocks.takeWritten()) {
        FRESHET_RETURN_IF_ERROR(range.segment->file->sync());
    }
    return Status::ok();
}

/// The segment where the log continues.
struct Front {
    BlockWriter blocks;
    uint32_t segment;  // its index
    size_t finished;   // segments in front of it
};

Status makeRoom(uint32_t fill, SegmentMaker& maker, Recycler& recycler, Front* front) {
    if (front->blocks.hasRoom(fill)) {
        return Status::ok();
    }
    FRESHET_ASSIGN_OR_RETURN(std::shared_ptr<Segment> next, maker.step(Pace::kAtOnce));
    front->segment = next->index;
    ++front->finished;
    recycler.finished(front->blocks.moveTo(std::move(next)));
    return Status::ok();
}

/// Writes the slots that the previous process would have written next. The log then ends with them.
Status writeRemains(LogEnd& end, SegmentMaker& maker, Recycler& recycler, Front* front) {
    const Lsn durable = slotStart(end.slotNo + 1);
    for (RingSlot& slot : end.remains) {
        const auto fill = static_cast<uint32_t>(slot.block.size());
        slot.block.resize(roundUp(fill, kBlockAlign));
        FRESHET_RETURN_IF_ERROR(makeRoom(fill, maker, recycler, front));
        FRESHET_RETURN_IF_ERROR(
            front->blocks.write(slot.block.data(), fill, slot.slotNo, slot.timeBase, durable)
                .status());
        end.slotNo = slot.slotNo;
    }
    return syncWritten(front->blocks);
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
        // Slots that were lost may have begun in this second already.
        era.timeBase = std::max(era.timeBase, end.timeBaseMax) + kSlotsSkipped * units;
    }
    alignas(kUnitBytes) char block[kBlockAlign] = {};
    putInternalNoop(block + sizeof(BlockHeader));
    uint32_t fill = sizeof(BlockHeader) + kUnitBytes;
    FRESHET_RETURN_IF_ERROR(
        blocks.write(block, fill, era.slotNo, era.timeBase, slotStart(end.slotNo + 1)).status());
    FRESHET_RETURN_IF_ERROR(syncWritten(blocks));
    return era;
}

/// The files beside the segments.
struct Keepers {
    std::unique_ptr<RingFile> ringFile;
    std::unique_ptr<Witness> witness;
};

/// After this, blocks have the flags of the files that exist. REQUIRES: the first block of the era
/// is durable.
StatusOr<Keepers> makeKeepers(const Options& options,
                              uint32_t eraNo,
                              const Era& era,
                              BlockWriter* blocks) {
    Keepers keepers;
    keepers.ringFile = RingFile::make(options, eraNo);
    keepers.witness = Witness::make(options, eraNo, slotStart(era.slotNo + 1));
    FRESHET_RETURN_IF_ERROR(syncNames(*options.files, options.directory));
    blocks->setFlags(static_cast<uint16_t>((keepers.ringFile != nullptr ? kBlockRing : 0) |
                                           (keepers.witness != nullptr ? kBlockWitnessed : 0)));
    return keepers;
}

}  // namespace

StatusOr<std::unique_ptr<Journal>> Journal::open(const Options& options, const RecordSink& replay) {
    FRESHET_RETURN_IF_ERROR(check(options));
    FRESHET_RETURN_IF_ERROR(makeDirectory(options));
    FRESHET_ASSIGN_OR_RETURN(LogEnd end, scanLog(options, replay));

    LogPosition position;
    position.flags = end.flags;
    position.era = end.era;
    position.prevSlotNo = end.slotNo;
    position.prevBlockCrc = end.blockCrc;
    position.dbUuidLow = uuidLow(options);
    auto recycler = std::make_unique<Recycler>(options);
    FRESHET_RETURN_IF_ERROR(recycler->findSpares());
    SegmentMaker maker = makerAfter(options, end, recycler->spares());
    // The page of the last block may be durable, so it is not written again.
    const uint64_t page = roundUp(end.offset, kBlockAlign);
    if (end.slotNo != 0 && page + kBlockAlign <= end.segments[end.last].bytes) {
        FoundSegment& last = end.segments[end.last];
        position.segment = std::make_shared<Segment>();
        position.segment->bytes = last.bytes / kBlockAlign * kBlockAlign;
        position.segment->index = last.index;
        position.segment->path = last.path;
        position.segment->file = std::move(last.file);
        takeDirectBlocks(*position.segment->file);
        position.offset = page;
    } else {
        FRESHET_ASSIGN_OR_RETURN(position.segment, maker.step(Pace::kAtOnce));
    }
    const uint32_t index = position.segment->index;
    Front front{BlockWriter(position), index, noteFinished(end, index, *recycler)};
    FRESHET_RETURN_IF_ERROR(writeRemains(end, maker, *recycler, &front));
    const uint32_t eraNo = end.eraMax + 1;
    front.blocks.beginEra(eraNo);
    FRESHET_RETURN_IF_ERROR(makeRoom(kBlockAlign, maker, *recycler, &front));
    FRESHET_ASSIGN_OR_RETURN(Era era, beginEra(end, front.blocks));
    const bool isNewLog = end.slotNo == 0 && era.slotNo > 1;  // repair gave up what was before
    static_cast<void>(recycler->pins().letGo(isNewLog ? slotStart(era.slotNo) : end.begin, true));
    FRESHET_RETURN_IF_ERROR(spareBehind(options, end, front.segment, *recycler));
    FRESHET_ASSIGN_OR_RETURN(Keepers keepers, makeKeepers(options, eraNo, era, &front.blocks));
    auto impl = std::make_unique<Impl>(options,
                                       Impl::Start{.blocks = std::move(front.blocks),
                                                   .eraSlot = era.slotNo,
                                                   .timeBase = era.timeBase,
                                                   .ringFile = std::move(keepers.ringFile),
                                                   .witness = std::move(keepers.witness),
                                                   .wasCutOff = end.wasCutOff,
                                                   .recycler = std::move(recycler),
                                                   .maker = std::move(maker),
                                                   .segments = front.finished + 1,
                                                   .losses = std::move(end.losses)});
    return std::unique_ptr<Journal>(new Journal(std::move(impl)));
}

Journal::Impl::Impl(const Options& given, Start start)
    : options(given),
      ringFile(std::move(start.ringFile)),
      witness(std::move(start.witness)),
      wasCutOff(start.wasCutOff),
      ring(given.slots,
           given.slotBytes / kUnitBytes,
           start.eraSlot + 1,
           start.timeBase + given.slotBytes / kUnitBytes,
           &wallSeconds,
           ringFile != nullptr ? ringFile->memory() : RingMemory{}),
      writer(ring, *this, start.eraSlot + 1),
      recycler(std::move(start.recycler)),
      feed(kReadLaps * given.slots * given.slotBytes),
      readers(std::make_unique<ReadService>(*this)),
      writtenLsn(slotStart(start.eraSlot + 1)),
      durableLsn(slotStart(start.eraSlot + 1)),
      blocks(std::move(start.blocks)),
      maker(std::move(start.maker)),
      losses(std::move(start.losses)),
      segments(start.segments),
      helper("journal", [this] { help(); }),
      writerForOthers("journal-write", [this] { writeForOthers(); }),
      makerOfSegments("journal-make", [this] { makeSegments(); }) {}

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

/// Its header says that everything before it is durable: from now on damage there is recognised as
/// damage and not taken for a torn tail.
Status Journal::Impl::appendClosingBlock() {
    RecordHeader header{};
    header.type = static_cast<uint8_t>(RecordType::kNoop);
    header.flags = kRecordInternal | kRecordClosing;
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
    // [journal.closing] release: pairs with its loads in helper.cpp.
    closing.store(true, sync::kRelease);
    makerWake.signal();
    Status status = flushAll();
    if (status.isOk()) {
        status = appendClosingBlock();
    }
    if (status.isOk()) {
        status = flushAll();
    }
    closed.store(true, sync::kRelease);    // [journal.closed]
    stopping.store(true, sync::kRelease);  // [journal.stopping]
    helperWake.signal();
    writerWake.signal();
    makerWake.signal();
    helper.join();
    writerForOthers.join();
    makerOfSegments.join();
    readers->stop();
    return status;
}

}  // namespace freshet::journal
