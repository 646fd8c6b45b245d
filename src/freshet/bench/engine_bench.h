// SPDX-License-Identifier: Apache-2.0
/// Runs `freshet-bench engine`.
#pragma once

#include "freshet/bench/engine_options.h"

namespace freshet::bench {

/// Prints a line to standard output for each engine and repetition as soon as it is measured. The
/// engines take turns, each in a process of its own. Returns kInvalid, before anything is measured,
/// if an engine does not exist or cannot run the workload. REQUIRES: no other threads.
Status runEngineBench(const EngineOptions& options);

}  // namespace freshet::bench
