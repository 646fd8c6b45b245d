// SPDX-License-Identifier: Apache-2.0
/// The part of a reactor's session that outlives it while the system or a posted close() still
/// refers to it: the socket and the waits on it. Includes Asio: for tcp/*.cpp and tcp_client.cpp
/// only.
#pragma once

#include "freshet/transport/session/completion.h"
#include "freshet/transport/tcp/reactor.h"
#include "freshet/transport/tcp/socket.h"

#include <boost/asio/io_context.hpp>

#include <memory>
#include <utility>

namespace freshet::transport {

struct Connection : sync::WorkItem, std::enable_shared_from_this<Connection> {
    explicit Connection(Reactor& reactorIn)
        : reactor(reactorIn), socket(reactorIn.io()), readable(reactorIn), writable(reactorIn) {}

    /// Reactor's thread. Cancels the waits in progress; their completions come through Asio.
    void closeNow() {
        if (!std::exchange(closed, true)) {
            boost::system::error_code ignored;
            socket.shutdown(Socket::shutdown_both, ignored);
            socket.close(ignored);
            stopWaiting();
        }
    }

    /// `co_await readReady()`: the system says that a read may succeed. The wait re-arms epoll,
    /// which checks the socket, so no read needs to be tried before it.
    auto readReady() {
        readSeq = readable.begin();
        armRead();
        return readable.done();
    }
    auto writeReady() {
        const uint64_t opSeq = writable.begin();
        socket.async_wait(Socket::wait_write,
                          [self = shared_from_this(), opSeq](boost::system::error_code error) {
                              self->writable.finish(opSeq, error ? closedHere() : Status::ok());
                          });
        return writable.done();
    }

    /// See Session::watchPeer.
    bool watch(PeerWatcher* who) {
        watcher = who;
        if (closed || hasPeerLeft(socket)) {
            tellWatcher();
            return true;
        }
        // Unread input makes every wait complete at once: only asking again later helps.
        if (boost::system::error_code ignored; socket.available(ignored) > 0) {
            return false;
        }
        armRead();
        return true;
    }

    /// Wakes a session that waits for room, so that it looks again.
    void stopWaiting() {
        if (room.isSet()) {
            room.complete();
        }
    }

    Reactor& reactor;
    Socket socket;
    Completion readable;
    Completion writable;
    bool closed = false;
    sync::WaitToken room;    // set while the session waits for memory
    bool isOverdue = false;  // closed because its TLS handshake took too long
    /// 1 once another thread has posted the close. Guards `keep`.
    sync::Atomic<uint32_t> closeAsked{0};
    std::shared_ptr<Connection> keep;
    /// To be called when the peer has gone; null once called, or when nothing watches.
    PeerWatcher* watcher = nullptr;

private:
    /// One wait for input serves the reader and the watcher: it may outlast a handler, and the next
    /// read then uses it.
    void armRead() {
        if (!std::exchange(isReadArmed, true)) {
            socket.async_wait(Socket::wait_read,
                              [self = shared_from_this()](boost::system::error_code error) {
                                  self->isReadArmed = false;
                                  self->onReadable(error);
                              });
        }
    }
    void onReadable(boost::system::error_code error) {
        if (readSeq != 0) {
            readable.finish(std::exchange(readSeq, 0), error ? closedHere() : Status::ok());
        } else if (watcher != nullptr && (error || hasPeerLeft(socket))) {
            tellWatcher();
        }
    }
    /// By way of the run queue, inside a pass.
    void tellWatcher() {
        struct Tell : sync::WorkItem {
            std::shared_ptr<Connection> connection;
        };
        auto* tell = new Tell;
        tell->connection = shared_from_this();
        tell->run = [](sync::WorkItem* item) {
            std::unique_ptr<Tell> self(static_cast<Tell*>(item));
            if (PeerWatcher* who = std::exchange(self->connection->watcher, nullptr)) {
                who->onPeerGone();
            }
        };
        reactor.post(tell);
    }

    uint64_t readSeq = 0;  // of the reader that waits; 0: none
    bool isReadArmed = false;
};

}  // namespace freshet::transport
