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
    /// For the connection, for TLS and for each step of the move to RDMA; 0: no limit.
    uint32_t timeoutMs = 10'000;
    std::shared_ptr<const security::TlsContext> tls;  // null: plain
    /// With verbs: moves to RDMA if the server supports it, else stays on TCP and logs why.
    RdmaOptions rdma;
    /// Makes a call (calls.h) instead; `port` is then the server's port for calls. There is no TCP
    /// connection to fall back to. Needs verbs; excludes TLS.
    bool byCall = false;
    /// Called with the reason for staying on TCP, instead of logging it. On the connecting thread.
    std::function<void(const std::string&)> onFallback;
};

/// Blocks until connected. The session serves the blocking pair of calls (sourceMessage,
/// sinkMessage). kUnavailable when nothing listens there, kTimeout, kIo; kInvalid with the reason
/// when the TLS handshake fails.
StatusOr<std::unique_ptr<Session>> connect(const ConnectOptions& options);

}  // namespace freshet::transport
