// SPDX-License-Identifier: Apache-2.0
/// A reactor's session over a stream socket. The first bytes decide whether it is TLS; the plain
/// case, by far the hottest, is one coroutine for each direction.
#include "freshet/transport/tcp/tcp_session.h"

#include "freshet/base/free_memory.h"
#include "freshet/transport/session/first_bytes.h"
#include "freshet/transport/session/tls_pump.h"
#include "freshet/transport/tcp/connection.h"
#include "freshet/transport/tcp/socket.h"

#include <boost/asio/error.hpp>

namespace freshet::transport {
namespace asio = boost::asio;

namespace {

/// The state that a session has only until its TLS handshake is over.
struct Handshake {
    explicit Handshake(Reactor& reactorIn) : reactor(reactorIn), overdue(reactorIn.poller()) {
        ++reactor.handshakes;
    }
    ~Handshake() { --reactor.handshakes; }

    Reactor& reactor;
    LaterCall overdue;
};

class ReactorSession final : public Session, private WatchedPeer {
public:
    ReactorSession(Reactor& reactor,
                   std::shared_ptr<Connection> connection,
                   PeerInfo peer,
                   const TlsPolicy& policy)
        : reactor_(reactor),
          connection_(std::move(connection)),
          policy_(policy),
          peer_(std::move(peer)),
          cutter_(reactor.blocks()) {}
    ~ReactorSession() override {
        invariant(!connection_->isWaiting());
        connection_->forgetPeer();
        sayGoodbye();
        connection_->close();
    }

    StatusOr<Message> sourceMessage() override { return wrongPair(); }
    Status sinkMessage(ReplyChain) override { return wrongPair(); }
    sync::Task<StatusOr<Message>> asyncSourceMessage() override;
    sync::Task<Status> asyncSinkMessage(ReplyChain chain) override;
    void close() override;
    void setMessageBytesMax(size_t bytes) override { cutter_.setMessageBytesMax(bytes); }
    bool watchPeer(PeerWatcher* watcher) override {
        connection_->watchPeer(watcher);
        return true;
    }
    const PeerInfo& peer() const override { return peer_; }
    SessionStats stats() const override { return stats_; }

private:
    /// How many answers a pipelining client gets before others have their turn.
    static constexpr uint32_t kMessagesPerTurn = 16;

    static Status wrongPair() {
        return Status(Code::kUnsupported, "A reactor's session does not block");
    }
    uint64_t bytesMoved() const override { return stats_.bytesIn + stats_.bytesOut; }
    void lookForPeer() override {
        if (hasLeft()) {
            connection_->stopWaiting();
        }
    }
    void endSlow() override {
        isTooSlow_ = true;
        connection_->close();
    }
    /// Before the session waits for its peer with a message half read or a reply half sent.
    Status noteHeld(MemoryWatch::Phase phase, size_t replyBytes = 0);
    bool hasLeft();
    /// For a long message: returns when there is room for it.
    sync::Task<Status> awaitRoom();
    /// Before the session waits for input: limits how long a peer may take over a message it has
    /// begun.
    Status noteCut() {
        return cutter_.isMidMessage() ? noteHeld(MemoryWatch::Phase::kSmall) : Status::ok();
    }
    Status whyEnded(Status otherwise) const;
    StatusOr<bool> nextMessage(Message* out);
    StatusOr<size_t> receive(std::span<char> room);
    /// One attempt. True: bytes have come; false: there are none.
    StatusOr<bool> readOnce();
    void noteSent(size_t bytes);
    void noteMessageOut();

    /// Reads until it is known what the connection speaks, and makes the TLS handshake if it is
    /// TLS.
    sync::Task<Status> open();
    Status refuse(const char* why);
    sync::Task<Status> shakeHands(std::string first);
    Status openTls();
    /// Waits until a read may succeed, reads once, passes the cipher bytes to the channel and its
    /// answers to the peer.
    sync::Task<Status> pumpTls();
    sync::Task<StatusOr<Message>> sourceTls();
    sync::Task<Status> sinkTls(ReplyChain chain);
    /// `replyBytes`: the size of the whole message that this is a part of.
    sync::Task<Status> sendAll(std::string bytes, size_t replyBytes = 0);
    sync::Task<Status> awaitReader(size_t replyBytes);
    void sayGoodbye();

    Reactor& reactor_;
    std::shared_ptr<Connection> connection_;
    const TlsPolicy& policy_;
    PeerInfo peer_;
    MessageCutter cutter_;
    SessionStats stats_;
    std::unique_ptr<security::TlsChannel> tls_;  // null: plain
    std::unique_ptr<Handshake> handshake_;       // while it lasts
    std::unique_ptr<HeldMemory> held_;           // null: nothing
    bool isTooSlow_ = false;                     // it was closed for being too slow
    bool isOpen_ = false;
    bool maybeMore_ = false;  // the last read filled its room: the system may hold more
    uint32_t messagesInTurn_ = 0;
};

StatusOr<bool> ReactorSession::nextMessage(Message* out) {
    FRESHET_ASSIGN_OR_RETURN(bool found, cutter_.next(out));
    if (found) {
        ++stats_.messagesIn;
        ++messagesInTurn_;
        ReactorCounters::bump(reactor_.counters().messagesIn, 1);
        held_.reset();
    }
    return found;
}

Status ReactorSession::noteHeld(MemoryWatch::Phase phase, size_t replyBytes) {
    if (held_ == nullptr) {
        held_ = std::make_unique<HeldMemory>(reactor_.memory(), static_cast<WatchedPeer&>(*this));
    }
    return held_->note(phase, cutter_.capacity(), replyBytes);
}

/// Input that the TLS channel already holds is not counted here, so a TLS peer is taken to be
/// present while any input is unread.
bool ReactorSession::hasLeft() {
    const size_t missing = cutter_.wantsRoom() - cutter_.pending().size();
    return connection_->hasPeerLeftBefore(tls_ == nullptr ? missing : 1);
}

Status ReactorSession::whyEnded(Status otherwise) const {
    return isTooSlow_ ? tooSlow() : std::move(otherwise);
}

sync::Task<Status> ReactorSession::awaitRoom() {
    Admission* admission = reactor_.memory().admission();
    Status status = noteHeld(MemoryWatch::Phase::kWaiting);
    if (!status.isOk()) {
        co_return status;
    }
    Admission::Ticket& ticket = held_->ticket.emplace(*admission, cutter_.wantsRoom());
    while (!ticket.isAdmitted()) {
        if (connection_->isClosed()) {
            co_return whyEnded(closedHere());
        }
        if (hasLeft()) {
            co_return readFailure(asio::error::eof, true);
        }
        connection_->room = sync::WaitToken::create();
        if (ticket.wakeBy(connection_->room)) {
            co_await sync::wait(connection_->room);
        }
        connection_->room = {};
    }
    cutter_.admit(ticket.takeHold());
    co_return noteHeld(MemoryWatch::Phase::kCounted);
}

/// 0: there are no bytes.
StatusOr<size_t> ReactorSession::receive(std::span<char> room) {
    StatusOr<size_t> bytes = connection_->read(room, cutter_.isMidMessage());
    maybeMore_ = bytes.isOk() && *bytes == room.size();
    FRESHET_RETURN_IF_ERROR(bytes.status());
    stats_.bytesIn += *bytes;
    ReactorCounters::bump(reactor_.counters().bytesIn, *bytes);
    return bytes;
}

StatusOr<bool> ReactorSession::readOnce() {
    const std::span<char> room = cutter_.target(reactor_.scratch());
    FRESHET_ASSIGN_OR_RETURN(size_t bytes, receive(room));
    if (bytes > 0) {
        cutter_.arrived(room.data(), bytes);
    }
    return bytes > 0;
}

sync::Task<StatusOr<Message>> ReactorSession::asyncSourceMessage() {
    if (messagesInTurn_ >= kMessagesPerTurn) {
        messagesInTurn_ = 0;
        (void)co_await connection_->nextTurn();
    }
    if (!isOpen_) {
        Status opened = co_await open();
        if (!opened.isOk()) {
            co_return opened;
        }
        isOpen_ = true;
    }
    if (tls_ != nullptr) {
        co_return co_await sourceTls();
    }
    while (!connection_->isClosed()) {
        Message message;
        StatusOr<bool> found = nextMessage(&message);
        if (!found.isOk()) {
            co_return std::move(found).status();
        }
        if (*found) {
            co_return std::move(message);
        }
        if (cutter_.wantsRoom() > 0) {
            Status admitted = co_await awaitRoom();
            if (!admitted.isOk()) {
                co_return admitted;
            }
        }
        if (!maybeMore_) {
            messagesInTurn_ = 0;
            Status ready = noteCut();
            if (ready.isOk()) {
                ready = co_await connection_->readReady();
            }
            if (!ready.isOk()) {
                co_return whyEnded(std::move(ready));
            }
        }
        StatusOr<bool> read = readOnce();
        if (!read.isOk()) {
            co_return std::move(read).status();
        }
    }
    co_return closedHere();
}

void ReactorSession::noteSent(size_t bytes) {
    stats_.bytesOut += bytes;
    ReactorCounters::bump(reactor_.counters().bytesOut, bytes);
}

void ReactorSession::noteMessageOut() {
    held_.reset();
    ++stats_.messagesOut;
    ReactorCounters::bump(reactor_.counters().messagesOut, 1);
}

sync::Task<Status> ReactorSession::awaitReader(size_t replyBytes) {
    Status noted = noteHeld(MemoryWatch::Phase::kSmall, replyBytes);
    if (!noted.isOk()) {
        co_return noted;
    }
    Status ready = co_await connection_->writeReady();
    co_return whyEnded(std::move(ready));
}

sync::Task<Status> ReactorSession::asyncSinkMessage(ReplyChain chain) {
    if (tls_ != nullptr) {
        co_return co_await sinkTls(std::move(chain));
    }
    Unsent unsent(chain);
    while (!unsent.isDone()) {
        if (connection_->isClosed()) {
            co_return closedHere();
        }
        StatusOr<size_t> bytes = connection_->write(unsent);
        if (!bytes.isOk()) {
            co_return std::move(bytes).status();
        }
        if (*bytes == 0) {
            Status ready = co_await awaitReader(chain.bytes());
            if (!ready.isOk()) {
                co_return ready;
            }
            continue;
        }
        unsent.sent(*bytes);
        noteSent(*bytes);
    }
    noteMessageOut();
    co_return Status::ok();
}

sync::Task<Status> ReactorSession::open() {
    while (!connection_->isClosed()) {
        switch (judgeFirstBytes(cutter_.pending())) {
            case FirstBytes::kPlain:
                co_return policy_.tlsMode == TlsMode::kRequire
                    ? refuse("it does not begin with TLS, which is required")
                    : Status::ok();
            case FirstBytes::kTls:
                if (policy_.tlsMode == TlsMode::kDisabled || policy_.tls == nullptr) {
                    co_return refuse("it begins with TLS, which is disabled");
                }
                co_return co_await shakeHands(cutter_.takePending());
            case FirstBytes::kTooFew:
                break;
        }
        Status ready = noteCut();
        if (ready.isOk()) {
            ready = co_await connection_->readReady();
        }
        if (!ready.isOk()) {
            co_return whyEnded(std::move(ready));
        }
        StatusOr<bool> read = readOnce();
        if (!read.isOk()) {
            co_return std::move(read).status();
        }
    }
    co_return closedHere();
}

Status ReactorSession::refuse(const char* why) {
    return Status(Code::kUnsupported, why);
}

Status ReactorSession::openTls() {
    if (reactor_.handshakes >= policy_.handshakesMax) {
        return refuse("too many others are in the middle of their TLS handshakes");
    }
    FRESHET_ASSIGN_OR_RETURN(tls_, security::TlsChannel::open(policy_.tls, ""));
    handshake_ = std::make_unique<Handshake>(reactor_);
    handshake_->overdue.start(policy_.handshakeMillisMax, [connection = connection_.get()] {
        connection->isOverdue = true;
        connection->close();
    });
    return Status::ok();
}

sync::Task<Status> ReactorSession::shakeHands(std::string first) {
    Status status = openTls();
    if (status.isOk()) {
        status = tls_->feedCipher(first);
        freeMemory(&first);
        Status sent = co_await sendAll(tls_->drainCipher());
        status = status.isOk() ? std::move(sent) : std::move(status);
    }
    while (status.isOk() && !tls_->isHandshakeDone()) {
        if (!maybeMore_) {
            status = co_await connection_->readReady();
        }
        if (status.isOk()) {
            status = co_await pumpTls();
        }
    }
    if (status.isOk()) {
        handshake_.reset();
        held_.reset();
        peer_.isTls = true;
        peer_.certificateSubject = tls_->peerSubject();
        peer_.serverName = tls_->serverNameIndication();
    }
    co_return connection_->isOverdue ? Status(Code::kTimeout, "its TLS handshake took too long")
                                     : std::move(status);
}

sync::Task<Status> ReactorSession::pumpTls() {
    StatusOr<size_t> bytes = receive(reactor_.scratch());
    if (!bytes.isOk()) {
        co_return std::move(bytes).status();
    }
    Status fed = tls_->feedCipher({reactor_.scratch().data(), *bytes});
    // Also after a failure: the alert tells the peer why.
    if (std::string answer = tls_->drainCipher(); !answer.empty()) {
        Status sent = co_await sendAll(std::move(answer));
        fed = fed.isOk() ? std::move(sent) : std::move(fed);
    }
    co_return fed;
}

sync::Task<StatusOr<Message>> ReactorSession::sourceTls() {
    while (!connection_->isClosed()) {
        Message message;
        StatusOr<bool> found = nextMessage(&message);
        if (found.isOk() && *found) {
            co_return std::move(message);
        }
        if (cutter_.wantsRoom() > 0) {
            Status admitted = co_await awaitRoom();
            if (!admitted.isOk()) {
                co_return admitted;
            }
        }
        if (found.isOk()) {
            found = movePlain(*tls_, cutter_, reactor_.scratch());
        }
        if (!found.isOk()) {
            co_return std::move(found).status();
        }
        if (*found) {
            continue;
        }
        if (tls_->isPeerClosed()) {
            co_return readFailure(asio::error::eof, cutter_.isMidMessage());
        }
        // Waits here and not in pumpTls(), so that an idle session holds one coroutine less.
        if (!maybeMore_) {
            messagesInTurn_ = 0;
            Status ready = noteCut();
            if (ready.isOk()) {
                ready = co_await connection_->readReady();
            }
            if (!ready.isOk()) {
                co_return whyEnded(std::move(ready));
            }
        }
        Status pumped = co_await pumpTls();
        if (!pumped.isOk()) {
            co_return pumped;
        }
    }
    co_return closedHere();
}

sync::Task<Status> ReactorSession::sinkTls(ReplyChain chain) {
    Sealer sealer(*tls_, chain);
    while (!sealer.isDone()) {
        StatusOr<std::string> cipher = sealer.next();
        if (!cipher.isOk()) {
            co_return std::move(cipher).status();
        }
        Status sent = co_await sendAll(std::move(*cipher), chain.bytes());
        if (!sent.isOk()) {
            co_return sent;
        }
    }
    noteMessageOut();
    co_return Status::ok();
}

sync::Task<Status> ReactorSession::sendAll(std::string bytes, size_t replyBytes) {
    size_t done = 0;
    while (done < bytes.size()) {
        if (connection_->isClosed()) {
            co_return closedHere();
        }
        StatusOr<size_t> some = connection_->write(ByteView(bytes).substr(done));
        if (!some.isOk()) {
            co_return std::move(some).status();
        }
        if (*some == 0) {
            Status ready = co_await awaitReader(replyBytes);
            if (!ready.isOk()) {
                co_return ready;
            }
            continue;
        }
        done += *some;
        noteSent(*some);
    }
    co_return Status::ok();
}

/// Sends the closing alert if that does not block; nothing waits for the peer.
void ReactorSession::sayGoodbye() {
    if (tls_ == nullptr || handshake_ != nullptr || connection_->isClosed() ||
        connection_->isWriting()) {
        return;
    }
    tls_->close();
    (void)connection_->write(tls_->drainCipher());
}

void ReactorSession::close() {
    if (sync::Executor::current() == &reactor_) {
        sayGoodbye();
        connection_->close();
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
        self->close();
    };
    reactor_.post(connection_.get());
}

}  // namespace

StatusOr<std::unique_ptr<Session>> makeReactorSession(Reactor& reactor,
                                                      int socket,
                                                      uint64_t connectionId,
                                                      const TlsPolicy& policy) {
    PeerInfo peer;
    peer.connectionId = connectionId;
    prepareSocket(socket, &peer);
    FRESHET_ASSIGN_OR_RETURN(std::shared_ptr<Connection> connection,
                             Connection::open(reactor, socket));
    return std::unique_ptr<Session>(
        std::make_unique<ReactorSession>(reactor, std::move(connection), std::move(peer), policy));
}

}  // namespace freshet::transport
