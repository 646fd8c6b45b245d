// SPDX-License-Identifier: Apache-2.0
/// Layout of a record, or of one fragment of a large one, in a block. The header is followed by
/// body bytes and zeros up to the next multiple of 64. The content of the body (operations, event
/// section) is the engine's; kRecordHasEvents shows readers of events which records to open. No
/// field depends on the record's position, so header and checksum are made before it joins a slot:
/// LSN and Timestamp follow from the position.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet::journal {

enum class Fragment : uint8_t { kFull = 0, kFirst = 1, kMiddle = 2, kLast = 3 };

inline constexpr uint16_t kRecordInternal = 1;   // the journal's own: not handed to replay
inline constexpr uint16_t kRecordHasEvents = 2;  // the body has an event section
inline constexpr uint16_t kRecordClosing = 4;    // internal; the last of an era that was closed

struct RecordHeader {
    uint32_t len;  // header and body, without the zeros
    uint32_t crc;  // crc32c of the bytes from `type` to the end of the body, in plain text
    uint8_t type;  // RecordType
    uint8_t frag;  // Fragment
    uint16_t flags;
    uint16_t participant;
    uint16_t reserved16;
    uint64_t recId;  // LSN of the kFirst fragment in kMiddle and kLast, else 0
    uint32_t term;   // 0; reserved for replicated logs
    uint32_t reserved32;
};

static_assert(sizeof(RecordHeader) == 32);
static_assert(offsetof(RecordHeader, type) == 8);
static_assert(offsetof(RecordHeader, recId) == 16);
static_assert(offsetof(RecordHeader, term) == 24);

}  // namespace freshet::journal
