// SPDX-License-Identifier: Apache-2.0
/// Listener: accepts on one reactor for all of them. Not SO_REUSEPORT: with it the kernel
/// distributes connections by a hash of their addresses, so eight clients on two cores are often
/// divided six to two for as long as they live. The accepting reactor sees how many sessions each
/// reactor has.
#pragma once

#include "freshet/base/status.h"
#include "freshet/transport/server_transport.h"
#include "freshet/transport/tcp/reactor.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace freshet::transport {

class Listener {
public:
    /// Binds and listens on every address and Unix socket of `options`. Before the reactor has
    /// started. `onSocket` is called on the reactor's thread and owns the descriptor.
    static StatusOr<std::unique_ptr<Listener>> open(Reactor& reactor,
                                                    const ServerTransportOptions& options,
                                                    std::function<void(int)> onSocket);
    /// REQUIRES: the reactor is not running, or stop() was called. Removes its Unix sockets.
    ~Listener();
    uint16_t port() const;
    std::vector<std::string> addresses() const;
    /// Reactor's thread, once.
    void start();
    /// Reactor's thread. onSocket is not called afterwards.
    void stop();

private:
    struct Impl;
    explicit Listener(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::transport
