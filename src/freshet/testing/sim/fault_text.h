// SPDX-License-Identifier: Apache-2.0
/// A FaultRule as one line of text, for programs that get their faults from outside:
///
///     OP GLOB KIND [nth=N] [times=N] [chance=P] [ms=N] [below=N] [nospace] [growing] [poweroff]
///     sync */journal/j.* error nth=3
///     write */journal/next.tmp error nospace times=20
///     write */data.freshet flip growing
///
/// OP: open read write sync truncate rename remove syncdir. KIND: error short lie torn drop
/// misdirect flip flipread split slow (by ms) late. times=0 means for ever. below: only at
/// offsets below that.
#pragma once

#include "freshet/testing/sim/fault_plan.h"

#include <string>

namespace freshet::testing {

/// kInvalid with the word that was not understood.
StatusOr<FaultRule> parseFault(const std::string& line);

}  // namespace freshet::testing
