// SPDX-License-Identifier: Apache-2.0
/// `freshet-bench lines`: the cost of a cache line that two processors change in turns. It is the
/// only figure of the scaling model in docs/benchmarks/engine.md that depends on the machine alone.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>
#include <string_view>

namespace freshet::bench {

/// In nanoseconds, medians of several tries. Meaningless on a busy machine.
struct LineCosts {
    double own = 0;        // an atomic addition to a line that no other processor uses
    double contended = 0;  // the same, per addition, while two processors add as fast as they can
    double transfer = 0;   // until one processor has seen and changed the other's last change
};

/// Each thread makes `rounds` additions in each try. Returns kInvalid if this process may run on
/// one processor only. Starts two threads and pins them.
StatusOr<LineCosts> measureLines(uint64_t rounds);

/// Measures and prints one JSON object.
Status runLinesBench();

std::string_view linesUsage();

}  // namespace freshet::bench
