// SPDX-License-Identifier: Apache-2.0
/// Pair: a driver's connection and the connection to the server that was made for it. Messages from
/// one go to the other. Each direction has a thread of its own, so that no message waits for
/// another: a driver may send several at once, and a server may answer one request many times or
/// not at all.
#pragma once

#include "freshet/platform/thread.h"
#include "freshet/sync/mutex.h"
#include "freshet/transport/session.h"

#include <functional>
#include <memory>

namespace freshet::proxy {

class Pair {
public:
    using Dial = std::function<StatusOr<std::unique_ptr<transport::Session>>()>;

    /// Connects on a thread of its own. `onOver` is called on that thread when both connections
    /// have been closed.
    Pair(std::unique_ptr<transport::Session> driver, Dial dial, std::function<void()> onOver);
    /// end(), then waits.
    ~Pair();
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;

    /// Any thread: ends both connections.
    void end();
    bool isOver() const;

private:
    void run(const Dial& dial);
    /// False: it was ended meanwhile.
    bool adopt(std::unique_ptr<transport::Session> server);
    void leaveBoth();
    /// True for the first call.
    bool endOnce();
    /// Carries messages until one of the two ends; then both end.
    void carry(transport::Session& from, transport::Session& to, const char* fromName);

    const std::function<void()> onOver_;
    mutable sync::Mutex mutex_;
    /// Set and freed by run()'s thread, under the mutex; used by both threads without it.
    std::unique_ptr<transport::Session> driver_;
    std::unique_ptr<transport::Session> server_;
    bool isEnding_ = false;  // guarded by mutex_
    bool isOver_ = false;    // guarded by mutex_
    platform::Thread thread_;
};

}  // namespace freshet::proxy
