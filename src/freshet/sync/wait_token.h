// SPDX-License-Identifier: Apache-2.0
/// WaitToken: the other half of Status::wouldBlock(). An operation that cannot continue returns
/// WouldBlock and names a token; the thread that removes the obstacle completes it; the caller
/// waits (a coroutine by `co_await wait(token)`, a plain thread by `blockOn(token)`) and calls
/// again. One-shot. Copies share one state, freed with the last copy.
#pragma once

#include "freshet/sync/atomic.h"

#include <cstdint>

namespace freshet::sync {

/// Called once when a token is completed. `wake` runs on the completing thread, must not block and
/// must not touch the Waiter after passing it on.
struct Waiter {
    void (*wake)(Waiter* self) = nullptr;
};

class WaitToken {
public:
    /// An empty token: waiting for it is a programming error.
    WaitToken() = default;
    ~WaitToken() { drop(); }
    WaitToken(const WaitToken& other) : state_(other.state_) { hold(); }
    WaitToken(WaitToken&& other) noexcept : state_(other.state_) { other.state_ = nullptr; }
    WaitToken& operator=(WaitToken other) noexcept {
        State* mine = state_;
        state_ = other.state_;
        other.state_ = mine;
        return *this;
    }

    static WaitToken create();
    /// Already complete: "call again at once, but let others run first".
    static WaitToken completed();

    bool isSet() const { return state_ != nullptr; }
    bool isDone() const;
    /// Any thread, any number of times; only the first has an effect.
    void complete() const;
    /// Registers the only waiter. False: the token is already complete and `wake` will not be
    /// called.
    bool arm(Waiter* waiter) const;
    /// Removes the armed waiter: it will not be called, and another may arm the token. False: the
    /// token is complete, and `wake` has been called, is being called, or is about to be.
    bool disarm(Waiter* waiter) const;

private:
    struct State;
    explicit WaitToken(State* state) : state_(state) {}
    void hold() const;
    void drop();
    State* state_ = nullptr;
};

/// Parks the calling plain thread until the token is complete. Never on a reactor.
void blockOn(const WaitToken& token);

}  // namespace freshet::sync
