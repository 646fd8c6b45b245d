// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "freshet/testing/sim/explore/execution.h"
#include "freshet/testing/sim/explore/quarantine.h"

namespace freshet::testing {

/// The explorer's own code runs while this lives: its deletes are its own affair.
class Execution::Inside {
public:
    Inside() { Quarantine::pause(); }
    ~Inside() { Quarantine::resume(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
};

}  // namespace freshet::testing
