// SPDX-License-Identifier: Apache-2.0
/// The one mutex, for control paths (registration, start and stop, lists of waiters). It is
/// std::mutex in normal builds; in the `explore` variant taking it is a scheduling point and
/// waiting for it is known to the explorer, which would otherwise hang with it. Use with
/// std::lock_guard and std::unique_lock.
#pragma once

#ifdef FRESHET_EXPLORE
#include "freshet/sync/explored_atomic.h"
#else
#include <mutex>
#endif

namespace freshet::sync {

#ifdef FRESHET_EXPLORE
using Mutex = ExploredMutex;
#else
using Mutex = std::mutex;
#endif

}  // namespace freshet::sync
