// SPDX-License-Identifier: Apache-2.0
/// SpillTask: one operation's blocking work, one job at a time, on the spill space's threads.
/// Meanwhile the operation returns WouldBlock. One thread at a time.
///
/// INV-1  A job owns or shares everything that it touches: the operation may end before it.
/// INV-2  The operation does not touch what a job shares with it until the job is settled.
#pragma once

#include "freshet/query/spill.h"

#include <functional>
#include <memory>
#include <utility>

namespace freshet::query {

class SpillTask {
    struct State {
        sync::WaitToken done;
        Status status = Status(Code::kUnavailable, "the server is shutting down");
        /// The result is no longer wanted. Written by: the operation, once. Read by: the job,
        /// between its steps.
        ///   STEPS    false -> true, once
        sync::Atomic<bool> isAbandoned{false};
    };

public:
    /// Tells a job whether to go on.
    class Watch {
    public:
        explicit Watch(const State& state) : state_(state) {}
        bool isAbandoned() const {
            // [spill.abandoned] ORDER relaxed: a hint; a late read only costs time.
            return state_.isAbandoned.load(sync::kRelaxed);
        }

    private:
        const State& state_;
    };
    using Job = std::function<Status(const Watch&)>;

    SpillTask() = default;
    ~SpillTask() {
        if (state_ != nullptr) {
            // [spill.abandon] ORDER relaxed: see [spill.abandoned].
            state_->isAbandoned.store(true, sync::kRelaxed);
        }
    }
    SpillTask(const SpillTask&) = delete;
    SpillTask& operator=(const SpillTask&) = delete;

    /// REQUIRES: settled. WouldBlock, or why the job was not accepted.
    Status start(SpillSpace& space, Job job) {
        auto state = std::make_shared<State>();
        FRESHET_ASSIGN_OR_RETURN(token_, space.run([state, work = std::move(job)] {
            state->status = work(Watch(*state));
        }));
        state_ = std::move(state);
        return Status::wouldBlock();
    }
    /// WouldBlock while a job is running; else how it ended, once; ok if there was none.
    Status settle() {
        if (state_ == nullptr) {
            return Status::ok();
        }
        if (!token_.isDone()) {
            return Status::wouldBlock();
        }
        return std::exchange(state_, nullptr)->status;
    }
    /// After WouldBlock: completes when another call is useful.
    const sync::WaitToken& token() const { return token_; }

private:
    std::shared_ptr<State> state_;  // null: settled
    sync::WaitToken token_;
};

}  // namespace freshet::query
