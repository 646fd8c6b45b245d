// SPDX-License-Identifier: Apache-2.0
/// Finding the newest whole checkpoint in a file. Writes nothing.
#pragma once

#include "freshet/base/status.h"
#include "freshet/block/block_file.h"
#include "freshet/block/extent/free_map.h"
#include "freshet/block/root/page_map.h"
#include "freshet/block/root/superblock_format.h"
#include "freshet/platform/file.h"

#include <array>
#include <string>

namespace freshet::block {

/// A whole checkpoint, as found.
struct Loaded {
    Superblock superblock;
    uint64_t copy = 0;  // the superblock copy it came from
    PageMap map;
    FreeMap free;
    uint64_t fileBlocks = 0;
};

/// The newer of the two checkpoints that is whole: superblock, runs and late images. Status codes
/// as BlockFile::open.
StatusOr<Loaded> loadNewest(platform::File& file,
                            const std::string& path,
                            const std::array<char, 16>& dbUuid);

/// See BlockFile::readUuid.
StatusOr<std::array<char, 16>> uuidOf(platform::File& file, const std::string& path);

/// The length that the file must have for its checkpoints. Status codes as BlockFile::open.
StatusOr<uint64_t> blocksNeeded(platform::File& file,
                                const std::string& path,
                                const std::array<char, 16>& dbUuid);

/// The extents of a superblock's runs, without unused ones.
std::vector<Extent> runExtents(const Superblock& superblock);

}  // namespace freshet::block
