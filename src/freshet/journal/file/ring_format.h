// SPDX-License-Identifier: Apache-2.0
/// Layout of the ring's file: this header in the first page, then the marks of all slots in turn (8
/// bytes for each unit; slot_ring.h says what they are), then, from a whole page on, the slots. It
/// holds what one start of the server has appended and not yet written to segments, while the
/// operating system runs. Little endian.
#pragma once

#include "freshet/journal/slot/lsn.h"

#include <cstddef>
#include <cstdint>

namespace freshet::journal {

inline constexpr const char* kRingName = "ring";
inline constexpr uint32_t kRingMagic = 0x474e524a;  // "JRNG"
inline constexpr uint16_t kRingFormat = 1;
inline constexpr size_t kRingPage = 4096;
/// For any ring, in a file or not.
inline constexpr uint32_t kSlotsMax = 32;
inline constexpr uint32_t kSlotBytesMax = 2u << 20;

struct RingHeader {
    uint32_t magic = kRingMagic;
    uint16_t formatVer = kRingFormat;
    uint16_t flags = 0;
    uint32_t era = 0;  // of the blocks made from its slots
    uint32_t slots = 0;
    uint32_t slotBytes = 0;
    uint32_t reserved = 0;
    uint64_t dbUuidLow = 0;
    char reserved2[28] = {};
    uint32_t crc = 0;  // crc32c of the 60 bytes before
};
static_assert(sizeof(RingHeader) == 64 && offsetof(RingHeader, crc) == 60);

/// Offsets of the parts.
struct RingLayout {
    uint32_t slots = 0;
    uint32_t unitsPerSlot = 0;
    static constexpr RingLayout of(const RingHeader& header) {
        return {header.slots, header.slotBytes / kUnitBytes};
    }
    static constexpr bool isPossible(const RingHeader& header) {
        return header.slots != 0 && header.slots <= kSlotsMax &&
               header.slotBytes > kHeaderUnits * kUnitBytes && header.slotBytes <= kSlotBytesMax &&
               header.slotBytes % kUnitBytes == 0;
    }
    static constexpr uint64_t marks() { return kRingPage; }
    uint64_t marksOf(uint64_t slot) const {
        return marks() + slot * unitsPerSlot * sizeof(uint64_t);
    }
    uint64_t buffers() const { return (marksOf(slots) + kRingPage - 1) / kRingPage * kRingPage; }
    uint64_t bufferOf(uint64_t slot) const { return buffers() + slot * unitsPerSlot * kUnitBytes; }
    uint64_t bytes() const { return bufferOf(slots); }
};

}  // namespace freshet::journal
