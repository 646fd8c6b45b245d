// SPDX-License-Identifier: Apache-2.0
/// Session: one connection that moves whole messages. Server and client use the same class for TCP,
/// loopback and RDMA; after the handshake both sides are alike. Nothing above transport knows which
/// kind it is.
#pragma once

#include "freshet/base/status.h"
#include "freshet/sync/task.h"
#include "freshet/transport/message.h"

#include <cstdint>
#include <memory>
#include <string>

namespace freshet::transport {

struct PeerInfo {
    uint64_t connectionId = 0;  // unique in this process
    std::string remote;         // "127.0.0.1:51234"
    std::string local;
    std::string kind;  // "tcp", "unix", "loopback", "rdma"
    /// From this machine: a Unix socket, or both ends on a loopback address.
    bool isLocal = false;
    bool isTls = false;
    std::string certificateSubject;  // RFC 2253 name of the peer's certificate; empty without one
    std::string serverName;  // the name of us that the peer gave in its TLS handshake; or empty
};

struct SessionStats {
    uint64_t messagesIn = 0;
    uint64_t messagesOut = 0;
    uint64_t bytesIn = 0;
    uint64_t bytesOut = 0;
};

/// Called when the peer has gone.
class PeerWatcher {
public:
    virtual void onPeerGone() = 0;

protected:
    ~PeerWatcher() = default;
};

/// The async pair runs on the session's executor only. The blocking pair belongs to a client's own
/// thread: only close() may come from others, and without TLS a second thread may sink while the
/// first one sources. A session uses one pair or the other. Errors: kCancelled when the peer or
/// close() ended the connection between messages, kIo when the system failed or a message was cut,
/// kInvalid (kProtocolError) for a length outside the limits, which is checked before anything is
/// allocated.
/// checked before anything is allocated.
class Session {
public:
    virtual ~Session() = default;
    /// Blocks until a whole message has come.
    virtual StatusOr<Message> sourceMessage() = 0;
    /// Blocks until the message has been handed to the system.
    virtual Status sinkMessage(ReplyChain chain) = 0;
    virtual sync::Task<StatusOr<Message>> asyncSourceMessage() = 0;
    virtual sync::Task<Status> asyncSinkMessage(ReplyChain chain) = 0;
    /// Any thread, any number of times: ends the connection; operations in progress return
    /// kCancelled.
    virtual void close() = 0;
    /// A longer message from the peer is a protocol error, found before anything is allocated for
    /// it. Applies from the next source on; initially wire::kMessageBytesMax.
    virtual void setMessageBytesMax(size_t bytes) = 0;
    /// On the session's executor, while nothing is sourced or sunk: calls `watcher` once, from the
    /// run queue, when the peer ends the connection. The watcher outlives the session. False: the
    /// session cannot watch now (unread input hides the end): ask again later.
    virtual bool watchPeer(PeerWatcher* watcher) = 0;
    /// Complete once a message has come: the TLS handshake is over by then.
    virtual const PeerInfo& peer() const = 0;
    virtual SessionStats stats() const = 0;
};

}  // namespace freshet::transport
