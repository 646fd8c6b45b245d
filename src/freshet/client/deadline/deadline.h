// SPDX-License-Identifier: Apache-2.0
/// A time limit for blocking calls of a session: unless it is destroyed first, it closes the
/// session when the time is over, and the calls return. Own thread.
#pragma once

#include "freshet/platform/thread.h"
#include "freshet/sync/mutex.h"
#include "freshet/transport/session.h"

#include <condition_variable>
#include <cstdint>

namespace freshet::client {

class Deadline {
public:
    /// `milliseconds` 0: never. The session must outlive this.
    Deadline(transport::Session& session, uint32_t milliseconds);
    ~Deadline();
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;

    bool hasPassed();

private:
    void watch(transport::Session& session, uint32_t milliseconds);

    sync::Mutex mutex_;
    std::condition_variable_any changed_;
    bool done_ = false;    // guarded by mutex_
    bool passed_ = false;  // guarded by mutex_
    platform::Thread watcher_;
};

}  // namespace freshet::client
