// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/page/leaf_note.h"

#include "freshet/base/checksum.h"

#include <algorithm>

namespace freshet::engine {
namespace {

constexpr uint64_t kLeafBit = uint64_t{1} << 63;
constexpr uint64_t kLargeBit = uint64_t{1} << 62;
constexpr unsigned kEntriesShift = 32;
constexpr uint64_t kEntriesMax = (uint64_t{1} << 30) - 1;

}  // namespace

uint32_t fencesOf(uint32_t tree, ByteView low, ByteView high) {
    char front[8];
    storeLe(front, tree);
    storeLe(front + 4, static_cast<uint32_t>(low.size()));
    const uint32_t crc = crc32c(low.data(), low.size(), crc32c(front, sizeof(front)));
    return crc32c(high.data(), high.size(), crc);
}

uint64_t writeNote(const LeafNote& note) {
    if (note.entries > kEntriesMax) {
        return kNoNote;
    }
    return kLeafBit | (note.hasLargeValues ? kLargeBit : 0) |
           uint64_t{note.entries} << kEntriesShift | note.fences;
}

std::optional<LeafNote> readNote(uint64_t note) {
    if ((note & kLeafBit) == 0) {
        return std::nullopt;
    }
    return LeafNote{static_cast<uint32_t>(note >> kEntriesShift & kEntriesMax),
                    (note & kLargeBit) != 0,
                    static_cast<uint32_t>(note)};
}

uint64_t noteOf(const PageImage& image) {
    const PageHead& head = image.head;
    if (head.level != 0) {
        return kNoNote;
    }
    const bool large = std::any_of(image.cells.begin(),
                                   image.cells.end(),
                                   [](const PageCell& cell) { return cell.page != 0; });
    return writeNote({static_cast<uint32_t>(image.cells.size()),
                      large,
                      fencesOf(head.tree, head.low, head.high)});
}

}  // namespace freshet::engine
