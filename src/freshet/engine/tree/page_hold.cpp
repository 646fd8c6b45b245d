// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/page_hold.h"

#include "freshet/engine/page_access.h"

namespace freshet::engine {

PageAccess pageAccess() {
#if defined(FRESHET_HAZARDS)
    return PageAccess::kHazards;
#elif defined(FRESHET_LATCHES)
    return PageAccess::kLatches;
#else
    return PageAccess::kEpochs;
#endif
}

}  // namespace freshet::engine
