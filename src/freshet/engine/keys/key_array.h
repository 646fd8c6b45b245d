// SPDX-License-Identifier: Apache-2.0
/// Sorted keys of one page, without the prefix that the page's fences share. The first eight bytes
/// of each are kept as a big-endian number (the head), so that a search compares numbers and looks
/// at bytes only on ties. Immutable.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/engine/keys/head_search.h"
#include "freshet/engine/keys/prefetch.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

namespace freshet::engine {

/// The first eight bytes as a number with the same order; short keys are padded with zeros.
inline uint64_t keyHeadOf(ByteView tail) {
    const char* bytes = tail.data();
    const size_t n = tail.size();
    if (n >= 8) {
        return loadBe64(bytes);
    }
    if (n >= 4) {  // the first four and the last four, which overlap
        return uint64_t{loadBe32(bytes)} << 32 | uint64_t{loadBe32(bytes + n - 4)} << 8 * (8 - n);
    }
    uint64_t head = 0;
    for (size_t i = 0; i < n; ++i) {
        head |= uint64_t{static_cast<unsigned char>(bytes[i])} << (56 - 8 * i);
    }
    return head;
}

/// A key within a page: without the page's prefix.
struct PageKey {
    explicit PageKey(ByteView rest) : head(keyHeadOf(rest)), tail(rest) {}
    uint64_t head;
    ByteView tail;
};

/// Compares tails whose heads are equal. Tails of up to eight bytes are entirely in the head: only
/// the lengths can differ.
inline int compareSameHead(ByteView a, ByteView b) {
    if (a.size() <= 8 && b.size() <= 8) {
        return static_cast<int>(a.size()) - static_cast<int>(b.size());
    }
    return a.compare(b);
}

/// Negative, zero or positive if (head, tail) is below, equal to or above `key`.
inline int comparePageKey(uint64_t head, ByteView tail, const PageKey& key) {
    if (head != key.head) {
        return head < key.head ? -1 : 1;
    }
    return compareSameHead(tail, key.tail);
}

/// Length of the longest common prefix.
size_t commonPrefix(ByteView a, ByteView b);
/// The length of the prefix of all keys of a page with these fences. Without an upper fence: 0.
inline size_t fencePrefix(ByteView low, ByteView high) {
    return high.empty() ? 0 : commonPrefix(low, high);
}

class KeyArray {
public:
    struct Position {
        uint32_t pos;  // index of the first key >= the one sought
        bool exact;
    };

    KeyArray() = default;
    /// Copies the keys, which must be in ascending order.
    explicit KeyArray(std::span<const ByteView> tails);
    /// The same array with `tail` inserted as its `pos`-th key. REQUIRES: it belongs there.
    KeyArray with(uint32_t pos, ByteView tail) const;

    uint32_t size() const { return size_; }
    uint64_t head(uint32_t i) const { return heads()[i]; }
    ByteView tail(uint32_t i) const {
        return isEven() ? ByteView(bytes() + size_t{i} * tailBytes_, tailBytes_)
                        : ByteView(bytes() + offsets()[i], offsets()[i + 1] - offsets()[i]);
    }
    Position lowerBound(const PageKey& key) const { return lowerBound(key, stretchOf(key.head)); }
    /// The same; `stretch` is the result of prefetchStretch() for the key's head.
    Position lowerBound(const PageKey& key, uint32_t stretch) const;
    /// Whether `key` is the i-th key; false if there is no i-th key.
    bool isAt(uint32_t i, const PageKey& key) const {
        return i < size_ && comparePageKey(head(i), tail(i), key) == 0;
    }
    /// Prefetches the heads that lowerBound() compares first.
    void prefetch() const { askFor(block_.get(), std::min<size_t>(memoryBytes_, kAskedBytesMax)); }
    /// Once those are in the cache: prefetches what lowerBound() reads next, and returns where that
    /// begins.
    uint32_t prefetchStretch(uint64_t head) const {
        const uint32_t from = stretchOf(head);
        askFor(heads() + from, std::min(kScannedMax, size_ - from) * sizeof(uint64_t));
        return from;
    }
    size_t memoryBytes() const { return memoryBytes_; }

private:
    /// Four cache lines.
    static constexpr size_t kAskedBytesMax = 256;
    static constexpr uint32_t kUneven = UINT32_MAX;

    // One block: landmarks, heads[size], offsets[size + 1], bytes. A landmark is the last head of a
    // stretch of kScannedMax heads that is followed by another stretch: a search reads a few lines
    // of landmarks and one stretch, however many keys there are. If all keys have the same length
    // ("even"), there are no offsets; if that is eight bytes or less, the heads hold the whole
    // keys.
    bool isEven() const { return tailBytes_ != kUneven; }
    const uint64_t* landmarks() const { return reinterpret_cast<const uint64_t*>(block_.get()); }
    const uint64_t* heads() const { return landmarks() + landmarkCount_; }
    const uint32_t* offsets() const { return reinterpret_cast<const uint32_t*>(heads() + size_); }
    const char* bytes() const {
        return reinterpret_cast<const char*>(offsets() + (isEven() ? 0 : size_ + 1));
    }
    /// Where the stretch begins that has the first head >= `head`, if there is one.
    uint32_t stretchOf(uint64_t head) const {
        return landmarkCount_ == 0 ? 0 : stretchByLandmarks(head);
    }
    uint32_t stretchByLandmarks(uint64_t head) const;
    /// Index of the first head >= `head`; `stretch` is stretchOf(head).
    uint32_t firstHead(uint64_t head, uint32_t stretch) const;
    /// For `size` keys with `tailBytes` bytes each, or kUneven, and `allBytes` in total.
    void allocate(uint32_t size, uint32_t tailBytes, size_t allBytes);
    /// Called when the heads are filled in.
    void setLandmarks();
    /// lowerBound() if the key's head occurs; `low` is the first key with that head.
    Position amongHeads(uint32_t low, const PageKey& key) const;
    /// The same if more than one key has that head.
    Position amongTies(uint32_t low, const PageKey& key) const;

    std::unique_ptr<char[]> block_;
    uint32_t size_ = 0;
    uint32_t tailBytes_ = kUneven;
    uint32_t landmarkCount_ = 0;
    uint32_t memoryBytes_ = 0;
};

}  // namespace freshet::engine
