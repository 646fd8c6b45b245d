// SPDX-License-Identifier: Apache-2.0
/// CountedAllocator: the standard allocator, which reports every allocation to a counter. For
/// containers whose memory is accounted for. `Counter` is copied into the container; it has
/// add(bytes), subtract(bytes) and ==. Threads: as the container and the counter.
#pragma once

#include <cstddef>
#include <memory>

namespace freshet {

template <typename T, typename Counter>
class CountedAllocator {
public:
    using value_type = T;

    CountedAllocator(Counter counter = {}) : counter_(counter) {}
    template <typename U>
    CountedAllocator(const CountedAllocator<U, Counter>& other) : counter_(other.counter()) {}

    T* allocate(size_t count) {
        T* const made = std::allocator<T>().allocate(count);
        counter_.add(count * sizeof(T));
        return made;
    }
    void deallocate(T* pieces, size_t count) {
        std::allocator<T>().deallocate(pieces, count);
        counter_.subtract(count * sizeof(T));
    }

    const Counter& counter() const { return counter_; }
    bool operator==(const CountedAllocator&) const = default;

private:
    [[no_unique_address]] Counter counter_;
};

}  // namespace freshet
