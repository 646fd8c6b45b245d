// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/retry/session_turns.h"

#include "freshet/command/run/invocation.h"

#include <mutex>

namespace freshet::command {

SessionTurns::Held::~Held() {
    if (line_ == nullptr) {
        return;
    }
    turn_ = Turns::Turn();  // passes it to the next one
    std::lock_guard<sync::Mutex> lock(all_->mutex_);
    if (--line_->second.holders == 0) {
        all_->lines_.erase(all_->lines_.find(line_->first));
    }
}

sync::Task<StatusOr<SessionTurns::Held>> SessionTurns::take(Invocation& call,
                                                            const std::string& session) {
    Held held;
    held.all_ = this;
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        held.line_ = &*lines_.try_emplace(session).first;
        ++held.line_->second.holders;
    }
    StatusOr<Turns::Turn> turn = co_await held.line_->second.turns.take(call);
    FRESHET_CO_RETURN_IF_ERROR(turn.status());
    held.turn_ = std::move(*turn);
    co_return std::move(held);
}

}  // namespace freshet::command
