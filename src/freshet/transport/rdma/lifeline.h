// SPDX-License-Identifier: Apache-2.0
/// Lifeline: how a server learns, besides from messages, whether the peer of an RDMA session lives:
/// the TCP connection that the session moved from, or the call that it was made by.
#pragma once

#include "freshet/transport/calls.h"
#include "freshet/transport/rdma/fd_watch.h"
#include "freshet/transport/session.h"

#include <memory>

namespace freshet::transport::rdma {

/// Everything on the session's reactor.
class Lifeline {
public:
    virtual ~Lifeline() = default;
    /// Once: returns when the peer has gone, or after close().
    virtual sync::Task<void> untilGone() = 0;
    /// Ends the connection. Any number of times.
    virtual void close() = 0;
    virtual const PeerInfo& peer() const = 0;
    /// The peer is known to have completed the connection.
    virtual bool isUp() const = 0;
};

class TcpLifeline final : public Lifeline {
public:
    explicit TcpLifeline(Session& tcp) : tcp_(tcp) {}
    sync::Task<void> untilGone() override;
    void close() override { tcp_.close(); }
    const PeerInfo& peer() const override { return tcp_.peer(); }
    bool isUp() const override { return true; }

private:
    Session& tcp_;
};

class CallLifeline final : public Lifeline {
public:
    CallLifeline(Reactor& reactor, std::unique_ptr<verbs::Call> call, uint64_t connectionId);
    verbs::Call& call() { return *call_; }
    sync::Task<void> untilGone() override;
    void close() override;
    const PeerInfo& peer() const override { return peer_; }
    bool isUp() const override { return isUp_; }

private:
    /// False: the peer has gone.
    bool takeEvents();

    const std::unique_ptr<verbs::Call> call_;
    FdWatch watch_;  // destroyed before the descriptor
    PeerInfo peer_;
    bool isUp_ = false;
    bool isOver_ = false;
};

}  // namespace freshet::transport::rdma
