// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/key_array.h"

#include <algorithm>

namespace freshet::engine {

uint64_t keyHeadOf(ByteView tail) {
    if (tail.size() >= 8) {
        return loadBe64(tail.data());
    }
    char padded[8] = {};
    tail.copy(padded, tail.size());
    return loadBe64(padded);
}

size_t commonPrefix(ByteView a, ByteView b) {
    const size_t most = std::min(a.size(), b.size());
    size_t n = 0;
    while (n < most && a[n] == b[n]) {
        ++n;
    }
    return n;
}

KeyArray::KeyArray(std::span<const ByteView> tails) : size_(static_cast<uint32_t>(tails.size())) {
    size_t total = 0;
    for (ByteView tail : tails) {
        total += tail.size();
    }
    memoryBytes_ = size_ * sizeof(uint64_t) + (size_ + 1) * sizeof(uint32_t) + total;
    block_.reset(new char[memoryBytes_]);
    char* head = block_.get();
    char* offset = head + size_ * sizeof(uint64_t);
    char* byte = offset + (size_ + 1) * sizeof(uint32_t);
    uint32_t at = 0;
    for (ByteView tail : tails) {
        storeLe(head, keyHeadOf(tail));
        storeLe(offset, at);
        tail.copy(byte + at, tail.size());
        head += sizeof(uint64_t);
        offset += sizeof(uint32_t);
        at += static_cast<uint32_t>(tail.size());
    }
    storeLe(offset, at);
}

uint32_t KeyArray::firstHead(uint32_t from, uint64_t head) const {
    const uint64_t* base = heads() + from;
    uint32_t n = size_ - from;
    while (n > 1) {
        const uint32_t half = n / 2;
        base += base[half - 1] < head ? half : 0;  // a conditional move, not a branch
        n -= half;
    }
    const auto pos = static_cast<uint32_t>(base - heads());
    return pos + (n == 1 && *base < head ? 1 : 0);
}

KeyArray::Place KeyArray::lowerBound(const PageKey& key) const {
    if (size_ == 0) {
        return {0, false};
    }
    uint32_t low = firstHead(0, key.head);
    if (low == size_ || heads()[low] != key.head) {
        return {low, false};
    }
    // Ties on the head: the bytes decide among [low, high).
    uint32_t high = key.head == UINT64_MAX ? size_ : firstHead(low, key.head + 1);
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = tail(middle).compare(key.tail);
        if (order == 0) {
            return {middle, true};
        }
        (order < 0 ? low : high) = order < 0 ? middle + 1 : middle;
    }
    return {low, false};
}

}  // namespace freshet::engine
