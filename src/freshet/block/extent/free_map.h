// SPDX-License-Identifier: Apache-2.0
/// The free blocks of a file: stretches by position, so that neighbours merge, and by length, so
/// that the smallest that fits is found. Threads: one.
#pragma once

#include "freshet/base/status.h"
#include "freshet/block/block_file.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace freshet::block {

class FreeMap {
public:
    /// From the smallest stretch that fits, the foremost of those. Empty when none does.
    std::optional<Extent> take(uint32_t blocks);
    /// As take(), from the foremost stretch that fits.
    std::optional<Extent> takeForemost(uint32_t blocks);
    /// REQUIRES: none of these blocks is free.
    void give(uint64_t firstBlock, uint64_t blocks);

    /// Removes and returns everything that is free from `block` on.
    FreeMap cutAt(uint64_t block);
    /// Adds all stretches of `other`. REQUIRES: none of them is free here.
    void join(const FreeMap& other);

    bool fits(uint32_t blocks) const;
    /// Start of the stretch that takeForemost() would use. Time: one step per distinct length.
    std::optional<uint64_t> foremost(uint32_t blocks) const;
    uint64_t freeBlocks() const { return freeBlocks_; }
    /// Approximate memory use.
    uint64_t memoryBytes() const { return byPosition_.size() * kStretchBytes; }
    /// Free blocks directly before `end`.
    uint64_t freeBefore(uint64_t end) const;

private:
    static constexpr uint64_t kStretchBytes = 128;  // two nodes of 48 bytes, and the allocator's
                                                    // overhead

    void insert(uint64_t firstBlock, uint64_t blocks);
    void erase(std::map<uint64_t, uint64_t>::iterator stretch);
    Extent takeFrom(std::map<uint64_t, uint64_t>::iterator stretch, uint32_t blocks);

    std::map<uint64_t, uint64_t> byPosition_;           // first block -> blocks
    std::set<std::pair<uint64_t, uint64_t>> byLength_;  // (blocks, first block)
    uint64_t freeBlocks_ = 0;
};

}  // namespace freshet::block
