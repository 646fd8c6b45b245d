// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/file/block_writer.h"

namespace freshet::journal {

StatusOr<SealedBlock> BlockWriter::write(
    char* block, uint32_t fill, uint64_t slotNo, uint64_t timeBase, uint64_t durableLsn) {
    invariant(hasRoom(fill) && slotNo > position_.prevSlotNo);
    const uint64_t page = roundUp(position_.offset, kBlockAlign);
    const bool sharesPage =
        pageIsOpen_ && durableLsn == durableLsn_ && position_.offset + fill <= page;
    SealedBlock sealed = sealBlock(block,
                                   fill,
                                   {.flags = position_.flags,
                                    .era = position_.era,
                                    .slotNo = slotNo,
                                    .prevSlotNo = position_.prevSlotNo,
                                    .timeBase = timeBase,
                                    .prevBlockCrc = position_.prevBlockCrc,
                                    .dbUuidLow = position_.dbUuidLow,
                                    .durableLsn = durableLsn});
    uint32_t stored = fill;
    if (!sharesPage) {
        position_.offset = page;
        stored = padBlock(block, fill);
    }
    FRESHET_RETURN_IF_ERROR(
        position_.segment->file->pwrite(ByteView(block, stored), position_.offset));
    noteWritten(fill);
    // A block that bypassed the cache would have to be read back into it first.
    pageIsOpen_ = stored < kDirectBlockBytesMin;
    durableLsn_ = durableLsn;
    position_.prevSlotNo = slotNo;
    position_.prevBlockCrc = sealed.headerCrc;
    position_.prevTimeBase = timeBase;
    return sealed;
}

FinishedSegment BlockWriter::moveTo(std::shared_ptr<Segment> segment) {
    FinishedSegment left{.path = position_.segment->path,
                         .bytes = position_.segment->bytes,
                         .end = slotStart(position_.prevSlotNo + 1),
                         .timestamp = position_.prevTimeBase};
    position_.segment = std::move(segment);
    position_.offset = 0;
    pageIsOpen_ = false;
    return left;
}

void BlockWriter::noteWritten(uint64_t bytes) {
    if (written_.empty() || written_.back().segment != position_.segment) {
        written_.push_back({position_.segment, position_.offset, position_.offset});
    }
    position_.offset += bytes;
    written_.back().to = position_.offset;
}

}  // namespace freshet::journal
