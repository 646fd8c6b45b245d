// SPDX-License-Identifier: Apache-2.0
/// The room in a block file: free extents, and growth. An eighth of the file, within bounds, is
/// kept free ahead of need; the file grows towards that in pieces of at most kGrowPieceBytes, each
/// written as zeros, so that no single write waits for a whole step and no flush has to convert
/// unwritten extents. When the disk is full, what is free serves on, which is how a checkpoint in
/// progress finishes.
///
/// What is free beyond that goes back to the file system, from the file's end. What checkpoints
/// take from one to the next stays, lest the file shrinks and grows all the time. While the end is
/// in use, nothing is taken beyond the length that would do, if it can be helped, and the owner is
/// asked to move what lies there. Threads: one.
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
    /// `file` must outlive this; `path` is for texts.
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

    /// Takes an extent and leaves at least `keep` blocks free. kNoSpace: there is no room and the
    /// file cannot grow; nothing has changed. Other failures are the file's.
    StatusOr<Extent> take(uint32_t blocks, uint64_t keep);
    /// After a refusal: grows until the usual room is free again. Ok: it is; kNoSpace: not yet, and
    /// what could be grown was. Other failures are the file's.
    Status makeRoom();
    void give(const Extent& extent) { give(extent.firstBlock, extent.blocks); }
    /// Cuts the file, but never below `blocksKept`, and thinks again about where it might end. To
    /// be called when all is given that the last checkpoint has replaced. A file that cannot be cut
    /// stays as it is.
    void giveBack(uint64_t blocksKept);

    uint64_t fileBlocks() const { return fileBlocks_; }
    uint64_t freeBlocks() const { return free_.freeBlocks() + beyond_.freeBlocks(); }
    uint64_t memoryBytes() const { return free_.memoryBytes() + beyond_.memoryBytes(); }
    /// By giveBack(), since the file was opened.
    uint64_t givenBackBlocks() const { return givenBackBlocks_; }
    /// What a checkpoint may say that the file has: all, but for what the next giveBack() may cut.
    uint64_t neededBlocks() const;
    /// Something keeps the file from being cut.
    bool hasLimit() const { return limit_ != UINT64_MAX; }
    /// What lies there does so, and `blocks` in its stead would find a place further to the front.
    /// Not one that is hardly better, so that moving ends.
    bool wantsMoved(const Extent& extent, uint32_t blocks) const;
    /// So many blocks are going to be taken to move what lies there.
    void noteMove(uint64_t blocks) { movedBlocks_ += blocks; }
    /// The next giveBack() may cut more without anything being moved.
    bool isShrinking() const { return isShrinking_; }
    /// The last attempt to grow found the disk full, and less than the usual room is free.
    bool isShort() const { return refused_ && freeBlocks() < aheadBlocks(); }

private:
    uint64_t aheadBlocks() const { return aheadBlocks(fileBlocks_); }
    uint64_t aheadBlocks(uint64_t blocks) const;
    /// For less the file is not cut, and nothing moved.
    uint64_t worthwhileBlocks() const;
    /// What is in use lies before this block.
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
    uint64_t limit_ = UINT64_MAX;  // where the file would end if nothing lay beyond
    uint64_t fileBlocks_ = 0;
    bool refused_ = false;
    uint64_t takenBlocks_ = 0;      // since the last giveBack()
    uint64_t movedBlocks_ = 0;      // of these
    uint64_t takenBlocksLast_ = 0;  // without moves, between that and the one before
    uint64_t givenBackBlocks_ = 0;
    bool isShrinking_ = false;
};

}  // namespace freshet::block
