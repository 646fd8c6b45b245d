// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/scan/block_finder.h"

#include "freshet/journal/file/framing.h"
#include "freshet/telemetry/log.h"

#include <algorithm>

namespace freshet::journal {
namespace {

constexpr uint32_t kFillMin = sizeof(BlockHeader) + kUnitBytes;
constexpr uint32_t kFillMax = 1u << kLsnOffsetBits;

uint64_t pageBehind(uint64_t offset) {
    return roundUp(offset, kBlockAlign);
}

/// The system keeps nothing of what a search has read. No block is larger.
void forgetPlaces(const BlockSearch& search) {
    if (search.here.exists()) {
        search.here.file->forget(search.offset / kBlockAlign * kBlockAlign, kFillMax);
    }
    if (search.next.exists()) {
        search.next.file->forget(0, kFillMax);
    }
}

/// Nothing was ever written there, or there is no "there".
StatusOr<bool> isBlank(const SegmentRef& segment, uint64_t offset) {
    char head[sizeof(BlockHeader)] = {};
    if (segment.exists()) {
        FRESHET_RETURN_IF_ERROR(segment.file->pread(head, sizeof(head), offset).status());
    }
    return std::all_of(head, head + sizeof(head), [](char c) { return c == 0; });
}

}  // namespace

StatusOr<bool> BlockFinder::readHeaderAt(const SegmentRef& segment, uint64_t offset) {
    char head[sizeof(BlockHeader)];
    FRESHET_ASSIGN_OR_RETURN(size_t got, segment.file->pread(head, sizeof(head), offset));
    if (got < sizeof(head) || !readHeader(head, &header_)) {
        return false;
    }
    if (header_.formatVer > kBlockFormat) {
        return Status(Code::kUnsupported,
                      segment.at(offset) + ": journal format " + std::to_string(header_.formatVer) +
                          " is newer than this server's " + std::to_string(kBlockFormat));
    }
    if (header_.dbUuidLow != uuidLow_) {
        return Status(Code::kCorruption,
                      segment.at(offset) + ": belongs to another data directory");
    }
    return true;
}

bool BlockFinder::chains(const ChainLink& after) const {
    return header_.prevSlotNo == after.slotNo && header_.prevBlockCrc == after.blockCrc &&
           header_.slotNo > after.slotNo && header_.era >= after.era;
}

StatusOr<bool> BlockFinder::readNext(const SegmentRef& segment,
                                     uint64_t offset,
                                     const ChainLink& after,
                                     Depth depth) {
    if (!segment.exists()) {
        return false;
    }
    FRESHET_ASSIGN_OR_RETURN(bool ours, readHeaderAt(segment, offset));
    if (!ours || !chains(after) || header_.fill < kFillMin || header_.fill > kFillMax ||
        header_.fill % kUnitBytes != 0) {
        return false;
    }
    if (depth == Depth::kHeader) {
        return true;
    }
    block_.resize(header_.fill);
    FRESHET_ASSIGN_OR_RETURN(size_t got, segment.file->pread(block_.data(), header_.fill, offset));
    return got == header_.fill && recordsAreWhole(block_, header_);
}

StatusOr<std::optional<BlockFound>> BlockFinder::findOnce(const BlockSearch& search, Depth depth) {
    const uint64_t page = pageBehind(search.offset);
    FRESHET_ASSIGN_OR_RETURN(bool found, readNext(search.here, search.offset, search.after, depth));
    if (found) {
        return std::optional(BlockFound{false, search.offset});
    }
    if (page != search.offset) {
        FRESHET_ASSIGN_OR_RETURN(found, readNext(search.here, page, search.after, depth));
        if (found) {
            return std::optional(BlockFound{false, page});
        }
    }
    // The block may not have fit there.
    FRESHET_ASSIGN_OR_RETURN(found, readNext(search.next, 0, search.after, depth));
    return found ? std::optional(BlockFound{true, 0}) : std::nullopt;
}

StatusOr<std::optional<BlockFound>> BlockFinder::find(const BlockSearch& search, Depth depth) {
    FRESHET_ASSIGN_OR_RETURN(std::optional<BlockFound> found, findOnce(search, depth));
    if (!found) {
        // If this is not the end, the blocks behind it are overwritten all the same; and a block
        // may only have been misread. So the disk is read once more.
        forgetPlaces(search);
        FRESHET_ASSIGN_OR_RETURN(found, findOnce(search, depth));
        if (found) {
            const SegmentRef& where = found->isInNextSegment ? search.next : search.here;
            telemetry::logWarning("journal",
                                  where.at(found->offset) +
                                      ": a block was read wrong and then "
                                      "right");
        }
    }
    return found;
}

StatusOr<std::string> BlockFinder::placeOfMissing(const BlockSearch& search, bool isFollowed) {
    FRESHET_ASSIGN_OR_RETURN(bool pageEnds, isBlank(search.here, search.offset));
    const uint64_t offset = pageEnds ? pageBehind(search.offset) : search.offset;
    if (!search.next.exists()) {
        return search.here.at(offset);
    }
    // First blocks are never stale, the blocks behind them may be (INV-journal-10).
    FRESHET_ASSIGN_OR_RETURN(bool ours, readHeaderAt(search.next, 0));
    bool there = ours && header_.prevSlotNo == search.after.slotNo;
    if (!ours) {
        FRESHET_ASSIGN_OR_RETURN(bool nextBlank, isBlank(search.next, 0));
        FRESHET_ASSIGN_OR_RETURN(bool hereBlank, isBlank(search.here, offset));
        there = !nextBlank || (hereBlank && isFollowed);
    }
    return there ? search.next.at(0) : search.here.at(offset);
}

}  // namespace freshet::journal
