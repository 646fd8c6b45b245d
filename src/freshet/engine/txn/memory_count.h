// SPDX-License-Identifier: Apache-2.0
/// How many bytes the process holds in nodes, changes, versions and values, retired ones included
/// until they are freed, and in what it knows of pages on disk. One sum for all stores of the
/// process, since the memory is the process's. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet::engine {

class MemoryCount {
public:
    /// What the allocator needs for a piece beside its bytes, about.
    static constexpr size_t kPieceBytes = 16;
    /// There is one count, whoever tells it.
    bool operator==(const MemoryCount&) const = default;

#ifdef FRESHET_EXPLORE
    // A model has its own idea of memory.
    static void add(size_t) {}
    static void subtract(size_t) {}
    static uint64_t bytes() { return 0; }
    static int64_t threadBytes() { return 0; }
#else
    static void add(size_t bytes) { change(static_cast<int64_t>(bytes + kPieceBytes)); }
    static void subtract(size_t bytes) { change(-static_cast<int64_t>(bytes + kPieceBytes)); }
    /// Up to 16 KiB per thread behind the truth.
    static uint64_t bytes();
    /// What the calling thread has added less what it has subtracted: of use as a difference.
    static int64_t threadBytes();

private:
    /// Each thread keeps small changes to itself: no line is shared by all who write.
    static void change(int64_t bytes);
#endif
};

}  // namespace freshet::engine
