// SPDX-License-Identifier: Apache-2.0
/// The space in a block file: free extents, and growth. An eighth of the file, within bounds, is
/// kept free ahead of need. The file grows towards that in pieces of at most kGrowPieceBytes, each
/// written as zeros, so that no single write waits for a whole step and no flush has to convert
/// unwritten extents. When the disk is full, the remaining free space is still used, so that a
/// checkpoint in progress can finish.
///
/// Free space beyond that is returned to the file system, from the file's end. The space that
/// checkpoints take again and again is kept, so that the file does not shrink and grow all the
/// time. While the end is in use, no extent is taken beyond the length that would suffice, if
/// possible, and the owner is asked to move the images there. Threads: one.
#pragma once

#include "freshet/base/status.h"
#include "freshet/block/extent/free_map.h"
#include "freshet/platform/file.h"

#include <cstdint>
#include <string>

namespace freshet::block {

inline constexpr uint64_t kGrowPieceBytes = 1u << 20;

class Space {
public:
    Space() = default;
    /// `file` must outlive this; `path` is for error texts.
    Space(platform::File* file,
          std::string path,
          uint64_t growBytesMin,
          uint64_t growBytesMax,
          FreeMap free,
          uint64_t fileBlocks)
        : file_(file),
          path_(std::move(path)),
          growBytesMin_(growBytesMin),
          growBytesMax_(growBytesMax),
          free_(std::move(free)),
          fileBlocks_(fileBlocks) {}

    /// Takes an extent and leaves at least `keep` blocks free. kNoSpace: there is no space and the
    /// file cannot grow; nothing has changed. Other failures are the file's.
    StatusOr<Extent> take(uint32_t blocks, uint64_t keep);
    /// After a refusal: grows until the usual amount is free again. Ok: it is; kNoSpace: not yet,
    /// the file grew as far as possible. Other failures are the file's.
    Status makeRoom();
    void give(const Extent& extent) { give(extent.firstBlock, extent.blocks); }
    /// Cuts the file, but never below `blocksKept`, and recomputes where it might end. To be called
    /// after everything that the last checkpoint replaced was given back. A file that cannot be cut
    /// stays as it is.
    void giveBack(uint64_t blocksKept);

    uint64_t fileBlocks() const { return fileBlocks_; }
    uint64_t freeBlocks() const { return free_.freeBlocks() + beyond_.freeBlocks(); }
    uint64_t memoryBytes() const { return free_.memoryBytes() + beyond_.memoryBytes(); }
    /// By giveBack(), since the file was opened.
    uint64_t givenBackBlocks() const { return givenBackBlocks_; }
    /// The length that a checkpoint may require of the file: all of it, except what the next
    /// giveBack() may cut.
    uint64_t neededBlocks() const;
    /// Some extent keeps the file from being cut.
    bool hasLimit() const { return limit_ != UINT64_MAX; }
    /// True when `extent` does so, and `blocks` blocks would fit further to the front. Only if that
    /// is a clear gain, so that moving ends.
    bool wantsMoved(const Extent& extent, uint32_t blocks) const;
    /// This many blocks are going to be taken in order to move images.
    void noteMove(uint64_t blocks) { movedBlocks_ += blocks; }
    /// The next giveBack() may cut more without any move.
    bool isShrinking() const { return isShrinking_; }
    /// The last attempt to grow found the disk full, and less than the usual room is free.
    bool isShort() const { return refused_ && freeBlocks() < aheadBlocks(); }

private:
    uint64_t aheadBlocks() const { return aheadBlocks(fileBlocks_); }
    uint64_t aheadBlocks(uint64_t blocks) const;
    /// For less than this the file is not cut, and nothing is moved.
    uint64_t worthwhileBlocks() const;
    /// Blocks in use are before this one.
    uint64_t usedEnd() const;
    bool fits(uint32_t blocks) const { return free_.fits(blocks) || beyond_.fits(blocks); }
    void give(uint64_t firstBlock, uint64_t blocks);
    Status growFor(uint32_t blocks, uint64_t keep);
    Status grow(uint64_t blocks);

    platform::File* file_ = nullptr;
    std::string path_;
    uint64_t growBytesMin_ = 0;
    uint64_t growBytesMax_ = 0;
    FreeMap free_;                 // before limit_
    FreeMap beyond_;               // from limit_ on
    uint64_t limit_ = UINT64_MAX;  // end of the file if nothing beyond it were in use
    uint64_t fileBlocks_ = 0;
    bool refused_ = false;
    uint64_t takenBlocks_ = 0;      // since the last giveBack()
    uint64_t movedBlocks_ = 0;      // of these
    uint64_t takenBlocksLast_ = 0;  // without moves, between the last two giveBack()s
    uint64_t givenBackBlocks_ = 0;
    bool isShrinking_ = false;
};

}  // namespace freshet::block
