// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/keys/key_array.h"

#include "freshet/base/assert.h"

#include <algorithm>
#include <vector>

namespace freshet::engine {

size_t commonPrefix(ByteView a, ByteView b) {
    const size_t most = std::min(a.size(), b.size());
    size_t n = 0;
    while (n < most && a[n] == b[n]) {
        ++n;
    }
    return n;
}

void KeyArray::allocate(uint32_t size, uint32_t tailBytes, size_t allBytes) {
    size_ = size;
    tailBytes_ = tailBytes;
    landmarkCount_ = size == 0 ? 0 : (size - 1) / kScannedMax;
    const size_t memory = (landmarkCount_ + size_t{size}) * sizeof(uint64_t) +
                          (isEven() ? 0 : size_t{size} + 1) * sizeof(uint32_t) + allBytes;
    invariant(memory <= UINT32_MAX);
    memoryBytes_ = static_cast<uint32_t>(memory);
    block_.reset(new char[memoryBytes_]);
}

void KeyArray::setLandmarks() {
    auto* landmark = const_cast<uint64_t*>(landmarks());
    for (uint32_t i = 0; i < landmarkCount_; ++i) {
        landmark[i] = heads()[(i + 1) * kScannedMax - 1];
    }
}

KeyArray::KeyArray(std::span<const ByteView> tails) {
    size_t total = 0;
    bool isEven = true;
    for (ByteView tail : tails) {
        total += tail.size();
        isEven &= tail.size() == tails[0].size();
    }
    const size_t tailBytes = isEven && !tails.empty() ? tails[0].size() : kUneven;
    allocate(static_cast<uint32_t>(tails.size()), static_cast<uint32_t>(tailBytes), total);
    auto* head = const_cast<uint64_t*>(heads());
    auto* offset = const_cast<uint32_t*>(offsets());
    auto* byte = const_cast<char*>(bytes());
    uint32_t at = 0;
    for (ByteView tail : tails) {
        *head++ = keyHeadOf(tail);
        if (!isEven) {
            *offset++ = at;
        }
        tail.copy(byte + at, tail.size());
        at += static_cast<uint32_t>(tail.size());
    }
    if (!isEven) {
        *offset = at;
    }
    setLandmarks();
}

KeyArray KeyArray::with(uint32_t pos, ByteView tail) const {
    if (size_ == 0 || (isEven() && tail.size() != tailBytes_)) {
        std::vector<ByteView> tails;
        tails.reserve(size_ + 1);
        for (uint32_t i = 0; i < size_; ++i) {
            tails.push_back(this->tail(i));
        }
        tails.insert(tails.begin() + pos, tail);
        return KeyArray(tails);
    }
    const size_t before = isEven() ? size_t{pos} * tailBytes_ : offsets()[pos];
    const size_t all = isEven() ? size_t{size_} * tailBytes_ : offsets()[size_];
    const auto added = static_cast<uint32_t>(tail.size());
    KeyArray result;
    result.allocate(size_ + 1, tailBytes_, all + added);
    auto* head = const_cast<uint64_t*>(result.heads());
    std::copy_n(heads(), pos, head);
    head[pos] = keyHeadOf(tail);
    std::copy(heads() + pos, heads() + size_, head + pos + 1);
    if (!isEven()) {
        auto* offset = const_cast<uint32_t*>(result.offsets());
        std::copy_n(offsets(), pos + 1, offset);
        for (uint32_t i = pos; i <= size_; ++i) {
            offset[i + 1] = offsets()[i] + added;
        }
    }
    auto* byte = const_cast<char*>(result.bytes());
    std::copy_n(bytes(), before, byte);
    tail.copy(byte + before, tail.size());
    std::copy(bytes() + before, bytes() + all, byte + before + added);
    result.setLandmarks();
    return result;
}

uint32_t KeyArray::stretchByLandmarks(uint64_t head) const {
    const uint64_t* base = landmarks();
    uint32_t n = landmarkCount_;
    while (n > kScannedMax) {
        const uint32_t half = n / 2;
        if (base[half - 1] < head) {
            base += half;
        }
        n -= half;
    }
    return (static_cast<uint32_t>(base - landmarks()) + countBelow(base, n, head)) * kScannedMax;
}

uint32_t KeyArray::firstHead(uint64_t head, uint32_t stretch) const {
    return stretch + countBelow(heads() + stretch, std::min(kScannedMax, size_ - stretch), head);
}

KeyArray::Position KeyArray::lowerBound(const PageKey& key, uint32_t stretch) const {
    const uint32_t low = firstHead(key.head, stretch);
    if (low == size_ || heads()[low] != key.head) {
        return {low, false};
    }
    return amongHeads(low, key);
}

KeyArray::Position KeyArray::amongHeads(uint32_t low, const PageKey& key) const {
    if (low + 1 != size_ && heads()[low + 1] == key.head) {
        return amongTies(low, key);
    }
    const int order = compareSameHead(tail(low), key.tail);
    return {low + (order < 0 ? 1 : 0), order == 0};
}

KeyArray::Position KeyArray::amongTies(uint32_t low, const PageKey& key) const {
    const uint64_t next = key.head + 1;
    uint32_t high = next == 0 ? size_ : firstHead(next, stretchOf(next));
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
