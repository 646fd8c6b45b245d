// SPDX-License-Identifier: Apache-2.0
/// Drives `freshet-bench commerce`.
#pragma once

#include "freshet/bench/commerce_options.h"

namespace freshet::bench {

/// Prints a JSON object for each server and repetition to standard output as soon as it is
/// measured. The first failure, or books that are not right, end it.
Status runCommerceBench(const CommerceOptions& options);

}  // namespace freshet::bench
