// SPDX-License-Identifier: Apache-2.0
/// Huge pages of this process's own, beside what its allocator has.
#pragma once

#include <cstddef>

namespace freshet::platform {

inline constexpr size_t kHugePageBytes = 2u << 20;

/// Maps so many bytes, a multiple of kHugePageBytes, and fills them with huge pages. Null: the
/// system gives none, or not to this process. They stay until unmapHugePages().
char* mapHugePages(size_t bytes);
void unmapHugePages(char* memory, size_t bytes);

}  // namespace freshet::platform
