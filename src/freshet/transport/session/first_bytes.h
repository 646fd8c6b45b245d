// SPDX-License-Identifier: Apache-2.0
/// Whether a new connection speaks TLS or the wire protocol, from its first bytes. Pure.
#pragma once

#include "freshet/base/bytes.h"

#include <cstdint>

namespace freshet::transport {

enum class FirstBytes : uint8_t { kTooFew, kPlain, kTls };

/// A TLS record begins with 0x16 0x03. So may a plain message of 790 bytes, or of any length that
/// ends in 0x0316. The rest of the first 16 bytes decides: a message has an op code there; a
/// client's first record has its kind (1) and then random bytes.
FirstBytes judgeFirstBytes(ByteView bytes);

}  // namespace freshet::transport
