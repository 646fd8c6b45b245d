// SPDX-License-Identifier: Apache-2.0
/// A server's sessions over RDMA: those that begin on TCP and move when their first message asks
/// for it, and those made by a call.
#pragma once

#include "freshet/transport/calls.h"
#include "freshet/transport/rdma/hub.h"
#include "freshet/transport/session.h"

#include <memory>

namespace freshet::transport::rdma {

/// Serves the async pair, on the hub's reactor; so does `tcp`. Until the first message has shown
/// what the client wants it costs one coroutine more than `tcp`, afterwards none.
std::unique_ptr<Session> makeServerSession(Hub& hub, std::unique_ptr<Session> tcp);

/// Accepts the call, on the hub's reactor, or refuses it: the status says why.
StatusOr<std::unique_ptr<Session>> takeCall(Hub& hub,
                                            std::unique_ptr<verbs::Call> call,
                                            uint64_t connectionId);

}  // namespace freshet::transport::rdma
