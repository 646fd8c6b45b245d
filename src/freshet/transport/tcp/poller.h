// SPDX-License-Identifier: Apache-2.0
/// Poller: what a reactor waits for, descriptors (epoll) and timers. A descriptor is registered
/// once for as long as it is watched. With EPOLLET nothing is re-armed afterwards: each event says
/// that something has come since the one before, and the watcher reads until nothing is left.
/// Everything on the reactor's thread, or before it starts or after it has ended.
#pragma once

#include "freshet/base/status.h"
#include "freshet/sync/wait_token.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace freshet::transport {

/// A user of the poller, which is told of the events of its descriptor.
class Watched {
public:
    /// `events`: EPOLL* bits. Puts work on the run queue, and ends no watch: events that were
    /// taken together with this one would be told to what is gone.
    virtual void onEvents(uint32_t events) = 0;

protected:
    ~Watched() = default;
};

class LaterCall;

class Poller {
public:
    static StatusOr<std::unique_ptr<Poller>> create();
    ~Poller();
    Poller(const Poller&) = delete;
    Poller& operator=(const Poller&) = delete;

    /// `who` and the descriptor outlive the watch. kIo: the system allows no more.
    Status watch(int fd, uint32_t events, Watched* who);
    /// Watches for other events; those that are there already are told again.
    void rewatch(int fd, uint32_t events, Watched* who);
    void unwatch(int fd);

    /// Completes `token` in so many milliseconds, or when tokens are completed early.
    void completeLater(uint64_t ms, sync::WaitToken token);
    /// Completes all tokens that wait, and from now on each one at once.
    void completeEarly();

    /// Tells of all events that have come and completes the timers that are due. If `mayBlock`,
    /// waits until there is at least one of them.
    void poll(bool mayBlock);

private:
    friend class LaterCall;
    struct Timer {
        sync::WaitToken token;        // empty: of a call
        LaterCall* caller = nullptr;  // null: of a token
    };
    using Timers = std::multimap<uint64_t, Timer>;  // by platform::monotonicNanos()

    explicit Poller(int epollFd) : epollFd_(epollFd) {}
    int waitMillis() const;
    void completeDue();

    const int epollFd_;
    bool isTelling_ = false;
    bool isEarly_ = false;
    Timers timers_;
};

/// A call at a later time, by the poller and outside of a pass.
class LaterCall {
public:
    explicit LaterCall(Poller& poller) : poller_(poller) {}
    ~LaterCall() { cancel(); }
    LaterCall(const LaterCall&) = delete;
    LaterCall& operator=(const LaterCall&) = delete;

    /// Instead of an earlier one that is still to come.
    void start(uint64_t ms, std::function<void()> call);
    void cancel();

private:
    friend class Poller;
    void makeCall();

    Poller& poller_;
    std::function<void()> call_;
    std::optional<Poller::Timers::iterator> at_;  // while it is to come
};

}  // namespace freshet::transport
