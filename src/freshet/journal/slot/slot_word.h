// SPDX-License-Identifier: Apache-2.0
/// SlotWord: the packed state of a slot as a value. No other code shifts or masks its bits.
///
///   | gen:23 | closed:1 | released:20 | joined:20 |      joined and released in units of 64 bytes
///
/// gen is the lap of the ring: slot number s is at ring place s % K on lap s / K (mod 2^23). An
/// open word begins with joined == released == kHeaderUnits: the block header belongs to the writer
/// from the start.
#pragma once

#include "freshet/journal/slot/lsn.h"

#include <cstdint>

namespace freshet::journal {

class SlotWord {
public:
    static constexpr uint32_t kUnitsMax = (1u << 20) - 1;
    static constexpr uint32_t kLapMask = (1u << 23) - 1;

    constexpr explicit SlotWord(uint64_t raw) : raw_(raw) {}
    /// The word of an open, empty slot.
    static constexpr SlotWord open(uint64_t lap) {
        return SlotWord((lap & kLapMask) << kLapShift | uint64_t{kHeaderUnits} << kReleasedShift |
                        kHeaderUnits);
    }

    constexpr uint64_t raw() const { return raw_; }
    constexpr uint32_t joined() const { return raw_ & kUnitsMax; }
    constexpr uint32_t released() const { return (raw_ >> kReleasedShift) & kUnitsMax; }
    constexpr bool isClosed() const { return (raw_ & kClosedBit) != 0; }
    constexpr bool isLap(uint64_t lap) const { return raw_ >> kLapShift == (lap & kLapMask); }
    /// No record has joined.
    constexpr bool isEmpty() const { return joined() == kHeaderUnits; }
    /// Every unit that was joined has been copied.
    constexpr bool isQuiet() const { return joined() == released(); }
    /// Closed and quiet: the bytes are final and may be written.
    constexpr bool isDone() const { return isClosed() && isQuiet(); }
    constexpr bool hasRoom(uint32_t units, uint32_t capacity) const {
        return !isClosed() && joined() + units <= capacity;
    }

    constexpr SlotWord withJoined(uint32_t units) const { return SlotWord(raw_ + units); }
    constexpr SlotWord withReleased(uint32_t units) const {
        return SlotWord(raw_ + releaseDelta(units));
    }
    constexpr SlotWord withClosed() const { return SlotWord(raw_ | kClosedBit); }
    /// What to add to the raw word in order to release `units`.
    static constexpr uint64_t releaseDelta(uint32_t units) {
        return uint64_t{units} << kReleasedShift;
    }

private:
    static constexpr int kReleasedShift = 20;
    static constexpr uint64_t kClosedBit = uint64_t{1} << 40;
    static constexpr int kLapShift = 41;
    uint64_t raw_;
};

}  // namespace freshet::journal
