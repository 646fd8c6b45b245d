// SPDX-License-Identifier: Apache-2.0
/// The blocks in use in a file, while that is being determined: a bit for each. Threads: one.
#pragma once

#include "freshet/base/status.h"
#include "freshet/block/block_file.h"
#include "freshet/block/extent/free_map.h"

#include <cstdint>
#include <vector>

namespace freshet::block {

class UsedBlocks {
public:
    explicit UsedBlocks(uint64_t fileBlocks)
        : fileBlocks_(fileBlocks), words_((fileBlocks + kWordBits - 1) / kWordBits) {}

    /// kCorruption, naming the block, when a part of it is already in use, or beyond the end.
    Status add(const Extent& extent);
    /// The blocks that have not been added.
    FreeMap rest() const;

private:
    static constexpr unsigned kWordBits = 64;

    bool isUsed(uint64_t block) const {
        return (words_[block / kWordBits] >> block % kWordBits & 1) != 0;
    }

    uint64_t fileBlocks_;
    std::vector<uint64_t> words_;
};

}  // namespace freshet::block
