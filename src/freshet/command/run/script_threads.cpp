// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/script_threads.h"

#include "freshet/command/access/authorize.h"
#include "freshet/command/run/invocation.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/memory.h"
#include "freshet/platform/thread.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

namespace freshet::command {
namespace {

constexpr uint64_t kNanosPerMilli = 1'000'000;
/// The script engine itself takes some megabytes of a heap.
constexpr uint64_t kHeapBytesMin = 16u << 20;

/// While it lives, whatever interrupts the command ends its script too.
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

ScriptThreads::ScriptThreads(const ParameterValues& parameters,
                             sync::MemoryPool* memory,
                             bool isEnabled)
    : parameters_(parameters), memory_(memory), isEnabled_(isEnabled) {}

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
    if (memory_ != nullptr && memory_->bytesMax() != 0) {
        const uint64_t fairPart = memory_->bytesMax() / kThreadsMax;
        rules.heapBytesMax = std::min(rules.heapBytesMax, std::max(kHeapBytesMin, fairPart));
    }
    rules.callMillisMax = static_cast<uint32_t>(ParameterValues::get(parameters_.scriptCallMillis));
    rules.deadlineNanos = call.deadlineNanos;
    return rules;
}

StatusOr<ScriptThreads::Thread*> ScriptThreads::takeNow(const std::shared_ptr<Waiting>& place) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (!free_.empty()) {
        Thread* const thread = free_.back();
        free_.pop_back();
        thread->holder = place->holder;
        return thread;
    }
    if (threads_.size() < kThreadsMax) {
        threads_.push_back(std::make_unique<Thread>());
        threads_.back()->holder = place->holder;
        return threads_.back().get();
    }
    const auto ofSame = std::count_if(waiting_.begin(), waiting_.end(), [&](const auto& other) {
        return other->holder == place->holder;
    });
    if (waiting_.size() >= kWaitingMax || static_cast<size_t>(ofSame) >= kWaitingOfOneMax) {
        return Status(Code::kLimit, "too many operations are waiting to run JavaScript");
    }
    waiting_.push_back(place);
    return nullptr;
}

sync::Task<StatusOr<ScriptThreads::Thread*>> ScriptThreads::take(Invocation& call) {
    const auto place = std::make_shared<Waiting>();
    place->dueNanos = platform::monotonicNanos() + kWaitMillisMax * kNanosPerMilli;
    place->holder = holderOf(call);
    StatusOr<Thread*> thread = takeNow(place);
    while (thread.isOk() && *thread == nullptr) {
        const sync::WaitToken token = place->token;
        const sync::Alarms::Id alarm = call.services.alarms.set(
            platform::monotonicNanos() + kPatienceMillis * kNanosPerMilli, token);
        const Status waited = co_await waitOrStop(call, token);
        call.services.alarms.cancel(alarm);
        if (!waited.isOk()) {
            giveUp(place);
            co_return waited;
        }
        thread = takeLater(place);
    }
    co_return thread;
}

StatusOr<ScriptThreads::Thread*> ScriptThreads::takeLater(const std::shared_ptr<Waiting>& place) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (place->thread != nullptr) {
        return place->thread;
    }
    if (platform::monotonicNanos() >= place->dueNanos) {
        std::erase(waiting_, place);
        return Status(Code::kLimit,
                      "no thread to run JavaScript became free within " +
                          std::to_string(kWaitMillisMax / 1'000) + " s: " +
                          std::to_string(threads_.size()) + " operations are running theirs and " +
                          std::to_string(waiting_.size()) + " more are waiting");
    }
    endLongCalls();
    place->token = sync::WaitToken::create();
    return nullptr;
}

void ScriptThreads::endLongCalls() {
    std::vector<std::pair<uint64_t, query::JavaScript*>> longOnes;
    for (const std::unique_ptr<Thread>& thread : threads_) {
        const uint64_t millis = thread->running == nullptr ? 0 : thread->running->callMillis();
        if (millis >= kCrowdedCallMillisMax) {
            longOnes.emplace_back(millis, thread->running);
        }
    }
    std::sort(longOnes.begin(), longOnes.end(), std::greater<>());
    for (size_t at = 0; at < std::min(longOnes.size(), waiting_.size()); ++at) {
        longOnes[at].second->crowdOut(kCrowdedCallMillisMax);
    }
}

void ScriptThreads::setRunning(Thread& thread, query::JavaScript* javaScript) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    thread.running = javaScript;
}

void ScriptThreads::giveBack(Thread* thread) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    thread->holder.clear();
    if (waiting_.empty()) {
        free_.push_back(thread);
        return;
    }
    const auto first = nextInLine();
    const std::shared_ptr<Waiting> next = std::move(*first);
    waiting_.erase(first);
    thread->holder = next->holder;
    next->thread = thread;
    next->token.complete();
}

std::deque<std::shared_ptr<ScriptThreads::Waiting>>::iterator ScriptThreads::nextInLine() {
    const auto threadsOf = [this](const std::string& holder) {
        return std::count_if(threads_.begin(), threads_.end(), [&](const auto& thread) {
            return thread->holder == holder;
        });
    };
    return std::min_element(waiting_.begin(), waiting_.end(), [&](const auto& a, const auto& b) {
        return threadsOf(a->holder) < threadsOf(b->holder);
    });
}

void ScriptThreads::giveUp(const std::shared_ptr<Waiting>& place) {
    Thread* assigned = nullptr;
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        assigned = place->thread;
        std::erase(waiting_, place);
    }
    if (assigned != nullptr) {
        giveBack(assigned);
    }
}

void ScriptThreads::work(Thread& thread,
                         Invocation& call,
                         sync::Task<Status> work,
                         Status* status) {
    if (thread.javaScript == nullptr) {
        platform::standBack();              // a script must not slow down clients that only read
        platform::returnFreedMemorySoon();  // a growing array leaves many freed ones behind
        thread.javaScript = std::make_unique<query::JavaScript>();
    }
    thread.javaScript->begin(rulesOf(call));
    setRunning(thread, thread.javaScript.get());
    const Interruption interruption(call.connection, *thread.javaScript);
    sync::TaskLocal::putBack(call.limits);
    *status = thread.executor.run(std::move(work));
    sync::TaskLocal::takeOff();
    setRunning(thread, nullptr);
}

sync::Task<Status> ScriptThreads::run(Invocation& call, sync::Task<Status> part) {
    StatusOr<Thread*> taken = co_await take(call);
    FRESHET_CO_RETURN_IF_ERROR(taken.status());
    Thread* const thread = *taken;
    sync::MemoryHold heap(memory_);
    heap.resize(rulesOf(call).heapBytesMax);
    const sync::WaitToken done = sync::WaitToken::create();
    Status status;
    const auto job = [this, thread, done, &call, &part, &status] {
        work(*thread, call, std::move(part), &status);
        done.complete();  // after this the command may be destroyed
        thread->javaScript->end();
        giveBack(thread);
    };
    // The limits belong to the other thread while it runs the command.
    sync::TaskLocal* const limits = sync::TaskLocal::takeOff();
    if (const auto begun = thread->worker.run(job); !begun.isOk()) {
        sync::TaskLocal::putBack(limits);
        giveBack(thread);
        co_return begun.status();
    }
    co_await sync::wait(done);
    sync::TaskLocal::putBack(limits);
    if (status.code() == Code::kCancelled || status.code() == Code::kTimeout) {
        // The script only knows that it was interrupted; the command knows why.
        const Status why = call.checkInterrupt();
        co_return why.isOk() ? status : why;
    }
    co_return status;
}

bool anyDocument(const Invocation& call, bool (*mentions)(bson::Document)) {
    const auto inSequence = [mentions](const wire::Sequence& sequence) {
        return std::any_of(sequence.documents.begin(), sequence.documents.end(), mentions);
    };
    return mentions(call.body()) ||
           std::any_of(call.request.sequences.begin(), call.request.sequences.end(), inSequence);
}

bool mayRunScripts(const Invocation& call) {
    return call.command.scripts == Command::Scripts::kAlways ||
           (call.command.scripts == Command::Scripts::kWhenMentioned &&
            anyDocument(call, query::mentionsJavaScript));
}

}  // namespace freshet::command
