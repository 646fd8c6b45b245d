// SPDX-License-Identifier: Apache-2.0
/// Layout of a journal block: one slot as stored in a segment file. The header fills the first two
/// units of the slot's buffer, records follow. Little endian, no padding. A block begins where the
/// one before it ends if it fits into the rest of that page, else at the next page (a multiple of
/// kBlockAlign) or in the next segment; zeros between. In format 1 each block began a page.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet::journal {

inline constexpr uint32_t kBlockMagic = 0x4b424c4a;  // "JLBK"
inline constexpr uint16_t kBlockFormat = 2;
inline constexpr uint32_t kBlockAlign = 4096;

/// BlockHeader::flags, in all blocks of an era but its first: the witness (witness_format.h), or
/// the ring's file, exists, is durable and belongs to that era.
inline constexpr uint16_t kBlockWitnessed = 1;
inline constexpr uint16_t kBlockRing = 2;

struct BlockHeader {
    uint32_t magic;
    uint16_t formatVer;
    uint16_t flags;              // kBlockWitnessed, kBlockRing
    uint32_t era;                // which start of the server wrote it; never falls along the log
    uint32_t fill;               // bytes of header and records, a multiple of 64
    uint64_t slotNo;             // LSN of a record = slotNo << 24 | its offset in the block
    uint64_t prevSlotNo;         // of the block before; 0 in the first block of a log
    uint64_t timeBase;           // Timestamp of offset 0 (docs/design/journal.md, "Timestamps")
    uint32_t nRecs;              // records and fragments
    uint32_t prevBlockCrc;       // headerCrc of the block before
    uint64_t dbUuidLow;          // first eight bytes of the data directory's id
    uint64_t durableLsnAtWrite;  // everything below was already on stable storage
    uint8_t cipher;              // 0: plain. Reserved for encryption, with keyId and tag
    uint8_t reserved8;
    uint16_t keyId;
    uint32_t recordsCrc;  // crc32c over the first 8 bytes (len, crc) of each record in turn: ties
                          // the records to this header, so that a sector left over from an older
                          // block, whose record checksum is right, cannot pass as part of it
    char tag[16];
    char reserved[36];
    uint32_t headerCrc;  // crc32c of the 124 bytes before
};

static_assert(sizeof(BlockHeader) == 128);
static_assert(offsetof(BlockHeader, slotNo) == 16);
static_assert(offsetof(BlockHeader, nRecs) == 40);
static_assert(offsetof(BlockHeader, dbUuidLow) == 48);
static_assert(offsetof(BlockHeader, cipher) == 64);
static_assert(offsetof(BlockHeader, tag) == 72);
static_assert(offsetof(BlockHeader, headerCrc) == 124);

}  // namespace freshet::journal
