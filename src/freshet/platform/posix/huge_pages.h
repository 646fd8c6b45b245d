// SPDX-License-Identifier: Apache-2.0
/// Huge pages of this process, besides those of its allocator.
#pragma once

#include <cstddef>

namespace freshet::platform {

inline constexpr size_t kHugePageBytes = 2u << 20;

/// Maps `bytes` bytes, a multiple of kHugePageBytes, and populates them with huge pages. Null: the
/// system has none, or gives none to this process. They stay until unmapHugePages().
char* mapHugePages(size_t bytes);
void unmapHugePages(char* memory, size_t bytes);

}  // namespace freshet::platform
