// SPDX-License-Identifier: Apache-2.0
#include "freshet/sync/task.h"

namespace freshet::sync {
namespace {

thread_local Executor* currentExecutor = nullptr;

/// A coroutine that frees itself at its end.
struct Detached {
    struct promise_type {
        Detached get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

Detached runToEnd(Task<void> task) {
    co_await std::move(task);
}

struct Starter : WorkItem {
    std::coroutine_handle<> handle;
};

}  // namespace

Executor* Executor::current() {
    return currentExecutor;
}
void Executor::setCurrent(Executor* executor) {
    currentExecutor = executor;
}

bool TokenAwaiter::await_suspend(std::coroutine_handle<> caller) {
    executor_ = Executor::current();
    invariant(executor_ != nullptr);
    caller_ = caller;
    local_ = TaskLocal::takeOff();
    run = [](WorkItem* item) { static_cast<TokenAwaiter*>(item)->caller_.resume(); };
    wake = [](Waiter* waiter) {
        auto* self = static_cast<TokenAwaiter*>(waiter);
        self->executor_->post(self);
    };
    // Once armed, another thread may resume the coroutine, which frees `this`: after that use
    // locals only.
    Executor* executor = executor_;
    WaitToken token = token_;
    if (!token.arm(this)) {
        executor->post(this);
    }
    return true;
}

void MoveAwaiter::await_suspend(std::coroutine_handle<> caller) {
    caller_ = caller;
    local_ = TaskLocal::takeOff();
    run = [](WorkItem* item) { static_cast<MoveAwaiter*>(item)->caller_.resume(); };
    target_.post(this);  // frees `this`, maybe before it returns
}

void spawn(Executor& executor, Task<void> task) {
    auto* starter = new Starter;
    starter->handle = runToEnd(std::move(task)).handle;
    starter->run = [](WorkItem* item) {
        auto* self = static_cast<Starter*>(item);
        std::coroutine_handle<> handle = self->handle;
        delete self;
        handle.resume();
    };
    executor.post(starter);
}

}  // namespace freshet::sync
