// SPDX-License-Identifier: Apache-2.0
/// The server's side of transport: reactors (one pinned thread per core), listeners, live sessions.
#pragma once

#include "freshet/base/status.h"
#include "freshet/sync/executor.h"
#include "freshet/transport/message_handler.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace freshet::transport {

struct ServerTransportOptions {
    std::vector<std::string> bindAddresses{"127.0.0.1"};  // numeric IPv4 or IPv6
    uint16_t port = 27017;                                // 0: the system chooses
    unsigned reactors = 0;                                // 0: one per core
    uint32_t connectionsMax = 65'536;
    /// Around each pass over a reactor's run queue, on its thread (the server opens and closes an
    /// epoch slice there). May be empty.
    std::function<void()> passBegin;
    std::function<void()> passEnd;
    /// On each reactor's thread, once, before it runs anything and after it has run everything.
    std::function<void()> threadBegin;
    std::function<void()> threadEnd;
};

struct ServerTransportStats {
    uint64_t current = 0;  // live sessions
    uint64_t totalCreated = 0;
    uint64_t rejected = 0;   // over connectionsMax
    uint64_t available = 0;  // connectionsMax - current
    uint64_t bytesIn = 0;    // of ended and live sessions
    uint64_t bytesOut = 0;
    uint64_t messagesIn = 0;
    uint64_t messagesOut = 0;
};

class ServerTransport {
public:
    /// Binds and listens; kUnavailable with the address in the text when it is in use, kIo
    /// otherwise.
    static StatusOr<std::unique_ptr<ServerTransport>> start(
        const ServerTransportOptions& options, std::shared_ptr<MessageHandlerFactory> handlers);
    /// shutdown() if not yet done.
    virtual ~ServerTransport() = default;
    /// Stops accepting, ends every session, waits for their completions, joins the reactors. Not
    /// from a reactor's thread.
    virtual void shutdown() = 0;
    /// The port in use.
    virtual uint16_t port() const = 0;
    virtual ServerTransportStats stats() const = 0;
    virtual std::vector<sync::Executor*> executors() = 0;
};

}  // namespace freshet::transport
