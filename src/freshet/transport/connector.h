// SPDX-License-Identifier: Apache-2.0
/// Makes client sessions.
#pragma once

#include "freshet/base/status.h"
#include "freshet/security/tls.h"
#include "freshet/transport/rdma.h"
#include "freshet/transport/session.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace freshet::transport {

struct ConnectOptions {
    std::string host = "127.0.0.1";  // name, numeric address, or the path of a Unix socket
    uint16_t port = 27017;
    /// For the connection, for TLS and for each step of the move to RDMA; 0: none.
    uint32_t timeoutMs = 10'000;
    std::shared_ptr<const security::TlsContext> tls;  // null: plain
    /// With verbs: goes on over RDMA when the server can, else over TCP with a line in the log.
    RdmaOptions rdma;
    /// Instead of all that: a call (calls.h) to the server's port for them, which `port` then is.
    /// Without TCP, so there is nothing to stay on. Needs the verbs; excludes TLS.
    bool byCall = false;
    /// Is told why it stays on TCP, in place of the log. On the thread that connects.
    std::function<void(const std::string&)> onFallback;
};

/// Blocks until connected. The session serves the blocking pair of calls (sourceMessage,
/// sinkMessage). kUnavailable when nobody listens there, kTimeout, kIo;
/// kInvalid when TLS is refused: the text says why.
StatusOr<std::unique_ptr<Session>> connect(const ConnectOptions& options);

}  // namespace freshet::transport
