// SPDX-License-Identifier: Apache-2.0
/// Makes client sessions.
#pragma once

#include "freshet/base/status.h"
#include "freshet/security/tls.h"
#include "freshet/transport/session.h"

#include <cstdint>
#include <memory>
#include <string>

namespace freshet::transport {

struct ConnectOptions {
    std::string host = "127.0.0.1";  // name, numeric address, or the path of a Unix socket
    uint16_t port = 27017;
    uint32_t timeoutMs = 10'000;  // for the connection and for TLS, each; 0: none
    std::shared_ptr<const security::TlsContext> tls;  // null: plain
};

/// Blocks until connected. The session serves the blocking pair of calls (sourceMessage,
/// sinkMessage). kUnavailable when nobody listens there, kTimeout, kIo;
/// kInvalid when TLS is refused: the text says why.
StatusOr<std::unique_ptr<Session>> connect(const ConnectOptions& options);

}  // namespace freshet::transport
