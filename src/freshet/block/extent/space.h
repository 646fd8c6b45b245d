// SPDX-License-Identifier: Apache-2.0
/// The room in a block file: free extents, and growth. An eighth of the file, within bounds, is
/// kept free ahead of need; the file grows towards that in pieces of at most kGrowPieceBytes, each
/// written as zeros, so that no single write waits for a whole step and no flush has to convert
/// unwritten extents. When the disk is full, what is free serves on, which is how a checkpoint in
/// progress finishes. Threads: one.
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
    void give(const Extent& extent) { free_.give(extent.firstBlock, extent.blocks); }

    uint64_t fileBlocks() const { return fileBlocks_; }
    uint64_t freeBlocks() const { return free_.freeBlocks(); }
    /// The last attempt to grow found the disk full, and less than the usual room is free.
    bool isShort() const { return refused_ && freeBlocks() < aheadBlocks(); }

private:
    uint64_t aheadBlocks() const;
    Status growFor(uint32_t blocks, uint64_t keep);
    Status grow(uint64_t blocks);

    platform::File* file_ = nullptr;
    std::string path_;
    uint64_t growBytesMin_ = 0;
    uint64_t growBytesMax_ = 0;
    FreeMap free_;
    uint64_t fileBlocks_ = 0;
    bool refused_ = false;
};

}  // namespace freshet::block
