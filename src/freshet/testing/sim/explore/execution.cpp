// SPDX-License-Identifier: Apache-2.0
/// Fibers and scheduling. The operations themselves are in execution_ops.cpp.
#ifdef FRESHET_EXPLORE
#include "freshet/testing/sim/explore/execution.h"

#include "freshet/base/assert.h"
#include "freshet/testing/sim/explore/inside.h"

#include <sys/mman.h>

#include <algorithm>

namespace freshet::testing {
namespace {

constexpr size_t kGuardBytes = 4096;
thread_local Execution* currentExecution = nullptr;

uint64_t nextRun() {
    static thread_local uint64_t last = 0;
    return ++last;
}

}  // namespace

FiberStacks::FiberStacks() {
    for (void*& stack : stacks_) {
        void* memory = ::mmap(nullptr,
                              kBytes + kGuardBytes,
                              PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                              -1,
                              0);
        invariant(memory != MAP_FAILED && ::mprotect(memory, kGuardBytes, PROT_NONE) == 0);
        stack = static_cast<char*>(memory) + kGuardBytes;
    }
}

FiberStacks::~FiberStacks() {
    for (void* stack : stacks_) {
        ::munmap(static_cast<char*>(stack) - kGuardBytes, kBytes + kGuardBytes);
    }
}

Execution::Execution(const ExploreOptions& options,
                     Chooser& chooser,
                     SharedWords& shared,
                     Reused& reused,
                     bool tracing)
    : options_(options),
      chooser_(chooser),
      shared_(shared),
      stacks_(reused.stacks),
      tracing_(tracing),
      run_(nextRun()),
      memory_(reused.memory) {}

Execution& Execution::current() {
    invariant(currentExecution != nullptr);
    return *currentExecution;
}

std::string Execution::run(const std::function<void(Model&)>& setup) {
    setup_ = &setup;
    model_ = std::make_unique<Model>();
    memory_.reset(options_.staleLoads != 0);
    threads_.resize(1);
    currentExecution = this;
    sync::setAtomicObserver(this);
    startFiber(0);
    ::swapcontext(&outside_, &threads_[0].context);
    sync::setAtomicObserver(nullptr);
    currentExecution = nullptr;
    Quarantine::pause();
    if (failure_.empty()) {
        Quarantine::release();
    } else {
        // The fibers are suspended in the middle of calls: the model's objects cannot be destroyed.
        static_cast<void>(model_.release());
    }
    return failure_;
}

void Execution::startFiber(unsigned thread) {
    VirtualThread& fiber = threads_[thread];
    ::getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stacks_.of(thread);
    fiber.context.uc_stack.ss_size = FiberStacks::kBytes;
    fiber.context.uc_link = nullptr;
    ::makecontext(&fiber.context, &Execution::enterFiber, 0);
}

void Execution::enterFiber() {
    Execution::current().fiberMain();
}

void Execution::fiberMain() {
    Quarantine::resume();
    if (running_ == 0) {
        firstThread();
        Quarantine::pause();
        me().done = true;
        ::setcontext(&outside_);
    } else {
        model_->threads[running_ - 1]();
        endSlot();
        Quarantine::pause();
        noteText("ends");
        me().done = true;
        noteStored();
        schedule(false);
    }
    __builtin_unreachable();
}

/// Setup, the threads' start, their end, finally(), and the end of everything the model owns.
void Execution::firstThread() {
    (*setup_)(*model_);
    {
        Inside inside;
        auto count = static_cast<unsigned>(model_->threads.size());
        invariant(count <= Model::kThreadsMax);
        threads_.resize(1 + count);
        for (unsigned t = 1; t <= count; ++t) {
            startFiber(t);
            memory_.orderAfter(t, 0);
            memory_.tick(t);
        }
        memory_.tick(0);
        if (count != 0) {
            blockUntil([this] {
                return std::all_of(threads_.begin() + 1,
                                   threads_.end(),
                                   [](const VirtualThread& thread) { return thread.done; });
            });
        }
        for (unsigned t = 1; t <= count; ++t) {
            memory_.orderAfter(0, t);
        }
    }
    if (model_->last) {
        model_->last();
    }
    endSlot();
    model_->last = nullptr;
    model_->threads.clear();
}

void Execution::endSlot() {
    if (me().slot != nullptr) {
        ++me().uninterrupted;
        me().endSlot(me().slot);
    }
}

void Execution::fail(std::string text) {
    Quarantine::pause();
    failure_ = std::move(text);
    noteText("FAILS: " + failure_);
    ::setcontext(&outside_);
    __builtin_unreachable();
}

bool Execution::isEnabled(unsigned thread) {
    VirtualThread& candidate = threads_[thread];
    return !candidate.done && (!candidate.blockedUntil || candidate.blockedUntil());
}

std::vector<unsigned> Execution::candidates(bool canGoOn) {
    std::vector<unsigned> result;
    std::vector<unsigned> tired;  // they yielded, and nothing has changed since
    for (unsigned t = 0; t < threads_.size(); ++t) {
        if (t != running_ && isEnabled(t)) {
            (threads_[t].yielded ? tired : result).push_back(t);
        }
    }
    if (canGoOn) {
        result.insert(result.begin(), running_);
        return result;
    }
    if (result.empty()) {
        result = std::move(tired);
    }
    // Threads that have yielded least come first; otherwise two waiting threads could keep the
    // third, which they wait for, from running for ever.
    uint32_t fewest = UINT32_MAX;
    for (unsigned t : result) {
        fewest = std::min(fewest, threads_[t].yields);
    }
    std::erase_if(result, [&](unsigned t) { return threads_[t].yields != fewest; });
    return result;
}

void Execution::countStep() {
    if (++steps_ > options_.stepsMax) {
        fail("livelock, or a model too long: more than " + std::to_string(options_.stepsMax) +
             " steps");
    }
}

void Execution::schedule(bool canGoOn) {
    countStep();
    if (canGoOn && ((chooser_.isExhaustive() && preemptions_ >= options_.preemptions) ||
                    threads_.size() == 1 || me().uninterrupted > 0)) {
        return;
    }
    std::vector<unsigned> options = candidates(canGoOn);
    if (options.empty() && !me().done && isEnabled(running_)) {
        return;  // it yielded, but there is no other thread
    }
    if (options.empty()) {
        fail("deadlock: every thread that has not ended is blocked");
    }
    unsigned taken = chooser_.chooseThread(options);
    if (chooser_.diverged()) {
        fail("the model is not deterministic: the schedule does not fit");
    }
    preemptions_ += canGoOn && taken != 0 ? 1 : 0;
    if (options[taken] != running_) {
        switchTo(options[taken]);
    }
}

void Execution::switchTo(unsigned thread) {
    unsigned from = running_;
    running_ = thread;
    ::swapcontext(&threads_[from].context, &threads_[thread].context);
}

void Execution::blockUntil(std::function<bool()> condition) {
    while (!condition()) {
        me().blockedUntil = condition;
        schedule(false);
        me().blockedUntil = nullptr;
    }
}

}  // namespace freshet::testing
#endif
