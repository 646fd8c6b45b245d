// SPDX-License-Identifier: Apache-2.0
/// Drives the rows of `freshet-bench wire`.
#pragma once

#include "freshet/bench/options.h"

namespace freshet::bench {

/// Prints a line for each row to standard output as soon as it is measured.
Status runWireBench(const WireOptions& options);

}  // namespace freshet::bench
