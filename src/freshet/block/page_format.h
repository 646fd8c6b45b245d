// SPDX-License-Identifier: Apache-2.0
/// Layout of a page image in the block file: this header, then the body; padded with zeros to whole
/// blocks. Little endian. docs/formats/block.md describes the whole file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace freshet::block {

inline constexpr size_t kBlockBytes = 4096;

/// Number of blocks for `bytes` bytes.
constexpr uint64_t blocksOf(size_t bytes) {
    return (bytes + kBlockBytes - 1) / kBlockBytes;
}
inline constexpr uint32_t kPageMagic = 0x47504846;  // "FHPG"
inline constexpr uint8_t kPageVersion = 1;

/// Page kinds, the low byte of PageHeader::flags.
enum class PageKind : uint8_t { kLeafBytes = 1, kInner = 2, kExtern = 3 };

/// PageHeader::codec: how the body is stored. The numbers are on disk.
enum class Codec : uint8_t { kNone = 0, kZstd = 1, kSnappy = 2 };

/// Larger images are not compressed, so a reader never allocates more than this for one, whatever
/// its header claims.
inline constexpr size_t kCompressedRawBytesMax = 1u << 20;

/// Fields marked B are set by block, the others by the caller, and opaque to block.
struct PageHeader {
    uint32_t magic = 0;              // B kPageMagic
    uint32_t crc = 0;                // B crc32c of bytes [8, storedLen)
    uint64_t pageId = 0;             // must be set; block checks it on reading
    uint32_t treeId = 0;             //
    uint32_t storedLen = 0;          // B header and body as stored
    uint32_t rawLen = 0;             // B header and body before compression
    uint32_t entries = 0;            //
    uint16_t flags = 0;              // PageKind in the low byte
    uint8_t level = 0;               //
    uint8_t version = 0;             // B kPageVersion
    uint16_t prefixLen = 0;          //
    uint16_t lowLen = 0;             //
    uint16_t highLen = 0;            //
    uint8_t codec = 0;               // B Codec
    uint8_t cipher = 0;              // B 0 = none; others are reserved for encryption
    uint16_t keyId = 0;              // B which key, with a cipher
    uint16_t pad = 0;                //
    uint32_t pad2 = 0;               //
    uint64_t rightId = 0;            // the page to the right, 0 = none
    uint64_t imageSeq = 0;           // B startNo:24 | counter:40
    std::array<char, 16> tag{};      // B authentication tag, with a cipher
    std::array<char, 8> reserved{};  //
};
static_assert(sizeof(PageHeader) == 96);
static_assert(offsetof(PageHeader, pageId) == 8 && offsetof(PageHeader, rightId) == 56 &&
              offsetof(PageHeader, imageSeq) == 64);

}  // namespace freshet::block
