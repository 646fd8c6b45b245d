// SPDX-License-Identifier: Apache-2.0
/// TaskLocal: data that belongs to a chain of tasks and follows it from thread to thread. Code deep
/// inside (a parser, an expression) finds it through current(), so it need not be passed through
/// every call. A wait takes it off the thread and puts it back where the chain continues, on
/// whichever thread that is (`TokenAwaiter`).
#pragma once

#include <utility>

namespace freshet::sync {

class TaskLocal {
public:
    virtual ~TaskLocal() = default;

    /// The TaskLocal of the chain that this thread is running, or null.
    static TaskLocal* current() { return current_; }
    /// On the thread that runs the chain. Null: the chain has none from now on.
    static void set(TaskLocal* local) {
        takeOff();
        putBack(local);
    }
    /// The chain stops running on this thread. Returns the argument for putBack().
    static TaskLocal* takeOff() {
        TaskLocal* const local = std::exchange(current_, nullptr);
        if (local != nullptr) {
            local->leaveThread();
        }
        return local;
    }
    static void putBack(TaskLocal* local) {
        current_ = local;
        if (local != nullptr) {
            local->enterThread();
        }
    }

protected:
    virtual void enterThread() {}
    virtual void leaveThread() {}

private:
    static inline thread_local TaskLocal* current_ = nullptr;
};

}  // namespace freshet::sync
