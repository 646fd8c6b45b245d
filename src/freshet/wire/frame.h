// SPDX-License-Identifier: Apache-2.0
/// The 16-byte header that starts every message: all that a transport needs to cut a stream into
/// messages. Pure bytes and types.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"

#include <cstdint>
#include <string>

namespace freshet::wire {

inline constexpr uint32_t kHeaderBytes = 16;
inline constexpr uint32_t kMessageBytesMax = 48'000'000;

enum class OpCode : int32_t {
    kReply = 1,
    kUpdate = 2001,
    kInsert = 2002,
    kQuery = 2004,
    kGetMore = 2005,
    kDelete = 2006,
    kKillCursors = 2007,
    kCompressed = 2012,
    kMsg = 2013,
};

struct Header {
    int32_t messageBytes = 0;  // whole message, header included
    int32_t requestId = 0;
    int32_t responseTo = 0;
    int32_t opCode = 0;
};

/// kInvalid (kProtocolError).
Status malformed(std::string text);

/// REQUIRES: bytes.size() >= kHeaderBytes. kInvalid (kProtocolError) unless kHeaderBytes <=
/// messageBytes <= kMessageBytesMax: checked before anything of that size is allocated.
StatusOr<Header> parseHeader(ByteView bytes);
/// REQUIRES: room for kHeaderBytes at `out`.
void storeHeader(char* out, const Header& header);

}  // namespace freshet::wire
