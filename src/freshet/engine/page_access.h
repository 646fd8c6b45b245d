// SPDX-License-Identifier: Apache-2.0
/// How this build's threads get at pages. Programs but freshet-bench-rwlock and
/// freshet-bench-hazard have epochs (decision 0019).
#pragma once

#include <cstdint>

namespace freshet::engine {

enum class PageAccess : uint8_t {
    kEpochs,   // a thread that is in a slice may look at whatever it finds
    kLatches,  // and it latches each page that its descent looks at
    kHazards   // a thread says of each page that it holds it; slices protect versions only
};

PageAccess pageAccess();

}  // namespace freshet::engine
