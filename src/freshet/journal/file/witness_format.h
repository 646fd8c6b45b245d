// SPDX-License-Identifier: Apache-2.0
/// Layout of the witness, a file of one page beside the segments that records how far the log had
/// come. This header, then words, each in a cache line of its own. Little endian.
/// docs/formats/journal.md says what follows from them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet::journal {

inline constexpr const char* kWitnessName = "durable";
inline constexpr uint32_t kWitnessMagic = 0x5449574a;  // "JWIT"
inline constexpr uint16_t kWitnessFormat = 1;
inline constexpr size_t kWitnessBytes = 4096;
inline constexpr size_t kWitnessDurable = 64;   // offset of the word with the durable position
inline constexpr size_t kWitnessWritten = 128;  // of the word with the position that is in segments
/// Offset of a second durable word. Where words are written by system calls the two alternate,
/// because a power cut may leave one half written; else it is 0. A disk writes a sector as it was
/// at one moment, and at any moment one word at most is half written: in two sectors, of two
/// moments, both could be.
inline constexpr size_t kWitnessTwin = 192;
inline constexpr size_t kSmallestSectorBytes = 512;
static_assert(kWitnessDurable / kSmallestSectorBytes == kWitnessTwin / kSmallestSectorBytes);

struct WitnessHeader {
    uint32_t magic = kWitnessMagic;
    uint16_t formatVer = kWitnessFormat;
    uint16_t flags = 0;
    uint32_t era = 0;  // of the blocks that it covers
    uint32_t reserved = 0;
    uint64_t dbUuidLow = 0;
    uint64_t boot = 0;  // platform::FileSystem::bootNumber() when written
    char reserved2[28] = {};
    uint32_t crc = 0;  // crc32c of the 60 bytes before
};
static_assert(sizeof(WitnessHeader) == 64 && offsetof(WitnessHeader, crc) == 60);

}  // namespace freshet::journal
