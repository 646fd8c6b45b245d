// SPDX-License-Identifier: Apache-2.0
/// ScriptThreads: where commands with JavaScript run, so that no reactor ever does. Such a command
/// runs from its handler's first line to its last on one of a few threads, which are made when they
/// are first wanted; the reactor meanwhile serves others. A thread has one command at a time.
#pragma once

#include "freshet/query/javascript.h"
#include "freshet/sync/local_executor.h"
#include "freshet/sync/mutex.h"
#include "freshet/sync/task.h"
#include "freshet/sync/worker.h"

#include <deque>
#include <memory>
#include <vector>

namespace freshet::command {

struct Invocation;
struct ParameterValues;

class ScriptThreads {
public:
    /// `isEnabled`: when not, scripts are refused where they are parsed.
    ScriptThreads(const ParameterValues& parameters, bool isEnabled);
    /// REQUIRES: no command is running.
    ~ScriptThreads();
    ScriptThreads(const ScriptThreads&) = delete;
    ScriptThreads& operator=(const ScriptThreads&) = delete;

    /// Runs `work`, a part of the command, to its end on one of the threads. What interrupts the
    /// command (killOp, its time limit, its client's going away, shutdown) also ends a running
    /// script, or the wait for a thread. kLimit when too many wait.
    sync::Task<Status> run(Invocation& call, sync::Task<Status> work);

private:
    static constexpr size_t kThreadsMax = 8;
    static constexpr size_t kWaitingMax = 1'000;

    struct Thread {
        sync::LocalExecutor executor;
        std::unique_ptr<query::JavaScript> javaScript;  // made, used and ended on the thread
        sync::Worker worker{"script"};
    };
    struct Waiting {
        sync::WaitToken token = sync::WaitToken::create();
        Thread* thread = nullptr;  // what was handed over; guarded by mutex_
    };

    sync::Task<StatusOr<Thread*>> take(Invocation& call);
    /// A thread, or a place in the line.
    StatusOr<Thread*> takeNow(const std::shared_ptr<Waiting>& place);
    void giveBack(Thread* thread);
    /// Whoever had the place waits no longer.
    void giveUp(const std::shared_ptr<Waiting>& place);
    void work(Thread& thread, Invocation& call, sync::Task<Status> work, Status* status);
    query::JavaScriptRules rulesOf(const Invocation& call) const;

    const ParameterValues& parameters_;
    const bool isEnabled_;
    sync::Mutex mutex_;
    std::vector<Thread*> free_;                     // guarded by mutex_
    std::deque<std::shared_ptr<Waiting>> waiting_;  // guarded by mutex_; in the order of coming
    std::vector<std::unique_ptr<Thread>> threads_;  // guarded by mutex_
};

/// The command may have JavaScript: it belongs to those that can, and names it somewhere.
bool mayRunScripts(const Invocation& call);

}  // namespace freshet::command
