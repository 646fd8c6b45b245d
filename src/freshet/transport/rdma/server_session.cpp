// SPDX-License-Identifier: Apache-2.0
/// The data path of a server's RDMA session; its beginning and end are in server_core.cpp.
#include "freshet/transport/rdma/server_session.h"

#include "freshet/transport/rdma/server_core.h"

namespace freshet::transport::rdma {
namespace {

class ServerSession final : public Session, private WatchedPeer {
public:
    explicit ServerSession(std::shared_ptr<ServerCore> core) : core_(std::move(core)) {
        if (core_->isMoved()) {
            notePeer();
        }
    }
    ~ServerSession() override {
        invariant(core_->isIdle());
        core_->abandon();
    }

    StatusOr<Message> sourceMessage() override { return wrongPair(); }
    Status sinkMessage(ReplyChain) override { return wrongPair(); }
    sync::Task<StatusOr<Message>> asyncSourceMessage() override {
        if (core_->isMoved()) {
            return source();
        }
        return stage_ == Stage::kTcp ? core_->tcp()->asyncSourceMessage() : negotiate();
    }
    sync::Task<Status> asyncSinkMessage(ReplyChain chain) override {
        return core_->isMoved() ? sink(std::move(chain))
                                : core_->tcp()->asyncSinkMessage(std::move(chain));
    }
    void close() override { core_->askClose(); }
    void setMessageBytesMax(size_t bytes) override {
        messageBytesMax_ = bytes;
        if (core_->isMoved()) {
            core_->link().reader().setMessageBytesMax(bytes);
        } else {
            core_->tcp()->setMessageBytesMax(bytes);
        }
    }
    bool watchPeer(PeerWatcher* watcher) override {
        return core_->isMoved() ? core_->watch(watcher) : core_->tcp()->watchPeer(watcher);
    }
    const PeerInfo& peer() const override {
        return core_->isMoved() ? peer_ : core_->tcp()->peer();
    }
    SessionStats stats() const override {
        SessionStats out = core_->tcp() != nullptr ? core_->tcp()->stats() : SessionStats();
        out.messagesIn += stats_.messagesIn;
        out.messagesOut += stats_.messagesOut;
        out.bytesIn += stats_.bytesIn;
        out.bytesOut += stats_.bytesOut;
        return out;
    }

private:
    /// As with TCP: then others have their turn.
    static constexpr uint32_t kMessagesPerTurn = 16;
    enum class Stage : uint8_t { kFirst, kOffered, kTcp };

    static Status wrongPair() {
        return Status(Code::kUnsupported, "A reactor's session does not block");
    }
    uint64_t bytesMoved() const override {
        return core_->link().reader().bytesRead() + stats_.bytesOut;
    }
    void lookForPeer() override {}  // the core reports the peer's end
    void endSlow() override {
        isTooSlow_ = true;
        core_->askClose();
    }
    /// Before the session waits for its peer with a message half read or a reply half sent.
    Status noteHeld(MemoryWatch::Phase phase, size_t replyBytes = 0);
    sync::Task<Status> awaitRoom();
    /// core_->ended(), or that the session was too slow.
    Status ended() const;
    sync::Task<StatusOr<Message>> negotiate();
    sync::Task<Status> answer(Proposal proposal, ByteView request);
    sync::Task<StatusOr<Message>> source();
    sync::Task<Status> sink(ReplyChain chain);
    void notePeer() {
        peer_ = core_->peer();
        peer_.kind = "rdma";
    }
    void noteIn(const Message& message);
    void noteOut(size_t bytes);

    const std::shared_ptr<ServerCore> core_;
    Stage stage_ = Stage::kFirst;
    PeerInfo peer_;  // complete once moved
    SessionStats stats_;
    size_t messageBytesMax_ = wire::kMessageBytesMax;
    uint32_t messagesInTurn_ = 0;
    std::unique_ptr<HeldMemory> held_;  // null: nothing
    bool isTooSlow_ = false;            // it was closed for being too slow
};

Status ServerSession::noteHeld(MemoryWatch::Phase phase, size_t replyBytes) {
    if (held_ == nullptr) {
        held_ = std::make_unique<HeldMemory>(core_->reactor().memory(),
                                             static_cast<WatchedPeer&>(*this));
    }
    return held_->note(phase, core_->link().reader().capacity(), replyBytes);
}

Status ServerSession::ended() const {
    Status ended = core_->ended();
    return isTooSlow_ && !ended.isOk() ? tooSlow() : std::move(ended);
}

sync::Task<Status> ServerSession::awaitRoom() {
    RingReader& reader = core_->link().reader();
    Status status = noteHeld(MemoryWatch::Phase::kWaiting);
    if (!status.isOk()) {
        co_return status;
    }
    Admission::Ticket& ticket =
        held_->ticket.emplace(*core_->reactor().memory().admission(), reader.wantsRoom());
    while (status.isOk() && !ticket.isAdmitted()) {
        const sync::WaitToken token = core_->waitForRoom();
        if (ticket.wakeBy(token)) {
            co_await sync::wait(token);
        }
        core_->stopWaitingForRoom();
        status = ended();
    }
    if (status.isOk()) {
        reader.admit(ticket.takeHold());
        status = noteHeld(MemoryWatch::Phase::kCounted);
    }
    co_return status;
}

/// Only a connection's first message can be an offer, and only the message after our answer can
/// conclude it. Every other message goes to the caller.
sync::Task<StatusOr<Message>> ServerSession::negotiate() {
    while (true) {
        StatusOr<Message> message = co_await core_->tcp()->asyncSourceMessage();
        if (!message.isOk()) {
            co_return std::move(message);
        }
        const std::optional<Proposal> proposal = decodeProposal(message->view());
        const bool isOffer = stage_ == Stage::kFirst && proposal && proposal->step == Step::kOffer;
        const bool isConfirm = stage_ == Stage::kOffered && proposal;
        if (!isOffer && !isConfirm) {
            if (std::exchange(stage_, Stage::kTcp) == Stage::kOffered) {
                core_->abandonMove();
            }
            co_return std::move(message);
        }
        const Proposal reply = isOffer ? core_->consider(*proposal) : core_->settle(*proposal);
        const bool isYes = reply.verdict == Verdict::kYes;
        stage_ = isOffer && isYes ? Stage::kOffered : Stage::kTcp;
        Status sent = co_await answer(reply, message->view());
        if (!sent.isOk()) {
            co_return sent;
        }
        if (isConfirm && isYes) {
            notePeer();
            core_->move();
            core_->link().reader().setMessageBytesMax(messageBytesMax_);
            co_return co_await source();
        }
    }
}

sync::Task<Status> ServerSession::answer(Proposal proposal, ByteView request) {
    const auto header = wire::parseHeader(request);
    const int32_t requestId = header.isOk() ? header->requestId : 0;
    co_return co_await core_->tcp()->asyncSinkMessage(
        ReplyChain(encodeProposal(proposal, requestId, requestId)));
}

sync::Task<StatusOr<Message>> ServerSession::source() {
    if (messagesInTurn_ >= kMessagesPerTurn) {
        messagesInTurn_ = 0;
        (void)co_await core_->turn();
    }
    while (true) {
        Message message;
        StatusOr<bool> found = core_->link().next(&message);
        if (found.isOk() && *found) {
            noteIn(message);
            co_return std::move(message);
        }
        Status status = ended();
        if (!status.isOk()) {
            co_return status;
        }
        if (!found.isOk()) {
            co_return std::move(found).status();
        }
        if (core_->link().reader().wantsRoom() > 0) {
            status = co_await awaitRoom();
            if (!status.isOk()) {
                co_return status;
            }
            continue;
        }
        if (core_->link().reader().isCut()) {
            status = noteHeld(MemoryWatch::Phase::kSmall);
            if (!status.isOk()) {
                co_return status;
            }
        }
        core_->link().tellCredit();
        messagesInTurn_ = 0;
        (void)co_await core_->progressForReader();
    }
}

sync::Task<Status> ServerSession::sink(ReplyChain chain) {
    ChainCursor unsent(chain);
    while (true) {
        Status status = ended();
        if (!status.isOk()) {
            co_return status;
        }
        const size_t before = unsent.left();
        StatusOr<bool> sent = core_->link().send(unsent);
        noteOut(before - unsent.left());
        if (!sent.isOk()) {
            co_return std::move(sent).status();
        }
        if (*sent) {
            held_.reset();
            ++stats_.messagesOut;
            ReactorCounters::bump(core_->reactor().counters().messagesOut, 1);
            co_return Status::ok();
        }
        status = noteHeld(MemoryWatch::Phase::kSmall, chain.bytes());
        if (!status.isOk()) {
            co_return status;
        }
        core_->link().tellCredit();
        (void)co_await core_->progressForWriter();
    }
}

void ServerSession::noteIn(const Message& message) {
    held_.reset();
    ++messagesInTurn_;
    ++stats_.messagesIn;
    stats_.bytesIn += message.view().size();
    ReactorCounters::bump(core_->reactor().counters().messagesIn, 1);
    ReactorCounters::bump(core_->reactor().counters().bytesIn, message.view().size());
}

void ServerSession::noteOut(size_t bytes) {
    stats_.bytesOut += bytes;
    ReactorCounters::bump(core_->reactor().counters().bytesOut, bytes);
}

}  // namespace

std::unique_ptr<Session> makeServerSession(Hub& hub, std::unique_ptr<Session> tcp) {
    return std::make_unique<ServerSession>(std::make_shared<ServerCore>(hub, std::move(tcp)));
}

StatusOr<std::unique_ptr<Session>> takeCall(Hub& hub,
                                            std::unique_ptr<verbs::Call> call,
                                            uint64_t connectionId) {
    auto lifeline = std::make_unique<CallLifeline>(hub.reactor(), std::move(call), connectionId);
    verbs::Call& asked = lifeline->call();
    auto core = std::make_shared<ServerCore>(hub, std::move(lifeline));
    if (Status answered = core->answerCall(asked); !answered.isOk()) {
        hub.counters().callsRefused.add(1);
        return answered;
    }
    hub.counters().callsTaken.add(1);
    return std::unique_ptr<Session>(std::make_unique<ServerSession>(std::move(core)));
}

}  // namespace freshet::transport::rdma
