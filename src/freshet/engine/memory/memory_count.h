// SPDX-License-Identifier: Apache-2.0
/// Counts the bytes that the process holds in nodes, changes, versions and values, including
/// retired ones until they are freed, and in what it knows of pages on disk. One sum for all stores
/// of the process, since they share its memory. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet::engine {

class MemoryCount {
public:
    /// What the allocator needs for a piece besides its bytes, approximately.
    static constexpr size_t kPieceBytes = 16;
    /// All objects stand for the same count.
    bool operator==(const MemoryCount&) const = default;

#ifdef FRESHET_EXPLORE
    // Models do not count memory.
    static void add(size_t) {}
    static void subtract(size_t) {}
    static uint64_t bytes() { return 0; }
    static int64_t threadBytes() { return 0; }
#else
    static void add(size_t bytes) { change(static_cast<int64_t>(bytes + kPieceBytes)); }
    static void subtract(size_t bytes) { change(-static_cast<int64_t>(bytes + kPieceBytes)); }
    /// At most 16 KiB per thread behind the true value.
    static uint64_t bytes();
    /// What the calling thread has added minus what it has subtracted: useful only as a difference.
    static int64_t threadBytes();

private:
    /// Each thread keeps small changes to itself, so that writers share no cache line.
    static void change(int64_t bytes);
#endif
};

}  // namespace freshet::engine
