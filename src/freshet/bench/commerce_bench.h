// SPDX-License-Identifier: Apache-2.0
/// Runs `freshet-bench commerce`.
#pragma once

#include "freshet/bench/commerce_options.h"

namespace freshet::bench {

/// Prints a JSON object to standard output for each server and repetition as soon as it is
/// measured. Stops at the first failure or at wrong books.
Status runCommerceBench(const CommerceOptions& options);

}  // namespace freshet::bench
