// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/root/superblock.h"

#include "freshet/base/checksum.h"
#include "freshet/block/root/check.h"

namespace freshet::block {

std::string encodeSuperblock(Superblock superblock) {
    superblock.crc = crc32c(&superblock, offsetof(Superblock, crc));
    return std::string(reinterpret_cast<const char*>(&superblock), sizeof(superblock));
}

StatusOr<Superblock> decodeSuperblock(ByteView bytes) {
    if (bytes.size() != kSuperblockBytes) {
        return Status(Code::kCorruption, "the file ends before it");
    }
    auto superblock = loadLe<Superblock>(bytes.data());
    if (superblock.magic != kSuperblockMagic) {
        return Status(Code::kCorruption, "it does not begin with a superblock header");
    }
    if (!checksumMatches(superblock.crc, crc32c(bytes.data(), offsetof(Superblock, crc)))) {
        return Status(Code::kCorruption, "its checksum is wrong");
    }
    if (superblock.version > kSuperblockVersion || (superblock.flags & ~kSuperblockFlags) != 0) {
        return Status(Code::kUnsupported,
                      "it was written by a newer version: format " +
                          std::to_string(superblock.version) + ", flags " +
                          std::to_string(superblock.flags) + "; this one reads format " +
                          std::to_string(kSuperblockVersion) + ", flags up to " +
                          std::to_string(kSuperblockFlags));
    }
    if (superblock.deltaCount > kDeltaRunsMax) {
        return Status(Code::kCorruption, "it names more delta runs than it has room for");
    }
    return superblock;
}

}  // namespace freshet::block
