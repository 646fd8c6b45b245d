// SPDX-License-Identifier: Apache-2.0
/// Executor: where posted work runs, one item at a time, on one thread. transport's reactor is the
/// real one; LocalExecutor drives coroutines in tests and tools.
#pragma once

#include "freshet/sync/wait_token.h"

#include <cstdint>

namespace freshet::sync {

/// A unit of work, owned by its poster, alive until `run` is entered; posting allocates nothing.
struct WorkItem {
    WorkItem* next = nullptr;  // the executor's while queued
    void (*run)(WorkItem* self) = nullptr;
};

class Executor {
public:
    virtual ~Executor() = default;
    /// Any thread. Runs `item` later on the executor's thread, in the order of posting per poster.
    virtual void post(WorkItem* item) = 0;
    /// Executor's thread only. Completed after `ms` milliseconds, or at shutdown.
    virtual WaitToken after(uint64_t ms) = 0;

    /// The executor whose thread this is, or null.
    static Executor* current();

protected:
    static void setCurrent(Executor* executor);
};

}  // namespace freshet::sync
