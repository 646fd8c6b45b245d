// SPDX-License-Identifier: Apache-2.0
/// Deliberate mistakes in the epoch code, for the explore variant only: epoch_explore_test.cpp
/// switches each on and expects the explorer to find a schedule that breaks a promise. In every
/// other variant mutated() is a constant false and leaves no code behind.
#pragma once

#include <cstdint>

namespace freshet::sync {

enum class EpochMutant : uint8_t {
    kNone,
    kClockAfterReadLow,    // minReadTs() reads the clock last instead of first
    kPinLowFirst,          // minReadTs() reads pinLow before readLow
    kEnterEpochRelaxed,    // entering stores the epoch without publishing earlier slices
    kEnterReadLowRelaxed,  // the same for readLow
    kNoEnterFence,         // entering a slice has no store-load fence
    kNoFoldFence,          // nor has minReadTs()
    kNoAdvanceFence,       // nor has tryAdvance()
    kFreeOneEarly,         // two epochs of grace instead of three
    kFreeTwoEarly,         // one
    kLeaveRelaxed,         // leaving does not publish the slice's stores
    kPassAtOnce,           // ended pins are passed while slices may not know of it
    kPassOneEarly,         // one epoch later instead of two
    kNoEndFence,           // ending snapshots has no store-load fence
};

#ifdef FRESHET_EXPLORE
inline EpochMutant epochMutant = EpochMutant::kNone;
inline bool mutated(EpochMutant mutant) {
    return epochMutant == mutant;
}
#else
constexpr bool mutated(EpochMutant) {
    return false;
}
#endif

}  // namespace freshet::sync
