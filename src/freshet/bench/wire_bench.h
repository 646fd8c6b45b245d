// SPDX-License-Identifier: Apache-2.0
/// Runs the rows of `freshet-bench wire`.
#pragma once

#include "freshet/bench/options.h"

namespace freshet::bench {

/// Prints a line to standard output for each row as soon as it is measured.
Status runWireBench(const WireOptions& options);

}  // namespace freshet::bench
