// SPDX-License-Identifier: Apache-2.0
/// A client's sessions over RDMA: those that move from TCP when both sides support it, and those
/// made by a call.
#pragma once

#include "freshet/transport/connector.h"
#include "freshet/transport/session.h"

#include <memory>

namespace freshet::transport::rdma {

/// Serves the blocking pair. `tcp` is a blocking session on which nothing was sent yet; `socket` is
/// a duplicate of its descriptor, which this call takes over. When the connection cannot move,
/// returns `tcp` itself and reports why. Fails only when the connection does.
StatusOr<std::unique_ptr<Session>> moveClientSession(std::unique_ptr<Session> tcp,
                                                     int socket,
                                                     const ConnectOptions& options);

/// What a server says to an offer, for clients without a device. The rest as above.
Status askWithoutDevice(Session& tcp, int socket, uint32_t timeoutMs);

/// Serves the blocking pair. Errors as of connect(): there is no TCP to stay on.
StatusOr<std::unique_ptr<Session>> callServer(const ConnectOptions& options);

}  // namespace freshet::transport::rdma
