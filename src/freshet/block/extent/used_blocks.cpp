// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/extent/used_blocks.h"

#include <string>

namespace freshet::block {

Status UsedBlocks::add(const Extent& extent) {
    if (extent.firstBlock > fileBlocks_ || extent.blocks > fileBlocks_ - extent.firstBlock) {
        return Status(Code::kCorruption,
                      "blocks from " + std::to_string(extent.firstBlock) +
                          " on lie beyond the end of the file");
    }
    for (uint64_t block = extent.firstBlock; block < extent.firstBlock + extent.blocks; ++block) {
        if (isUsed(block)) {
            return Status(Code::kCorruption, "block " + std::to_string(block) + " is in use twice");
        }
        words_[block / kWordBits] |= uint64_t{1} << block % kWordBits;
    }
    return Status::ok();
}

FreeMap UsedBlocks::rest() const {
    FreeMap free;
    for (uint64_t block = 0; block < fileBlocks_;) {
        if (words_[block / kWordBits] == UINT64_MAX) {
            block = (block / kWordBits + 1) * kWordBits;
            continue;
        }
        const uint64_t begin = block;
        while (block < fileBlocks_ && !isUsed(block)) {
            ++block;
        }
        if (block != begin) {
            free.give(begin, block - begin);
        } else {
            ++block;
        }
    }
    return free;
}

}  // namespace freshet::block
