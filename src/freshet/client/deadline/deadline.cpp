// SPDX-License-Identifier: Apache-2.0
/// The session's blocking calls have no time-out, but close() from any thread ends them: so a
/// thread of our own waits and closes.
#include "freshet/client/deadline/deadline.h"

#include <chrono>
#include <mutex>

namespace freshet::client {

Deadline::Deadline(transport::Session& session, uint32_t milliseconds) {
    if (milliseconds != 0) {
        watcher_ = platform::Thread(
            "deadline", [this, &session, milliseconds] { watch(session, milliseconds); });
    }
}

Deadline::~Deadline() {
    {
        std::lock_guard lock(mutex_);
        done_ = true;
    }
    changed_.notify_all();
}

bool Deadline::hasPassed() {
    std::lock_guard lock(mutex_);
    return passed_;
}

void Deadline::watch(transport::Session& session, uint32_t milliseconds) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(
            lock, std::chrono::milliseconds(milliseconds), [this] { return done_; })) {
        passed_ = true;
        session.close();
    }
}

}  // namespace freshet::client
