// SPDX-License-Identifier: Apache-2.0
/// How processor time grows with the work: n log n gives a little over 4 for four times as much, n
/// squared 16. Only this thread's time, the least of several runs, so that other processes do not
/// count.
#pragma once

#include "freshet/platform/clock.h"

#include <algorithm>
#include <cstdint>

namespace freshet::testing {

/// The largest allowed factor for four times the work.
inline constexpr double kGrowthMax = 8;

/// The processor time of run(4 * n) divided by that of run(n).
template <typename Run>
double growthOf(int n, Run&& run) {
    const auto leastOf = [&run](int size) {
        uint64_t least = UINT64_MAX;
        for (int i = 0; i < 3; ++i) {
            const uint64_t start = platform::threadCpuNanos();
            run(size);
            least = std::min(least, platform::threadCpuNanos() - start);
        }
        return static_cast<double>(std::max<uint64_t>(least, 1));
    };
    const double one = leastOf(n);
    return leastOf(4 * n) / one;
}

}  // namespace freshet::testing
