// SPDX-License-Identifier: Apache-2.0
/// Layout of a superblock, which describes the newest checkpoint. There are two copies, in block 0
/// and block 1 of the file; a checkpoint overwrites the copy of the last but one. Little endian.
/// docs/formats/block.md describes how a reader chooses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace freshet::block {

inline constexpr uint64_t kSuperblockMagic = 0x3152455055534846;  // "FHSUPER1"
inline constexpr uint32_t kSuperblockVersion = 1;
/// Superblock::flags: pages may be compressed. A program that cannot read them thus refuses the
/// file as a whole instead of reporting damaged pages.
inline constexpr uint32_t kSuperblockCompressed = 1;
/// Runs may be of version 2, with notes.
inline constexpr uint32_t kSuperblockNotes = 2;
inline constexpr uint32_t kSuperblockFlags = kSuperblockCompressed | kSuperblockNotes;  // all known
inline constexpr size_t kSuperblockBytes = 4096;
inline constexpr uint64_t kSuperblockCopies = 2;
inline constexpr size_t kDeltaRunsMax = 64;

/// Where a run is stored. blocks == 0: none.
struct RunRef {
    uint64_t firstBlock = 0;
    uint32_t blocks = 0;
    uint32_t crc = 0;    // crc32c of the run's header and entries
    uint64_t count = 0;  // entries
};

struct Superblock {
    uint64_t magic = kSuperblockMagic;
    uint32_t version = kSuperblockVersion;
    uint32_t flags = 0;  // an unknown flag is refused like a newer version
    std::array<char, 16> dbUuid{};
    uint64_t checkpointNo = 0;
    uint64_t redoLsn = 0;
    uint64_t clockTs = 0;
    uint64_t timeBase = 0;
    uint64_t nextPageId = 0;
    uint64_t catalogRootPage = 0;  // reserved
    uint64_t dataFileBlocks = 0;   // the file had at least this many
    uint32_t nextTreeId = 0;
    uint32_t startNo = 0;  // only the low 24 bits are used
    uint16_t keyId = 0;    // reserved for encryption, with cipher and keyCheck
    uint8_t cipher = 0;
    uint8_t pad = 0;
    uint32_t deltaCount = 0;  // how many of mapDelta are in use
    std::array<char, 16> keyCheck{};
    RunRef mapBase;
    RunRef lateImages;  // images that only the checkpoint's own flush made durable
    RunRef freeDir;     // reserved for saved free space; none in version 1
    std::array<RunRef, kDeltaRunsMax> mapDelta{};
    std::array<char, 2364> reserved{};
    uint32_t crc = 0;  // crc32c of all before; the last four bytes in every version
};
static_assert(sizeof(RunRef) == 24);
static_assert(sizeof(Superblock) == kSuperblockBytes);
static_assert(offsetof(Superblock, version) == 8 && offsetof(Superblock, dbUuid) == 16);
static_assert(offsetof(Superblock, checkpointNo) == 32 && offsetof(Superblock, nextTreeId) == 88);
static_assert(offsetof(Superblock, keyId) == 96 && offsetof(Superblock, keyCheck) == 104);
static_assert(offsetof(Superblock, mapBase) == 120 && offsetof(Superblock, mapDelta) == 192);
static_assert(offsetof(Superblock, reserved) == 1728 && offsetof(Superblock, crc) == 4092);

}  // namespace freshet::block
