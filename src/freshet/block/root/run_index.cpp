// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/root/run_index.h"

#include "freshet/base/checksum.h"
#include "freshet/block/root/check.h"

#include <algorithm>

namespace freshet::block {

Status damagedRun(const RunRef& ref, const std::string& what) {
    return Status(
        Code::kCorruption,
        "the run at offset " + std::to_string(ref.firstBlock * kBlockBytes) + ": " + what);
}

uint64_t RunIndex::firstEntryOf(size_t piece) const {
    const uint64_t before = piece * kBlockBytes;
    const uint64_t entry = before < sizeof(RunHeader)
                               ? 0
                               : (before - sizeof(RunHeader) + entryBytes_ - 1) / entryBytes_;
    return std::min(entry, ref_.count);
}

uint64_t RunIndex::offsetOf(uint64_t entry) const {
    return sizeof(RunHeader) + entry * entryBytes_;
}

void RunIndex::append(const EntryList& entries) {
    invariant(added_ + entries.size() <= ref_.count);
    for (size_t i = 0; i < entries.size();) {
        const size_t piece = offsetOf(added_) / kBlockBytes;
        const uint64_t count =
            std::min<uint64_t>(entries.size() - i, firstEntryOf(piece + 1) - added_);
        if (piece == crcs_.size()) {
            firstPages_.push_back(entries.page(i));
            crcs_.push_back(0);
        }
        crcs_.back() =
            crc32c(entries.bytes().data() + i * entryBytes_, count * entryBytes_, crcs_.back());
        i += count;
        added_ += count;
        lastPage_ = entries.page(i - 1);
    }
}

void RunIndex::shrinkToFit() {
    firstPages_.shrink_to_fit();
    crcs_.shrink_to_fit();
}

std::optional<size_t> RunIndex::pieceOf(PageId page) const {
    const auto after = std::upper_bound(firstPages_.begin(), firstPages_.end(), page);
    if (after == firstPages_.begin() || page > lastPage_) {
        return std::nullopt;
    }
    return after - firstPages_.begin() - 1;
}

StatusOr<EntryList> RunIndex::read(platform::File& file,
                                   size_t first,
                                   size_t end,
                                   PageBuffer* buffer) const {
    invariant(first < end && end <= pieces());
    const uint64_t from = offsetOf(firstEntryOf(first));
    const uint64_t to = offsetOf(firstEntryOf(end));
    const uint64_t begin = from / kBlockBytes * kBlockBytes;
    const size_t bytes = blocksOf(to - begin) * kBlockBytes;  // whole blocks: direct transfers
    const uint64_t fileOffset = ref_.firstBlock * kBlockBytes + begin;
    char* const out = buffer->reset(bytes);
    FRESHET_ASSIGN_OR_RETURN(const size_t got, file.pread(out, bytes, fileOffset));
    if (got < to - begin) {
        return damagedRun(ref_, "the file ends in it");
    }
    for (size_t piece = first; piece < end; ++piece) {
        const uint64_t at = offsetOf(firstEntryOf(piece));
        const uint64_t length = offsetOf(firstEntryOf(piece + 1)) - at;
        if (!checksumMatches(crcs_[piece], crc32c(out + (at - begin), length))) {
            return damagedRun(ref_,
                              "its block at offset " +
                                  std::to_string((ref_.firstBlock + piece) * kBlockBytes) +
                                  " has changed");
        }
    }
    return EntryList({out + (from - begin), to - from}, entryBytes_);
}

}  // namespace freshet::block
