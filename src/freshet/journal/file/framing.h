// SPDX-License-Identifier: Apache-2.0
/// Framing: makes and checks records and blocks in memory. The write path and the scan both use it,
/// so that sealing and verifying share one definition.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/journal/file/block_format.h"
#include "freshet/journal/file/record_format.h"
#include "freshet/journal/journal.h"
#include "freshet/journal/slot/lsn.h"

#include <cstdint>

namespace freshet::journal {

constexpr uint64_t roundUp(uint64_t bytes, uint64_t step) {
    return (bytes + step - 1) / step * step;
}

/// Units that a record of `bodyBytes` takes.
constexpr uint32_t recordUnits(size_t bodyBytes) {
    return static_cast<uint32_t>(roundUp(sizeof(RecordHeader) + bodyBytes, kUnitBytes) /
                                 kUnitBytes);
}

/// Fills in len and crc. The rest of `header` must be final.
void sealRecord(RecordHeader& header, ByteView body);
/// Writes header, body and the zeros behind it: recordUnits(body.size()) units at `out`.
void copyRecord(char* out, const RecordHeader& header, ByteView body);
/// Writes a whole NOOP record, marked as the journal's own, at `out`: one unit.
void putInternalNoop(char* out);

/// The header fields of a block that do not follow from its records.
struct BlockPlace {
    uint16_t flags = 0;
    uint32_t era = 0;
    uint64_t slotNo = 0;
    uint64_t prevSlotNo = 0;
    uint64_t timeBase = 0;
    uint32_t prevBlockCrc = 0;
    uint64_t dbUuidLow = 0;
    uint64_t durableLsn = 0;
};
/// The result of sealBlock().
struct SealedBlock {
    uint32_t headerCrc = 0;
    uint32_t records = 0;  // whole ones that are not internal; a fragmented one counts at its end
};
/// Writes the header in front of the records in [128, fill).
SealedBlock sealBlock(char* block, uint32_t fill, const BlockPlace& place);
/// Writes zeros behind the records up to the end of a page, for a block that begins one. Returns
/// the bytes to store. `block` has room for them.
uint32_t padBlock(char* block, uint32_t fill);

/// True when `p` holds a header with the right magic and checksum; no other field is checked. `p`
/// has sizeof(BlockHeader) bytes.
bool readHeader(const char* p, BlockHeader* header);
/// Length of the record, or fragment, at the start of `bytes`, without the zeros behind it. 0: no
/// whole record begins there.
uint32_t wholeRecord(ByteView bytes);
/// True when the records in `block` are exactly those that its header was sealed over.
bool recordsAreWhole(ByteView block, const BlockHeader& header);
/// True when the last record of such a block is the one that close() appends.
bool endsWithClosing(ByteView block, const BlockHeader& header);
/// First eight bytes of a data directory's id.
uint64_t uuidLow(const Options& options);

/// A log whose oldest block has this header has everything from this position on. 0: it is the
/// first block ever.
constexpr Lsn historyBegins(const BlockHeader& header) {
    if (header.prevSlotNo != 0) {
        return slotStart(header.prevSlotNo + 1);
    }
    return header.slotNo == 1 ? 0 : slotStart(header.slotNo);  // repair gave up what was before
}

/// A record or fragment in a block.
struct RecordPart {
    uint32_t offset = 0;
    RecordHeader header{};
    ByteView body;
};
/// The record at `offset` < fill of a block for which recordsAreWhole() has held. Sets *next to the
/// offset behind it, which is `fill` after the last one.
inline RecordPart recordAt(ByteView block, uint32_t offset, uint32_t* next) {
    RecordPart part{offset, loadLe<RecordHeader>(block.data() + offset), {}};
    part.body = block.substr(offset + sizeof(RecordHeader), part.header.len - sizeof(RecordHeader));
    *next = offset + static_cast<uint32_t>(roundUp(part.header.len, kUnitBytes));
    return part;
}

}  // namespace freshet::journal
