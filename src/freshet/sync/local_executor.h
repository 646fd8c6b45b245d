// SPDX-License-Identifier: Apache-2.0
/// LocalExecutor: an executor driven by the thread that calls run(). For tests and small tools: a
/// command can be run from bytes to bytes with no socket and no reactor.
#pragma once

#include "freshet/sync/task.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace freshet::sync {

class LocalExecutor final : public Executor {
public:
    LocalExecutor() = default;
    ~LocalExecutor() override;

    void post(WorkItem* item) override;
    WaitToken after(uint64_t ms) override;

    /// Runs `task` and everything posted meanwhile on the calling thread until `task` has ended.
    template <typename T>
    T run(Task<T> task) {
        std::optional<T> result;
        runUntilDone(keep(std::move(task), &result));
        return std::move(*result);
    }
    void run(Task<void> task) { runUntilDone(std::move(task)); }

private:
    struct Timer {
        uint64_t due;
        WaitToken token;
    };
    template <typename T>
    static Task<void> keep(Task<T> task, std::optional<T>* out) {
        out->emplace(co_await std::move(task));
    }
    void runUntilDone(Task<void> task);
    WorkItem* next();

    std::mutex mutex_;
    std::condition_variable changed_;
    WorkItem* head_ = nullptr;  // guarded by mutex_
    WorkItem* tail_ = nullptr;  // guarded by mutex_
    std::vector<Timer> timers_;
};

}  // namespace freshet::sync
