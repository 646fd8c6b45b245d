// SPDX-License-Identifier: Apache-2.0
#include "freshet/sync/wait_token.h"

#include "freshet/base/assert.h"

#include <semaphore.h>

#include <cerrno>

namespace freshet::sync {

/// Shared by the copies of one token.
///   WORD     waiter: 0 = pending, 1 = done, else the armed Waiter*
///   STEPS    pending -> done, or pending -> armed -> done or pending; done is final
///   RECLAIM  refs counts the copies; the last drop deletes
struct WaitToken::State {
    Atomic<uint32_t> refs{1};
    Atomic<uintptr_t> waiter{kPending};

    static constexpr uintptr_t kPending = 0;
    static constexpr uintptr_t kDone = 1;
};

WaitToken WaitToken::create() {
    return WaitToken(new State);
}

WaitToken WaitToken::completed() {
    WaitToken token = create();
    token.complete();
    return token;
}

void WaitToken::hold() const {
    if (state_ != nullptr) {
        // [token.hold] relaxed: a copy is made from a live copy, so the count cannot reach zero
        // here.
        state_->refs.fetch_add(1, kRelaxed);
    }
}

void WaitToken::drop() {
    // [token.drop] acq_rel: pairs with itself; the last drop sees all uses through other copies.
    if (state_ != nullptr && state_->refs.fetch_sub(1, kAcqRel) == 1) {
        delete state_;
    }
    state_ = nullptr;
}

bool WaitToken::isDone() const {
    // [token.isDone] acquire: pairs with [token.complete]; what was done before it is visible.
    return state_->waiter.load(kAcquire) == State::kDone;
}

void WaitToken::complete() const {
    // Held during the call: the woken waiter may drop every other copy at once.
    WaitToken self(*this);
    // [token.complete] acq_rel: release pairs with [token.isDone] and [token.arm] (a failed arm
    // sees our work); acquire pairs with [token.arm], so the Waiter's fields are visible.
    uintptr_t before = state_->waiter.exchange(State::kDone, kAcqRel);
    if (before != State::kPending && before != State::kDone) {
        auto* waiter = reinterpret_cast<Waiter*>(before);
        waiter->wake(waiter);
    }
}

bool WaitToken::arm(Waiter* waiter) const {
    uintptr_t expected = State::kPending;
    // [token.arm] CAS. ORDER: release pairs with [token.complete]; acquire on failure pairs with it
    // too.
    //   LOST     the token is done: the caller goes on. Armed twice: a programming error.
    //   PROGRESS one attempt.
    if (state_->waiter.compare_exchange_strong(
            expected, reinterpret_cast<uintptr_t>(waiter), kAcqRel, kAcquire)) {
        return true;
    }
    invariant(expected == State::kDone);
    return false;
}

bool WaitToken::disarm(Waiter* waiter) const {
    auto expected = reinterpret_cast<uintptr_t>(waiter);
    // [token.disarm] CAS. ORDER: relaxed on success: the waiter's owner takes back fields that only
    // it has written. Acquire on failure pairs with [token.complete].
    //   LOST     the token is done: the completer calls, or has called, the waiter.
    //   PROGRESS one attempt.
    return state_->waiter.compare_exchange_strong(expected, State::kPending, kRelaxed, kAcquire);
}

namespace {

/// A semaphore and not a mutex with a condition: the woken thread has no lock to wait for.
struct ParkedThread : Waiter {
    ParkedThread() { invariant(::sem_init(&woken, 0, 0) == 0); }
    ~ParkedThread() { ::sem_destroy(&woken); }
    sem_t woken;
};

}  // namespace

void blockOn(const WaitToken& token) {
    ParkedThread parked;
    parked.wake = [](Waiter* self) { ::sem_post(&static_cast<ParkedThread*>(self)->woken); };
    if (!token.arm(&parked)) {
        return;
    }
    while (::sem_wait(&parked.woken) != 0 && errno == EINTR) {
    }
}

}  // namespace freshet::sync
