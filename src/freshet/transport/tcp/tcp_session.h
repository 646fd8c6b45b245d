// SPDX-License-Identifier: Apache-2.0
/// Makes sessions from connected sockets, TCP or Unix. The session takes the socket over, also on
/// failure.
#pragma once

#include "freshet/transport/server_transport.h"
#include "freshet/transport/session.h"
#include "freshet/transport/tcp/reactor.h"

#include <memory>

namespace freshet::transport {

/// What a server's sessions must know about TLS.
struct TlsPolicy {
    TlsMode tlsMode = TlsMode::kDisabled;
    std::shared_ptr<const security::TlsContext> tls;
    uint32_t handshakeMillisMax = 30'000;
    uint32_t handshakesMax = 1'024;  // of one reactor
};

/// Serves the async pair. On the reactor's thread; the session must die there too. `policy` is read
/// when the first bytes come and outlives the session.
StatusOr<std::unique_ptr<Session>> makeReactorSession(Reactor& reactor,
                                                      int socket,
                                                      uint64_t connectionId,
                                                      const TlsPolicy& policy);
/// Serves the blocking pair. With `tls`, makes the handshake, within `timeoutMs` unless that is 0;
/// `peerName` is the host name that the caller asked for.
StatusOr<std::unique_ptr<Session>> makeBlockingSession(
    int socket,
    uint64_t connectionId,
    std::shared_ptr<const security::TlsContext> tls = nullptr,
    const std::string& peerName = "",
    uint32_t timeoutMs = 0);

/// The peer's address, of a socket that no session has yet.
std::string remoteOf(int socket);
/// Sets keepalive options on a TCP connection that is silent and only shows whether its peer lives:
/// if the host vanishes, the connection ends within a minute. Best effort.
void watchClosely(int socket);

/// Unique in this process.
uint64_t nextConnectionId();

}  // namespace freshet::transport
