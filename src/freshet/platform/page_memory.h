// SPDX-License-Identifier: Apache-2.0
/// PageMemory: memory for pages, which come and go by the ten thousand a second when the data is
/// larger than memory, are taken by many threads and freed by one. An allocator hands such pieces
/// from thread to thread at some thousand instructions each; here the last ones freed are kept for
/// who comes next. Any thread; who takes may wait for a short mutex, who frees does not.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet::platform {

/// Aligned to this, and given out in multiples of it.
constexpr size_t kPageMemoryUnit = 4096;

/// `bytes` is a multiple of kPageMemoryUnit and not 0. Not cleared. Throws std::bad_alloc.
char* takePageMemory(size_t bytes);
/// REQUIRES: `bytes` as they were asked for.
void freePageMemory(char* memory, size_t bytes);

/// What the calling thread has got of what was kept less what it has given there, in bytes: of use
/// as a difference. threadMemoryBytes() has it in it.
int64_t threadSpareBytes();
/// What is kept, a few megabytes at most. Counts as freedMemoryBytes() does.
uint64_t sparePageMemoryBytes();
/// Frees that; giveBackFreedMemory() calls it.
void freeSparePageMemory();

}  // namespace freshet::platform
