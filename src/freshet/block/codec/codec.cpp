// SPDX-License-Identifier: Apache-2.0
#include "freshet/block/codec/codec.h"

#include "freshet/base/assert.h"

#include <snappy.h>
#include <zstd.h>

#include <memory>

namespace freshet::block {
namespace {

/// Chosen by measurement: docs/decisions/0015.
constexpr int kZstdLevel = 1;

/// Appends up to `bytes` bytes to `out`, which `pack` writes; `pack` returns how many it used, 0
/// for none.
template <typename Pack>
bool appendPacked(std::string* out, size_t bytes, const Pack& pack) {
    const size_t before = out->size();
    out->resize(before + bytes);
    const size_t used = pack(out->data() + before);
    out->resize(before + used);
    return used != 0;
}

bool packZstd(ByteView plain, size_t room, std::string* out) {
    thread_local const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                                  ZSTD_freeCCtx);
    return context != nullptr && appendPacked(out, room, [&](char* to) -> size_t {
               const size_t used = ZSTD_compressCCtx(
                   context.get(), to, room, plain.data(), plain.size(), kZstdLevel);
               return ZSTD_isError(used) ? 0 : used;
           });
}

bool unpackZstd(ByteView packed, char* out, size_t bytes) {
    thread_local const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                                  ZSTD_freeDCtx);
    return context != nullptr &&
           ZSTD_decompressDCtx(context.get(), out, bytes, packed.data(), packed.size()) == bytes;
}

bool packSnappy(ByteView plain, size_t room, std::string* out) {
    return appendPacked(out, snappy::MaxCompressedLength(plain.size()), [&](char* to) {
        size_t used = 0;
        snappy::RawCompress(plain.data(), plain.size(), to, &used);
        return used <= room ? used : 0;
    });
}

bool unpackSnappy(ByteView packed, char* out, size_t bytes) {
    size_t claim = 0;
    return snappy::GetUncompressedLength(packed.data(), packed.size(), &claim) && claim == bytes &&
           snappy::RawUncompress(packed.data(), packed.size(), out);
}

}  // namespace

bool isKnownCodec(uint8_t codec) {
    return codec <= static_cast<uint8_t>(Codec::kSnappy);
}

bool packBody(Codec codec, ByteView plain, size_t room, std::string* out) {
    switch (codec) {
        case Codec::kZstd:
            return packZstd(plain, room, out);
        case Codec::kSnappy:
            return packSnappy(plain, room, out);
        case Codec::kNone:
            break;
    }
    invariant(false);
    return false;
}

bool unpackBody(Codec codec, ByteView packed, char* out, size_t bytes) {
    switch (codec) {
        case Codec::kZstd:
            return unpackZstd(packed, out, bytes);
        case Codec::kSnappy:
            return unpackSnappy(packed, out, bytes);
        case Codec::kNone:
            break;
    }
    invariant(false);
    return false;
}

}  // namespace freshet::block
