// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/loopback/loopback.h"

#include "freshet/sync/mutex.h"
#include "freshet/wire/frame.h"

#include <array>
#include <deque>
#include <mutex>

namespace freshet::transport {
namespace {

/// One direction.
struct Pipe {
    std::deque<std::string> messages;
    sync::WaitToken readable;  // set while the reader waits
    sync::WaitToken writable;  // set while the writer waits
    bool readerClosed = false;
    bool writerClosed = false;

    void wakeAll() {
        wake(&readable);
        wake(&writable);
    }
    static void wake(sync::WaitToken* token) {
        if (token->isSet()) {
            std::exchange(*token, sync::WaitToken()).complete();
        }
    }
};

/// What both ends share.
struct Link {
    sync::Mutex mutex;
    std::array<Pipe, 2> pipes;  // guarded by mutex; end i writes pipes[i] and reads the other
};

class LoopbackSession final : public Session {
public:
    LoopbackSession(std::shared_ptr<Link> link, size_t end, uint64_t connectionId)
        : link_(std::move(link)), out_(link_->pipes[end]), in_(link_->pipes[1 - end]) {
        peer_.connectionId = connectionId;
        peer_.remote = peer_.local = peer_.kind = "loopback";
    }
    ~LoopbackSession() override { close(); }

    StatusOr<Message> sourceMessage() override {
        Message message;
        sync::WaitToken token;
        Status status = tryTake(&message, &token);
        for (; status.isWouldBlock(); status = tryTake(&message, &token)) {
            sync::blockOn(token);
        }
        return status.isOk() ? StatusOr<Message>(std::move(message)) : std::move(status);
    }
    Status sinkMessage(ReplyChain chain) override {
        sync::WaitToken token;
        Status status = tryPut(chain, &token);
        for (; status.isWouldBlock(); status = tryPut(chain, &token)) {
            sync::blockOn(token);
        }
        return status;
    }
    sync::Task<StatusOr<Message>> asyncSourceMessage() override {
        Message message;
        sync::WaitToken token;
        Status status = tryTake(&message, &token);
        for (; status.isWouldBlock(); status = tryTake(&message, &token)) {
            co_await sync::wait(token);
        }
        if (!status.isOk()) {
            co_return status;
        }
        co_return std::move(message);
    }
    sync::Task<Status> asyncSinkMessage(ReplyChain chain) override {
        sync::WaitToken token;
        Status status = tryPut(chain, &token);
        for (; status.isWouldBlock(); status = tryPut(chain, &token)) {
            co_await sync::wait(token);
        }
        co_return status;
    }
    void close() override {
        std::lock_guard<sync::Mutex> lock(link_->mutex);
        in_.readerClosed = out_.writerClosed = true;
        in_.wakeAll();
        out_.wakeAll();
    }
    void setMessageBytesMax(size_t bytes) override { messageBytesMax_ = bytes; }
    bool watchPeer(PeerWatcher*) override { return true; }  // never called: nothing here takes long
    const PeerInfo& peer() const override { return peer_; }
    SessionStats stats() const override { return stats_; }

private:
    static constexpr size_t kMessagesMax = 4;  // unread in one direction

    /// kWouldBlock: wait for the token, then call again.
    Status tryTake(Message* out, sync::WaitToken* token);
    Status tryPut(const ReplyChain& chain, sync::WaitToken* token);

    const std::shared_ptr<Link> link_;
    Pipe& out_;
    Pipe& in_;
    PeerInfo peer_;
    size_t messageBytesMax_ = wire::kMessageBytesMax;
    SessionStats stats_;
};

Status LoopbackSession::tryTake(Message* out, sync::WaitToken* token) {
    std::lock_guard<sync::Mutex> lock(link_->mutex);
    if (in_.readerClosed) {
        return Status(Code::kCancelled, "The session was closed");
    }
    if (in_.messages.empty()) {
        if (in_.writerClosed) {
            return Status(Code::kCancelled, "The peer ended the connection");
        }
        *token = in_.readable = sync::WaitToken::create();
        return Status::wouldBlock();
    }
    std::string bytes = std::move(in_.messages.front());
    in_.messages.pop_front();
    Pipe::wake(&in_.writable);
    if (bytes.size() < wire::kHeaderBytes) {
        return invalid(Reason::kProtocolError, "The message is shorter than its header");
    }
    FRESHET_ASSIGN_OR_RETURN(wire::Header header, wire::parseHeader(bytes));
    if (static_cast<size_t>(header.messageBytes) != bytes.size()) {
        return invalid(Reason::kProtocolError, "The message's length is not as announced");
    }
    if (bytes.size() > messageBytesMax_) {
        return invalid(Reason::kProtocolError, "The message is longer than is allowed");
    }
    ++stats_.messagesIn;
    stats_.bytesIn += bytes.size();
    *out = Message(std::move(bytes));
    return Status::ok();
}

Status LoopbackSession::tryPut(const ReplyChain& chain, sync::WaitToken* token) {
    std::lock_guard<sync::Mutex> lock(link_->mutex);
    if (out_.writerClosed) {
        return Status(Code::kCancelled, "The session was closed");
    }
    if (out_.readerClosed) {
        return Status(Code::kIo, "The peer ended the connection");
    }
    if (out_.messages.size() >= kMessagesMax) {
        *token = out_.writable = sync::WaitToken::create();
        return Status::wouldBlock();
    }
    std::string bytes;
    bytes.reserve(chain.bytes());
    for (size_t i = 0; i < chain.segments(); ++i) {
        bytes.append(chain.segment(i));
    }
    ++stats_.messagesOut;
    stats_.bytesOut += bytes.size();
    out_.messages.push_back(std::move(bytes));
    Pipe::wake(&out_.readable);
    return Status::ok();
}

}  // namespace

std::pair<std::unique_ptr<Session>, std::unique_ptr<Session>> makeLoopbackPair() {
    auto link = std::make_shared<Link>();
    return {std::make_unique<LoopbackSession>(link, 0, 1),
            std::make_unique<LoopbackSession>(link, 1, 2)};
}

}  // namespace freshet::transport
