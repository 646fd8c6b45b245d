// SPDX-License-Identifier: Apache-2.0
/// Memory for what every write makes: versions, changed keys, write sets. They go by the hundred
/// when a leaf is folded, and the allocator's way of taking in so many and giving them out again
/// costs a quarter of a write: each thread keeps some of its own for the next ones. Any thread; an
/// object may go on another thread than it was made on. With AddressSanitizer, and in model checks,
/// nothing is kept.
#pragma once

#include <cstddef>

namespace freshet::engine {

/// The most that a thread keeps. For who adds up memory: it is in nobody's weight.
inline constexpr size_t kSpareObjectBytesMax = 256 * 1024;

void* takeObjectMemory(size_t bytes);
/// REQUIRES: `bytes` as it was asked for.
void giveObjectMemory(void* memory, size_t bytes) noexcept;

/// For containers in such objects.
template <typename T>
struct ObjectAllocator {
    using value_type = T;
    ObjectAllocator() = default;
    template <typename U>
    ObjectAllocator(const ObjectAllocator<U>& /*other*/) {}
    T* allocate(size_t n) { return static_cast<T*>(takeObjectMemory(n * sizeof(T))); }
    void deallocate(T* memory, size_t n) { giveObjectMemory(memory, n * sizeof(T)); }
    friend bool operator==(const ObjectAllocator&, const ObjectAllocator&) { return true; }
};

}  // namespace freshet::engine
