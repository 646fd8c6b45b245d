// SPDX-License-Identifier: Apache-2.0
/// The stamp word of a version: its writer and, once decided, when it became visible.
#pragma once

#include <cstdint>

namespace freshet::engine {

/// A stamp is final (a commit timestamp, or kStampAborted) or in flight (bit 63, then the writer's
/// entry in the transaction table and that entry's generation). It becomes final once and stays so.
inline constexpr uint64_t kStampInFlight = uint64_t{1} << 63;
inline constexpr uint64_t kStampAborted = uint64_t{1} << 62;
inline constexpr unsigned kStampGenBits = 46;
inline constexpr uint64_t kStampGenMax = (uint64_t{1} << kStampGenBits) - 1;

constexpr uint64_t makeInFlight(uint32_t entry, uint64_t gen) {
    return kStampInFlight | uint64_t{entry} << kStampGenBits | gen;
}
constexpr bool isInFlight(uint64_t stamp) {
    return (stamp & kStampInFlight) != 0;
}
constexpr uint32_t stampEntry(uint64_t stamp) {
    return static_cast<uint32_t>((stamp & ~kStampInFlight) >> kStampGenBits);
}
constexpr uint64_t stampGen(uint64_t stamp) {
    return stamp & kStampGenMax;
}

enum class Fate : uint8_t { kCommitted, kAborted, kInFlight };

/// What is known about a version at the moment of asking.
struct Outcome {
    Fate fate = Fate::kInFlight;
    uint64_t ts = 0;     // kCommitted: the commit timestamp
    uint64_t stamp = 0;  // kInFlight: identifies the writer
};

}  // namespace freshet::engine
