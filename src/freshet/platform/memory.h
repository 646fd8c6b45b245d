// SPDX-License-Identifier: Apache-2.0
/// What the process's allocator does with memory that has been freed: jemalloc, where the program
/// is linked with it (decision 0012). Elsewhere nothing is known and nothing happens. Any thread.
#pragma once

#include <cstdint>

namespace freshet::platform {

/// Freed bytes that are still the process's, to be used again. Takes some microseconds.
uint64_t freedMemoryBytes();

/// Whether freed memory stays the process's, as it does from the start, or goes back to the system
/// when it is a second old. What goes back breaks up huge pages, and what is used next is slower
/// for it.
void keepFreedMemory(bool kept);
/// It goes by itself where memory is being allocated; this is for a process that rests.
void giveBackOldMemory();

}  // namespace freshet::platform
