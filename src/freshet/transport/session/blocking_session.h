// SPDX-License-Identifier: Apache-2.0
/// What all kinds of client session share: they block their callers, have no executor, and are
/// closed once and for all, by any thread.
#pragma once

#include "freshet/sync/atomic.h"
#include "freshet/transport/session.h"

namespace freshet::transport {

class BlockingSession : public Session {
public:
    sync::Task<StatusOr<Message>> asyncSourceMessage() final { co_return wrongPair(); }
    sync::Task<Status> asyncSinkMessage(ReplyChain) final { co_return wrongPair(); }
    bool watchPeer(PeerWatcher*) final { return false; }  // it has no run queue to call from

protected:
    /// The first step of close(): a thread woken by the later steps sees why.
    void noteClosed() {
        // [client.close] release: pairs with [client.closed].
        closed_.store(1, sync::kRelease);
    }
    bool isClosed() const {
        // [client.closed] acquire: pairs with [client.close].
        return closed_.load(sync::kAcquire) != 0;
    }

private:
    static Status wrongPair() {
        return Status(Code::kUnsupported, "A blocking session has no executor");
    }

    sync::Atomic<uint32_t> closed_{0};
};

}  // namespace freshet::transport
