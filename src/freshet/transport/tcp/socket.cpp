// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/tcp/socket.h"

#include "freshet/sync/atomic.h"
#include "freshet/transport/tcp/tcp_session.h"

#include <unistd.h>

namespace freshet::transport {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

bool isPeerGone(const error_code& error) {
    return error == asio::error::eof || error == asio::error::connection_reset ||
           error == asio::error::broken_pipe;
}

}  // namespace

uint64_t nextConnectionId() {
    static sync::Atomic<uint64_t> last{0};
    // [connection.id] relaxed: only uniqueness counts.
    return last.fetch_add(1, sync::kRelaxed) + 1;
}

std::string endpointText(const tcp::endpoint& endpoint) {
    const std::string address = endpoint.address().to_string();
    const std::string port = std::to_string(endpoint.port());
    return endpoint.address().is_v6() ? "[" + address + "]:" + port : address + ":" + port;
}

Status adoptSocket(tcp::socket* out, int socket, PeerInfo* peer) {
    error_code error;
    // The protocol is for Asio's records only; the socket has long had its own.
    out->assign(tcp::v4(), socket, error);
    if (error) {
        ::close(socket);
        return Status(Code::kIo, "Cannot adopt a socket: " + error.message());
    }
    // Best effort: a peer that is gone already is found by the first read.
    out->set_option(tcp::no_delay(true), error);
    out->set_option(asio::socket_base::keep_alive(true), error);
    const tcp::endpoint remote = out->remote_endpoint(error);
    peer->remote = error ? "unknown" : endpointText(remote);
    const tcp::endpoint local = out->local_endpoint(error);
    peer->local = error ? "unknown" : endpointText(local);
    peer->kind = "tcp";
    return Status::ok();
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

}  // namespace freshet::transport
