// SPDX-License-Identifier: Apache-2.0
/// A client's end of a link, with a completion queue of its own, and how its threads wait for
/// progress: one thread polls and sleeps for all.
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

/// Reports that a client's peer has gone: a duplicate of the TCP connection's descriptor, on which
/// nothing is sent any more, or the call that the client made.
class PeerSign {
public:
    explicit PeerSign(int socket) : socket_(socket) {}
    explicit PeerSign(std::unique_ptr<verbs::Call> call) : call_(std::move(call)) {}
    PeerSign(PeerSign&& other) noexcept
        : socket_(std::exchange(other.socket_, -1)), call_(std::move(other.call_)) {}
    ~PeerSign();
    int fd() const { return call_ != nullptr ? call_->fd() : socket_; }
    verbs::Call* call() { return call_.get(); }
    /// The descriptor is readable: does that mean that the peer has gone?
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

    // With the lock held:
    Link& link() { return *link_; }
    LinkCounters& counters() { return counters_; }
    bool isPeerGone() const { return peerGone_; }
    verbs::Call& call() { return *sign_.call(); }
    /// Takes the completions that have come, without waiting.
    Status look();
    /// Waits, with the lock released, until something may have changed or the time is over (0: no
    /// limit). False: it is over.
    StatusOr<bool> await(Lock& lock, uint64_t untilNanos);

    /// Any thread, without the lock: wakes all waiting threads.
    void wake();

private:
    ClientEnd(const RdmaOptions& options, PeerSign sign)
        : options_(options), sign_(std::move(sign)) {}
    Status open(const std::string& localAddress);
    bool isWorthSpinning() const { return gapNanos_ < kDenseNanos; }
    StatusOr<bool> spin();
    /// Sleeps; reacts to the wake-up descriptor and the peer's end. False: the time is over.
    StatusOr<bool> sleep(Lock& lock, uint64_t untilNanos);

    static constexpr uint64_t kDenseNanos = 50'000;

    const RdmaOptions options_;
    PeerSign sign_;  // its call's events are taken under the lock
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
    bool found_ = false;  // the last look() found something
    uint64_t gapNanos_ = kDenseNanos;
};

}  // namespace freshet::transport::rdma
