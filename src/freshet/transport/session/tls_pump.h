// SPDX-License-Identifier: Apache-2.0
/// Moves bytes between a TLS channel and the rest of a session; both kinds of stream session use
/// it. One thread at a time.
#pragma once

#include "freshet/security/tls.h"
#include "freshet/transport/session/message_cutter.h"

#include <span>
#include <string>

namespace freshet::transport {

/// Decrypted bytes go to the cutter. False: there are none, feed the channel more.
StatusOr<bool> movePlain(security::TlsChannel& channel,
                         MessageCutter& cutter,
                         std::span<char> scratch);

/// Encrypts a chain in portions, so that a large reply is not in memory twice.
class Sealer {
public:
    Sealer(security::TlsChannel& channel, const ReplyChain& chain)
        : channel_(channel), chain_(chain) {}
    bool isDone() const { return segment_ == chain_.segments(); }
    /// The next bytes to send. REQUIRES: not isDone().
    StatusOr<std::string> next();

private:
    static constexpr size_t kPortionBytes = 256 * 1024;
    security::TlsChannel& channel_;
    const ReplyChain& chain_;
    size_t segment_ = 0;
    size_t offset_ = 0;
};

}  // namespace freshet::transport
