// SPDX-License-Identifier: Apache-2.0
/// A client's end of a link, with a completion queue of its own, and how its threads wait for
/// progress: one looks and sleeps for all.
#pragma once

#include "freshet/sync/mutex.h"
#include "freshet/transport/calls.h"
#include "freshet/transport/rdma.h"
#include "freshet/transport/rdma/link.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace freshet::transport::rdma {

/// What tells a client that its peer has gone: a duplicate of the TCP connection's descriptor, on
/// which nothing is said any more, or the call that it came by.
class PeerSign {
public:
    explicit PeerSign(int socket) : socket_(socket) {}
    explicit PeerSign(std::unique_ptr<verbs::Call> call) : call_(std::move(call)) {}
    PeerSign(PeerSign&& other) noexcept
        : socket_(std::exchange(other.socket_, -1)), call_(std::move(other.call_)) {}
    ~PeerSign();
    int fd() const { return call_ != nullptr ? call_->fd() : socket_; }
    verbs::Call* call() { return call_.get(); }
    /// The descriptor is readable: does that mean the end?
    bool isEnd();

private:
    int socket_ = -1;
    std::unique_ptr<verbs::Call> call_;
};

class ClientEnd {
public:
    static StatusOr<std::unique_ptr<ClientEnd>> create(const RdmaOptions& options,
                                                       const std::string& localAddress,
                                                       PeerSign sign);
    ~ClientEnd();
    ClientEnd(const ClientEnd&) = delete;
    ClientEnd& operator=(const ClientEnd&) = delete;

    using Lock = std::unique_lock<sync::Mutex>;
    Lock lock() { return Lock(mutex_); }

    // Under the lock:
    Link& link() { return *link_; }
    LinkCounters& counters() { return counters_; }
    bool isPeerGone() const { return peerGone_; }
    verbs::Call& call() { return *sign_.call(); }
    /// Takes what has come, without waiting.
    Status look();
    /// Waits, without the lock, until something may have changed or the time is over (0: without
    /// end). False: it is over.
    StatusOr<bool> await(Lock& lock, uint64_t untilNanos);

    /// Any thread, without the lock: wakes whoever waits.
    void wake();

private:
    ClientEnd(const RdmaOptions& options, PeerSign sign)
        : options_(options), sign_(std::move(sign)) {}
    Status open(const std::string& localAddress);
    bool isWorthSpinning() const { return gapNanos_ < kDenseNanos; }
    StatusOr<bool> spin();
    /// Sleeps; takes the bell and the peer's end into account. False: the time is over.
    StatusOr<bool> sleep(Lock& lock, uint64_t untilNanos);

    static constexpr uint64_t kDenseNanos = 50'000;

    const RdmaOptions options_;
    PeerSign sign_;  // a call's events are taken under the lock
    int wakeFd_ = -1;
    sync::Mutex mutex_;
    std::condition_variable_any progress_;
    // Guarded by mutex_:
    std::shared_ptr<verbs::Device> device_;
    std::unique_ptr<verbs::CompletionQueue> queue_;
    BlockPool blocks_;
    LinkCounters counters_;
    std::unique_ptr<Link> link_;
    bool isSomebodyWaiting_ = false;
    bool peerGone_ = false;
    bool found_ = false;  // by the last look
    uint64_t gapNanos_ = kDenseNanos;
};

}  // namespace freshet::transport::rdma
