// SPDX-License-Identifier: Apache-2.0
/// The in-memory index of a run: for each of its blocks the first page and a checksum, so that the
/// entries of a page can be read from the disk later and verified. 12 bytes per block. A *piece* is
/// the entries that begin in one block; the last one of a piece in a run of version 1 may extend
/// into the next block. Threads: one writes, or any read.
#pragma once

#include "freshet/base/status.h"
#include "freshet/block/page_buffer.h"
#include "freshet/block/root/map_entry.h"
#include "freshet/block/root/superblock_format.h"
#include "freshet/platform/file.h"

#include <optional>
#include <string>
#include <vector>

namespace freshet::block {

/// kCorruption; the text does not name the file.
Status damagedRun(const RunRef& ref, const std::string& what);

class RunIndex {
public:
    RunIndex(const RunRef& ref, size_t entryBytes) : ref_(ref), entryBytes_(entryBytes) {}

    const RunRef& ref() const { return ref_; }
    void setChecksum(uint32_t crc) { ref_.crc = crc; }
    size_t entryBytes() const { return entryBytes_; }
    /// Adds the next entries in order. The index is complete when added() == ref().count.
    void append(const EntryList& entries);
    uint64_t added() const { return added_; }
    void shrinkToFit();

    size_t pieces() const { return crcs_.size(); }
    /// The only piece that can hold the page.
    std::optional<size_t> pieceOf(PageId page) const;
    /// Reads pieces [first, end) into `buffer` and checks each. kCorruption names the offset.
    StatusOr<EntryList> read(platform::File& file,
                             size_t first,
                             size_t end,
                             PageBuffer* buffer) const;

    uint64_t memoryBytes() const {
        return firstPages_.capacity() * sizeof(PageId) + crcs_.capacity() * sizeof(uint32_t);
    }

private:
    uint64_t firstEntryOf(size_t piece) const;
    uint64_t offsetOf(uint64_t entry) const;

    RunRef ref_;
    size_t entryBytes_;
    uint64_t added_ = 0;
    PageId lastPage_ = 0;
    std::vector<PageId> firstPages_;  // by piece
    std::vector<uint32_t> crcs_;      // likewise, of its entries
};

}  // namespace freshet::block
