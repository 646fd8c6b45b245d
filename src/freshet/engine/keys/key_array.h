// SPDX-License-Identifier: Apache-2.0
/// Sorted keys of one page, without the prefix that the page's fences share: the first eight bytes
/// of each as a big-endian number (the head), so that a search compares numbers and looks at bytes
/// only on ties. Immutable.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/engine/keys/head_search.h"
#include "freshet/engine/keys/prefetch.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

namespace freshet::engine {

/// The first eight bytes as a number whose order is the bytes' order; short keys are padded.
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

/// A key within a page: what follows the page's prefix.
struct PageKey {
    explicit PageKey(ByteView rest) : head(keyHeadOf(rest)), tail(rest) {}
    uint64_t head;
    ByteView tail;
};

/// Compares tails whose heads are the same. Up to eight bytes are all in the head: only the lengths
/// are left.
inline int compareSameHead(ByteView a, ByteView b) {
    if (a.size() <= 8 && b.size() <= 8) {
        return static_cast<int>(a.size()) - static_cast<int>(b.size());
    }
    return a.compare(b);
}

/// Negative, zero or positive as (head, tail) is below, equal to or above `key`.
inline int comparePageKey(uint64_t head, ByteView tail, const PageKey& key) {
    if (head != key.head) {
        return head < key.head ? -1 : 1;
    }
    return compareSameHead(tail, key.tail);
}

/// Length of the longest common prefix.
size_t commonPrefix(ByteView a, ByteView b);
/// How many bytes all keys of a page with these fences begin with. No upper fence: none.
inline size_t fencePrefix(ByteView low, ByteView high) {
    return high.empty() ? 0 : commonPrefix(low, high);
}

class KeyArray {
public:
    struct Place {
        uint32_t pos;  // of the first key >= the one sought
        bool exact;
    };

    KeyArray() = default;
    /// Copies the keys, which are in ascending order.
    explicit KeyArray(std::span<const ByteView> tails);
    /// The same with `tail` as its `pos`-th key. REQUIRES: that is where it belongs.
    KeyArray with(uint32_t pos, ByteView tail) const;

    uint32_t size() const { return size_; }
    uint64_t head(uint32_t i) const { return heads()[i]; }
    ByteView tail(uint32_t i) const {
        return isEven() ? ByteView(bytes() + size_t{i} * tailBytes_, tailBytes_)
                        : ByteView(bytes() + offsets()[i], offsets()[i + 1] - offsets()[i]);
    }
    Place lowerBound(const PageKey& key) const { return lowerBound(key, stretchOf(key.head)); }
    /// The same; `stretch` is what prefetchStretch() said for the key's head.
    Place lowerBound(const PageKey& key, uint32_t stretch) const;
    /// Whether `key` is the i-th one; false if there is no such one.
    bool isAt(uint32_t i, const PageKey& key) const {
        return i < size_ && comparePageKey(head(i), tail(i), key) == 0;
    }
    /// Asks for the heads that lowerBound() compares first.
    void prefetch() const { askFor(block_.get(), std::min<size_t>(memoryBytes_, kAskedBytesMax)); }
    /// Once those are there: asks for what it looks at next, and says where that begins.
    uint32_t prefetchStretch(uint64_t head) const {
        const uint32_t from = stretchOf(head);
        askFor(heads() + from, std::min(kScannedMax, size_ - from) * sizeof(uint64_t));
        return from;
    }
    size_t memoryBytes() const { return memoryBytes_; }

private:
    /// Four lines.
    static constexpr size_t kAskedBytesMax = 256;
    static constexpr uint32_t kUneven = UINT32_MAX;

    // One block: landmarks, heads[size], offsets[size + 1], bytes. A landmark is the last head of a
    // stretch of kScannedMax that is followed by another one: a search looks at a few lines of
    // landmarks and at one stretch, however many keys there are. Even keys, all of one length, have
    // no offsets; if that is eight or less, the heads say all.
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
    /// Index of the first head that is >= `head`; `stretch` is stretchOf(head).
    uint32_t firstHead(uint64_t head, uint32_t stretch) const;
    /// For so many keys of `tailBytes` each, or kUneven, and `allBytes` together.
    void allocate(uint32_t size, uint32_t tailBytes, size_t allBytes);
    /// Once the heads are there.
    void setLandmarks();
    /// lowerBound() when the key's head is there; `low` is the first key that has it.
    Place amongHeads(uint32_t low, const PageKey& key) const;
    /// The same when more than one key has it.
    Place amongTies(uint32_t low, const PageKey& key) const;

    std::unique_ptr<char[]> block_;
    uint32_t size_ = 0;
    uint32_t tailBytes_ = kUneven;
    uint32_t landmarkCount_ = 0;
    uint32_t memoryBytes_ = 0;
};

}  // namespace freshet::engine
