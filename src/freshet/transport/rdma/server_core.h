// SPDX-License-Identifier: Apache-2.0
/// The part of a server's RDMA session that outlives it while the system still refers to it: the
/// lifeline, which tells whether the peer is alive, and the link, until everything sent has
/// arrived.
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

    /// Makes our end. The result is the answer to the client, whatever it says.
    Proposal consider(const Proposal& offer);
    /// The client has confirmed that it saw our probe, or not. Moves if we have seen the client's.
    Proposal settle(const Proposal& confirm);
    /// The client has sent another message instead.
    void abandonMove();
    /// Watches the lifeline from now on.
    void move();
    /// For a call, instead of the three above: accepts it, after which the session has moved, or
    /// refuses it and says why.
    Status answerCall(verbs::Call& call);
    bool isMoved() const { return isMoved_; }

    // The data path. All on the reactor; `readable` and `writable` are for a coroutine that waits
    // for progress.

    Link& link() { return *member_->link; }
    /// kCancelled or another reason why the session has ended; ok while it goes on.
    Status ended();
    auto progressForReader() {
        readable_.begin();
        return readable_.done();
    }
    auto progressForWriter() {
        writable_.begin();
        return writable_.done();
    }
    /// Complete when the session has ended, so that a wait for room can be given up. Until
    /// stopWaitingForRoom().
    sync::WaitToken waitForRoom() { return room_ = sync::WaitToken::create(); }
    void stopWaitingForRoom() { room_ = {}; }
    auto turn() {
        readable_.begin();
        readable_.finishCurrent(Status::ok());
        return readable_.done();
    }
    bool watch(PeerWatcher* watcher);
    /// The session is destroyed: what is left ends by itself.
    void abandon();
    /// Any thread, any number of times.
    void askClose();
    void onLinkProgress() override;
    /// Null: the session was made by a call.
    Session* tcp() { return tcp_.get(); }
    const PeerInfo& peer() const { return lifeline_->peer(); }
    Reactor& reactor() { return hub_.reactor(); }
    bool isIdle() const { return readable_.isIdle() && writable_.isIdle(); }

private:
    /// How long to wait for the peer's adapter to acknowledge the last writes.
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
    PeerWatcher* watcher_ = nullptr;
    bool sawProbe_ = false;
    bool isMoved_ = false;
    bool isClosed_ = false;  // by us
    bool isOrphan_ = false;  // its session was destroyed
    bool peerGone_ = false;  // the lifeline has ended
    sync::Atomic<uint32_t> closeAsked_{0};
};

}  // namespace freshet::transport::rdma
