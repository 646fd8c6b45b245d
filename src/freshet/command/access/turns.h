// SPDX-License-Identifier: Apache-2.0
/// Turns: one command at a time has the turn, in the order in which they asked; whoever waits for
/// it holds up no thread. For work that reads, waits and writes back what it read.
#pragma once

#include "freshet/base/status.h"
#include "freshet/sync/mutex.h"
#include "freshet/sync/task.h"

#include <cstdint>
#include <deque>
#include <utility>

namespace freshet::command {

struct Invocation;

class Turns {
public:
    /// The turn itself: over when this goes. Any thread.
    class Turn {
    public:
        Turn() = default;
        explicit Turn(Turns* turns) : turns_(turns) {}
        Turn(Turn&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)) {}
        Turn& operator=(Turn&& other) noexcept {
            std::swap(turns_, other.turns_);
            return *this;
        }
        ~Turn() {
            if (turns_ != nullptr) {
                turns_->pass();
            }
        }

    private:
        Turns* turns_ = nullptr;
    };

    /// Waits for the turn. An error when the command is not to go on.
    sync::Task<StatusOr<Turn>> take(Invocation& call);

private:
    struct Waiting {
        uint64_t ticket;
        sync::WaitToken token;
    };

    /// Hands the turn to the next one.
    void pass();
    /// The one with this ticket waits no longer; if it has been given the turn, that passes on.
    void giveUp(uint64_t ticket);

    sync::Mutex mutex_;
    bool isTaken_ = false;         // guarded by mutex_
    uint64_t tickets_ = 0;         // guarded by mutex_
    std::deque<Waiting> waiting_;  // guarded by mutex_; at most one for each connection
};

}  // namespace freshet::command
