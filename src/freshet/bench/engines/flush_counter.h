// SPDX-License-Identifier: Apache-2.0
/// Counts the flushes of this process, whichever library asks for them, in the same way for every
/// engine: the program's own fsync, fdatasync and msync take the place of libc's. A file opened to
/// flush by itself (LMDB's second flush of a commit) is not seen.
#pragma once

#include <cstdint>

namespace freshet::bench {

/// Since the program's start.
uint64_t flushCount();

}  // namespace freshet::bench
