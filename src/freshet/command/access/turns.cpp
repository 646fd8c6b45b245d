// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/access/turns.h"

#include "freshet/command/run/invocation.h"

#include <algorithm>
#include <mutex>

namespace freshet::command {

sync::Task<StatusOr<Turns::Turn>> Turns::take(Invocation& call) {
    const sync::WaitToken token = sync::WaitToken::create();
    uint64_t ticket = 0;
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        ticket = ++tickets_;
        if (isTaken_) {
            waiting_.push_back({ticket, token});
        } else {
            isTaken_ = true;
            token.complete();
        }
    }
    const Status status = co_await waitOrStop(call, token);
    if (!status.isOk()) {
        giveUp(ticket);
        co_return status;
    }
    co_return Turn(this);
}

void Turns::pass() {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (waiting_.empty()) {
        isTaken_ = false;
        return;
    }
    const sync::WaitToken next = std::move(waiting_.front().token);
    waiting_.pop_front();
    next.complete();
}

void Turns::giveUp(uint64_t ticket) {
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        const auto mine =
            std::find_if(waiting_.begin(), waiting_.end(), [ticket](const Waiting& one) {
                return one.ticket == ticket;
            });
        if (mine != waiting_.end()) {
            waiting_.erase(mine);
            return;
        }
    }
    pass();
}

}  // namespace freshet::command
