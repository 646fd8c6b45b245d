// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "freshet/testing/sim/explore/execution.h"
#include "freshet/testing/sim/explore/quarantine.h"

namespace freshet::testing {

/// While it lives the explorer's own code runs: its deletes are not kept back.
class Execution::Inside {
public:
    Inside() { Quarantine::pause(); }
    ~Inside() { Quarantine::resume(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
};

}  // namespace freshet::testing
