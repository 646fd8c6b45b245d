// SPDX-License-Identifier: Apache-2.0
/// Converts between places and entries of runs.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"
#include "freshet/block/block_file.h"
#include "freshet/block/root/map_format.h"

#include <cstddef>
#include <cstdint>

namespace freshet::block {

inline constexpr uint64_t kFirstBlockMask = (uint64_t{1} << kPlaceBlockBits) - 1;

MapEntry packEntry(PageId page, const PagePlace& place);

/// Consecutive entries of one run, as stored. A view: its creator keeps the bytes.
class EntryList {
public:
    EntryList() = default;
    /// `bytes`: whole entries of `entryBytes` each.
    EntryList(ByteView bytes, size_t entryBytes) : bytes_(bytes), entryBytes_(entryBytes) {}

    size_t size() const { return bytes_.size() / entryBytes_; }
    ByteView bytes() const { return bytes_; }
    PageId page(size_t i) const { return loadLe<PageId>(bytes_.data() + i * entryBytes_); }
    /// kCorruption: it has unknown flags.
    StatusOr<PagePlace> place(size_t i) const;
    /// The first entry of that page or a later one; size(): none.
    size_t lowerBound(PageId page) const;

private:
    ByteView bytes_;
    size_t entryBytes_ = sizeof(MapEntry);
};

static_assert(offsetof(MapEntry, pageId) == 0);

}  // namespace freshet::block
