// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/tcp/tcp_session.h"

#include "freshet/transport/session/completion.h"
#include "freshet/transport/tcp/socket.h"

#include <boost/asio/io_context.hpp>

#include <utility>

namespace freshet::transport {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

/// What outlives the session while the system, or a close() in the mail, still refers to it.
struct Connection : sync::WorkItem, std::enable_shared_from_this<Connection> {
    explicit Connection(Reactor& reactorIn)
        : reactor(reactorIn), socket(reactorIn.io()), readable(reactorIn), writable(reactorIn) {}

    /// Reactor's thread. Waits in progress are cancelled; their completions come through Asio.
    void closeNow() {
        if (!std::exchange(closed, true)) {
            error_code ignored;
            socket.shutdown(tcp::socket::shutdown_both, ignored);
            socket.close(ignored);
        }
    }

    /// `co_await ready(...)`: the system says that an attempt may succeed. The wait re-arms epoll,
    /// which looks at the socket again, so there is no need for an attempt before it.
    auto ready(tcp::socket::wait_type what, Completion& completion) {
        const uint64_t opSeq = completion.begin();
        socket.async_wait(what, [self = shared_from_this(), &completion, opSeq](error_code error) {
            completion.finish(opSeq, error ? closedHere() : Status::ok());
        });
        return completion.done();
    }

    Reactor& reactor;
    tcp::socket socket;
    Completion readable;
    Completion writable;
    bool closed = false;
    /// 1 once another thread has posted the close. Guards `keep`.
    sync::Atomic<uint32_t> closeAsked{0};
    std::shared_ptr<Connection> keep;
};

class ReactorSession final : public Session {
public:
    ReactorSession(Reactor& reactor, std::shared_ptr<Connection> connection, PeerInfo peer)
        : reactor_(reactor),
          connection_(std::move(connection)),
          peer_(std::move(peer)),
          cutter_(reactor.blocks()) {}
    ~ReactorSession() override {
        invariant(connection_->readable.isIdle() && connection_->writable.isIdle());
        connection_->closeNow();
    }

    StatusOr<Message> sourceMessage() override { return wrongPair(); }
    Status sinkMessage(ReplyChain) override { return wrongPair(); }
    sync::Task<StatusOr<Message>> asyncSourceMessage() override;
    sync::Task<Status> asyncSinkMessage(ReplyChain chain) override;
    void close() override;
    const PeerInfo& peer() const override { return peer_; }
    SessionStats stats() const override { return stats_; }

private:
    /// A client that pipelines gets so many answers before others have their turn.
    static constexpr uint32_t kMessagesPerTurn = 16;

    static Status wrongPair() {
        return Status(Code::kUnsupported, "A reactor's session does not block");
    }
    StatusOr<bool> nextMessage(Message* out);
    /// One attempt. True: bytes have come; false: none are there.
    StatusOr<bool> readOnce();

    Reactor& reactor_;
    std::shared_ptr<Connection> connection_;
    const PeerInfo peer_;
    MessageCutter cutter_;
    SessionStats stats_;
    bool maybeMore_ = false;  // the last read filled its room: the system may hold more
    uint32_t messagesInTurn_ = 0;
};

StatusOr<bool> ReactorSession::nextMessage(Message* out) {
    FRESHET_ASSIGN_OR_RETURN(bool found, cutter_.next(out));
    if (found) {
        ++stats_.messagesIn;
        ++messagesInTurn_;
        ReactorCounters::bump(reactor_.counters().messagesIn, 1);
    }
    return found;
}

StatusOr<bool> ReactorSession::readOnce() {
    const std::span<char> room = cutter_.target(reactor_.scratch());
    error_code error;
    const size_t bytes =
        connection_->socket.read_some(asio::buffer(room.data(), room.size()), error);
    maybeMore_ = bytes == room.size();
    if (error == asio::error::would_block) {
        return false;
    }
    if (error) {
        return readFailure(error, cutter_.isMidMessage());
    }
    cutter_.arrived(room.data(), bytes);
    stats_.bytesIn += bytes;
    ReactorCounters::bump(reactor_.counters().bytesIn, bytes);
    return true;
}

sync::Task<StatusOr<Message>> ReactorSession::asyncSourceMessage() {
    if (messagesInTurn_ >= kMessagesPerTurn) {
        messagesInTurn_ = 0;
        Completion& turn = connection_->readable;
        turn.finish(turn.begin(), Status::ok());
        (void)co_await turn.done();
    }
    while (!connection_->closed) {
        Message message;
        StatusOr<bool> found = nextMessage(&message);
        if (!found.isOk()) {
            co_return std::move(found).status();
        }
        if (*found) {
            co_return std::move(message);
        }
        if (!maybeMore_) {
            messagesInTurn_ = 0;
            Status ready =
                co_await connection_->ready(tcp::socket::wait_read, connection_->readable);
            if (!ready.isOk()) {
                co_return ready;
            }
        }
        StatusOr<bool> read = readOnce();
        if (!read.isOk()) {
            co_return std::move(read).status();
        }
    }
    co_return closedHere();
}

sync::Task<Status> ReactorSession::asyncSinkMessage(ReplyChain chain) {
    Unsent unsent(chain);
    while (!unsent.isDone()) {
        if (connection_->closed) {
            co_return closedHere();
        }
        error_code error;
        const size_t bytes = writeSome(connection_->socket, unsent, error);
        if (error == asio::error::would_block) {
            Status ready =
                co_await connection_->ready(tcp::socket::wait_write, connection_->writable);
            if (!ready.isOk()) {
                co_return ready;
            }
            continue;
        }
        if (error) {
            co_return writeFailure(error);
        }
        unsent.sent(bytes);
        stats_.bytesOut += bytes;
        ReactorCounters::bump(reactor_.counters().bytesOut, bytes);
    }
    ++stats_.messagesOut;
    ReactorCounters::bump(reactor_.counters().messagesOut, 1);
    co_return Status::ok();
}

void ReactorSession::close() {
    if (sync::Executor::current() == &reactor_) {
        connection_->closeNow();
        return;
    }
    // [tcp.closeAsk] acq_rel: only the first asker may touch keep and the work item; the reactor
    // sees both through the post's own edge.
    if (connection_->closeAsked.exchange(1, sync::kAcqRel) != 0) {
        return;
    }
    connection_->keep = connection_;
    connection_->run = [](sync::WorkItem* item) {
        std::shared_ptr<Connection> self = std::move(static_cast<Connection*>(item)->keep);
        self->closeNow();
    };
    reactor_.post(connection_.get());
}

}  // namespace

StatusOr<std::unique_ptr<Session>> makeReactorSession(Reactor& reactor,
                                                      int socket,
                                                      uint64_t connectionId) {
    auto connection = std::make_shared<Connection>(reactor);
    PeerInfo peer;
    peer.connectionId = connectionId;
    FRESHET_RETURN_IF_ERROR(adoptSocket(&connection->socket, socket, &peer));
    error_code error;
    if (connection->socket.non_blocking(true, error); error) {
        return Status(Code::kIo, "Cannot make a socket non-blocking: " + error.message());
    }
    return std::unique_ptr<Session>(
        std::make_unique<ReactorSession>(reactor, std::move(connection), std::move(peer)));
}

}  // namespace freshet::transport
