// SPDX-License-Identifier: Apache-2.0
#include "freshet/wire/compress.h"

#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>

namespace freshet::wire {
namespace {

/// What follows the header: the inner op code, the inner size, the compressor.
constexpr size_t kPrefixBytes = 4 + 4 + 1;
constexpr size_t kOuterBytes = kHeaderBytes + kPrefixBytes;
constexpr std::array<std::string_view, 4> kNames = {"noop", "snappy", "zlib", "zstd"};

/// A context takes some hundred KiB, and longer to create than to compress a small message.
ZSTD_CCtx* zstdPacker() {
    thread_local std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                            ZSTD_freeCCtx);
    return context.get();
}
ZSTD_DCtx* zstdUnpacker() {
    thread_local std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                            ZSTD_freeDCtx);
    return context.get();
}

/// A claim of more than the format can make of `bytes` bytes is a lie, found before memory is
/// allocated for it. zstd has no useful bound.
bool isPlausible(Compressor compressor, size_t packedBytes, size_t claim) {
    constexpr size_t kSlack = 64;
    switch (compressor) {
        case Compressor::kNoop:
            return claim == packedBytes;
        case Compressor::kSnappy:  // 3 bytes can encode a copy of 64
            return claim <= packedBytes * 22 + kSlack;
        case Compressor::kZlib:
            return claim <= packedBytes * 1032 + kSlack;
        case Compressor::kZstd:
            return true;
    }
    return false;
}

/// Fills out[0, claim). False unless the data is whole and makes exactly that many bytes.
bool unpackTo(Compressor compressor, ByteView packed, char* out, size_t claim) {
    switch (compressor) {
        case Compressor::kNoop:
            std::copy(packed.begin(), packed.end(), out);  // isPlausible: the sizes agree
            return true;
        case Compressor::kSnappy: {
            size_t bytes = 0;
            return snappy::GetUncompressedLength(packed.data(), packed.size(), &bytes) &&
                   bytes == claim && snappy::RawUncompress(packed.data(), packed.size(), out);
        }
        case Compressor::kZlib: {
            uLongf made = claim;
            uLong used = packed.size();
            return ::uncompress2(reinterpret_cast<Bytef*>(out),
                                 &made,
                                 reinterpret_cast<const Bytef*>(packed.data()),
                                 &used) == Z_OK &&
                   made == claim && used == packed.size();
        }
        case Compressor::kZstd: {
            const size_t made =
                ZSTD_decompressDCtx(zstdUnpacker(), out, claim, packed.data(), packed.size());
            return !ZSTD_isError(made) && made == claim;
        }
    }
    return false;
}

size_t packedBytesMax(Compressor compressor, size_t bytes) {
    switch (compressor) {
        case Compressor::kNoop:
            return bytes;
        case Compressor::kSnappy:
            return snappy::MaxCompressedLength(bytes);
        case Compressor::kZlib:
            return ::compressBound(bytes);
        case Compressor::kZstd:
            return ZSTD_compressBound(bytes);
    }
    return bytes;
}

/// Returns how many of the `room` bytes at `out` were used. Never fails with packedBytesMax() of
/// room.
size_t packTo(Compressor compressor, ByteView plain, char* out, size_t room) {
    constexpr int kZstdLevel = 3;
    switch (compressor) {
        case Compressor::kNoop:
            std::copy(plain.begin(), plain.end(), out);
            return plain.size();
        case Compressor::kSnappy: {
            size_t bytes = room;
            snappy::RawCompress(plain.data(), plain.size(), out, &bytes);
            return bytes;
        }
        case Compressor::kZlib: {
            uLongf bytes = room;
            const int result = ::compress2(reinterpret_cast<Bytef*>(out),
                                           &bytes,
                                           reinterpret_cast<const Bytef*>(plain.data()),
                                           plain.size(),
                                           Z_DEFAULT_COMPRESSION);
            invariant(result == Z_OK);
            return bytes;
        }
        case Compressor::kZstd: {
            const size_t bytes =
                ZSTD_compressCCtx(zstdPacker(), out, room, plain.data(), plain.size(), kZstdLevel);
            invariant(!ZSTD_isError(bytes));
            return bytes;
        }
    }
    return 0;
}

/// A compressed message's parts: its claim is checked, its data is not.
struct Packed {
    Header header;  // of the inner message, except its length
    Compressor compressor;
    size_t claim;
    ByteView bytes;
};

StatusOr<Packed> parsePacked(ByteView message, size_t messageBytesMax) {
    if (message.size() < kOuterBytes || !isCompressed(message)) {
        return malformed("The message is not a whole compressed message");
    }
    FRESHET_ASSIGN_OR_RETURN(Header header, parseHeader(message));
    if (static_cast<size_t>(header.messageBytes) != message.size()) {
        return malformed("The message's length is not the one in its header");
    }
    header.opCode = loadLe<int32_t>(message.data() + kHeaderBytes);
    const auto claimed = loadLe<int32_t>(message.data() + kHeaderBytes + 4);
    const auto number = static_cast<uint8_t>(message[kHeaderBytes + 8]);
    const ByteView packed = message.substr(kOuterBytes);
    if (header.opCode == static_cast<int32_t>(OpCode::kCompressed)) {
        return malformed("A compressed message is compressed again");
    }
    if (number >= kNames.size()) {
        return malformed("Unknown compressor " + std::to_string(number));
    }
    const auto compressor = static_cast<Compressor>(number);
    const auto claim = static_cast<size_t>(std::max(claimed, 0));
    if (claimed < 0 || claim + kHeaderBytes > messageBytesMax ||
        !isPlausible(compressor, packed.size(), claim)) {
        return malformed("A compressed message claims to hold " + std::to_string(claimed) +
                         " bytes");
    }
    return Packed{header, compressor, claim, packed};
}

}  // namespace

std::string_view compressorName(Compressor compressor) {
    return kNames[static_cast<size_t>(compressor)];
}

StatusOr<Compressor> compressorNamed(std::string_view name) {
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) {
        return Status(Code::kNotFound, "There is no compressor '" + std::string(name) + "'");
    }
    return static_cast<Compressor>(found - kNames.begin());
}

std::vector<std::string> commonCompressors(const std::vector<std::string>& ours,
                                           const std::vector<std::string>& theirs) {
    std::vector<std::string> common;
    for (const std::string& name : ours) {
        if (compressorNamed(name).isOk() &&
            std::find(theirs.begin(), theirs.end(), name) != theirs.end()) {
            common.push_back(name);
        }
    }
    return common;
}

bool isCompressed(ByteView message) {
    return message.size() >= kHeaderBytes &&
           loadLe<int32_t>(message.data() + 12) == static_cast<int32_t>(OpCode::kCompressed);
}

StatusOr<size_t> unpackedBytes(ByteView message, size_t messageBytesMax) {
    FRESHET_ASSIGN_OR_RETURN(Packed packed, parsePacked(message, messageBytesMax));
    return kHeaderBytes + packed.claim;
}

StatusOr<Unpacked> unpackMessage(ByteView message, size_t messageBytesMax) {
    FRESHET_ASSIGN_OR_RETURN(Packed packed, parsePacked(message, messageBytesMax));
    Unpacked out;
    out.compressor = packed.compressor;
    out.message.resize(kHeaderBytes + packed.claim);
    char* to = out.message.data() + kHeaderBytes;
    if (!unpackTo(packed.compressor, packed.bytes, to, packed.claim)) {
        return malformed("A compressed message does not hold the " + std::to_string(packed.claim) +
                         " bytes that it claims");
    }
    packed.header.messageBytes = static_cast<int32_t>(out.message.size());
    storeHeader(out.message.data(), packed.header);
    return out;
}

StatusOr<std::string> packMessage(ByteView message, Compressor compressor) {
    invariant(message.size() >= kHeaderBytes);
    const ByteView plain = message.substr(kHeaderBytes);
    const size_t room = packedBytesMax(compressor, plain.size());
    std::string out(kOuterBytes + room, '\0');
    out.resize(kOuterBytes + packTo(compressor, plain, out.data() + kOuterBytes, room));
    if (out.size() > kMessageBytesMax) {
        return Status(Code::kLimit, "The compressed message is longer than a message may be");
    }
    FRESHET_ASSIGN_OR_RETURN(Header header, parseHeader(message));
    storeLe(out.data() + kHeaderBytes, header.opCode);
    storeLe(out.data() + kHeaderBytes + 4, static_cast<int32_t>(plain.size()));
    out[kHeaderBytes + 8] = static_cast<char>(compressor);
    header.messageBytes = static_cast<int32_t>(out.size());
    header.opCode = static_cast<int32_t>(OpCode::kCompressed);
    storeHeader(out.data(), header);
    return out;
}

bool mayPack(std::string_view command) {
    constexpr std::array<std::string_view, 12> kNever = {"hello",
                                                         "isMaster",
                                                         "ismaster",
                                                         "saslStart",
                                                         "saslContinue",
                                                         "getnonce",
                                                         "authenticate",
                                                         "createUser",
                                                         "updateUser",
                                                         "copydbSaslStart",
                                                         "copydbgetnonce",
                                                         "copydb"};
    return std::find(kNever.begin(), kNever.end(), command) == kNever.end();
}

}  // namespace freshet::wire
