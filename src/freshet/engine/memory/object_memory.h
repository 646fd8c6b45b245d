// SPDX-License-Identifier: Apache-2.0
/// Memory for the objects that every write makes: versions, changed keys, write sets. They are
/// freed by the hundred when a leaf is folded, and giving so many back to the allocator and taking
/// them again costs a quarter of a write. So each thread keeps some memory for its next objects.
/// Any thread; an object may be freed on another thread than made it. With AddressSanitizer, and in
/// model checks, nothing is kept.
#pragma once

#include <cstddef>

namespace freshet::engine {

/// The most that a thread keeps. No weight and no count of memory includes it.
inline constexpr size_t kSpareObjectBytesMax = 256 * 1024;

void* takeObjectMemory(size_t bytes);
/// REQUIRES: `bytes` as passed to takeObjectMemory().
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
