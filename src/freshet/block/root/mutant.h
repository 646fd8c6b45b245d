// SPDX-License-Identifier: Apache-2.0
/// The planted bugs of this room; see base/mutant.h.
#pragma once

#include "freshet/base/mutant.h"

#include <cstdint>

namespace freshet::block {

enum class Mutant : uint8_t {
    kNone,
    kSkipCrc,  // checksums are not compared
};

}  // namespace freshet::block
