// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/file/framing.h"

#include "freshet/base/checksum.h"

#include <cstring>

namespace freshet::journal {
namespace {

constexpr size_t kRecordCrcFrom = offsetof(RecordHeader, type);

uint32_t recordCrc(const RecordHeader& header, ByteView body) {
    uint32_t crc = crc32c(reinterpret_cast<const char*>(&header) + kRecordCrcFrom,
                          sizeof(RecordHeader) - kRecordCrcFrom);
    return crc32c(body.data(), body.size(), crc);
}

uint32_t headerCrc(const BlockHeader& header) {
    return crc32c(&header, offsetof(BlockHeader, headerCrc));
}

bool endsRecord(const RecordHeader& record) {
    auto frag = static_cast<Fragment>(record.frag);
    return (frag == Fragment::kFull || frag == Fragment::kLast) &&
           (record.flags & kRecordInternal) == 0;
}

}  // namespace

void sealRecord(RecordHeader& header, ByteView body) {
    header.len = static_cast<uint32_t>(sizeof(RecordHeader) + body.size());
    header.crc = recordCrc(header, body);
}

void copyRecord(char* out, const RecordHeader& header, ByteView body) {
    std::memcpy(out, &header, sizeof(header));
    if (!body.empty()) {
        std::memcpy(out + sizeof(header), body.data(), body.size());
    }
    size_t used = sizeof(header) + body.size();
    std::memset(out + used, 0, roundUp(used, kUnitBytes) - used);
}

void putInternalNoop(char* out) {
    RecordHeader header{};
    header.type = static_cast<uint8_t>(RecordType::kNoop);
    header.flags = kRecordInternal;
    sealRecord(header, {});
    copyRecord(out, header, {});
}

SealedBlock sealBlock(char* block, uint32_t fill, const BlockPlace& place) {
    BlockHeader header{};
    SealedBlock sealed;
    for (uint32_t at = sizeof(BlockHeader); at < fill;) {
        auto record = loadLe<RecordHeader>(block + at);
        invariant(record.len >= sizeof(RecordHeader) && record.len <= fill - at);
        header.recordsCrc = crc32c(block + at, kRecordCrcFrom, header.recordsCrc);
        ++header.nRecs;
        sealed.records += endsRecord(record) ? 1 : 0;
        at += static_cast<uint32_t>(roundUp(record.len, kUnitBytes));
    }
    header.magic = kBlockMagic;
    header.formatVer = kBlockFormat;
    header.flags = place.flags;
    header.era = place.era;
    header.fill = fill;
    header.slotNo = place.slotNo;
    header.prevSlotNo = place.prevSlotNo;
    header.timeBase = place.timeBase;
    header.prevBlockCrc = place.prevBlockCrc;
    header.dbUuidLow = place.dbUuidLow;
    header.durableLsnAtWrite = place.durableLsn;
    header.headerCrc = headerCrc(header);
    std::memcpy(block, &header, sizeof(header));

    sealed.headerCrc = header.headerCrc;
    return sealed;
}

uint32_t padBlock(char* block, uint32_t fill) {
    const auto stored = static_cast<uint32_t>(roundUp(fill, kBlockAlign));
    std::memset(block + fill, 0, stored - fill);
    return stored;
}

bool readHeader(const char* p, BlockHeader* header) {
    std::memcpy(header, p, sizeof(*header));
    return header->magic == kBlockMagic && header->headerCrc == headerCrc(*header);
}

uint32_t wholeRecord(ByteView bytes) {
    if (bytes.size() < sizeof(RecordHeader)) {
        return 0;
    }
    const auto record = loadLe<RecordHeader>(bytes.data());
    if (record.len < sizeof(RecordHeader) || record.len > bytes.size() ||
        record.frag > static_cast<uint8_t>(Fragment::kLast)) {
        return 0;
    }
    const ByteView body = bytes.substr(sizeof(RecordHeader), record.len - sizeof(RecordHeader));
    return record.crc == recordCrc(record, body) ? record.len : 0;
}

bool recordsAreWhole(ByteView block, const BlockHeader& header) {
    uint32_t records = 0;
    uint32_t crc = 0;
    uint32_t at = sizeof(BlockHeader);
    while (at < header.fill) {
        const uint32_t bytes = wholeRecord(block.substr(at, header.fill - at));
        if (bytes == 0) {
            return false;
        }
        crc = crc32c(block.data() + at, kRecordCrcFrom, crc);
        ++records;
        at += static_cast<uint32_t>(roundUp(bytes, kUnitBytes));
    }
    return at == header.fill && records == header.nRecs && crc == header.recordsCrc;
}

bool endsWithClosing(ByteView block, const BlockHeader& header) {
    bool closing = false;
    for (uint32_t at = sizeof(BlockHeader); at < header.fill;) {
        const auto record = loadLe<RecordHeader>(block.data() + at);
        closing = (record.flags & kRecordClosing) != 0;
        at += static_cast<uint32_t>(roundUp(record.len, kUnitBytes));
    }
    return closing;
}

uint64_t uuidLow(const Options& options) {
    return loadLe<uint64_t>(options.dbUuid.data());
}

}  // namespace freshet::journal
