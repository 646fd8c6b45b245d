// SPDX-License-Identifier: Apache-2.0
/// The planted bugs of epochs and of hazard pointers; see base/mutant.h.
#pragma once

#include "freshet/base/mutant.h"

#include <cstdint>

namespace freshet::sync {

enum class Mutant : uint8_t {
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
    kNoGraceFence,         // a grace period begins without a store-load fence
    kGraceOneShort,        // it lasts two epochs instead of three
    kNoGrace,              // it is over at once
    kFloorPinnedLate,      // a raised floor is pinned by nobody
    kPlaceTaken,           // a number is opened in a place that still holds another one
    kCloseRelaxed,         // closing a number does not publish what was done while it was open
    kFindRelaxed,          // opening one does not pass that on
    kNoHoldFence,          // holding an object has no store-load fence
    kNoScanFence,          // nor has the scan of what others hold
    kDropRelaxed,          // dropping an object does not publish that it is no longer used
};

}  // namespace freshet::sync
