// SPDX-License-Identifier: Apache-2.0
/// A server's session that begins on TCP and moves to RDMA when its first message asks for it.
#pragma once

#include "freshet/transport/rdma/hub.h"
#include "freshet/transport/session.h"

#include <memory>

namespace freshet::transport::rdma {

/// Serves the async pair, on the hub's reactor; `tcp` does too. Until the first message has shown
/// what the client wants it is one coroutine more than `tcp`, afterwards none.
std::unique_ptr<Session> makeServerSession(Hub& hub, std::unique_ptr<Session> tcp);

}  // namespace freshet::transport::rdma
