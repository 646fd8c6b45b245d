// SPDX-License-Identifier: Apache-2.0
/// The control path of a server's RDMA session: how it begins and how it ends.
#include "freshet/transport/rdma/server_core.h"

#include "freshet/telemetry/log.h"

#include <utility>

namespace freshet::transport::rdma {
namespace {

Verdict verdictOf(const Status& status) {
    switch (status.code()) {
        case Code::kOk:
            return Verdict::kYes;
        case Code::kNotFound:
            return Verdict::kNoDevice;
        case Code::kLimit:
            return Verdict::kTooMany;
        case Code::kUnsupported:
            return Verdict::kLayout;
        default:
            return Verdict::kFailed;
    }
}

RdmaFallback fallbackOf(Verdict verdict, const Status& status) {
    switch (verdict) {
        case Verdict::kVersion:
            return RdmaFallback::kVersion;
        case Verdict::kNoDevice:
            return RdmaFallback::kNoDevice;
        case Verdict::kTooMany:
            return RdmaFallback::kTooMany;
        case Verdict::kTls:
            return RdmaFallback::kTls;
        case Verdict::kLayout:
            return RdmaFallback::kBadOffer;
        default:
            return status.code() == Code::kInvalid ? RdmaFallback::kBadOffer
                                                   : RdmaFallback::kDevice;
    }
}

}  // namespace

ServerCore::ServerCore(Hub& hub, std::unique_ptr<Session> tcp)
    : hub_(hub),
      tcp_(std::move(tcp)),
      lifeline_(std::make_unique<TcpLifeline>(*tcp_)),
      readable_(hub.reactor()),
      writable_(hub.reactor()) {}

ServerCore::ServerCore(Hub& hub, std::unique_ptr<Lifeline> lifeline)
    : hub_(hub),
      lifeline_(std::move(lifeline)),
      readable_(hub.reactor()),
      writable_(hub.reactor()) {}

ServerCore::~ServerCore() {
    giveUpLink();
}

Proposal ServerCore::consider(const Proposal& offer) {
    Proposal answer;
    answer.step = Step::kAnswer;
    Status status;
    if (offer.version != kVersion) {
        answer.verdict = Verdict::kVersion;
    } else if (tcp_->peer().isTls) {
        answer.verdict = Verdict::kTls;
    } else if (!isUsable(offer.end)) {
        answer.verdict = Verdict::kFailed;
        status = invalid(Reason::kProtocolError, "its offer is not valid");
    } else {
        status = openLink(offer.end);
        answer.verdict = verdictOf(status);
    }
    if (answer.verdict == Verdict::kYes) {
        answer.end = link().here();
        sync::spawn(hub_.reactor(), limitBootstrap(&hub_, weak_from_this()));
        return answer;
    }
    stayOnTcp(
        fallbackOf(answer.verdict, status),
        name(answer.verdict) + (status.isOk() ? "" : " (" + std::string(status.text()) + ")"));
    return answer;
}

void ServerCore::stayOnTcp(RdmaFallback why, const std::string& text) {
    giveUpLink();
    hub_.counters().fallback(why).add(1);
    telemetry::log(
        telemetry::Severity::kInfo,
        "transport",
        "Connection " + std::to_string(tcp_->peer().connectionId) + " stays on TCP: " + text);
}

void ServerCore::abandonMove() {
    stayOnTcp(RdmaFallback::kAbandoned, "the client did not go on with the move");
}

Status ServerCore::openLink(const EndInfo& peer) {
    FRESHET_RETURN_IF_ERROR(makeLink(peer.layout));
    return link().connect(peer);
}

Status ServerCore::makeLink(Layout layout) {
    FRESHET_ASSIGN_OR_RETURN(Hub::Member member,
                             hub_.makeLink(hostOf(lifeline_->peer().local), layout, this));
    member_ = std::move(member);
    return Status::ok();
}

Status ServerCore::answerCall(verbs::Call& call) {
    const std::optional<Proposal> request = decodeCallData(call.request());
    Proposal answer;
    answer.step = Step::kAnswer;
    Status status;
    if (!request.has_value() || request->version != kVersion) {
        answer.verdict = Verdict::kVersion;
    } else if (request->step != Step::kOffer || !isUsable(request->end)) {
        answer.verdict = Verdict::kFailed;
        status = invalid(Reason::kProtocolError, "its offer is not valid");
    } else {
        status = makeLink(request->end.layout);
        answer.verdict = verdictOf(status);
    }
    if (answer.verdict == Verdict::kYes) {
        link().meet(request->end);
        answer.end = link().here();
        sawProbe_ = true;  // the connection manager has connected the ends
        FRESHET_RETURN_IF_ERROR(call.accept(link().pair(), encodeCallData(answer)));
        move();
        sync::spawn(hub_.reactor(), limitBootstrap(&hub_, weak_from_this()));
        sync::spawn(hub_.reactor(), askForSigns(&hub_, weak_from_this()));
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(call.refuse(encodeCallData(answer)));
    return Status(
        Code::kUnavailable,
        name(answer.verdict) + (status.isOk() ? "" : " (" + std::string(status.text()) + ")"));
}

Proposal ServerCore::settle(const Proposal& confirm) {
    hub_.lookNow();
    Proposal answer;
    answer.step = Step::kSettled;
    answer.verdict = confirm.step == Step::kConfirm ? confirm.verdict : Verdict::kFailed;
    if (answer.verdict == Verdict::kYes && (!member_.has_value() || !sawProbe_)) {
        answer.verdict = Verdict::kNoProbe;
    }
    if (answer.verdict != Verdict::kYes) {
        stayOnTcp(
            answer.verdict == Verdict::kNoProbe ? RdmaFallback::kNoProbe : RdmaFallback::kAbandoned,
            name(answer.verdict));
    }
    return answer;
}

/// REQUIRES: nothing waits for the link's progress.
void ServerCore::giveUpLink() {
    if (member_.has_value()) {
        hub_.forget(std::move(*member_));
        member_.reset();
    }
}

void ServerCore::move() {
    isMoved_ = true;
    link().reader().setInPlace(hub_.options().readsInPlace);
    hub_.sessionBegan();
    sync::spawn(hub_.reactor(), watchPeerLive(shared_from_this()));
}

sync::Task<void> ServerCore::watchPeerLive(std::shared_ptr<ServerCore> self) {
    co_await self->lifeline_->untilGone();
    self->peerGone_ = true;
    if (self->member_.has_value()) {
        self->hub_.lookNow();  // receives what was sent before the end
    }
    self->tellWatcher();
    self->wakeAll();
    if (self->isOrphan_) {
        self->giveUpLink();
    }
    Hub& hub = self->hub_;
    self.reset();  // so that a wait for the last session's end finds nothing left of it
    hub.sessionEnded();
}

/// Holds no reference while it waits.
sync::Task<void> ServerCore::limitBootstrap(Hub* hub, std::weak_ptr<ServerCore> core) {
    co_await sync::wait(hub->reactor().after(hub->options().bootstrapMillisMax));
    const auto self = core.lock();
    if (self != nullptr && !self->isMoved_) {
        self->giveUpLink();
    } else if (self != nullptr && !self->lifeline_->isUp() && !self->hasHeard()) {
        self->lifeline_->close();  // the caller has not taken the answer
    }
}

/// The kernel of a caller that dies hangs up, but not when its host loses power.
sync::Task<void> ServerCore::askForSigns(Hub* hub, std::weak_ptr<ServerCore> core) {
    while (true) {
        const sync::WaitToken due = hub->reactor().after(hub->options().signMillis);
        if (due.isDone()) {
            co_return;  // timers have ended
        }
        co_await sync::wait(due);
        const auto self = core.lock();
        if (self == nullptr || self->isClosed_ || self->peerGone_) {
            co_return;
        }
        if (self->lifeline_->isUp() || self->hasHeard()) {  // from then on its adapter answers
            self->link().askForSign();
        }
        if (!self->link().failure().isOk()) {
            self->onLinkProgress();
        }
    }
}

/// Holds no reference either: watchPeerLive() does, until the lifeline has ended.
sync::Task<void> ServerCore::limitLinger(Reactor* reactor, std::weak_ptr<ServerCore> core) {
    co_await sync::wait(reactor->after(kLingerMillis));
    if (const auto self = core.lock()) {
        self->lifeline_->close();
    }
}

void ServerCore::lookAtProbe() {
    Status probe = link().takeProbe();
    if (probe.isOk()) {
        sawProbe_ = true;
        probe = link().sendProbe();
    }
    if (!probe.isOk() && !probe.isWouldBlock()) {
        link().fail(std::move(probe));
    }
}

void ServerCore::onLinkProgress() {
    if (!sawProbe_) {
        lookAtProbe();
    }
    if (!isMoved_) {
        return;
    }
    if (isClosed_) {
        if (link().isSettled()) {
            lifeline_->close();
        }
        return;
    }
    if (!link().failure().isOk() || link().isPeerDone()) {
        tellWatcher();
    }
    wakeAll();
}

void ServerCore::wakeAll() {
    if (room_.isSet()) {
        room_.complete();
    }
    readable_.finishCurrent(Status::ok());
    writable_.finishCurrent(Status::ok());
}

Status ServerCore::ended() {
    if (isClosed_) {
        return Status(Code::kCancelled, "The session was closed");
    }
    if (!link().failure().isOk() && !peerGone_ && !link().isPeerDone()) {
        return link().failure();
    }
    if (peerGone_ || link().isPeerDone()) {
        return link().reader().isMidMessage()
                   ? Status(Code::kIo, "The peer ended the connection within a message")
                   : Status(Code::kCancelled, "The peer ended the connection");
    }
    return Status::ok();
}

bool ServerCore::watch(PeerWatcher* watcher) {
    watcher_ = watcher;
    if (!ended().isOk()) {
        tellWatcher();
    }
    return true;
}

/// By way of the run queue, inside a pass.
void ServerCore::tellWatcher() {
    struct Tell : sync::WorkItem {
        std::shared_ptr<ServerCore> core;
    };
    if (watcher_ == nullptr) {
        return;
    }
    auto* tell = new Tell;
    tell->core = shared_from_this();
    tell->run = [](sync::WorkItem* item) {
        std::unique_ptr<Tell> self(static_cast<Tell*>(item));
        if (PeerWatcher* who = std::exchange(self->core->watcher_, nullptr)) {
            who->onPeerGone();
        }
    };
    hub_.reactor().post(tell);
}

void ServerCore::abandon() {
    isOrphan_ = true;
    watcher_ = nullptr;
    closeNow();
    if (!isMoved_ || peerGone_) {
        giveUpLink();
        lifeline_->close();
    }
}

struct ServerCore::Close : sync::WorkItem {
    std::shared_ptr<ServerCore> core;
};

void ServerCore::askClose() {
    if (sync::Executor::current() == &hub_.reactor()) {
        closeNow();
        return;
    }
    // [rdma.closeAsk] relaxed: only avoids needless posts; the post has its own edge.
    if (closeAsked_.exchange(1, sync::kRelaxed) != 0) {
        return;
    }
    auto* close = new Close;
    close->core = shared_from_this();
    close->run = [](sync::WorkItem* item) {
        std::unique_ptr<Close> self(static_cast<Close*>(item));
        self->core->closeNow();
    };
    hub_.reactor().post(close);
}

/// What was sent must still arrive: the connection is closed when it has, or after a timeout.
void ServerCore::closeNow() {
    if (std::exchange(isClosed_, true)) {
        return;
    }
    if (!isMoved_) {
        lifeline_->close();
        return;
    }
    wakeAll();
    if (peerGone_) {
        return;
    }
    link().sayGoodbye();
    if (link().isSettled()) {
        lifeline_->close();
    } else {
        sync::spawn(hub_.reactor(), limitLinger(&hub_.reactor(), weak_from_this()));
    }
}

}  // namespace freshet::transport::rdma
