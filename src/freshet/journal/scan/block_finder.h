// SPDX-License-Identifier: Apache-2.0
/// BlockFinder: finds the next block of the log in the segment files and checks it. The scan at
/// open and the readers of a running log share it, so that one definition says what belongs to the
/// log. Threads: one.
///
/// A block belongs to the log if its header and records are whole, it names the block before it by
/// number and checksum, and its era does not fall. It begins where the one before it ends, at the
/// next page, or in the next segment.
#pragma once

#include "freshet/base/status.h"
#include "freshet/journal/file/block_format.h"
#include "freshet/platform/file.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace freshet::journal {

/// The last block that was read, as the next one names it. All 0: there is none.
struct ChainLink {
    uint64_t slotNo = 0;
    uint32_t blockCrc = 0;
    uint32_t era = 0;
};

/// An open segment, borrowed. Null `file`: it does not exist (any more).
struct SegmentRef {
    platform::File* file = nullptr;
    std::string_view path;

    bool exists() const { return file != nullptr; }
    /// For messages.
    std::string at(uint64_t offset) const {
        return std::string(path) + " at offset " + std::to_string(offset);
    }
};

/// Where a block is looked for.
struct BlockSearch {
    ChainLink after;
    SegmentRef here;  // holds the block `after`
    uint64_t offset;  // behind that block
    SegmentRef next;  // the segment that follows; may not exist
};

/// Where the block was found.
struct BlockFound {
    bool isInNextSegment = false;
    uint64_t offset = 0;
};

class BlockFinder {
public:
    /// How much of a block is read. kHeader: block() is not set, and damage in the records is not
    /// seen.
    enum class Depth : uint8_t { kHeader, kWhole };

    explicit BlockFinder(uint64_t uuidLow) : uuidLow_(uuidLow) {}

    /// Empty: no such block at any of the places, although the disk was read twice, the second time
    /// bypassing the system's cache. kUnsupported: a newer format. kCorruption: another directory's
    /// block. Else header() and block() are those of the block.
    StatusOr<std::optional<BlockFound>> find(const BlockSearch& search, Depth depth);
    /// True: header() is the header of a block of this directory at `offset`. Errors as find().
    StatusOr<bool> readHeaderAt(const SegmentRef& segment, uint64_t offset);
    /// For a search that found nothing: where the block is, or would be. `isFollowed`: whole blocks
    /// were found behind that place.
    StatusOr<std::string> placeOfMissing(const BlockSearch& search, bool isFollowed);

    const BlockHeader& header() const { return header_; }
    const std::string& block() const { return block_; }
    std::string takeBlock() { return std::move(block_); }

private:
    StatusOr<bool> readNext(const SegmentRef& segment,
                            uint64_t offset,
                            const ChainLink& after,
                            Depth depth);
    bool chains(const ChainLink& after) const;
    StatusOr<std::optional<BlockFound>> findOnce(const BlockSearch& search, Depth depth);

    const uint64_t uuidLow_;
    BlockHeader header_{};
    std::string block_;
};

}  // namespace freshet::journal
