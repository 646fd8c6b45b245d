// SPDX-License-Identifier: Apache-2.0
/// ScriptThreads: the threads on which commands with JavaScript run, so that no reactor ever does.
/// Such a command runs on one of a few threads from its handler's first line to its last; the
/// reactor serves others meanwhile. Threads are created on demand. A thread has one command at a
/// time.
///
/// An operation that finds no free thread waits. The next free thread goes to the user (or address,
/// as holderOf() says) with the fewest running operations, and among that user's operations to the
/// oldest. One user may have half of the places in the queue. No user can block the others for
/// long: when operations have waited for a second, a call of a function may run for five seconds;
/// then as many of the longest running calls are ended as operations wait. An operation that has
/// waited for half a minute fails with an error that says so.
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
    /// `isEnabled`: otherwise scripts are refused by the parser. The scripts' heaps count in
    /// `memory`, which may be null.
    ScriptThreads(const ParameterValues& parameters, sync::MemoryPool* memory, bool isEnabled);
    /// REQUIRES: no command is running.
    ~ScriptThreads();
    ScriptThreads(const ScriptThreads&) = delete;
    ScriptThreads& operator=(const ScriptThreads&) = delete;

    /// Runs `work`, a part of the command, to its end on one of the threads. Whatever interrupts
    /// the command (killOp, its time limit, a disconnected client, shutdown) also ends a running
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
        std::unique_ptr<query::JavaScript> javaScript;  // created, used and destroyed on the thread
        query::JavaScript* running = nullptr;           // while a command runs; guarded by mutex_
        std::string holder;                             // of the running command; guarded by mutex_
        sync::Worker worker{"script"};
    };
    struct Waiting {
        sync::WaitToken token =
            sync::WaitToken::create();  // replaced by the waiting command; guarded by mutex_
        Thread* thread = nullptr;       // the thread assigned to it; guarded by mutex_
        std::string holder;             // of the command
        uint64_t dueNanos = 0;          // when to give up
    };

    sync::Task<StatusOr<Thread*>> take(Invocation& call);
    /// A free thread, or null with a place in the queue.
    StatusOr<Thread*> takeNow(const std::shared_ptr<Waiting>& place);
    /// The assigned thread; null: wait again, with another token.
    StatusOr<Thread*> takeLater(const std::shared_ptr<Waiting>& place);
    /// Ends calls that have run for too long while others wait. REQUIRES: mutex_ is held.
    void endLongCalls();
    void giveBack(Thread* thread);
    /// The next one to get a thread. REQUIRES: mutex_ is held, the queue is not empty.
    std::deque<std::shared_ptr<Waiting>>::iterator nextInLine();
    /// The command at `place` waits no longer.
    void giveUp(const std::shared_ptr<Waiting>& place);
    void setRunning(Thread& thread, query::JavaScript* javaScript);
    void work(Thread& thread, Invocation& call, sync::Task<Status> work, Status* status);
    query::JavaScriptRules rulesOf(const Invocation& call) const;

    const ParameterValues& parameters_;
    sync::MemoryPool* const memory_;
    const bool isEnabled_;
    sync::Mutex mutex_;
    std::vector<Thread*> free_;                     // guarded by mutex_
    std::deque<std::shared_ptr<Waiting>> waiting_;  // guarded by mutex_; in the order of arrival
    std::vector<std::unique_ptr<Thread>> threads_;  // guarded by mutex_
};

/// The command may have JavaScript: its kind allows that, and its body mentions some.
bool mayRunScripts(const Invocation& call);
/// `mentions` returns true for the command's body or for one of its documents.
bool anyDocument(const Invocation& call, bool (*mentions)(bson::Document));

}  // namespace freshet::command
