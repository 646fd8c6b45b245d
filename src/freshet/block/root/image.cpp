// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/root/image.h"

#include "freshet/base/checksum.h"
#include "freshet/block/codec/codec.h"
#include "freshet/block/root/check.h"
#include "freshet/block/root/map_format.h"

namespace freshet::block {
namespace {

constexpr size_t kCrcFrom = offsetof(PageHeader, pageId);

std::string placeText(PageId page, const PagePlace& place) {
    return "page " + std::to_string(page) + " at offset " +
           std::to_string(place.extent.firstBlock * kBlockBytes) + ": ";
}

/// Returns empty if the bytes are the image that `place` names; else a description of the fault.
std::string complaint(PageId page, const PagePlace& place, ByteView bytes) {
    const auto header = loadLe<PageHeader>(bytes.data());
    if (header.magic != kPageMagic) {
        return "it does not begin with a page header";
    }
    if (header.storedLen < sizeof(PageHeader) || header.storedLen > bytes.size() ||
        header.storedLen + kBlockBytes <= bytes.size()) {
        return "its length does not fit its extent";
    }
    if (!checksumMatches(header.crc,
                         crc32c(bytes.data() + kCrcFrom, header.storedLen - kCrcFrom))) {
        return "its checksum is wrong";
    }
    if (!checksumMatches(place.crc, header.crc)) {
        return "it is whole, but not the image that was written here last (checksum in the map)";
    }
    if (header.pageId != page) {
        return "it is whole, but page " + std::to_string(header.pageId);
    }
    if (static_cast<uint32_t>(header.imageSeq) != place.seqLow) {
        return "it is whole, but not the image that was written here last (sequence number)";
    }
    return "";
}

/// Whether the header's length before compression is possible.
bool isPlausible(const PageHeader& header) {
    return header.codec == 0
               ? header.rawLen == header.storedLen
               : header.rawLen > header.storedLen && header.rawLen <= kCompressedRawBytesMax;
}

/// Undoes packImage() for the image in `buffer`. False: the body does not decompress to its stated
/// length.
bool unpackImage(PageHeader header, ByteView image, PageBuffer* buffer) {
    // The two buffers are swapped each time, so neither is allocated for every page.
    thread_local PageBuffer spare;
    char* plain = spare.reset(header.rawLen);
    if (!unpackBody(static_cast<Codec>(header.codec),
                    image.substr(sizeof(header)),
                    plain + sizeof(header),
                    header.rawLen - sizeof(header))) {
        return false;
    }
    header.storedLen = header.rawLen;
    header.codec = 0;
    storeLe(plain, header);
    std::swap(spare, *buffer);
    spare.trim();
    return true;
}

}  // namespace

bool packImage(ByteView image, Codec codec, std::string* packed) {
    const size_t blocks = blocksOf(image.size());
    if (blocks < 2 || image.size() > kCompressedRawBytesMax) {
        return false;
    }
    packed->assign(image.substr(0, sizeof(PageHeader)));
    const size_t room = (blocks - 1) * kBlockBytes - sizeof(PageHeader);
    return packBody(codec, image.substr(sizeof(PageHeader)), room, packed);
}

PagePlace sealImage(char* image, size_t bytes, const Plain& plain, uint64_t imageSeq) {
    invariant(bytes >= sizeof(PageHeader));
    auto header = loadLe<PageHeader>(image);
    invariant(header.pageId != 0);
    header.magic = kPageMagic;
    header.version = kPageVersion;
    header.storedLen = static_cast<uint32_t>(bytes);
    header.rawLen = static_cast<uint32_t>(plain.bytes);
    header.codec = static_cast<uint8_t>(plain.codec);
    header.cipher = 0;
    header.keyId = 0;
    header.tag = {};
    header.imageSeq = imageSeq;
    storeLe(image, header);
    header.crc = crc32c(image + kCrcFrom, bytes - kCrcFrom);
    storeLe(image, header);
    return {.extent = {}, .crc = header.crc, .seqLow = static_cast<uint32_t>(imageSeq), .note = 0};
}

StatusOr<size_t> bytesToRead(PageId page, const PagePlace& place) {
    if (place.extent.blocks == 0 || place.extent.blocks > kPlaceBlocksMax) {
        return Status(Code::kCorruption, placeText(page, place) + "its extent has no valid size");
    }
    return size_t{place.extent.blocks} * kBlockBytes;
}

StatusOr<ByteView> openImage(PageId page, const PagePlace& place, size_t got, PageBuffer* buffer) {
    FRESHET_ASSIGN_OR_RETURN(const size_t bytes, bytesToRead(page, place));
    if (got != bytes) {
        return Status(Code::kCorruption, placeText(page, place) + "the file ends in it");
    }
    char* stored = buffer->data();
    if (std::string text = complaint(page, place, {stored, bytes}); !text.empty()) {
        return Status(Code::kCorruption, placeText(page, place) + text);
    }
    const auto header = loadLe<PageHeader>(stored);
    if (header.version > kPageVersion || !isKnownCodec(header.codec) || header.cipher != 0) {
        return Status(Code::kUnsupported,
                      placeText(page, place) + "it was written by a newer version");
    }
    if (!isPlausible(header)) {
        return Status(Code::kCorruption, placeText(page, place) + "its two lengths do not agree");
    }
    const ByteView image(stored, header.storedLen);
    if (header.codec == 0) {
        return image;
    }
    if (!unpackImage(header, image, buffer)) {
        return Status(Code::kCorruption, placeText(page, place) + "it cannot be decompressed");
    }
    return ByteView(buffer->data(), header.rawLen);
}

StatusOr<ByteView> readImage(platform::File& file,
                             PageId page,
                             const PagePlace& place,
                             PageBuffer* buffer) {
    FRESHET_ASSIGN_OR_RETURN(const size_t bytes, bytesToRead(page, place));
    char* stored = buffer->reset(bytes);
    FRESHET_ASSIGN_OR_RETURN(const size_t got,
                             file.pread(stored, bytes, place.extent.firstBlock * kBlockBytes));
    return openImage(page, place, got, buffer);
}

}  // namespace freshet::block
