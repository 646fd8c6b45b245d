// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/page_access.h"

#include "freshet/engine/variants/page_hold.h"

namespace freshet::engine {

PageAccess pageAccess() {
    return kPageAccess;
}

}  // namespace freshet::engine
