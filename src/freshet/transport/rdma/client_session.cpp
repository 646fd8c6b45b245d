// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/rdma/client_session.h"

#include "freshet/platform/clock.h"
#include "freshet/telemetry/log.h"
#include "freshet/transport/rdma/bootstrap.h"
#include "freshet/transport/rdma/client_end.h"
#include "freshet/transport/session/blocking_session.h"
#include "freshet/transport/tcp/tcp_session.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace freshet::transport::rdma {
namespace {

constexpr uint64_t kNanosPerMs = 1'000'000;
constexpr uint64_t kGoodbyeNanosMax = 500 * kNanosPerMs;

class ClientSession final : public BlockingSession {
public:
    /// `tcp` is null after a call.
    ClientSession(std::unique_ptr<Session> tcp, std::unique_ptr<ClientEnd> end, PeerInfo peer)
        : tcp_(std::move(tcp)), end_(std::move(end)), peer_(std::move(peer)) {
        peer_.kind = "rdma";
    }
    ~ClientSession() override;

    StatusOr<Message> sourceMessage() override;
    Status sinkMessage(ReplyChain chain) override;
    /// What was sent last must still arrive, but the server would hear of the end sooner through
    /// TCP. So the goodbye follows it through the ring, and the TCP session ends when this object
    /// is destroyed.
    void close() override {
        {
            auto lock = end_->lock();
            noteClosed();
            end_->link().sayGoodbye();
        }
        end_->wake();
    }
    void setMessageBytesMax(size_t bytes) override {
        auto lock = end_->lock();
        end_->link().reader().setMessageBytesMax(bytes);
    }
    const PeerInfo& peer() const override { return peer_; }
    SessionStats stats() const override {
        auto lock = end_->lock();
        return stats_;
    }

private:
    /// Not ok: nothing more can be sent or received.
    Status ended();

    const std::unique_ptr<Session> tcp_;  // after the move it only shows that the peer lives
    const std::unique_ptr<ClientEnd> end_;
    PeerInfo peer_;
    SessionStats stats_;  // guarded by the end's lock
};

ClientSession::~ClientSession() {
    close();
    auto lock = end_->lock();
    const uint64_t until = platform::monotonicNanos() + kGoodbyeNanosMax;
    while (!end_->link().isSettled() && !end_->isPeerGone()) {
        const StatusOr<bool> waited = end_->await(lock, until);
        if (!waited.isOk() || !*waited) {
            break;
        }
    }
}

Status ClientSession::ended() {
    Link& link = end_->link();
    if (isClosed()) {
        return Status(Code::kCancelled, "The session was closed");
    }
    if (end_->isPeerGone() || link.isPeerDone()) {
        return link.reader().isMidMessage()
                   ? Status(Code::kIo, "The peer ended the connection within a message")
                   : Status(Code::kCancelled, "The peer ended the connection");
    }
    return link.failure();
}

StatusOr<Message> ClientSession::sourceMessage() {
    auto lock = end_->lock();
    FRESHET_RETURN_IF_ERROR(end_->look());
    while (!isClosed()) {
        Message message;
        const StatusOr<bool> found = end_->link().next(&message);
        if (found.isOk() && *found) {
            ++stats_.messagesIn;
            stats_.bytesIn += message.view().size();
            return message;
        }
        FRESHET_RETURN_IF_ERROR(ended());
        FRESHET_RETURN_IF_ERROR(found.isOk() ? Status::ok() : found.status());
        end_->link().tellCredit();
        FRESHET_ASSIGN_OR_RETURN([[maybe_unused]] bool inTime, end_->await(lock, 0));
    }
    return ended();
}

Status ClientSession::sinkMessage(ReplyChain chain) {
    auto lock = end_->lock();
    FRESHET_RETURN_IF_ERROR(end_->look());
    ChainCursor unsent(chain);
    while (true) {
        FRESHET_RETURN_IF_ERROR(ended());
        const size_t before = unsent.left();
        FRESHET_ASSIGN_OR_RETURN(bool sent, end_->link().send(unsent));
        stats_.bytesOut += before - unsent.left();
        if (sent) {
            ++stats_.messagesOut;
            return Status::ok();
        }
        end_->link().tellCredit();
        FRESHET_ASSIGN_OR_RETURN([[maybe_unused]] bool inTime, end_->await(lock, 0));
    }
}

/// The TCP connection on which both sides agree.
struct Bootstrap {
    Session& tcp;
    const int socket;          // its descriptor
    const uint32_t timeoutMs;  // for each answer; 0: none
    const uint32_t probeMillisMax;

    StatusOr<Proposal> ask(const Proposal& question, int32_t requestId);
    StatusOr<Verdict> run(ClientEnd& end);
};

/// Sends one question and returns its answer.
StatusOr<Proposal> Bootstrap::ask(const Proposal& question, int32_t requestId) {
    FRESHET_RETURN_IF_ERROR(tcp.sinkMessage(ReplyChain(encodeProposal(question, requestId, 0))));
    pollfd answered{socket, POLLIN, 0};
    if (::poll(&answered, 1, timeoutMs == 0 ? -1 : static_cast<int>(timeoutMs)) == 0) {
        return Status(Code::kTimeout, "No answer from " + tcp.peer().remote);
    }
    FRESHET_ASSIGN_OR_RETURN(Message message, tcp.sourceMessage());
    const std::optional<Proposal> answer = decodeProposal(message.view());
    const auto wanted = static_cast<uint16_t>(question.step) + 1;
    if (answer.has_value() && static_cast<uint16_t>(answer->step) == wanted) {
        return *answer;
    }
    Proposal refusal;
    refusal.verdict = Verdict::kUnknown;
    return refusal;
}

/// Our nonce must come back through the ring.
Status exchangeProbes(ClientEnd& end, const EndInfo& peer, uint32_t millisMax) {
    auto lock = end.lock();
    FRESHET_RETURN_IF_ERROR(end.link().connect(peer));
    FRESHET_RETURN_IF_ERROR(end.link().sendProbe());
    const uint64_t until = platform::monotonicNanos() + millisMax * kNanosPerMs;
    while (true) {
        FRESHET_RETURN_IF_ERROR(end.look());
        Status came = end.link().takeProbe();
        if (!came.isWouldBlock()) {
            return came;
        }
        FRESHET_ASSIGN_OR_RETURN(bool inTime, end.await(lock, until));
        if (!inTime || end.isPeerGone()) {
            return Status(Code::kTimeout, "No probe came back");
        }
    }
}

/// kYes, or why not; an error when the TCP connection is no longer usable.
StatusOr<Verdict> Bootstrap::run(ClientEnd& end) {
    Proposal offer;
    offer.end = end.link().here();
    FRESHET_ASSIGN_OR_RETURN(Proposal answer, ask(offer, 1));
    if (answer.verdict != Verdict::kYes) {
        return answer.verdict;
    }
    Proposal confirm;
    confirm.step = Step::kConfirm;
    confirm.verdict = !isUsable(answer.end)                                    ? Verdict::kFailed
                      : answer.end.layout != offer.end.layout                  ? Verdict::kLayout
                      : exchangeProbes(end, answer.end, probeMillisMax).isOk() ? Verdict::kYes
                                                                               : Verdict::kNoProbe;
    FRESHET_ASSIGN_OR_RETURN(Proposal settled, ask(confirm, 2));
    return settled.verdict;
}

StatusOr<verbs::CallEvent> awaitAnswer(verbs::Call& call, uint32_t timeoutMs) {
    const uint64_t until = platform::monotonicNanos() + timeoutMs * kNanosPerMs;
    while (true) {
        StatusOr<verbs::CallEvent> event = call.nextEvent();
        if (event.isOk() || !event.status().isWouldBlock()) {
            return event;
        }
        const uint64_t now = std::min(platform::monotonicNanos(), until);
        pollfd what{call.fd(), POLLIN, 0};
        if (::poll(&what, 1, timeoutMs == 0 ? -1 : static_cast<int>((until - now) / kNanosPerMs)) ==
            0) {
            return Status(Code::kTimeout, "No answer from " + call.remote());
        }
    }
}

/// Sends the call's one request and returns its answer.
Status ask(ClientEnd& end, uint32_t timeoutMs) {
    Proposal offer;
    offer.end = end.link().here();
    verbs::Call& call = end.call();
    FRESHET_RETURN_IF_ERROR(call.ask(end.link().pair(), encodeCallData(offer)));
    FRESHET_ASSIGN_OR_RETURN(verbs::CallEvent event, awaitAnswer(call, timeoutMs));
    const std::optional<Proposal> answer = decodeCallData(event.data);
    const bool isRefused = event.kind == verbs::CallEvent::Kind::kRefused;
    if (isRefused && answer.has_value() && answer->verdict != Verdict::kYes) {
        return Status(Code::kUnavailable,
                      call.remote() + " refused the call: " + name(answer->verdict));
    }
    if (isRefused) {
        return Status(Code::kUnavailable, "Nobody takes calls over RDMA on " + call.remote());
    }
    if (event.kind != verbs::CallEvent::Kind::kAnswered) {
        return Status(Code::kUnavailable,
                      "No route over RDMA to " + call.remote() + ": " + event.text);
    }
    if (!answer.has_value() || answer->version != kVersion || !isUsable(answer->end) ||
        answer->end.layout != offer.end.layout) {
        return invalid(Reason::kProtocolError, call.remote() + " does not speak our protocol");
    }
    end.link().meet(answer->end);
    return Status::ok();
}

void tellFallback(const ConnectOptions& options, const Session& tcp, const std::string& why) {
    const std::string text = "The connection to " + tcp.peer().remote + " stays on TCP: " + why;
    if (options.onFallback) {
        options.onFallback(text);
    } else {
        telemetry::logInfo("transport", text);
    }
}

}  // namespace

Status askWithoutDevice(Session& tcp, int socket, uint32_t timeoutMs) {
    // An end like any other, but for its address, at which there is nobody.
    Proposal offer;
    offer.end.ringBytes = Link::kRingBytesMin;
    offer.end.receives = Immediate::kReceivesMax;
    const StatusOr<Proposal> answer = Bootstrap{tcp, socket, timeoutMs, 0}.ask(offer, 1);
    ::close(socket);
    FRESHET_RETURN_IF_ERROR(answer.status());
    // kFailed: a device has refused that address, so there is one.
    const Verdict verdict = answer->verdict;
    return verdict == Verdict::kYes || verdict == Verdict::kFailed
               ? Status::ok()
               : Status(Code::kUnsupported, name(verdict));
}

StatusOr<std::unique_ptr<Session>> moveClientSession(std::unique_ptr<Session> tcp,
                                                     int socket,
                                                     const ConnectOptions& options) {
    if (tcp->peer().isTls) {
        ::close(socket);
        tellFallback(options, *tcp, name(Verdict::kTls));
        return tcp;
    }
    watchClosely(socket);
    auto end = ClientEnd::create(options.rdma, hostOf(tcp->peer().local), PeerSign(socket));
    if (!end.isOk()) {
        tellFallback(options, *tcp, end.status().toString());
        return tcp;
    }
    FRESHET_ASSIGN_OR_RETURN(
        Verdict verdict,
        (Bootstrap{*tcp, socket, options.timeoutMs, options.rdma.probeMillisMax}.run(**end)));
    if (verdict != Verdict::kYes) {
        tellFallback(options, *tcp, name(verdict));
        return tcp;
    }
    const PeerInfo peer = tcp->peer();
    return std::unique_ptr<Session>(
        std::make_unique<ClientSession>(std::move(tcp), std::move(*end), peer));
}

StatusOr<std::unique_ptr<Session>> callServer(const ConnectOptions& options) {
    if (options.tls != nullptr) {
        return badValue("A call over RDMA is not encrypted");
    }
    FRESHET_ASSIGN_OR_RETURN(
        auto call, options.rdma.verbs->dial(options.host, options.port, options.timeoutMs));
    PeerInfo peer;
    peer.connectionId = nextConnectionId();
    peer.local = call->local();
    peer.remote = call->remote();
    FRESHET_ASSIGN_OR_RETURN(
        auto end, ClientEnd::create(options.rdma, hostOf(peer.local), PeerSign(std::move(call))));
    FRESHET_RETURN_IF_ERROR(ask(*end, options.timeoutMs));
    return std::unique_ptr<Session>(
        std::make_unique<ClientSession>(nullptr, std::move(end), std::move(peer)));
}

}  // namespace freshet::transport::rdma
