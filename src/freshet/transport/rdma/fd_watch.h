// SPDX-License-Identifier: Apache-2.0
/// FdWatch: waits on a reactor until a descriptor that something else owns is readable.
#pragma once

#include "freshet/transport/session/completion.h"
#include "freshet/transport/tcp/reactor.h"

namespace freshet::transport::rdma {

/// Everything on the reactor's thread.
class FdWatch : private Watched {
public:
    /// The descriptor outlives this.
    FdWatch(Reactor& reactor, int fd);
    /// REQUIRES: no coroutine waits.
    ~FdWatch();
    FdWatch(const FdWatch&) = delete;
    FdWatch& operator=(const FdWatch&) = delete;

    /// `co_await watch.readable()`: true once there is something to read, false after cancel().
    /// Resumes by way of the run queue.
    auto readable() {
        arm();
        return Awaiter{completion_};
    }
    /// Current and future waits return false.
    void cancel();

private:
    struct Awaiter {
        Completion& completion;
        decltype(completion.done()) inner = completion.done();
        bool await_ready() const { return inner.await_ready(); }
        void await_suspend(std::coroutine_handle<> caller) { inner.await_suspend(caller); }
        bool await_resume() { return inner.await_resume().isOk(); }
    };
    void onEvents(uint32_t events) override;
    void arm();

    Reactor& reactor_;
    const int fd_;
    Completion completion_;
    bool isWatched_ = false;
    bool isCancelled_ = false;
};

}  // namespace freshet::transport::rdma
