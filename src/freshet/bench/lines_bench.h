// SPDX-License-Identifier: Apache-2.0
/// `freshet-bench lines`: what a cache line costs that two processors change in turns. The one
/// figure of the scaling model in docs/benchmarks/engine.md that is the machine's and not ours.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>
#include <string_view>

namespace freshet::bench {

/// Nanoseconds, medians of several tries. On a busy machine they say nothing.
struct LineCosts {
    double own = 0;        // an atomic addition to a line that nobody else has
    double contended = 0;  // the same to a line to which two add as fast as they can, for each
    double transfer = 0;   // until one has seen and changed what the other has changed
};

/// `rounds` additions of each thread in each try. kInvalid if this process may run on one processor
/// only. Starts two threads and pins them.
StatusOr<LineCosts> measureLines(uint64_t rounds);

/// Measures and prints one JSON object.
Status runLinesBench();

std::string_view linesUsage();

}  // namespace freshet::bench
