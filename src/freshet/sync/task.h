// SPDX-License-Identifier: Apache-2.0
/// Task<T>: a lazily started coroutine that yields one T to its awaiter. Used at session and
/// command level only; engine and journal are plain functions that return WouldBlock. The awaiter
/// owns a Task. An awaited chain runs on one executor from start to end, unless it moves to another
/// one (`moveTo`). Exceptions do not leave a Task: one that tries ends the process. g++ 12: compile
/// with -O2 and -foptimize-sibling-calls, else long chains overflow the stack.
#pragma once

#include "freshet/base/assert.h"
#include "freshet/sync/executor.h"
#include "freshet/sync/task_frames.h"
#include "freshet/sync/task_local.h"

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace freshet::sync {

template <typename T>
class Task;

namespace detail {

struct PromiseBase {
    std::coroutine_handle<> continuation = std::noop_coroutine();

    static void* operator new(size_t bytes) { return allocateFrame(bytes); }
    static void operator delete(void* frame, size_t bytes) noexcept { freeFrame(frame, bytes); }

    struct FinalAwaiter {
        bool await_ready() noexcept { return false; }
        template <typename Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
            return self.promise().continuation;
        }
        void await_resume() noexcept {}
    };

    std::suspend_always initial_suspend() noexcept { return {}; }
    FinalAwaiter final_suspend() noexcept { return {}; }
    [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
};

template <typename T>
struct Promise : PromiseBase {
    std::optional<T> value;
    Task<T> get_return_object();
    template <typename U>
    void return_value(U&& result) {
        value.emplace(std::forward<U>(result));
    }
    T take() {
        T result = std::move(*value);
        return result;
    }
};

template <>
struct Promise<void> : PromiseBase {
    Task<void> get_return_object();
    void return_void() {}
    void take() {}
};

}  // namespace detail

template <typename T = void>
class [[nodiscard]] Task {
public:
    using promise_type = detail::Promise<T>;
    using Handle = std::coroutine_handle<promise_type>;

    Task() = default;
    explicit Task(Handle handle) : handle_(handle) {}
    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Task& operator=(Task&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Task() {
        if (handle_) {
            handle_.destroy();
        }
    }

    struct Awaiter {
        Handle handle;
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
            handle.promise().continuation = caller;
            return handle;
        }
        T await_resume() { return handle.promise().take(); }
    };
    Awaiter operator co_await() && {
        dcheck(handle_);
        return Awaiter{handle_};
    }

private:
    Handle handle_;
};

template <typename T>
Task<T> detail::Promise<T>::get_return_object() {
    return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}

inline Task<void> detail::Promise<void>::get_return_object() {
    return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

/// `co_await wait(token)`: suspends until the token is complete, then continues on the same
/// executor.
class TokenAwaiter : private Waiter, private WorkItem {
public:
    explicit TokenAwaiter(WaitToken token) : token_(std::move(token)) {}
    bool await_ready() const { return false; }
    bool await_suspend(std::coroutine_handle<> caller);
    void await_resume() const { TaskLocal::putBack(local_); }

private:
    WaitToken token_;
    Executor* executor_ = nullptr;
    std::coroutine_handle<> caller_;
    TaskLocal* local_ = nullptr;
};

/// `co_await moveTo(executor)`: the chain of tasks continues on that executor's thread.
class MoveAwaiter : private WorkItem {
public:
    explicit MoveAwaiter(Executor& target) : target_(target) {}
    bool await_ready() const { return Executor::current() == &target_; }
    void await_suspend(std::coroutine_handle<> caller);
    void await_resume() const {
        if (caller_) {
            TaskLocal::putBack(local_);
        }
    }

private:
    Executor& target_;
    std::coroutine_handle<> caller_;
    TaskLocal* local_ = nullptr;
};
inline MoveAwaiter moveTo(Executor& target) {
    return MoveAwaiter(target);
}

/// If the token is already complete, the executor's other work still runs first.
inline TokenAwaiter wait(WaitToken token) {
    return TokenAwaiter(std::move(token));
}

/// Starts `task` on `executor` and lets it run to its end unattended. Any thread.
void spawn(Executor& executor, Task<void> task);

}  // namespace freshet::sync
