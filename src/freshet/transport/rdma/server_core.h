// SPDX-License-Identifier: Apache-2.0
/// The part of a server's RDMA session that outlives it while the system still refers to it: the
/// lifeline, which tells whether the peer is alive, and the link, until what was sent has arrived.
#pragma once

#include "freshet/transport/rdma/bootstrap.h"
#include "freshet/transport/rdma/hub.h"
#include "freshet/transport/rdma/lifeline.h"
#include "freshet/transport/session.h"
#include "freshet/transport/session/completion.h"

#include <memory>
#include <optional>
#include <string>

namespace freshet::transport::rdma {

class ServerCore final : public LinkUser, public std::enable_shared_from_this<ServerCore> {
public:
    ServerCore(Hub& hub, std::unique_ptr<Session> tcp);
    /// Of a call: there is no TCP session.
    ServerCore(Hub& hub, std::unique_ptr<Lifeline> lifeline);
    ~ServerCore();

    // The control path.

    /// Makes our end. What it answers is sent to the client, whatever it says.
    Proposal consider(const Proposal& offer);
    /// The client has seen our probe, or has not. Moves if we have seen its own.
    Proposal settle(const Proposal& confirm);
    /// The client has said something else instead.
    void abandonMove();
    /// Watches the lifeline from now on.
    void move();
    /// Instead of all that: accepts the lifeline's call, and has moved then, or refuses it and
    /// says why.
    Status answerCall(verbs::Call& call);
    bool isMoved() const { return isMoved_; }

    // The data path. All on the reactor; `readable` and `writable` are for what co_awaits progress.

    Link& link() { return *member_->link; }
    /// kCancelled, or why the session can go on no more; ok while it can.
    Status ended();
    auto progressForReader() {
        readSeq_ = readable_.begin();
        return readable_.done();
    }
    auto progressForWriter() {
        writeSeq_ = writable_.begin();
        return writable_.done();
    }
    /// Complete when it is worth looking again whether there is room: the end of the session has
    /// come. Until stopWaitingForRoom().
    sync::WaitToken waitForRoom() { return room_ = sync::WaitToken::create(); }
    void stopWaitingForRoom() { room_ = {}; }
    auto turn() {
        readable_.finish(readable_.begin(), Status::ok());
        return readable_.done();
    }
    bool watch(PeerWatcher* watcher);
    /// The session has gone: what is left ends by itself.
    void abandon();
    /// Any thread, any number of times.
    void askClose();
    void onLinkProgress() override;
    /// Null: it came by a call.
    Session* tcp() { return tcp_.get(); }
    const PeerInfo& peer() const { return lifeline_->peer(); }
    Reactor& reactor() { return hub_.reactor(); }
    bool isIdle() const { return readable_.isIdle() && writable_.isIdle(); }

private:
    /// How long the peer's adapter may take with the last words.
    static constexpr uint64_t kLingerMillis = 1'000;

    struct Close;
    Status openLink(const EndInfo& peer);
    Status makeLink(Layout layout);
    void giveUpLink();
    void stayOnTcp(RdmaFallback why, const std::string& text);
    bool hasHeard() { return member_.has_value() && link().reader().credits().head() > 0; }
    void closeNow();
    void lookAtProbe();
    void wakeAll();
    void tellWatcher();
    static sync::Task<void> watchPeerLive(std::shared_ptr<ServerCore> self);
    static sync::Task<void> limitBootstrap(Hub* hub, std::weak_ptr<ServerCore> core);
    static sync::Task<void> askForSigns(Hub* hub, std::weak_ptr<ServerCore> core);
    static sync::Task<void> limitLinger(Reactor* reactor, std::weak_ptr<ServerCore> core);

    Hub& hub_;
    std::unique_ptr<Session> tcp_;
    std::unique_ptr<Lifeline> lifeline_;
    std::optional<Hub::Member> member_;
    Completion readable_;
    Completion writable_;
    sync::WaitToken room_;  // set while the session waits for memory
    uint64_t readSeq_ = 0;  // of whom progress is told; 0: nobody waits
    uint64_t writeSeq_ = 0;
    PeerWatcher* watcher_ = nullptr;
    bool sawProbe_ = false;
    bool isMoved_ = false;
    bool isClosed_ = false;  // by us
    bool isOrphan_ = false;  // its session has gone
    bool peerGone_ = false;  // the lifeline has ended
    sync::Atomic<uint32_t> closeAsked_{0};
};

}  // namespace freshet::transport::rdma
