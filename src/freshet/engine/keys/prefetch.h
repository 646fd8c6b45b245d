// SPDX-License-Identifier: Apache-2.0
/// Prefetches memory before it is read, so that cache misses overlap.
#pragma once

#include <cstddef>

namespace freshet::engine {

/// A hint; reads and writes nothing.
inline void askFor(const void* memory, size_t bytes) {
    constexpr size_t kFetchedBytes = 64;
    for (size_t i = 0; i < bytes; i += kFetchedBytes) {
        __builtin_prefetch(static_cast<const char*>(memory) + i);
    }
}

}  // namespace freshet::engine
