// SPDX-License-Identifier: Apache-2.0
/// What the two kinds of TCP session share. Includes Asio: for tcp/*.cpp only.
#pragma once

#include "freshet/transport/message.h"
#include "freshet/transport/session.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <span>

namespace freshet::transport {

/// Takes the socket over, sets its options and fills in `peer`.
Status adoptSocket(boost::asio::ip::tcp::socket* out, int socket, PeerInfo* peer);

/// "127.0.0.1:80", "[::1]:80".
std::string endpointText(const boost::asio::ip::tcp::endpoint& endpoint);

/// What a failed or finished read means. kCancelled: the peer ended the connection between two
/// messages; kIo: in the middle of one, or the system failed.
Status readFailure(const boost::system::error_code& error, bool midMessage);
Status writeFailure(const boost::system::error_code& error);
Status closedHere();

/// A chain's pieces that are not sent yet, as the system wants them.
class Unsent {
public:
    explicit Unsent(const ReplyChain& chain) : chain_(chain) {
        for (size_t i = 0; i < chain.segments(); ++i) {
            pieces_[i] = {chain.segment(i).data(), chain.segment(i).size()};
        }
    }
    bool isDone() const { return first_ == chain_.segments(); }
    std::span<const boost::asio::const_buffer> pieces() const {
        return {pieces_.data() + first_, chain_.segments() - first_};
    }
    void sent(size_t bytes) {
        while (!isDone() && bytes >= pieces_[first_].size()) {
            bytes -= pieces_[first_++].size();
        }
        if (bytes > 0) {
            pieces_[first_] += bytes;
        }
    }

private:
    const ReplyChain& chain_;
    std::array<boost::asio::const_buffer, ReplyChain::kSegmentsMax> pieces_;
    size_t first_ = 0;
};

/// One attempt to send. A single piece, the usual case, takes the cheaper system call.
inline size_t writeSome(boost::asio::ip::tcp::socket& socket,
                        const Unsent& unsent,
                        boost::system::error_code& error) {
    auto pieces = unsent.pieces();
    return pieces.size() == 1 ? socket.write_some(boost::asio::buffer(pieces[0]), error)
                              : socket.write_some(pieces, error);
}

}  // namespace freshet::transport
