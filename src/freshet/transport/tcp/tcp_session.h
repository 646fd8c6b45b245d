// SPDX-License-Identifier: Apache-2.0
/// Makes TCP sessions from connected sockets. The socket passes to the session, also on failure.
#pragma once

#include "freshet/transport/session.h"
#include "freshet/transport/tcp/reactor.h"

#include <memory>

namespace freshet::transport {

/// Serves the async pair. On the reactor's thread; the session must die there too.
StatusOr<std::unique_ptr<Session>> makeReactorSession(Reactor& reactor,
                                                      int socket,
                                                      uint64_t connectionId);
/// Serves the blocking pair.
StatusOr<std::unique_ptr<Session>> makeBlockingSession(int socket, uint64_t connectionId);

/// Unique in this process.
uint64_t nextConnectionId();

}  // namespace freshet::transport
