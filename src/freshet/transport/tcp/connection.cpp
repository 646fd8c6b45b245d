// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/tcp/connection.h"

#include "freshet/transport/tcp/socket.h"

#include <boost/asio/error.hpp>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace freshet::transport {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

/// For as long as the connection is open. Room for output is only asked for while a writer waits:
/// on a Unix socket each of the peer's reads would be such an event.
constexpr uint32_t kInput = EPOLLIN | EPOLLRDHUP | EPOLLET;
constexpr uint32_t kEnd = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

constexpr int kSendFlags = MSG_DONTWAIT | MSG_NOSIGNAL;

/// A system call on a socket, without waiting.
template <typename F>
ssize_t attempt(F call) {
    ssize_t bytes = 0;
    do {
        bytes = call();
    } while (bytes < 0 && errno == EINTR);
    return bytes;
}

bool isNothing(int error) {
    return error == EAGAIN || error == EWOULDBLOCK;
}

error_code systemError() {
    return {errno, boost::system::system_category()};
}

}  // namespace

StatusOr<std::shared_ptr<Connection>> Connection::open(Reactor& reactor, int socket) {
    std::shared_ptr<Connection> connection(new Connection(reactor, socket));
    Status watched = reactor.poller().watch(socket, kInput, connection.get());
    if (!watched.isOk()) {
        ::close(std::exchange(connection->fd_, -1));
        return watched;
    }
    return connection;
}

Connection::~Connection() {
    invariant(!isWaiting() && watcher_ == nullptr);
    close();
}

void Connection::close() {
    if (isClosed()) {
        return;
    }
    const int fd = std::exchange(fd_, -1);
    reactor_.poller().unwatch(fd);
    ::shutdown(fd, SHUT_RDWR);
    ::close(fd);
    readable_.finishCurrent(closedHere());
    writable_.finishCurrent(closedHere());
    stopWaiting();
    tellWatcher();
}

StatusOr<size_t> Connection::read(std::span<char> room, bool midMessage) {
    const ssize_t bytes =
        attempt([&] { return ::recv(fd_, room.data(), room.size(), MSG_DONTWAIT); });
    // Less than there was room for: nothing is left, and what comes from now on is a new event. The
    // end is no second one if it came together with the last bytes.
    hasInput_ = hasLeft_ || bytes == static_cast<ssize_t>(room.size());
    if (bytes > 0) {
        return static_cast<size_t>(bytes);
    }
    if (bytes < 0 && isNothing(errno)) {
        return size_t{0};
    }
    return readFailure(bytes == 0 ? error_code(asio::error::eof) : systemError(), midMessage);
}

StatusOr<size_t> Connection::written(ssize_t bytes) {
    if (bytes >= 0) {
        return static_cast<size_t>(bytes);
    }
    return isNothing(errno) ? StatusOr<size_t>(size_t{0}) : writeFailure(systemError());
}

StatusOr<size_t> Connection::write(ByteView bytes) {
    return written(attempt([&] { return ::send(fd_, bytes.data(), bytes.size(), kSendFlags); }));
}

/// A single piece, the usual case, takes the cheaper system call.
StatusOr<size_t> Connection::write(const Unsent& unsent) {
    if (unsent.isLast()) {
        return write(
            ByteView(static_cast<const char*>(unsent.front().data()), unsent.front().size()));
    }
    Unsent::Pieces pieces;
    std::array<iovec, ReplyChain::kSegmentsMax> parts;
    size_t count = 0;
    for (const asio::const_buffer& piece : unsent.pieces(&pieces)) {
        parts[count++] = {const_cast<void*>(piece.data()), piece.size()};
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    return written(attempt([&] { return ::sendmsg(fd_, &message, kSendFlags); }));
}

void Connection::awaitInput() {
    readable_.begin();
    if (isClosed()) {
        readable_.finishCurrent(closedHere());
    } else if (hasInput_) {
        readable_.finishCurrent(Status::ok());
    }
}

void Connection::awaitRoom() {
    writable_.begin();
    if (isClosed()) {
        writable_.finishCurrent(closedHere());
    } else {
        reactor_.poller().rewatch(fd_, kInput | EPOLLOUT, this);
    }
}

void Connection::onEvents(uint32_t events) {
    hasLeft_ = hasLeft_ || (events & kEnd) != 0;
    if ((events & (EPOLLIN | kEnd)) != 0) {
        hasInput_ = true;
        readable_.finishCurrent(Status::ok());
    }
    if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0 && writable_.finishCurrent(Status::ok())) {
        reactor_.poller().rewatch(fd_, kInput, this);
    }
    if (hasLeft_) {
        tellWatcher();
    }
}

void Connection::watchPeer(PeerWatcher* watcher) {
    watcher_ = watcher;
    if (isClosed() || hasLeft_) {
        tellWatcher();
    }
}

bool Connection::hasPeerLeftBefore(size_t bytes) const {
    return transport::hasPeerLeftBefore(fd_, bytes);
}

/// By way of the run queue, inside a pass.
void Connection::tellWatcher() {
    if (watcher_ == nullptr) {
        return;
    }
    struct Tell : sync::WorkItem {
        std::shared_ptr<Connection> connection;
    };
    auto* tell = new Tell;
    tell->connection = shared_from_this();
    tell->run = [](sync::WorkItem* item) {
        std::unique_ptr<Tell> self(static_cast<Tell*>(item));
        if (PeerWatcher* who = std::exchange(self->connection->watcher_, nullptr)) {
            who->onPeerGone();
        }
    };
    reactor_.post(tell);
}

}  // namespace freshet::transport
