// SPDX-License-Identifier: Apache-2.0
/// Deliberate mistakes in the hazard pointers, for the explore variant only; see epoch_mutant.h.
#pragma once

#include <cstdint>

namespace freshet::sync {

enum class HazardMutant : uint8_t {
    kNone,
    kNoHoldFence,  // holding has no store-load fence
    kNoScanFence,  // nor has reading what others hold
    kDropRelaxed,  // dropping does not publish that the object is no more used
};

#ifdef FRESHET_EXPLORE
inline HazardMutant hazardMutant = HazardMutant::kNone;
inline bool mutated(HazardMutant mutant) {
    return hazardMutant == mutant;
}
#else
constexpr bool mutated(HazardMutant) {
    return false;
}
#endif

}  // namespace freshet::sync
