// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/extent/space.h"

#include <algorithm>

namespace freshet::block {

uint64_t Space::aheadBlocks() const {
    const uint64_t eighth = fileBlocks_ * kBlockBytes / 8;
    return std::clamp(eighth, growBytesMin_, std::max(growBytesMin_, growBytesMax_)) / kBlockBytes;
}

Status Space::growFor(uint32_t blocks, uint64_t keep) {
    const uint64_t ahead = aheadBlocks();
    uint64_t wanted = 0;
    if (!free_.fits(blocks)) {
        wanted = blocks - free_.freeBefore(fileBlocks_);
    }
    if (freeBlocks() < blocks + ahead) {
        wanted = std::max(wanted, std::min(ahead, kGrowPieceBytes / kBlockBytes));
    }
    if (freeBlocks() < blocks + keep) {
        wanted = std::max(wanted, blocks + keep - freeBlocks());
    }
    return wanted == 0 ? Status::ok() : grow(wanted);
}

Status Space::grow(uint64_t blocks) {
    static const std::string zeros(kGrowPieceBytes, '\0');
    const uint64_t begin = fileBlocks_ * kBlockBytes;
    const uint64_t end = begin + blocks * kBlockBytes;
    for (uint64_t at = begin; at < end;) {
        const ByteView piece = ByteView(zeros).substr(0, std::min(end - at, kGrowPieceBytes));
        if (Status status = file_->pwrite(piece, at); !status.isOk()) {
            refused_ = status.code() == Code::kNoSpace;
            // Gives a piece back; the next attempt writes the same blocks again anyhow.
            static_cast<void>(file_->truncate(begin).isOk());
            return status;
        }
        at += piece.size();
    }
    refused_ = false;
    free_.give(fileBlocks_, blocks);
    fileBlocks_ += blocks;
    return Status::ok();
}

Status Space::makeRoom() {
    while (isShort()) {
        FRESHET_RETURN_IF_ERROR(
            grow(std::min(aheadBlocks() - freeBlocks(), kGrowPieceBytes / kBlockBytes)));
        refused_ = freeBlocks() < aheadBlocks();
    }
    return Status::ok();
}

StatusOr<Extent> Space::take(uint32_t blocks, uint64_t keep) {
    Status grown = growFor(blocks, keep);
    if (!grown.isOk() && grown.code() != Code::kNoSpace) {
        return grown;
    }
    if (freeBlocks() >= blocks + keep) {
        if (auto extent = free_.take(blocks)) {
            return *extent;
        }
    }
    return grown.isOk() ? Status(Code::kNoSpace, "no room left in " + path_) : grown;
}

}  // namespace freshet::block
