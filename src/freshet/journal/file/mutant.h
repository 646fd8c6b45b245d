// SPDX-License-Identifier: Apache-2.0
/// The planted bugs of the journal's files; see base/mutant.h. Those of the slot ring are policies
/// in slot/slot_explore_test.cpp.
#pragma once

#include "freshet/base/mutant.h"

#include <cstdint>

namespace freshet::journal {

enum class Mutant : uint8_t {
    kNone,
    kOmitFlush,     // segments are not flushed
    kEarlyWitness,  // what was only written is witnessed as durable
};

}  // namespace freshet::journal
