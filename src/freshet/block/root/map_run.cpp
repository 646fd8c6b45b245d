// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/root/map_run.h"

#include "freshet/base/checksum.h"
#include "freshet/block/root/check.h"

#include <algorithm>
#include <utility>

namespace freshet::block {
namespace {

/// Bytes written and read at a time: whole blocks, and whole entries after the header.
constexpr size_t kPartBytes = 256u << 10;
static_assert(kPartBytes % kBlockBytes == 0 && kPartBytes % sizeof(MapEntry) == 0 &&
              sizeof(RunHeader) % sizeof(MapEntry) == 0);

/// Reads bytes->size() bytes of the run and adds them to its checksum.
Status readPart(
    platform::File& file, const RunRef& ref, uint64_t offset, std::string* bytes, uint32_t* crc) {
    FRESHET_ASSIGN_OR_RETURN(
        const size_t got,
        file.pread(bytes->data(), bytes->size(), ref.firstBlock * kBlockBytes + offset));
    if (got != bytes->size()) {
        return damagedRun(ref, "the file ends in it");
    }
    *crc = crc32c(bytes->data(), bytes->size(), *crc);
    return Status::ok();
}

/// Length of the run's entries.
StatusOr<size_t> entryBytesOf(const RunRef& ref,
                              const RunExpectation& expected,
                              const RunHeader& header) {
    const bool known = header.version == kRunVersion || header.version == kRunVersionBare;
    const bool right = header.magic == kRunMagic && known &&
                       header.kind == static_cast<uint16_t>(expected.kind) &&
                       header.count == ref.count && header.dbUuidLow == expected.dbUuidLow;
    if (!right) {
        return damagedRun(ref, "its header does not match the superblock");
    }
    const size_t entryBytes =
        header.version == kRunVersionBare ? kBareEntryBytes : sizeof(MapEntry);
    if (ref.blocks < blocksOf(sizeof(RunHeader) + ref.count * entryBytes)) {
        return damagedRun(ref, "its entries do not fit into its extent");
    }
    return entryBytes;
}

Status checkEntries(const RunRef& ref, const EntryList& entries, PageId* last) {
    for (size_t i = 0; i < entries.size(); ++i) {
        FRESHET_RETURN_IF_ERROR(entries.place(i).status());
        if (entries.page(i) <= std::exchange(*last, entries.page(i))) {
            return damagedRun(ref, "its entries are out of order");
        }
    }
    return Status::ok();
}

}  // namespace

uint64_t runBlocks(uint64_t entries) {
    return blocksOf(sizeof(RunHeader) + entries * sizeof(MapEntry));
}

RunWriter::RunWriter(platform::File* file, const Extent& extent, const RunHeader& header)
    : file_(file),
      index_({.firstBlock = extent.firstBlock,
              .blocks = extent.blocks,
              .crc = 0,
              .count = header.count},
             sizeof(MapEntry)),
      offset_(extent.firstBlock * kBlockBytes) {
    invariant(extent.blocks == runBlocks(header.count));
    pending_.assign(reinterpret_cast<const char*>(&header), sizeof(header));
}

Status RunWriter::add(PageId page, const PagePlace& place) {
    ++added_;
    appendLe(pending_, packEntry(page, place));
    if (pending_.size() < kPartBytes) {
        return Status::ok();
    }
    seal();
    return writeOut();
}

void RunWriter::seal() {
    crc_ = crc32c(pending_.data(), pending_.size(), crc_);
    const size_t header = index_.added() == 0 ? sizeof(RunHeader) : 0;
    index_.append(EntryList(ByteView(pending_).substr(header), sizeof(MapEntry)));
}

Status RunWriter::writeOut() {
    FRESHET_RETURN_IF_ERROR(file_->pwrite(pending_, offset_));
    offset_ += pending_.size();
    pending_.clear();
    return Status::ok();
}

StatusOr<RunIndex> RunWriter::finish() {
    const RunRef& ref = index_.ref();
    invariant(added_ == ref.count);
    if (!pending_.empty()) {
        seal();
        pending_.resize((ref.firstBlock + ref.blocks) * kBlockBytes - offset_);
        FRESHET_RETURN_IF_ERROR(writeOut());
    }
    index_.setChecksum(crc_);
    index_.shrinkToFit();
    return std::move(index_);
}

StatusOr<RunIndex> loadRun(platform::File& file,
                           const RunRef& ref,
                           const RunExpectation& expected) {
    if (ref.count > uint64_t{ref.blocks} * kBlockBytes / kBareEntryBytes ||
        ref.firstBlock > kFirstBlockMask) {
        return damagedRun(ref, "the superblock's fields for it contradict each other");
    }
    uint32_t crc = 0;
    std::string bytes(sizeof(RunHeader), '\0');
    FRESHET_RETURN_IF_ERROR(readPart(file, ref, 0, &bytes, &crc));
    FRESHET_ASSIGN_OR_RETURN(const size_t entryBytes,
                             entryBytesOf(ref, expected, loadLe<RunHeader>(bytes.data())));
    RunIndex index(ref, entryBytes);
    PageId last = 0;
    const uint64_t end = sizeof(RunHeader) + ref.count * entryBytes;
    for (uint64_t at = sizeof(RunHeader); at < end; at += bytes.size()) {
        bytes.resize(std::min<uint64_t>(end - at, kPartBytes - kPartBytes % entryBytes));
        FRESHET_RETURN_IF_ERROR(readPart(file, ref, at, &bytes, &crc));
        const EntryList entries(bytes, entryBytes);
        FRESHET_RETURN_IF_ERROR(checkEntries(ref, entries, &last));
        index.append(entries);
    }
    if (!checksumMatches(ref.crc, crc)) {
        return damagedRun(ref, "its checksum is wrong");
    }
    index.shrinkToFit();
    return index;
}

}  // namespace freshet::block
