// SPDX-License-Identifier: Apache-2.0
/// Alone in its file, because the crash tests build it a second time with the comparison left out
/// and must notice.
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
