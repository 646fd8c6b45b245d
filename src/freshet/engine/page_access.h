// SPDX-License-Identifier: Apache-2.0
/// How the threads of this build access pages. All programs use epochs, except freshet-bench-rwlock
/// and freshet-bench-hazard (decision 0019).
#pragma once

#include <cstdint>

namespace freshet::engine {

enum class PageAccess : uint8_t {
    kEpochs,   // a thread in a slice may read whatever it finds
    kLatches,  // it also latches each page on its descent
    kHazards   // a thread publishes each page that it holds; slices protect versions only
};

PageAccess pageAccess();

}  // namespace freshet::engine
