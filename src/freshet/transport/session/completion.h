// SPDX-License-Identifier: Apache-2.0
/// Completion: one awaited operation of a session, from its start to the system's completion. Every
/// start gets a new opSeq, and a completion must carry it: one that comes late (its operation was
/// given up) or twice is dropped. Everything here runs on the session's executor.
#pragma once

#include "freshet/base/assert.h"
#include "freshet/base/status.h"
#include "freshet/sync/executor.h"

#include <coroutine>
#include <cstdint>

namespace freshet::transport {

class Completion : private sync::WorkItem {
public:
    explicit Completion(sync::Executor& executor) : executor_(executor) {}
    Completion(const Completion&) = delete;
    Completion& operator=(const Completion&) = delete;

    /// Starts an operation and returns its opSeq. REQUIRES: none is in progress.
    uint64_t begin() {
        invariant(phase_ == Phase::kIdle);
        phase_ = Phase::kStarted;
        return ++opSeq_;
    }
    /// The system's completion. False: stale or duplicate, and dropped.
    bool finish(uint64_t opSeq, Status result) {
        if (opSeq != opSeq_ || (phase_ != Phase::kStarted && phase_ != Phase::kAwaited)) {
            return false;
        }
        result_ = std::move(result);
        if (phase_ == Phase::kAwaited) {
            resumeLater();
        } else {
            phase_ = Phase::kFinished;
        }
        return true;
    }
    /// The same for the operation in progress, whichever it is. False: there is none.
    bool finishCurrent(Status result) { return finish(opSeq_, std::move(result)); }
    bool isIdle() const { return phase_ == Phase::kIdle; }

    /// `co_await completion.done()`: the result, always by way of the executor's queue, so that
    /// others get their turn even when the result is ready.
    auto done() {
        struct Awaiter {
            Completion* self;
            bool await_ready() const { return false; }
            void await_suspend(std::coroutine_handle<> caller) { self->park(caller); }
            Status await_resume() { return self->take(); }
        };
        return Awaiter{this};
    }

private:
    enum class Phase : uint8_t { kIdle, kStarted, kAwaited, kFinished, kQueued };

    void park(std::coroutine_handle<> caller) {
        caller_ = caller;
        if (phase_ == Phase::kFinished) {
            resumeLater();
        } else {
            invariant(phase_ == Phase::kStarted);
            phase_ = Phase::kAwaited;
        }
    }
    void resumeLater() {
        phase_ = Phase::kQueued;
        run = [](WorkItem* item) { static_cast<Completion*>(item)->caller_.resume(); };
        executor_.post(this);
    }
    Status take() {
        phase_ = Phase::kIdle;
        return std::move(result_);
    }

    sync::Executor& executor_;
    uint64_t opSeq_ = 0;
    Phase phase_ = Phase::kIdle;
    Status result_;
    std::coroutine_handle<> caller_;
};

}  // namespace freshet::transport
