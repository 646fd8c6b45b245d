// SPDX-License-Identifier: Apache-2.0
/// Going to the background: the process splits, and the parent waits until the child is ready or
/// has failed.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>

namespace freshet::platform {

struct Split {
    bool isChild = false;
    int64_t childId = 0;  // in the parent
    int exitCode = 0;     // in the parent: 0 when the child was ready, else its exit code
};

/// Returns twice. The child has a session of its own and no terminal; its standard streams lead to
/// /dev/null. In the parent the call returns when the child has called reportReady() or ended.
/// `announce` is called in the parent as soon as the child exists. REQUIRES: no other threads yet.
StatusOr<Split> splitToBackground(void (*announce)(int64_t childId));
/// In the child: lets the parent return. No effect in a process that was not split.
void reportReady();

}  // namespace freshet::platform
