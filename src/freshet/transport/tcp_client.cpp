// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/clock.h"
#include "freshet/transport/connector.h"
#include "freshet/transport/rdma/client_session.h"
#include "freshet/transport/rdma_question.h"
#include "freshet/transport/session/blocking_session.h"
#include "freshet/transport/session/tls_pump.h"
#include "freshet/transport/tcp/socket.h"
#include "freshet/transport/tcp/tcp_session.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>

namespace freshet::transport {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

/// Sockets need a context, though nothing runs this one: all calls on them block.
asio::io_context& clientContext() {
    static asio::io_context context;
    return context;
}

class SocketSession final : public BlockingSession {
public:
    SocketSession() : socket_(clientContext()), cutter_(blocks_) {}

    Status adopt(int socket, uint64_t connectionId) {
        peer_.connectionId = connectionId;
        prepareSocket(socket, &peer_);
        error_code error;
        const int family = peer_.kind == "unix" ? AF_UNIX : AF_INET;  // Asio only keeps it
        socket_.assign(boost::asio::generic::stream_protocol(family, 0), socket, error);
        if (error) {
            ::close(socket);
            return Status(Code::kIo, "Cannot adopt a socket: " + error.message());
        }
        socket_.native_non_blocking(false, error);
        return error ? Status(Code::kIo, "Cannot make a socket block: " + error.message())
                     : Status::ok();
    }
    Status shakeHands(std::shared_ptr<const security::TlsContext> tls,
                      const std::string& peerName,
                      uint32_t timeoutMs);

    StatusOr<Message> sourceMessage() override;
    Status sinkMessage(ReplyChain chain) override;
    void close() override {
        // The shutdown wakes a blocked call; the descriptor stays ours until the destructor, so its
        // number cannot be reused meanwhile.
        noteClosed();
        error_code ignored;
        socket_.shutdown(Socket::shutdown_both, ignored);
    }
    void setMessageBytesMax(size_t bytes) override { cutter_.setMessageBytesMax(bytes); }
    const PeerInfo& peer() const override { return peer_; }
    SessionStats stats() const override { return stats_; }

private:
    static constexpr size_t kScratchBytes = 16 * 1024;
    StatusOr<size_t> receive(std::span<char> room);
    /// Blocks until more is in the cutter.
    Status readMore();
    Status readMoreTls();
    Status send(ByteView bytes);

    Socket socket_;
    PeerInfo peer_;
    BlockPool blocks_;
    MessageCutter cutter_;
    std::unique_ptr<security::TlsChannel> channel_;  // null: plain
    char scratch_[kScratchBytes];
    SessionStats stats_;
};

StatusOr<size_t> SocketSession::receive(std::span<char> room) {
    error_code error;
    const size_t bytes = socket_.read_some(asio::buffer(room.data(), room.size()), error);
    if (error) {
        return isClosed() ? closedHere() : readFailure(error, cutter_.isMidMessage());
    }
    stats_.bytesIn += bytes;
    return bytes;
}

Status SocketSession::readMore() {
    if (channel_ != nullptr) {
        return readMoreTls();
    }
    const std::span<char> room = cutter_.target(scratch_);
    FRESHET_ASSIGN_OR_RETURN(size_t bytes, receive(room));
    cutter_.arrived(room.data(), bytes);
    return Status::ok();
}

Status SocketSession::readMoreTls() {
    while (!isClosed()) {
        FRESHET_ASSIGN_OR_RETURN(bool moved, movePlain(*channel_, cutter_, scratch_));
        if (moved) {
            return Status::ok();
        }
        if (channel_->isPeerClosed()) {
            return readFailure(asio::error::eof, cutter_.isMidMessage());
        }
        FRESHET_ASSIGN_OR_RETURN(size_t bytes, receive(scratch_));
        const Status fed = channel_->feedCipher({scratch_, bytes});
        const Status sent = send(channel_->drainCipher());
        FRESHET_RETURN_IF_ERROR(fed);
        FRESHET_RETURN_IF_ERROR(sent);
    }
    return closedHere();
}

StatusOr<Message> SocketSession::sourceMessage() {
    while (!isClosed()) {
        Message message;
        FRESHET_ASSIGN_OR_RETURN(bool found, cutter_.next(&message));
        if (found) {
            ++stats_.messagesIn;
            return message;
        }
        FRESHET_RETURN_IF_ERROR(readMore());
    }
    return closedHere();
}

Status SocketSession::send(ByteView bytes) {
    error_code error;
    stats_.bytesOut += asio::write(socket_, asio::buffer(bytes), error);
    if (error) {
        return isClosed() ? closedHere() : writeFailure(error);
    }
    return Status::ok();
}

Status SocketSession::sinkMessage(ReplyChain chain) {
    if (isClosed()) {
        return closedHere();
    }
    if (channel_ != nullptr) {
        for (Sealer sealer(*channel_, chain); !sealer.isDone();) {
            FRESHET_ASSIGN_OR_RETURN(std::string cipher, sealer.next());
            FRESHET_RETURN_IF_ERROR(send(cipher));
        }
        ++stats_.messagesOut;
        return Status::ok();
    }
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

Status SocketSession::shakeHands(std::shared_ptr<const security::TlsContext> tls,
                                 const std::string& peerName,
                                 uint32_t timeoutMs) {
    constexpr uint64_t kNanosPerMs = 1'000'000;
    const uint64_t end = platform::monotonicNanos() + timeoutMs * kNanosPerMs;
    FRESHET_ASSIGN_OR_RETURN(channel_, security::TlsChannel::open(std::move(tls), peerName));
    // The client speaks first.
    Status status = channel_->feedCipher({});
    while (true) {
        const Status sent = send(channel_->drainCipher());
        FRESHET_RETURN_IF_ERROR(status);
        FRESHET_RETURN_IF_ERROR(sent);
        if (channel_->isHandshakeDone()) {
            peer_.isTls = true;
            peer_.certificateSubject = channel_->peerSubject();
            return Status::ok();
        }
        pollfd what{};
        what.fd = socket_.native_handle();
        what.events = POLLIN;
        const uint64_t now = platform::monotonicNanos();
        const int left =
            timeoutMs == 0 ? -1 : static_cast<int>((end - std::min(now, end)) / kNanosPerMs);
        if (::poll(&what, 1, left) == 0) {
            return Status(Code::kTimeout, "The TLS handshake took too long");
        }
        FRESHET_ASSIGN_OR_RETURN(size_t bytes, receive(scratch_));
        status = channel_->feedCipher({scratch_, bytes});
    }
}

std::string whereText(const ConnectOptions& options) {
    return options.host.starts_with('/') ? options.host
                                         : options.host + ":" + std::to_string(options.port);
}

/// Runs the context until `result` is set or the timeout has passed.
Status runConnect(asio::io_context* context,
                  const error_code& result,
                  const ConnectOptions& options) {
    if (options.timeoutMs == 0) {
        context->run();
    } else {
        context->run_for(std::chrono::milliseconds(options.timeoutMs));
    }
    const std::string where = whereText(options);
    if (result == asio::error::would_block) {
        return Status(Code::kTimeout, "No answer from " + where);
    }
    if (result == asio::error::connection_refused ||
        result == error_code(ENOENT, result.category())) {
        return Status(Code::kUnavailable, "Nobody listens on " + where);
    }
    return result ? Status(Code::kIo, "Cannot connect to " + where + ": " + result.message())
                  : Status::ok();
}

/// A connected descriptor.
StatusOr<int> connectTcp(asio::io_context* context, const ConnectOptions& options) {
    tcp::socket socket(*context);
    error_code error, result = asio::error::would_block;
    const auto addresses =
        tcp::resolver(*context).resolve(options.host, std::to_string(options.port), error);
    if (error) {
        return Status(Code::kUnavailable,
                      "Cannot find host " + options.host + ": " + error.message());
    }
    asio::async_connect(
        socket, addresses, [&](error_code ended, const tcp::endpoint&) { result = ended; });
    FRESHET_RETURN_IF_ERROR(runConnect(context, result, options));
    return socket.release();
}

StatusOr<int> connectUnix(asio::io_context* context, const ConnectOptions& options) {
    using asio::local::stream_protocol;
    if (options.host.size() >= sizeof(sockaddr_un::sun_path)) {
        return badValue("The path of a Unix socket is too long: " + options.host);
    }
    stream_protocol::socket socket(*context);
    error_code result = asio::error::would_block;
    socket.async_connect(stream_protocol::endpoint(options.host),
                         [&](error_code ended) { result = ended; });
    FRESHET_RETURN_IF_ERROR(runConnect(context, result, options));
    return socket.release();
}

}  // namespace

StatusOr<std::unique_ptr<Session>> makeBlockingSession(
    int socket,
    uint64_t connectionId,
    std::shared_ptr<const security::TlsContext> tls,
    const std::string& peerName,
    uint32_t timeoutMs) {
    auto session = std::make_unique<SocketSession>();
    FRESHET_RETURN_IF_ERROR(session->adopt(socket, connectionId));
    if (tls != nullptr) {
        FRESHET_RETURN_IF_ERROR(session->shakeHands(std::move(tls), peerName, timeoutMs));
    }
    return std::unique_ptr<Session>(std::move(session));
}

StatusOr<std::unique_ptr<Session>> connect(const ConnectOptions& options) {
    if (options.byCall) {
        return options.rdma.verbs != nullptr
                   ? rdma::callServer(options)
                   : Status(Code::kUnsupported, "A call over RDMA needs an RDMA device");
    }
    asio::io_context context(1);  // its own: running it is bounded by the timeout
    const bool isUnix = options.host.starts_with('/');
    FRESHET_ASSIGN_OR_RETURN(
        int socket, isUnix ? connectUnix(&context, options) : connectTcp(&context, options));
    const bool wantsRdma = options.rdma.verbs != nullptr && !isUnix;
    const int duplicate = wantsRdma ? ::fcntl(socket, F_DUPFD_CLOEXEC, 0) : -1;
    auto session = makeBlockingSession(
        socket, nextConnectionId(), options.tls, isUnix ? "" : options.host, options.timeoutMs);
    if (duplicate < 0) {
        return session;
    }
    if (!session.isOk()) {
        ::close(duplicate);
        return session;
    }
    return rdma::moveClientSession(std::move(*session), duplicate, options);
}

Status askForRdma(const ConnectOptions& options) {
    asio::io_context context(1);
    FRESHET_ASSIGN_OR_RETURN(const int socket, connectTcp(&context, options));
    const int duplicate = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
    const auto session =
        makeBlockingSession(socket, nextConnectionId(), nullptr, "", options.timeoutMs);
    if (!session.isOk() || duplicate < 0) {
        ::close(duplicate);
        return session.isOk() ? Status(Code::kIo, "Cannot duplicate a descriptor")
                              : session.status();
    }
    return rdma::askWithoutDevice(**session, duplicate, options.timeoutMs);
}

}  // namespace freshet::transport
