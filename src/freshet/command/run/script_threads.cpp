// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/script_threads.h"

#include "freshet/command/run/invocation.h"

#include <algorithm>
#include <mutex>

namespace freshet::command {
namespace {

/// While it lives, what interrupts the command ends its script too.
class Interruption {
public:
    Interruption(ConnectionRecord& record, query::JavaScript& javaScript) : record_(record) {
        record_.setScript(&javaScript);
    }
    ~Interruption() { record_.setScript(nullptr); }
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

private:
    ConnectionRecord& record_;
};

}  // namespace

ScriptThreads::ScriptThreads(const ParameterValues& parameters, bool isEnabled)
    : parameters_(parameters), isEnabled_(isEnabled) {}

ScriptThreads::~ScriptThreads() {
    for (const std::unique_ptr<Thread>& thread : threads_) {
        Thread* const mine = thread.get();
        if (const auto ended = mine->worker.run([mine] { mine->javaScript.reset(); });
            ended.isOk()) {
            sync::blockOn(*ended);
        }
    }
}

query::JavaScriptRules ScriptThreads::rulesOf(const Invocation& call) const {
    query::JavaScriptRules rules;
    rules.isEnabled = isEnabled_;
    rules.heapBytesMax =
        static_cast<uint64_t>(ParameterValues::get(parameters_.scriptHeapMegabytes)) << 20;
    rules.callMillisMax = static_cast<uint32_t>(ParameterValues::get(parameters_.scriptCallMillis));
    rules.deadlineNanos = call.generic.deadlineNanos;
    return rules;
}

StatusOr<ScriptThreads::Thread*> ScriptThreads::takeNow(const std::shared_ptr<Waiting>& place) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (!free_.empty()) {
        Thread* const thread = free_.back();
        free_.pop_back();
        return thread;
    }
    if (threads_.size() < kThreadsMax) {
        threads_.push_back(std::make_unique<Thread>());
        return threads_.back().get();
    }
    if (waiting_.size() >= kWaitingMax) {
        return Status(Code::kLimit, "too many operations are waiting to run JavaScript");
    }
    waiting_.push_back(place);
    return nullptr;
}

sync::Task<StatusOr<ScriptThreads::Thread*>> ScriptThreads::take(Invocation& call) {
    const auto place = std::make_shared<Waiting>();
    StatusOr<Thread*> thread = takeNow(place);
    if (!thread.isOk() || *thread != nullptr) {
        co_return thread;
    }
    const Status waited = co_await waitOrStop(call, place->token);
    if (!waited.isOk()) {
        giveUp(place);
        co_return waited;
    }
    co_return place->thread;
}

void ScriptThreads::giveBack(Thread* thread) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (waiting_.empty()) {
        free_.push_back(thread);
        return;
    }
    const std::shared_ptr<Waiting> next = std::move(waiting_.front());
    waiting_.pop_front();
    next->thread = thread;
    next->token.complete();
}

void ScriptThreads::giveUp(const std::shared_ptr<Waiting>& place) {
    Thread* handedOver = nullptr;
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        handedOver = place->thread;
        std::erase(waiting_, place);
    }
    if (handedOver != nullptr) {
        giveBack(handedOver);
    }
}

void ScriptThreads::work(Thread& thread,
                         Invocation& call,
                         sync::Task<Status> work,
                         Status* status) {
    if (thread.javaScript == nullptr) {
        thread.javaScript = std::make_unique<query::JavaScript>();
    }
    thread.javaScript->begin(rulesOf(call));
    const Interruption interruption(call.connection, *thread.javaScript);
    *status = thread.executor.run(std::move(work));
}

sync::Task<Status> ScriptThreads::run(Invocation& call, sync::Task<Status> part) {
    StatusOr<Thread*> taken = co_await take(call);
    FRESHET_CO_RETURN_IF_ERROR(taken.status());
    Thread* const thread = *taken;
    const sync::WaitToken done = sync::WaitToken::create();
    Status status;
    const auto job = [this, thread, done, &call, &part, &status] {
        work(*thread, call, std::move(part), &status);
        done.complete();  // from here on the command is gone
        thread->javaScript->end();
        giveBack(thread);
    };
    if (const auto begun = thread->worker.run(job); !begun.isOk()) {
        giveBack(thread);
        co_return begun.status();
    }
    co_await sync::wait(done);
    if (status.code() == Code::kCancelled || status.code() == Code::kTimeout) {
        // A script knows that it was interrupted, and the command by what.
        const Status why = call.checkInterrupt();
        co_return why.isOk() ? status : why;
    }
    co_return status;
}

bool mayRunScripts(const Invocation& call) {
    if (call.command.scripts != Command::Scripts::kWhenMentioned) {
        return call.command.scripts == Command::Scripts::kAlways;
    }
    const auto mentions = [](const wire::Sequence& sequence) {
        return std::any_of(
            sequence.documents.begin(), sequence.documents.end(), query::mentionsJavaScript);
    };
    return query::mentionsJavaScript(call.body()) ||
           std::any_of(call.request.sequences.begin(), call.request.sequences.end(), mentions);
}

}  // namespace freshet::command
