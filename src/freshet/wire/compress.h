// SPDX-License-Identifier: Apache-2.0
/// OP_COMPRESSED: one message inside another. Unpacking trusts neither the size that the sender
/// claims nor the data: the claim is compared with the limit before anything is allocated, and the
/// result with the claim before anything is handed out. Any thread.
#pragma once

#include "freshet/wire/frame.h"

#include <string>
#include <vector>

namespace freshet::wire {

/// The numbers of the protocol.
enum class Compressor : uint8_t { kNoop = 0, kSnappy = 1, kZlib = 2, kZstd = 3 };

/// "noop", "snappy", "zlib", "zstd".
std::string_view compressorName(Compressor compressor);
/// kNotFound for a name that is none of these.
StatusOr<Compressor> compressorNamed(std::string_view name);
/// The names that both sides have, in the order of `ours`; unknown names are left out.
std::vector<std::string> commonCompressors(const std::vector<std::string>& ours,
                                           const std::vector<std::string>& theirs);

/// True when the op code is OP_COMPRESSED. Any bytes.
bool isCompressed(ByteView message);

struct Unpacked {
    std::string message;  // whole, header included
    Compressor compressor = Compressor::kNoop;
};
/// The length of the message inside a compressed one, header included, as its sender claims: what
/// unpackMessage() will allocate. Errors as there.
StatusOr<size_t> unpackedBytes(ByteView message, size_t messageBytesMax = kMessageBytesMax);
/// The message inside a compressed one. kInvalid (kProtocolError): damaged, longer than
/// `messageBytesMax` with its header, compressed twice, or the result is not exactly as long as
/// claimed.
StatusOr<Unpacked> unpackMessage(ByteView message, size_t messageBytesMax = kMessageBytesMax);

/// Wraps a whole message. kLimit when the result is too long for a message (incompressible data
/// near the limit): send the original.
StatusOr<std::string> packMessage(ByteView message, Compressor compressor);

/// False for commands that contain secrets or come before the agreement: they and their replies are
/// never packed.
bool mayPack(std::string_view command);

}  // namespace freshet::wire
