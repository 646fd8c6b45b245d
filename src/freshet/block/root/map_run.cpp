// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/root/map_run.h"

#include "freshet/base/checksum.h"
#include "freshet/block/root/check.h"

#include <algorithm>
#include <utility>

namespace freshet::block {
namespace {

constexpr size_t kPieceBytes = 1u << 20;
constexpr uint64_t kFirstBlockMask = (uint64_t{1} << kPlaceBlockBits) - 1;

MapEntry packEntry(PageId page, const PagePlace& place) {
    invariant(place.extent.firstBlock <= kFirstBlockMask);
    invariant(place.extent.blocks <= kPlaceBlocksMax);
    return {.pageId = page,
            .place = place.extent.firstBlock | uint64_t{place.extent.blocks} << kPlaceBlockBits,
            .crc = place.crc,
            .seqLow = place.seqLow};
}

StatusOr<PagePlace> unpackEntry(const MapEntry& entry) {
    if (entry.place >> (kPlaceBlockBits + kPlaceCountBits) != 0) {
        return Status(Code::kCorruption,
                      "the entry of page " + std::to_string(entry.pageId) + " has unknown flags");
    }
    PagePlace place;
    place.extent.firstBlock = entry.place & kFirstBlockMask;
    place.extent.blocks = (entry.place >> kPlaceBlockBits) & kPlaceBlocksMax;
    place.crc = entry.crc;
    place.seqLow = entry.seqLow;
    return place;
}

Status damaged(const RunRef& ref, const std::string& what) {
    return Status(
        Code::kCorruption,
        "the run at offset " + std::to_string(ref.firstBlock * kBlockBytes) + ": " + what);
}

/// Calls `piece` with the bytes of header and entries, in multiples of an entry behind the header.
Status readPieces(platform::File& file,
                  const RunRef& ref,
                  const std::function<Status(ByteView)>& piece) {
    static_assert((kPieceBytes - kPieceBytes % sizeof(MapEntry)) % sizeof(MapEntry) == 0);
    constexpr size_t kWholeEntries = kPieceBytes - kPieceBytes % sizeof(MapEntry);
    uint64_t offset = ref.firstBlock * kBlockBytes;
    uint64_t left = ref.count * sizeof(MapEntry);
    size_t take = sizeof(RunHeader);
    std::string bytes;
    for (;;) {
        bytes.resize(take);
        FRESHET_ASSIGN_OR_RETURN(const size_t got, file.pread(bytes.data(), take, offset));
        if (got != take) {
            return damaged(ref, "the file ends in it");
        }
        FRESHET_RETURN_IF_ERROR(piece(bytes));
        if (left == 0) {
            return Status::ok();
        }
        offset += take;
        take = std::min<uint64_t>(left, kWholeEntries);
        left -= take;
    }
}

Status checkHeader(const RunRef& ref, const RunExpectation& expected, const RunHeader& header) {
    const bool right = header.magic == kRunMagic && header.version == kRunVersion &&
                       header.kind == static_cast<uint16_t>(expected.kind) &&
                       header.count == ref.count && header.dbUuidLow == expected.dbUuidLow;
    return right ? Status::ok() : damaged(ref, "its header is not the one the superblock means");
}

}  // namespace

uint64_t runBlocks(uint64_t entries) {
    return blocksOf(sizeof(RunHeader) + entries * sizeof(MapEntry));
}

RunWriter::RunWriter(platform::File* file, const Extent& extent, const RunHeader& header)
    : file_(file), offset_(extent.firstBlock * kBlockBytes) {
    invariant(extent.blocks == runBlocks(header.count));
    ref_.firstBlock = extent.firstBlock;
    ref_.blocks = extent.blocks;
    ref_.count = header.count;
    pending_.assign(reinterpret_cast<const char*>(&header), sizeof(header));
}

Status RunWriter::add(PageId page, const PagePlace& place) {
    ++added_;
    appendLe(pending_, packEntry(page, place));
    return pending_.size() < kPieceBytes ? Status::ok() : writeOut();
}

Status RunWriter::writeOut() {
    ref_.crc = crc32c(pending_.data(), pending_.size(), ref_.crc);
    FRESHET_RETURN_IF_ERROR(file_->pwrite(pending_, offset_));
    offset_ += pending_.size();
    pending_.clear();
    return Status::ok();
}

StatusOr<RunRef> RunWriter::finish() {
    invariant(added_ == ref_.count);
    FRESHET_RETURN_IF_ERROR(writeOut());
    const uint64_t end = (ref_.firstBlock + ref_.blocks) * kBlockBytes;
    FRESHET_RETURN_IF_ERROR(file_->pwrite(std::string(end - offset_, '\0'), offset_));
    return ref_;
}

Status readRun(platform::File& file,
               const RunRef& ref,
               const RunExpectation& expected,
               const std::function<Status(PageId, const PagePlace&)>& sink) {
    if (ref.count > uint64_t{ref.blocks} * kBlockBytes / sizeof(MapEntry) ||
        ref.blocks < runBlocks(ref.count) || ref.firstBlock > kFirstBlockMask) {
        return damaged(ref, "the superblock's words on it contradict each other");
    }
    uint32_t crc = 0;
    bool first = true;
    PageId last = 0;
    FRESHET_RETURN_IF_ERROR(readPieces(file, ref, [&](ByteView bytes) -> Status {
        crc = crc32c(bytes.data(), bytes.size(), crc);
        if (std::exchange(first, false)) {
            return checkHeader(ref, expected, loadLe<RunHeader>(bytes.data()));
        }
        for (size_t at = 0; at < bytes.size(); at += sizeof(MapEntry)) {
            const auto entry = loadLe<MapEntry>(bytes.data() + at);
            FRESHET_ASSIGN_OR_RETURN(const PagePlace place, unpackEntry(entry));
            if (entry.pageId <= std::exchange(last, entry.pageId)) {
                return damaged(ref, "its entries are out of order");
            }
            FRESHET_RETURN_IF_ERROR(sink(entry.pageId, place));
        }
        return Status::ok();
    }));
    return checksumMatches(ref.crc, crc) ? Status::ok() : damaged(ref, "its checksum is wrong");
}

}  // namespace freshet::block
