// SPDX-License-Identifier: Apache-2.0
/// The server's side of transport: reactors (one pinned thread per core), listeners, live sessions.
#pragma once

#include "freshet/base/status.h"
#include "freshet/security/tls.h"
#include "freshet/sync/executor.h"
#include "freshet/sync/memory_pool.h"
#include "freshet/transport/message_handler.h"
#include "freshet/transport/rdma.h"
#include "freshet/transport/service_state_machine.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace freshet::transport {

/// What a listener does with connections that begin with TLS, and with plain ones.
enum class TlsMode : uint8_t {
    kDisabled,  // closes those that begin TLS
    kAllow,     // serves both (kPrefer differs only for connections that a server makes)
    kPrefer,
    kRequire,  // closes those that do not
};

struct ServerTransportOptions {
    /// Numeric addresses, host names (all that they resolve to), or the paths of Unix sockets.
    std::vector<std::string> bindAddresses{"127.0.0.1"};
    bool bindAll = false;   // all addresses of this machine, instead of bindAddresses
    bool ipv6 = false;      // host names and bindAll mean IPv6 too; numeric addresses always may
    uint16_t port = 27017;  // 0: the system chooses
    /// Also listens on <prefix>/mongodb-<port>.sock. Empty: it does not.
    std::string unixSocketPrefix;
    uint32_t unixSocketMode = 0700;
    unsigned reactors = 0;  // 0: one per core
    uint32_t connectionsMax = 65'536;

    TlsMode tlsMode = TlsMode::kDisabled;
    std::shared_ptr<const security::TlsContext> tls;  // unless kDisabled
    uint32_t tlsHandshakeMillisMax = 30'000;
    uint32_t tlsHandshakesMax = 1'024;  // at one time; a connection over it is closed

    /// Connections may move to RDMA when their clients ask for it.
    RdmaOptions rdma;

    /// Messages and replies are counted in it; null: nothing is counted.
    std::shared_ptr<sync::MemoryPool> memory;
    /// When the pool is short and a session has waited this long for memory, sessions that hold
    /// memory of the pool and have not moved a byte for as long are ended.
    uint32_t memoryPatienceMillis = 5'000;
    /// See MessageHandler::messageBytesMax().
    size_t limitedBytesMax = 16 << 20;

    /// When handlers still run after this time, shutdown() calls `shutdownOverdue` with their
    /// number, and goes on waiting if that returns. Empty: it just waits.
    uint32_t shutdownMillisMax = 15'000;
    std::function<void(uint64_t)> shutdownOverdue;

    /// Around each pass over a reactor's run queue, on its thread (the server opens and closes an
    /// epoch slice there). May be empty.
    std::function<void()> passBegin;
    std::function<void()> passEnd;
    /// In a pass in which MessageHandler::lookAhead() returned true for some messages, before these
    /// are handled. May be empty.
    std::function<void()> readAhead;
    /// Before the end of a pass that has taken 50 ms or more, on its thread: the pass has delayed
    /// every other session of the reactor. May be empty.
    std::function<void(uint64_t nanos)> longPass;
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
    /// By State. The time in a state is added when a session leaves it.
    std::array<uint64_t, kStateCount> nanosIn{};
    uint64_t longPasses = 0;  // see ServerTransportOptions::longPass
    uint64_t longestPassMicros = 0;
    RdmaStats rdma;
};

class ServerTransport {
public:
    /// Binds and listens; kUnavailable with the address in the text when it is in use, kIo
    /// otherwise.
    /// Raises the process's soft limit on open files to the hard one.
    static StatusOr<std::unique_ptr<ServerTransport>> start(
        const ServerTransportOptions& options, std::shared_ptr<MessageHandlerFactory> handlers);
    /// shutdown() if not yet done.
    virtual ~ServerTransport() = default;
    /// Stops accepting, ends every session, waits for their completions, joins the reactors. Not
    /// from a reactor's thread.
    virtual void shutdown() = 0;
    /// Connections that begin TLS from now on use this context. Not from a reactor's thread.
    virtual void replaceTls(std::shared_ptr<const security::TlsContext> tls) = 0;
    /// The addresses it listens on, such as "127.0.0.1:27017" and "/tmp/mongodb-27017.sock".
    virtual std::vector<std::string> addresses() const = 0;
    /// The port in use.
    virtual uint16_t port() const = 0;
    virtual ServerTransportStats stats() const = 0;
    virtual std::vector<sync::Executor*> executors() = 0;
};

}  // namespace freshet::transport
