// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/limits.h"

#include <sys/resource.h>

namespace freshet::platform {

uint64_t raiseOpenFilesLimit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return UINT64_MAX;
    }
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (before < limit.rlim_max && ::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        limit.rlim_cur = before;
    }
    return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

}  // namespace freshet::platform
