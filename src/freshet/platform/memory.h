// SPDX-License-Identifier: Apache-2.0
/// What the process's allocator does with memory that has been freed: jemalloc, where the program
/// is linked with it (decision 0012). Elsewhere nothing is known, and only what is kept for pages
/// (page_memory.h) goes back. Any thread.
#pragma once

#include <cstdint>
#include <optional>

namespace freshet::platform {

/// Freed bytes that are still the process's, to be used again. Takes some microseconds.
uint64_t freedMemoryBytes();

/// What the calling thread has allocated less what it has freed, in bytes, also of other threads'
/// memory: of use as a difference. Always 0 without jemalloc. Takes nanoseconds.
int64_t threadMemoryBytes();

/// Freed memory stays the process's; this gives all of it back to the system. That breaks up huge
/// pages, and what is used next is slower for it.
void giveBackFreedMemory();

/// From now on, what the calling thread allocates goes back to the system some hundredths of a
/// second after it is freed, whoever frees it. For threads that take and free large pieces faster
/// than anybody could look after them. Does nothing without jemalloc.
void returnFreedMemorySoon();

/// Whether the system may give this process huge pages, as it does at first. They cost memory: what
/// was given back comes again with whatever of the same two megabytes is used next. Those that
/// there are stay until parts of them are given back.
void setHugePages(bool wanted);

/// What the system takes now to give this process one huge page, in nanoseconds; it goes back at
/// once. A virtual machine that has told its host of free memory has to get each piece of it anew,
/// which costs ten times as much. Nothing: the system gives none, or not to this process.
std::optional<uint64_t> hugePageNanos();

}  // namespace freshet::platform
