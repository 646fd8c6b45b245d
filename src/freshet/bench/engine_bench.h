// SPDX-License-Identifier: Apache-2.0
/// Drives `freshet-bench engine`.
#pragma once

#include "freshet/bench/engine_options.h"

namespace freshet::bench {

/// Prints a line for each engine and repetition to standard output as soon as it is measured. The
/// engines take turns, each in a process of its own. kInvalid before anything is measured: there is
/// no such engine, or one of them cannot run the workload. REQUIRES: no other threads.
Status runEngineBench(const EngineOptions& options);

}  // namespace freshet::bench
