// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/tree/key_array.h"

#include <algorithm>

namespace freshet::engine {

size_t commonPrefix(ByteView a, ByteView b) {
    const size_t most = std::min(a.size(), b.size());
    size_t n = 0;
    while (n < most && a[n] == b[n]) {
        ++n;
    }
    return n;
}

void KeyArray::allocate(uint32_t size, size_t tailBytes) {
    size_ = size;
    memoryBytes_ = size_ * sizeof(uint64_t) + (size_ + 1) * sizeof(uint32_t) + tailBytes;
    block_.reset(new char[memoryBytes_]);
}

KeyArray::KeyArray(std::span<const ByteView> tails) {
    size_t total = 0;
    for (ByteView tail : tails) {
        total += tail.size();
    }
    allocate(static_cast<uint32_t>(tails.size()), total);
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

KeyArray KeyArray::with(uint32_t pos, ByteView tail) const {
    if (size_ == 0) {
        return KeyArray(std::span<const ByteView>(&tail, 1));
    }
    const uint32_t before = offsets()[pos];
    const uint32_t all = offsets()[size_];
    const auto added = static_cast<uint32_t>(tail.size());
    KeyArray result;
    result.allocate(size_ + 1, all + added);
    auto* head = const_cast<uint64_t*>(result.heads());
    std::copy_n(heads(), pos, head);
    head[pos] = keyHeadOf(tail);
    std::copy(heads() + pos, heads() + size_, head + pos + 1);
    auto* offset = const_cast<uint32_t*>(result.offsets());
    std::copy_n(offsets(), pos + 1, offset);
    offset[pos + 1] = before + added;
    for (uint32_t i = pos + 1; i <= size_; ++i) {
        offset[i + 1] = offsets()[i] + added;
    }
    auto* byte = const_cast<char*>(result.bytes());
    std::copy_n(bytes(), before, byte);
    tail.copy(byte + before, tail.size());
    std::copy(bytes() + before, bytes() + all, byte + before + added);
    return result;
}

uint32_t KeyArray::firstHead(uint32_t from, uint64_t head) const {
    const uint64_t* base = heads() + from;
    uint32_t n = size_ - from;
    while (n > 1) {
        const uint32_t half = n / 2;
        // A branch, not a conditional move: it lets the next probe begin before this one's line is
        // there, which measures 10 % less time a read over a million keys.
        if (base[half - 1] < head) {
            base += half;
        }
        n -= half;
    }
    const auto pos = static_cast<uint32_t>(base - heads());
    return pos + (n == 1 && *base < head ? 1 : 0);
}

KeyArray::Place KeyArray::lowerBound(const PageKey& key) const {
    const uint32_t low = size_ == 0 ? 0 : firstHead(0, key.head);
    if (low == size_ || heads()[low] != key.head) {
        return {low, false};
    }
    if (low + 1 != size_ && heads()[low + 1] == key.head) {
        return amongTies(low, key);
    }
    const int order = compareSameHead(tail(low), key.tail);
    return {low + (order < 0 ? 1 : 0), order == 0};
}

KeyArray::Place KeyArray::amongTies(uint32_t low, const PageKey& key) const {
    uint32_t high = key.head == UINT64_MAX ? size_ : firstHead(low, key.head + 1);
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = compareSameHead(tail(middle), key.tail);
        if (order == 0) {
            return {middle, true};
        }
        (order < 0 ? low : high) = order < 0 ? middle + 1 : middle;
    }
    return {low, false};
}

}  // namespace freshet::engine
