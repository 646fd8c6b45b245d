// SPDX-License-Identifier: Apache-2.0
/// In a file of its own, because the crash tests also build it with the comparison left out and
/// must notice that.
#include "freshet/block/root/check.h"

#include "freshet/block/root/mutant.h"

namespace freshet::block {

bool checksumMatches(uint32_t stored, uint32_t computed) {
    return stored == computed || mutated(Mutant::kSkipCrc);
}

}  // namespace freshet::block
