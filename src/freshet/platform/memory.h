// SPDX-License-Identifier: Apache-2.0
/// What the process's allocator does with memory that has been freed: jemalloc, where the program
/// is linked with it (decision 0012). Elsewhere nothing is known and nothing happens. Any thread.
#pragma once

#include <cstdint>

namespace freshet::platform {

/// Freed bytes that are still the process's, to be used again. Takes some microseconds.
uint64_t freedMemoryBytes();

/// Whether freed memory stays the process's, as it does from the start, or goes back to the system
/// within a second. What goes back breaks up huge pages, and what is used next is slower for it.
void keepFreedMemory(bool kept);

}  // namespace freshet::platform
