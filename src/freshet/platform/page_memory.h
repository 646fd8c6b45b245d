// SPDX-License-Identifier: Apache-2.0
/// PageMemory: memory for pages. When the data is larger than memory, tens of thousands of pages
/// come and go each second; many threads take them and one frees them. A general allocator needs
/// some thousand instructions to move such a piece between threads; here the last ones freed are
/// kept for reuse. Any thread; taking may wait for a short mutex, freeing does not.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet::platform {

/// Alignment, and the unit of sizes.
constexpr size_t kPageMemoryUnit = 4096;

/// `bytes` is a multiple of kPageMemoryUnit and not 0. Not cleared. Throws std::bad_alloc.
char* takePageMemory(size_t bytes);
/// REQUIRES: `bytes` as allocated.
void freePageMemory(char* memory, size_t bytes);

/// Bytes that the calling thread has taken from the kept pages minus those it has put there: useful
/// as a difference. threadMemoryBytes() includes it.
int64_t threadSpareBytes();
/// Bytes kept, a few megabytes at most. Included in freedMemoryBytes().
uint64_t sparePageMemoryBytes();
/// Frees the kept pages; giveBackFreedMemory() calls it.
void freeSparePageMemory();

}  // namespace freshet::platform
