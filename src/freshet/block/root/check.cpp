// SPDX-License-Identifier: Apache-2.0
/// In a file of its own, because the crash tests also build it with the comparison left out and
/// must notice that.
#include "freshet/block/root/check.h"

namespace freshet::block {

bool checksumMatches(uint32_t stored, uint32_t computed) {
#ifdef FRESHET_MUTANT_SKIP_CRC
    static_cast<void>(stored);
    static_cast<void>(computed);
    return true;
#else
    return stored == computed;
#endif
}

}  // namespace freshet::block
