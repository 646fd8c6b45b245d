// SPDX-License-Identifier: Apache-2.0
/// SessionTurns: of the commands that carry transaction numbers of one session, one runs at a time.
/// A driver that lost its connection sends a write again while the first one may still be running.
/// Any thread; one mutex that is a leaf.
#pragma once

#include "freshet/command/access/turns.h"

#include <memory>
#include <string>
#include <unordered_map>

namespace freshet::command {

class SessionTurns {
    struct Line {
        Turns turns;
        size_t holders = 0;  // those that have or wait for the turn; guarded by mutex_
    };

public:
    /// A place in the session's queue, and the turn when it has come.
    class Held {
    public:
        Held() = default;
        Held(Held&& other) noexcept { *this = std::move(other); }
        Held& operator=(Held&& other) noexcept {
            std::swap(all_, other.all_);
            std::swap(line_, other.line_);
            std::swap(turn_, other.turn_);
            return *this;
        }
        ~Held();

    private:
        friend class SessionTurns;
        SessionTurns* all_ = nullptr;
        std::unordered_map<std::string, Line>::value_type* line_ = nullptr;
        Turns::Turn turn_;
    };

    /// Waits for the turn. An error when the command must end.
    sync::Task<StatusOr<Held>> take(Invocation& call, const std::string& session);

private:
    sync::Mutex mutex_;
    std::unordered_map<std::string, Line> lines_;  // guarded by mutex_; addresses stay
};

}  // namespace freshet::command
