// SPDX-License-Identifier: Apache-2.0
/// The part of a reactor's session that outlives it while a posted item still refers to it: the
/// socket and the waits on it. Reactor's thread, but for `closeAsked` and `keep`.
#pragma once

#include "freshet/transport/session.h"
#include "freshet/transport/session/completion.h"
#include "freshet/transport/tcp/reactor.h"

#include <memory>
#include <span>

namespace freshet::transport {

class Unsent;

class Connection final : public sync::WorkItem,
                         public std::enable_shared_from_this<Connection>,
                         private Watched {
public:
    /// Takes the socket over, also on failure.
    static StatusOr<std::shared_ptr<Connection>> open(Reactor& reactor, int socket);
    ~Connection();

    /// Ends all that waits.
    void close();
    bool isClosed() const { return fd_ < 0; }

    /// One attempt. 0: there is nothing, or no room; wait. `midMessage`: see readFailure().
    StatusOr<size_t> read(std::span<char> room, bool midMessage);
    StatusOr<size_t> write(const Unsent& unsent);
    StatusOr<size_t> write(ByteView bytes);

    /// `co_await readReady()`: a read may find something.
    auto readReady() {
        awaitInput();
        return readable_.done();
    }
    /// `co_await writeReady()`: there may be room.
    auto writeReady() {
        awaitRoom();
        return writable_.done();
    }
    /// `co_await nextTurn()`: the others of the reactor have had their turn. REQUIRES: nobody
    /// waits for input.
    auto nextTurn() {
        readable_.begin();
        readable_.finishCurrent(Status::ok());
        return readable_.done();
    }
    bool isWriting() const { return !writable_.isIdle(); }
    bool isWaiting() const { return !readable_.isIdle() || isWriting(); }

    /// See Session::watchPeer.
    void watchPeer(PeerWatcher* watcher);
    void forgetPeer() { watcher_ = nullptr; }
    /// The peer has ended its side and fewer than `bytes` unread bytes are left.
    bool hasPeerLeftBefore(size_t bytes) const;

    /// Wakes a session that waits for memory, so that it looks again.
    void stopWaiting() {
        if (room.isSet()) {
            room.complete();
        }
    }

    sync::WaitToken room;    // set while the session waits for memory
    bool isOverdue = false;  // closed because its TLS handshake took too long
    /// 1 once another thread has posted the close. Guards `keep`.
    sync::Atomic<uint32_t> closeAsked{0};
    std::shared_ptr<Connection> keep;

private:
    Connection(Reactor& reactor, int socket)
        : reactor_(reactor), fd_(socket), readable_(reactor), writable_(reactor) {}
    void onEvents(uint32_t events) override;
    void awaitInput();
    void awaitRoom();
    void tellWatcher();
    StatusOr<size_t> written(ssize_t bytes);

    Reactor& reactor_;
    int fd_;  // -1: closed
    Completion readable_;
    Completion writable_;
    bool hasInput_ = false;  // something came that may not have been read
    bool hasLeft_ = false;   // the peer has ended its side
    /// To be called when the peer has gone; null once called, or when nothing watches.
    PeerWatcher* watcher_ = nullptr;
};

}  // namespace freshet::transport
