// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/tcp/socket.h"

#include "freshet/sync/atomic.h"
#include "freshet/transport/tcp/tcp_session.h"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

namespace freshet::transport {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

/// MongoDB's text for the end of a Unix socket that has no name of its own.
constexpr std::string_view kUnnamed = "anonymous unix socket";
const char* const kUnknown = "unknown";

bool isPeerGone(const error_code& error) {
    return error == asio::error::eof || error == asio::error::connection_reset ||
           error == asio::error::broken_pipe;
}

std::string unixPath(const Endpoint& endpoint) {
    const size_t before = offsetof(sockaddr_un, sun_path);
    if (endpoint.size() <= before) {
        return std::string(kUnnamed);
    }
    sockaddr_un address{};
    std::memcpy(&address, endpoint.data(), std::min(endpoint.size(), sizeof(address)));
    return {address.sun_path, ::strnlen(address.sun_path, endpoint.size() - before)};
}

bool isLoopback(const Endpoint& endpoint) {
    const sockaddr* address = endpoint.data();
    if (address->sa_family == AF_INET6) {
        sockaddr_in6 six{};
        std::memcpy(&six, address, std::min(endpoint.size(), sizeof(six)));
        return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
    }
    sockaddr_in four{};
    std::memcpy(&four, address, std::min(endpoint.size(), sizeof(four)));
    return address->sa_family == AF_INET && (ntohl(four.sin_addr.s_addr) >> 24) == 127;
}

/// What getpeername or getsockname says.
std::optional<Endpoint> nameOf(int socket, int (*ask)(int, sockaddr*, socklen_t*)) {
    Endpoint endpoint;
    auto bytes = static_cast<socklen_t>(endpoint.capacity());
    if (ask(socket, endpoint.data(), &bytes) != 0 || bytes > endpoint.capacity()) {
        return std::nullopt;
    }
    endpoint.resize(bytes);
    return endpoint;
}

}  // namespace

uint64_t nextConnectionId() {
    static sync::Atomic<uint64_t> last{0};
    // [connection.id] relaxed: only uniqueness counts.
    return last.fetch_add(1, sync::kRelaxed) + 1;
}

std::string endpointText(const Endpoint& endpoint) {
    const int family = endpoint.data()->sa_family;
    if (family == AF_UNIX) {
        return unixPath(endpoint);
    }
    tcp::endpoint internet;
    if (endpoint.size() > internet.capacity() || (family != AF_INET && family != AF_INET6)) {
        return kUnknown;
    }
    std::memcpy(internet.data(), endpoint.data(), endpoint.size());
    const std::string address = internet.address().to_string();
    const std::string port = std::to_string(internet.port());
    return family == AF_INET6 ? "[" + address + "]:" + port : address + ":" + port;
}

void prepareSocket(int socket, PeerInfo* peer) {
    int family = AF_INET;
    socklen_t bytes = sizeof(family);
    ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &bytes);
    // Best effort: if the peer has gone already, the first read finds out.
    if (family != AF_UNIX) {
        const int on = 1;
        ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    }
    const std::optional<Endpoint> remote = nameOf(socket, ::getpeername);
    const std::optional<Endpoint> local = nameOf(socket, ::getsockname);
    peer->remote = remote.has_value() ? endpointText(*remote) : kUnknown;
    peer->local = local.has_value() ? endpointText(*local) : kUnknown;
    peer->kind = family == AF_UNIX ? "unix" : "tcp";
    peer->isLocal = family == AF_UNIX || (remote.has_value() && local.has_value() &&
                                          isLoopback(*remote) && isLoopback(*local));
}

std::string remoteOf(int socket) {
    const std::optional<Endpoint> remote = nameOf(socket, ::getpeername);
    return remote.has_value() ? endpointText(*remote) : kUnknown;
}

void watchClosely(int socket) {
    constexpr std::pair<int, int> kSettings[] = {
        {TCP_KEEPIDLE, 10}, {TCP_KEEPINTVL, 10}, {TCP_KEEPCNT, 3}};  // seconds, and number of
                                                                     // probes
    for (const auto& [name, value] : kSettings) {
        ::setsockopt(socket, IPPROTO_TCP, name, &value, sizeof(value));
    }
}

Status readFailure(const error_code& error, bool midMessage) {
    if (!isPeerGone(error)) {
        return Status(Code::kIo, "read: " + error.message());
    }
    return midMessage ? Status(Code::kIo, "The peer ended the connection within a message")
                      : Status(Code::kCancelled, "The peer ended the connection");
}

Status writeFailure(const error_code& error) {
    return Status(Code::kIo, "write: " + error.message());
}

Status closedHere() {
    return Status(Code::kCancelled, "The session was closed");
}

bool hasPeerLeft(int socket) {
    pollfd what{};
    what.fd = socket;
    what.events = POLLRDHUP;
    return ::poll(&what, 1, 0) > 0 && (what.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool hasPeerLeftBefore(int socket, size_t bytes) {
    int unread = 0;
    return hasPeerLeft(socket) && ::ioctl(socket, FIONREAD, &unread) == 0 &&
           static_cast<size_t>(unread) < bytes;
}

}  // namespace freshet::transport
