// SPDX-License-Identifier: Apache-2.0
/// The four messages of a login: parsing and building. Views point into the parsed message. Pure.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"

#include <string>

namespace freshet::security {

inline constexpr size_t kScramMessageBytesMax = 4096;

struct ClientFirst {
    ByteView gs2Header;  // "n,," or "y,,"
    ByteView bare;       // the rest
    std::string user;
    ByteView nonce;
};
StatusOr<ClientFirst> parseClientFirst(ByteView message);

struct ServerFirst {
    ByteView nonce;
    std::string salt;
    uint32_t iterations = 0;
};
StatusOr<ServerFirst> parseServerFirst(ByteView message);

struct ClientFinal {
    ByteView withoutProof;
    std::string channelBinding;
    ByteView nonce;
    std::string proof;
};
StatusOr<ClientFinal> parseClientFinal(ByteView message);

/// "=2C" for commas, "=3D" for equals signs.
std::string escapeName(const std::string& name);

}  // namespace freshet::security
