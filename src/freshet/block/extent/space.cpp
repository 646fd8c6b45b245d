// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/extent/space.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace freshet::block {
namespace {

constexpr uint64_t kGrowPieceBlocks = kGrowPieceBytes / kBlockBytes;

}  // namespace

uint64_t Space::aheadBlocks(uint64_t blocks) const {
    const uint64_t eighth = blocks * kBlockBytes / 8;
    return std::clamp(eighth, growBytesMin_, std::max(growBytesMin_, growBytesMax_)) / kBlockBytes;
}

Status Space::growFor(uint32_t blocks, uint64_t keep) {
    const uint64_t ahead = aheadBlocks();
    uint64_t wanted = 0;
    if (!fits(blocks)) {
        wanted = blocks - (limit_ < fileBlocks_ ? beyond_ : free_).freeBefore(fileBlocks_);
    }
    if (freeBlocks() < blocks + ahead) {
        wanted = std::max(wanted, std::min(ahead, kGrowPieceBlocks));
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
            // Frees the space; the next attempt writes the same blocks again anyway.
            static_cast<void>(file_->truncate(begin).isOk());
            return status;
        }
        at += piece.size();
    }
    refused_ = false;
    give(fileBlocks_, blocks);
    fileBlocks_ += blocks;
    return Status::ok();
}

Status Space::makeRoom() {
    while (isShort()) {
        FRESHET_RETURN_IF_ERROR(grow(std::min(aheadBlocks() - freeBlocks(), kGrowPieceBlocks)));
        refused_ = freeBlocks() < aheadBlocks();
    }
    return Status::ok();
}

void Space::give(uint64_t firstBlock, uint64_t blocks) {
    const uint64_t end = firstBlock + blocks;
    const uint64_t middle = std::clamp(limit_, firstBlock, end);
    if (middle != firstBlock) {
        free_.give(firstBlock, middle - firstBlock);
    }
    if (middle != end) {
        beyond_.give(middle, end - middle);
    }
}

uint64_t Space::usedEnd() const {
    const uint64_t end = fileBlocks_ - beyond_.freeBefore(fileBlocks_);
    return end - free_.freeBefore(end);
}

uint64_t Space::worthwhileBlocks() const {
    return std::min(kGrowPieceBlocks, growBytesMin_ / kBlockBytes);
}

bool Space::wantsMoved(const Extent& extent, uint32_t blocks) const {
    if (extent.firstBlock + extent.blocks <= limit_) {
        return false;
    }
    if (free_.fits(blocks)) {
        return true;
    }
    const std::optional<uint64_t> first = beyond_.foremost(blocks);
    return first && *first + worthwhileBlocks() <= extent.firstBlock;
}

uint64_t Space::neededBlocks() const {
    return std::min(fileBlocks_, std::max(limit_, usedEnd()));
}

void Space::giveBack(uint64_t blocksKept) {
    const uint64_t moved = std::min(std::exchange(movedBlocks_, 0), takenBlocks_);
    const uint64_t before = std::exchange(takenBlocksLast_, std::exchange(takenBlocks_, 0) - moved);
    // Taken by two checkpoints in a row, so not a single burst.
    const uint64_t inTurn = std::min(before, takenBlocksLast_);
    free_.join(std::exchange(beyond_, {}));
    limit_ = UINT64_MAX;
    const uint64_t used = fileBlocks_ - freeBlocks();
    // Keeps enough ahead that the next extents do not make the file grow again; if it then could
    // not grow, everything would be refused.
    const uint64_t ahead = aheadBlocks((used + inTurn) * 8 / 7);
    const uint64_t wanted = used + inTurn + (refused_ ? 2 : 1) * ahead;
    const uint64_t end = std::max({wanted, usedEnd(), blocksKept});
    const uint64_t worthwhile = worthwhileBlocks();
    if (end + worthwhile <= fileBlocks_ && file_->truncate(end * kBlockBytes).isOk()) {
        static_cast<void>(free_.cutAt(end));
        givenBackBlocks_ += fileBlocks_ - end;
        fileBlocks_ = end;
    }
    // `blocksKept` and what checkpoints take fall by themselves when there is nothing to do.
    isShrinking_ = inTurn >= worthwhile;
    if (wanted + worthwhile <= fileBlocks_) {
        isShrinking_ |= usedEnd() + worthwhile <= fileBlocks_;
        limit_ = wanted;
        beyond_ = free_.cutAt(limit_);
    }
}

StatusOr<Extent> Space::take(uint32_t blocks, uint64_t keep) {
    Status grown = growFor(blocks, keep);
    if (!grown.isOk() && grown.code() != Code::kNoSpace) {
        return grown;
    }
    if (freeBlocks() >= blocks + keep) {
        auto extent = free_.take(blocks);
        if (!extent) {
            extent = beyond_.takeForemost(blocks);
        }
        if (extent) {
            takenBlocks_ += blocks;
            return *extent;
        }
    }
    return grown.isOk() ? Status(Code::kNoSpace, "no room left in " + path_) : grown;
}

}  // namespace freshet::block
