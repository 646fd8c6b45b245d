// SPDX-License-Identifier: Apache-2.0
/// What the process's allocator does with freed memory: jemalloc, where the program is linked with
/// it (decision 0012). Elsewhere nothing is known, and only the spare pages (page_memory.h) can be
/// freed. Any thread.
#pragma once

#include <cstdint>
#include <optional>

namespace freshet::platform {

/// Freed bytes that the process keeps for reuse. Takes some microseconds.
uint64_t freedMemoryBytes();

/// Bytes that the calling thread has allocated minus those it has freed, including other threads'
/// memory: useful as a difference. Always 0 without jemalloc. Takes nanoseconds.
int64_t threadMemoryBytes();

/// Freed memory stays with the process; this returns all of it to the system. That breaks up huge
/// pages, and the next allocations are slower for it.
void giveBackFreedMemory();

/// From now on, memory that the calling thread allocates is returned to the system some hundredths
/// of a second after it is freed, on whichever thread. For threads that allocate and free large
/// pieces faster than a background thread could return them. No effect without jemalloc.
void returnFreedMemorySoon();

/// Whether the system may give this process huge pages, as it does initially. They cost memory:
/// returned pages come back when any part of the same two megabytes is used again. Existing huge
/// pages stay until parts of them are returned.
void setHugePages(bool wanted);

/// Time that the system now needs to give this process one huge page, in nanoseconds; the page is
/// returned at once. A virtual machine that has reported free memory to its host must get each
/// piece of it again, which costs ten times as much. Empty: the system has none, or gives none to
/// this process.
std::optional<uint64_t> hugePageNanos();

}  // namespace freshet::platform
