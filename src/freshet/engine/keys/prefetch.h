// SPDX-License-Identifier: Apache-2.0
/// Asking for memory before it is looked at, so that misses of the cache overlap.
#pragma once

#include <cstddef>

namespace freshet::engine {

/// A hint; touches nothing.
inline void askFor(const void* memory, size_t bytes) {
    constexpr size_t kFetchedBytes = 64;
    for (size_t i = 0; i < bytes; i += kFetchedBytes) {
        __builtin_prefetch(static_cast<const char*>(memory) + i);
    }
}

}  // namespace freshet::engine
