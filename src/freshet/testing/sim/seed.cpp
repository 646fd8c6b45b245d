// SPDX-License-Identifier: Apache-2.0
#include "freshet/testing/sim/seed.h"

#include "freshet/platform/thread.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace freshet::testing {

uint64_t testSeed() {
    const char* given = std::getenv("FRESHET_SEED");
    const uint64_t seed =
        given != nullptr ? std::strtoull(given, nullptr, 0) : platform::randomSeed();
    std::printf("FRESHET_SEED=%" PRIu64 "\n", seed);
    return seed;
}

}  // namespace freshet::testing
