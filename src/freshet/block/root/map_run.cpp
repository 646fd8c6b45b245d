// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/root/map_run.h"

#include "freshet/base/checksum.h"
#include "freshet/block/root/check.h"

#include <algorithm>
#include <cstring>
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
            .seqLow = place.seqLow,
            .note = place.note};
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
    place.note = entry.note;
    return place;
}

Status damaged(const RunRef& ref, const std::string& what) {
    return Status(
        Code::kCorruption,
        "the run at offset " + std::to_string(ref.firstBlock * kBlockBytes) + ": " + what);
}

/// Reads so many bytes of the run and adds them to its checksum.
Status readPiece(
    platform::File& file, const RunRef& ref, uint64_t offset, std::string* bytes, uint32_t* crc) {
    FRESHET_ASSIGN_OR_RETURN(
        const size_t got,
        file.pread(bytes->data(), bytes->size(), ref.firstBlock * kBlockBytes + offset));
    if (got != bytes->size()) {
        return damaged(ref, "the file ends in it");
    }
    *crc = crc32c(bytes->data(), bytes->size(), *crc);
    return Status::ok();
}

/// How long its entries are.
StatusOr<size_t> entryBytesOf(const RunRef& ref,
                              const RunExpectation& expected,
                              const RunHeader& header) {
    const bool known = header.version == kRunVersion || header.version == kRunVersionBare;
    const bool right = header.magic == kRunMagic && known &&
                       header.kind == static_cast<uint16_t>(expected.kind) &&
                       header.count == ref.count && header.dbUuidLow == expected.dbUuidLow;
    if (!right) {
        return damaged(ref, "its header is not the one the superblock means");
    }
    const size_t entryBytes =
        header.version == kRunVersionBare ? kBareEntryBytes : sizeof(MapEntry);
    if (ref.blocks < blocksOf(sizeof(RunHeader) + ref.count * entryBytes)) {
        return damaged(ref, "it has more entries than room");
    }
    return entryBytes;
}

/// Hands over the entries in `bytes`.
Status takeEntries(const RunRef& ref,
                   const std::string& bytes,
                   size_t entryBytes,
                   PageId* last,
                   const std::function<Status(PageId, const PagePlace&)>& sink) {
    for (size_t at = 0; at < bytes.size(); at += entryBytes) {
        MapEntry entry;
        std::memcpy(&entry, bytes.data() + at, entryBytes);  // little endian as we are
        FRESHET_ASSIGN_OR_RETURN(const PagePlace place, unpackEntry(entry));
        if (entry.pageId <= std::exchange(*last, entry.pageId)) {
            return damaged(ref, "its entries are out of order");
        }
        FRESHET_RETURN_IF_ERROR(sink(entry.pageId, place));
    }
    return Status::ok();
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
    if (ref.count > uint64_t{ref.blocks} * kBlockBytes / kBareEntryBytes ||
        ref.firstBlock > kFirstBlockMask) {
        return damaged(ref, "the superblock's words on it contradict each other");
    }
    uint32_t crc = 0;
    std::string bytes(sizeof(RunHeader), '\0');
    FRESHET_RETURN_IF_ERROR(readPiece(file, ref, 0, &bytes, &crc));
    FRESHET_ASSIGN_OR_RETURN(const size_t entryBytes,
                             entryBytesOf(ref, expected, loadLe<RunHeader>(bytes.data())));
    PageId last = 0;
    const uint64_t end = sizeof(RunHeader) + ref.count * entryBytes;
    for (uint64_t at = sizeof(RunHeader); at < end; at += bytes.size()) {
        bytes.resize(std::min<uint64_t>(end - at, kPieceBytes - kPieceBytes % entryBytes));
        FRESHET_RETURN_IF_ERROR(readPiece(file, ref, at, &bytes, &crc));
        FRESHET_RETURN_IF_ERROR(takeEntries(ref, bytes, entryBytes, &last, sink));
    }
    return checksumMatches(ref.crc, crc) ? Status::ok() : damaged(ref, "its checksum is wrong");
}

}  // namespace freshet::block
