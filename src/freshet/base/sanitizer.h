// SPDX-License-Identifier: Apache-2.0
/// Whether the build checks memory: memory that is cached for reuse would hide a use after free.
#pragma once

#include <cstddef>

// The sanitizer's own functions, declared here instead of including its header.
extern "C" void __asan_poison_memory_region(const void* place, std::size_t bytes);
extern "C" void __asan_unpoison_memory_region(const void* place, std::size_t bytes);

namespace freshet {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kIsAddressSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kIsAddressSanitized = true;
#else
inline constexpr bool kIsAddressSanitized = false;
#endif
#else
inline constexpr bool kIsAddressSanitized = false;
#endif

/// Any access there is a mistake, until unpoison().
inline void poison([[maybe_unused]] const void* place, [[maybe_unused]] std::size_t bytes) {
    if constexpr (kIsAddressSanitized) {
        __asan_poison_memory_region(place, bytes);
    }
}

inline void unpoison([[maybe_unused]] const void* place, [[maybe_unused]] std::size_t bytes) {
    if constexpr (kIsAddressSanitized) {
        __asan_unpoison_memory_region(place, bytes);
    }
}

}  // namespace freshet
