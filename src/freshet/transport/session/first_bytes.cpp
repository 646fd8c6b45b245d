// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/session/first_bytes.h"

#include "freshet/wire/frame.h"

namespace freshet::transport {

FirstBytes judgeFirstBytes(ByteView bytes) {
    constexpr char kHandshake = 0x16, kMajorVersion = 3, kClientHello = 1;
    if (bytes.empty()) {
        return FirstBytes::kTooFew;
    }
    if (bytes[0] != kHandshake || (bytes.size() > 1 && bytes[1] != kMajorVersion)) {
        return FirstBytes::kPlain;
    }
    if (bytes.size() < wire::kHeaderBytes) {
        return FirstBytes::kTooFew;
    }
    const auto opCode = static_cast<wire::OpCode>(loadLe<int32_t>(bytes.data() + 12));
    const bool isMessage = opCode == wire::OpCode::kMsg || opCode == wire::OpCode::kQuery ||
                           opCode == wire::OpCode::kCompressed;
    return isMessage || bytes[5] != kClientHello ? FirstBytes::kPlain : FirstBytes::kTls;
}

}  // namespace freshet::transport
