// SPDX-License-Identifier: Apache-2.0
/// ScriptThreads: where commands with JavaScript run, so that no reactor ever does. Such a command
/// runs from its handler's first line to its last on one of a few threads, which are made when they
/// are first wanted; the reactor meanwhile serves others. A thread has one command at a time.
///
/// An operation that finds no free thread waits. The next free one goes to the user (or address, as
/// holderOf() says) that has fewest of them, and of its operations to the one that came first; one
/// user may have half of the places in the line. Nobody may hold all of them up: while
/// others have waited for a second, a call of a function may run for five, and as many of those
/// that have run longest are ended as there are who wait. Who has waited for half a minute is told
/// so.
#pragma once

#include "freshet/query/javascript.h"
#include "freshet/sync/local_executor.h"
#include "freshet/sync/memory_pool.h"
#include "freshet/sync/mutex.h"
#include "freshet/sync/task.h"
#include "freshet/sync/worker.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace freshet::command {

struct Invocation;
struct ParameterValues;

class ScriptThreads {
public:
    /// `isEnabled`: when not, scripts are refused where they are parsed.
    /// The scripts' heaps count in `memory`, which may be null.
    ScriptThreads(const ParameterValues& parameters, sync::MemoryPool* memory, bool isEnabled);
    /// REQUIRES: no command is running.
    ~ScriptThreads();
    ScriptThreads(const ScriptThreads&) = delete;
    ScriptThreads& operator=(const ScriptThreads&) = delete;

    /// Runs `work`, a part of the command, to its end on one of the threads. What interrupts the
    /// command (killOp, its time limit, its client's going away, shutdown) also ends a running
    /// script, or the wait for a thread. kLimit when too many wait, or for too long.
    sync::Task<Status> run(Invocation& call, sync::Task<Status> work);

private:
    static constexpr size_t kThreadsMax = 8;
    static constexpr size_t kWaitingMax = 1'000;
    static constexpr size_t kWaitingOfOneMax = kWaitingMax / 2;
    static constexpr uint64_t kPatienceMillis = 1'000;
    static constexpr uint64_t kCrowdedCallMillisMax = 5'000;
    static constexpr uint64_t kWaitMillisMax = 30'000;

    struct Thread {
        sync::LocalExecutor executor;
        std::unique_ptr<query::JavaScript> javaScript;  // made, used and ended on the thread
        query::JavaScript* running = nullptr;  // of the command that runs; guarded by mutex_
        std::string holder;                    // who has it; guarded by mutex_
        sync::Worker worker{"script"};
    };
    struct Waiting {
        sync::WaitToken token =
            sync::WaitToken::create();  // changed by who waits; guarded by mutex_
        Thread* thread = nullptr;       // what was handed over; guarded by mutex_
        std::string holder;             // of the command
        uint64_t dueNanos = 0;          // when to wait no longer
    };

    sync::Task<StatusOr<Thread*>> take(Invocation& call);
    /// A thread, or a place in the line.
    StatusOr<Thread*> takeNow(const std::shared_ptr<Waiting>& place);
    /// The thread that was handed over; null: one has to wait on, with another token.
    StatusOr<Thread*> takeLater(const std::shared_ptr<Waiting>& place);
    /// Ends calls that have run for too long while others wait. REQUIRES: mutex_ is held.
    void endLongCalls();
    void giveBack(Thread* thread);
    /// Whose turn it is. REQUIRES: mutex_ is held, somebody waits.
    std::deque<std::shared_ptr<Waiting>>::iterator nextInLine();
    /// Whoever had the place waits no longer.
    void giveUp(const std::shared_ptr<Waiting>& place);
    void setRunning(Thread& thread, query::JavaScript* javaScript);
    void work(Thread& thread, Invocation& call, sync::Task<Status> work, Status* status);
    query::JavaScriptRules rulesOf(const Invocation& call) const;

    const ParameterValues& parameters_;
    sync::MemoryPool* const memory_;
    const bool isEnabled_;
    sync::Mutex mutex_;
    std::vector<Thread*> free_;                     // guarded by mutex_
    std::deque<std::shared_ptr<Waiting>> waiting_;  // guarded by mutex_; in the order of coming
    std::vector<std::unique_ptr<Thread>> threads_;  // guarded by mutex_
};

/// The command may have JavaScript: it belongs to those that can, and names it somewhere.
bool mayRunScripts(const Invocation& call);
/// `mentions` is true of the command's body or of one of its documents.
bool anyDocument(const Invocation& call, bool (*mentions)(bson::Document));

}  // namespace freshet::command
