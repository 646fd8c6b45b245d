// SPDX-License-Identifier: Apache-2.0
#include "freshet/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace freshet {

void assertionFailed(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "freshet: assertion failed: %s at %s:%d\n", condition, file, line);
    std::abort();
}

}  // namespace freshet
