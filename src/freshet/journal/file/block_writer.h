// SPDX-License-Identifier: Apache-2.0
/// BlockWriter: appends blocks to segments, each naming the one before it.
///
/// A small block directly follows its predecessor in the same page, so that a commit that only
/// wants to be written costs its own bytes and not a page. But a page that a flush has covered is
/// never written again: later blocks cannot tear what is durable. So three kinds of block begin a
/// page: the first after a flush has begun, the first whose header gives a higher durable position,
/// and the one after a block that bypassed the system's cache (kDirectBlockBytesMin). Threads: the
/// holder of the writer's role.
#pragma once

#include "freshet/journal/file/framing.h"
#include "freshet/journal/file/segment.h"

#include <memory>
#include <vector>

namespace freshet::journal {

/// Bytes of a segment that were written and not yet flushed.
struct WrittenRange {
    std::shared_ptr<Segment> segment;
    uint64_t from = 0;
    uint64_t to = 0;
};

/// Where the log continues.
struct LogPosition {
    std::shared_ptr<Segment> segment;
    uint64_t offset = 0;  // behind the last block
    uint16_t flags = 0;   // for the next blocks
    uint32_t era = 0;
    uint64_t prevSlotNo = 0;
    uint32_t prevBlockCrc = 0;
    uint64_t prevTimeBase = 0;
    uint64_t dbUuidLow = 0;
};

class BlockWriter {
public:
    explicit BlockWriter(LogPosition position) : position_(std::move(position)) {}

    /// A block of `fill` bytes fits into the current segment, even if it begins a page.
    bool hasRoom(uint32_t fill) const {
        return roundUp(position_.offset, kBlockAlign) + roundUp(fill, kBlockAlign) <=
               position_.segment->bytes;
    }
    /// Blocks go to the start of `segment` from now on. Returns the segment that is left.
    FinishedSegment moveTo(std::shared_ptr<Segment> segment);
    /// Seals and writes a block. REQUIRES hasRoom(fill). A failure is final: never call again.
    StatusOr<SealedBlock> write(
        char* block, uint32_t fill, uint64_t slotNo, uint64_t timeBase, uint64_t durableLsn);
    /// Later blocks are of `era`, at first without flags.
    void beginEra(uint32_t era) {
        position_.era = era;
        position_.flags = 0;
    }
    /// Where the log continues: behind the last block.
    const LogPosition& position() const { return position_; }
    void setFlags(uint16_t flags) { position_.flags = flags; }
    /// What has been written since the last call, at most one range per segment, for a flush. No
    /// later block will be written into its pages.
    std::vector<WrittenRange> takeWritten() {
        pageIsOpen_ = false;
        return std::exchange(written_, {});
    }

private:
    void noteWritten(uint64_t bytes);

    LogPosition position_;
    /// The page of the last block is covered by no flush and is in the cache; behind the block it
    /// holds zeros.
    bool pageIsOpen_ = false;
    uint64_t durableLsn_ = 0;  // as in the last block's header
    std::vector<WrittenRange> written_;
};

}  // namespace freshet::journal
