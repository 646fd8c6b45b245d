// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/connector.h"
#include "freshet/transport/tcp/socket.h"
#include "freshet/transport/tcp/tcp_session.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>

namespace freshet::transport {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

/// Sockets want a context, though nobody runs this one: all calls on them block.
asio::io_context& clientContext() {
    static asio::io_context context;
    return context;
}

class BlockingSession final : public Session {
public:
    BlockingSession() : socket_(clientContext()), cutter_(blocks_) {}

    Status adopt(int socket, uint64_t connectionId) {
        peer_.connectionId = connectionId;
        FRESHET_RETURN_IF_ERROR(adoptSocket(&socket_, socket, &peer_));
        error_code error;
        socket_.native_non_blocking(false, error);
        return error ? Status(Code::kIo, "Cannot make a socket block: " + error.message())
                     : Status::ok();
    }

    StatusOr<Message> sourceMessage() override;
    Status sinkMessage(ReplyChain chain) override;
    sync::Task<StatusOr<Message>> asyncSourceMessage() override {
        co_return Status(Code::kUnsupported, "A blocking session has no executor");
    }
    sync::Task<Status> asyncSinkMessage(ReplyChain) override {
        co_return Status(Code::kUnsupported, "A blocking session has no executor");
    }
    void close() override {
        // [client.close] release: pairs with [client.closed]. The shutdown wakes a blocked call;
        // the descriptor stays ours until the destructor, so nobody can be given its number.
        closed_.store(1, sync::kRelease);
        error_code ignored;
        socket_.shutdown(tcp::socket::shutdown_both, ignored);
    }
    const PeerInfo& peer() const override { return peer_; }
    SessionStats stats() const override { return stats_; }

private:
    static constexpr size_t kScratchBytes = 16 * 1024;
    bool isClosed() const {
        // [client.closed] acquire: pairs with [client.close].
        return closed_.load(sync::kAcquire) != 0;
    }

    tcp::socket socket_;
    PeerInfo peer_;
    BlockPool blocks_;
    MessageCutter cutter_;
    char scratch_[kScratchBytes];
    SessionStats stats_;
    sync::Atomic<uint32_t> closed_{0};
};

StatusOr<Message> BlockingSession::sourceMessage() {
    while (!isClosed()) {
        Message message;
        FRESHET_ASSIGN_OR_RETURN(bool found, cutter_.next(&message));
        if (found) {
            ++stats_.messagesIn;
            return message;
        }
        const std::span<char> room = cutter_.target(scratch_);
        error_code error;
        const size_t bytes = socket_.read_some(asio::buffer(room.data(), room.size()), error);
        if (error) {
            return isClosed() ? closedHere() : readFailure(error, cutter_.isMidMessage());
        }
        cutter_.arrived(room.data(), bytes);
        stats_.bytesIn += bytes;
    }
    return closedHere();
}

Status BlockingSession::sinkMessage(ReplyChain chain) {
    Unsent unsent(chain);
    while (!unsent.isDone()) {
        if (isClosed()) {
            return closedHere();
        }
        error_code error;
        const size_t bytes = writeSome(socket_, unsent, error);
        if (error) {
            return isClosed() ? closedHere() : writeFailure(error);
        }
        unsent.sent(bytes);
        stats_.bytesOut += bytes;
    }
    ++stats_.messagesOut;
    return Status::ok();
}

/// Connects `socket` to the first address that answers.
Status connectSocket(asio::io_context* context,
                     tcp::socket* socket,
                     const tcp::resolver::results_type& addresses,
                     const ConnectOptions& options) {
    error_code result = asio::error::would_block;
    asio::async_connect(
        *socket, addresses, [&](error_code error, const tcp::endpoint&) { result = error; });
    if (options.timeoutMs == 0) {
        context->run();
    } else {
        context->run_for(std::chrono::milliseconds(options.timeoutMs));
    }
    const std::string where = options.host + ":" + std::to_string(options.port);
    if (result == asio::error::would_block) {
        return Status(Code::kTimeout, "No answer from " + where);
    }
    if (result == asio::error::connection_refused) {
        return Status(Code::kUnavailable, "Nobody listens on " + where);
    }
    return result ? Status(Code::kIo, "Cannot connect to " + where + ": " + result.message())
                  : Status::ok();
}

}  // namespace

StatusOr<std::unique_ptr<Session>> makeBlockingSession(int socket, uint64_t connectionId) {
    auto session = std::make_unique<BlockingSession>();
    FRESHET_RETURN_IF_ERROR(session->adopt(socket, connectionId));
    return std::unique_ptr<Session>(std::move(session));
}

StatusOr<std::unique_ptr<Session>> connect(const ConnectOptions& options) {
    asio::io_context context(1);  // its own, so that the timeout is a bound on running it
    tcp::socket socket(context);
    error_code error;
    const auto addresses =
        tcp::resolver(context).resolve(options.host, std::to_string(options.port), error);
    if (error) {
        return Status(Code::kUnavailable,
                      "Cannot find host " + options.host + ": " + error.message());
    }
    FRESHET_RETURN_IF_ERROR(connectSocket(&context, &socket, addresses, options));
    const int connected = socket.release(error);
    if (error) {
        return Status(Code::kIo, "Cannot release a socket: " + error.message());
    }
    return makeBlockingSession(connected, nextConnectionId());
}

}  // namespace freshet::transport
