// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/root/map_entry.h"

#include <cstring>
#include <string>

namespace freshet::block {

MapEntry packEntry(PageId page, const PagePlace& place) {
    invariant(place.extent.firstBlock <= kFirstBlockMask);
    invariant(place.extent.blocks <= kPlaceBlocksMax);
    return {.pageId = page,
            .place = place.extent.firstBlock | uint64_t{place.extent.blocks} << kPlaceBlockBits,
            .crc = place.crc,
            .seqLow = place.seqLow,
            .note = place.note};
}

StatusOr<PagePlace> EntryList::place(size_t i) const {
    MapEntry entry;
    std::memcpy(&entry, bytes_.data() + i * entryBytes_, entryBytes_);  // little endian, as is this
                                                                        // machine
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

size_t EntryList::lowerBound(PageId wanted) const {
    size_t begin = 0;
    for (size_t end = size(); begin < end;) {
        const size_t middle = begin + (end - begin) / 2;
        if (page(middle) < wanted) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

}  // namespace freshet::block
