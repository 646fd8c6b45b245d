// SPDX-License-Identifier: Apache-2.0
/// Layout of a run: a header, then entries in rising page id order, then zeros up to whole blocks.
/// The page map is a base run and the delta runs after it, where later runs take precedence; the
/// list of late images has the same form. Little endian.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet::block {

inline constexpr uint32_t kRunMagic = 0x4e524846;  // "FHRN"
/// Version of runs that are written. A new form of runs also needs a flag, or a new version, of the
/// superblock, because that is where a reader refuses the file.
inline constexpr uint16_t kRunVersion = 2;
/// Runs without notes: an entry ends before that field. They can still be read.
inline constexpr uint16_t kRunVersionBare = 1;

enum class RunKind : uint16_t { kMapBase = 1, kMapDelta = 2, kLateImages = 3 };

struct RunHeader {
    uint32_t magic = kRunMagic;
    uint16_t version = kRunVersion;
    uint16_t kind = 0;          // RunKind
    uint64_t checkpointNo = 0;  // of the checkpoint that wrote it
    uint64_t count = 0;         // entries
    uint64_t dbUuidLow = 0;     // first eight bytes of the data directory's id
};

/// Where one page's image is stored.
///   WORD   firstBlock:40 | blocks:16 | flags:8   from the low bits up
struct MapEntry {
    uint64_t pageId = 0;
    uint64_t place = 0;   // blocks == 0: a tombstone, the page is gone (delta runs only)
    uint32_t crc = 0;     // PageHeader::crc of the image
    uint32_t seqLow = 0;  // low half of its PageHeader::imageSeq
    uint64_t note = 0;    // the owner's note on the image; 0: none
};
inline constexpr size_t kBareEntryBytes = offsetof(MapEntry, note);

inline constexpr unsigned kPlaceBlockBits = 40;
inline constexpr unsigned kPlaceCountBits = 16;
inline constexpr uint64_t kPlaceBlocksMax = (1u << kPlaceCountBits) - 1;

/// Flags of an entry: reserved, 0 in versions 1 and 2.
inline constexpr uint8_t kEntryCompressed = 1;
inline constexpr uint8_t kEntryEncrypted = 2;

static_assert(sizeof(RunHeader) == 32 && offsetof(RunHeader, count) == 16);
static_assert(sizeof(MapEntry) == 32 && offsetof(MapEntry, crc) == 16 && kBareEntryBytes == 24);

}  // namespace freshet::block
