// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/extent/free_map.h"

#include <algorithm>
#include <iterator>

namespace freshet::block {

void FreeMap::insert(uint64_t firstBlock, uint64_t blocks) {
    byPosition_.emplace(firstBlock, blocks);
    byLength_.emplace(blocks, firstBlock);
    freeBlocks_ += blocks;
}

void FreeMap::erase(std::map<uint64_t, uint64_t>::iterator stretch) {
    byLength_.erase({stretch->second, stretch->first});
    freeBlocks_ -= stretch->second;
    byPosition_.erase(stretch);
}

bool FreeMap::fits(uint32_t blocks) const {
    return !byLength_.empty() && byLength_.rbegin()->first >= blocks;
}

std::optional<Extent> FreeMap::take(uint32_t blocks) {
    invariant(blocks > 0);
    const auto best = byLength_.lower_bound({blocks, 0});
    if (best == byLength_.end()) {
        return std::nullopt;
    }
    return takeFrom(byPosition_.find(best->second), blocks);
}

std::optional<uint64_t> FreeMap::foremost(uint32_t blocks) const {
    std::optional<uint64_t> found;
    for (auto at = byLength_.lower_bound({blocks, 0}); at != byLength_.end();
         at = byLength_.lower_bound({at->first + 1, 0})) {
        found = std::min(found.value_or(at->second), at->second);
    }
    return found;
}

std::optional<Extent> FreeMap::takeForemost(uint32_t blocks) {
    invariant(blocks > 0);
    const std::optional<uint64_t> first = foremost(blocks);
    if (!first) {
        return std::nullopt;
    }
    return takeFrom(byPosition_.find(*first), blocks);
}

Extent FreeMap::takeFrom(std::map<uint64_t, uint64_t>::iterator stretch, uint32_t blocks) {
    const auto [firstBlock, length] = *stretch;
    erase(stretch);
    if (length > blocks) {
        insert(firstBlock + blocks, length - blocks);
    }
    return Extent{firstBlock, blocks};
}

void FreeMap::give(uint64_t firstBlock, uint64_t blocks) {
    invariant(blocks > 0);
    uint64_t end = firstBlock + blocks;
    auto next = byPosition_.lower_bound(firstBlock);
    if (next != byPosition_.end()) {
        invariant(end <= next->first);
        if (end == next->first) {
            end += next->second;
            auto joined = next++;
            erase(joined);
        }
    }
    if (next != byPosition_.begin()) {
        auto previous = std::prev(next);
        const uint64_t previousEnd = previous->first + previous->second;
        invariant(previousEnd <= firstBlock);
        if (previousEnd == firstBlock) {
            firstBlock = previous->first;
            erase(previous);
        }
    }
    insert(firstBlock, end - firstBlock);
}

FreeMap FreeMap::cutAt(uint64_t block) {
    FreeMap beyond;
    auto stretch = byPosition_.lower_bound(block);
    if (stretch != byPosition_.begin()) {
        auto before = std::prev(stretch);
        const auto [firstBlock, blocks] = *before;
        if (firstBlock + blocks > block) {
            erase(before);
            insert(firstBlock, block - firstBlock);
            beyond.insert(block, firstBlock + blocks - block);
        }
    }
    while (stretch != byPosition_.end()) {
        beyond.insert(stretch->first, stretch->second);
        auto moved = stretch++;
        erase(moved);
    }
    return beyond;
}

void FreeMap::join(const FreeMap& other) {
    for (const auto& [firstBlock, blocks] : other.byPosition_) {
        give(firstBlock, blocks);
    }
}

uint64_t FreeMap::freeBefore(uint64_t end) const {
    if (byPosition_.empty()) {
        return 0;
    }
    auto last = byPosition_.lower_bound(end);
    if (last == byPosition_.begin()) {
        return 0;
    }
    --last;
    return last->first + last->second == end ? last->second : 0;
}

}  // namespace freshet::block
