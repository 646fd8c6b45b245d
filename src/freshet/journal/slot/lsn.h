// SPDX-License-Identifier: Apache-2.0
/// The parts of an LSN, and which slot end serves it. Pure arithmetic.
#pragma once

#include <cstdint>

namespace freshet::journal {

inline constexpr uint32_t kUnitBytes = 64;      // slots are joined in units of this size
inline constexpr uint32_t kHeaderUnits = 2;     // the block header, at the start of every slot
inline constexpr uint32_t kLsnOffsetBits = 24;  // LSN = slot number << 24 | byte offset in the slot

constexpr uint64_t lsnAt(uint64_t slotNo, uint32_t unit) {
    return slotNo << kLsnOffsetBits | uint64_t{unit} * kUnitBytes;
}

/// The LSN at which a slot begins, which is where the one before it ends.
constexpr uint64_t slotStart(uint64_t slotNo) {
    return slotNo << kLsnOffsetBits;
}

constexpr uint64_t slotOf(uint64_t lsn) {
    return lsn >> kLsnOffsetBits;
}

/// Slots are written and flushed whole, so the written and the durable LSN are always slot starts.
/// Returns the smallest one behind `lsn`. An LSN within the header area, where no record can be,
/// requests only the slots before; thus `tail - 1` never requests a slot that is still empty.
constexpr uint64_t servedAt(uint64_t lsn) {
    uint64_t offset = lsn & ((uint64_t{1} << kLsnOffsetBits) - 1);
    return slotStart(slotOf(lsn) + (offset < kHeaderUnits * kUnitBytes ? 0 : 1));
}

}  // namespace freshet::journal
