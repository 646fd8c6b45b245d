// SPDX-License-Identifier: Apache-2.0
/// Proxy: carries the messages of drivers without RDMA over RDMA to a server.
#pragma once

#include "freshet/base/status.h"
#include "freshet/transport/verbs.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace freshet::proxy {

struct ProxyOptions {
    std::string listenHost = "127.0.0.1";  // or the path of a Unix socket
    uint16_t listenPort = 27018;           // 0: the system chooses
    std::string serverHost;
    uint16_t serverPort = 27017;
    bool requireRdma = false;  // else a connection that cannot move stays on TCP
    /// Connections of drivers at one time; each has two threads here.
    uint32_t connectionsMax = 1'000;
    uint32_t connectMillis = 5'000;   // for the connection to the server, and to move it
    uint32_t probeMillisMax = 1'000;  // as in transport::RdmaOptions
    /// Null: everything stays on TCP.
    std::shared_ptr<transport::verbs::Verbs> verbs;
};

struct ProxyStats {
    uint64_t current = 0;   // live connections of drivers
    uint64_t overRdma = 0;  // carried over RDMA, in all
    uint64_t overTcp = 0;
    uint64_t refused = 0;  // too many, no server, or no RDMA where it is required
};

class Proxy {
public:
    /// Starts listening. Errors as in transport::Acceptor.
    static StatusOr<std::unique_ptr<Proxy>> start(const ProxyOptions& options);
    /// Ends all connections; waits for those that are being made.
    virtual ~Proxy() = default;
    virtual std::vector<std::string> addresses() const = 0;
    virtual uint16_t port() const = 0;
    virtual ProxyStats stats() const = 0;
};

}  // namespace freshet::proxy
