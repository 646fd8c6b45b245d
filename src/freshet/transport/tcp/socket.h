// SPDX-License-Identifier: Apache-2.0
/// What all kinds of stream session share: TCP and Unix, server and client. Includes Asio: for
/// tcp/*.cpp and tcp_client.cpp only.
#pragma once

#include "freshet/transport/message.h"
#include "freshet/transport/session.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include <array>
#include <span>

namespace freshet::transport {

using Socket = boost::asio::generic::stream_protocol::socket;
using Endpoint = boost::asio::generic::stream_protocol::endpoint;

/// Sets the options of a connected socket and fills in `peer`.
void prepareSocket(int socket, PeerInfo* peer);

/// "127.0.0.1:80", "[::1]:80", "/tmp/mongodb-27017.sock".
std::string endpointText(const Endpoint& endpoint);

/// What a failed or finished read means. kCancelled: the peer ended the connection between two
/// messages; kIo: in the middle of one, or the system failed.
Status readFailure(const boost::system::error_code& error, bool midMessage);
Status writeFailure(const boost::system::error_code& error);
Status closedHere();
/// True when the peer has ended its side, even if unread bytes are left.
bool hasPeerLeft(int socket);
/// True when the peer has ended its side and fewer than `bytes` unread bytes are left.
bool hasPeerLeftBefore(int socket, size_t bytes);

/// The pieces of a chain that are not sent yet, in the form that the system call takes.
class Unsent {
public:
    explicit Unsent(const ReplyChain& chain) : chain_(chain) {}
    bool isDone() const { return first_ == chain_.segments(); }
    bool isLast() const { return first_ + 1 == chain_.segments(); }
    boost::asio::const_buffer front() const {
        const ByteView segment = chain_.segment(first_);
        return boost::asio::const_buffer(segment.data(), segment.size()) + skip_;
    }
    using Pieces = std::array<boost::asio::const_buffer, ReplyChain::kSegmentsMax>;
    std::span<const boost::asio::const_buffer> pieces(Pieces* out) const {
        size_t count = 0;
        (*out)[count++] = front();
        for (size_t i = first_ + 1; i < chain_.segments(); ++i) {
            (*out)[count++] = {chain_.segment(i).data(), chain_.segment(i).size()};
        }
        return {out->data(), count};
    }
    void sent(size_t bytes) {
        while (!isDone() && bytes >= front().size()) {
            bytes -= front().size();
            skip_ = 0;
            ++first_;
        }
        skip_ += bytes;
    }

private:
    const ReplyChain& chain_;
    size_t first_ = 0;
    size_t skip_ = 0;  // bytes of the first piece that are sent
};

/// One attempt to send. A single piece, the usual case, takes the cheaper system call.
inline size_t writeSome(Socket& socket, const Unsent& unsent, boost::system::error_code& error) {
    if (unsent.isLast()) {
        return socket.write_some(boost::asio::buffer(unsent.front()), error);
    }
    Unsent::Pieces pieces;
    return socket.write_some(unsent.pieces(&pieces), error);
}

}  // namespace freshet::transport
