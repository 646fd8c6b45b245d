// SPDX-License-Identifier: Apache-2.0
/// Accepts connections for programs whose sessions block, each on threads of its own.
#pragma once

#include "freshet/transport/server_transport.h"
#include "freshet/transport/session.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace freshet::transport {

class Acceptor {
public:
    /// Listens as `options` says (the parts about addresses and sockets); the sessions have neither
    /// TLS nor RDMA. Each is passed to `onSession` on the acceptor's thread, which the callback
    /// must not block. Errors as in ServerTransport::start().
    static StatusOr<std::unique_ptr<Acceptor>> start(
        const ServerTransportOptions& options,
        std::function<void(std::unique_ptr<Session>)> onSession);
    /// Stops accepting: onSession is not called afterwards.
    virtual ~Acceptor() = default;
    virtual std::vector<std::string> addresses() const = 0;
    /// The port in use; 0 without one.
    virtual uint16_t port() const = 0;
};

}  // namespace freshet::transport
