// SPDX-License-Identifier: Apache-2.0
/// Turns: commands get the turn one at a time, in the order in which they asked; waiting blocks no
/// thread. For work that reads, waits and writes back what it read.
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
    /// The turn itself: it ends when this is destroyed. Any thread.
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

    /// Waits for the turn. An error when the command must end.
    sync::Task<StatusOr<Turn>> take(Invocation& call);

private:
    struct Waiting {
        uint64_t ticket;
        sync::WaitToken token;
    };

    /// Passes the turn to the next command in the queue.
    void pass();
    /// The command with this ticket waits no longer; if it has been given the turn, that passes on.
    void giveUp(uint64_t ticket);

    sync::Mutex mutex_;
    bool isTaken_ = false;         // guarded by mutex_
    uint64_t tickets_ = 0;         // guarded by mutex_
    std::deque<Waiting> waiting_;  // guarded by mutex_; at most one for each connection
};

}  // namespace freshet::command
