// SPDX-License-Identifier: Apache-2.0
/// Runs one execution of a model: fibers, scheduling points, and what each operation sees and does.
#pragma once

#include "freshet/sync/explored_atomic.h"
#include "freshet/testing/sim/explore/chooser.h"
#include "freshet/testing/sim/explore/memory_model.h"

#include <ucontext.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace freshet::testing {

/// Stacks with a guard page below, created once and used by every execution.
class FiberStacks {
public:
    FiberStacks();
    ~FiberStacks();
    FiberStacks(const FiberStacks&) = delete;
    FiberStacks& operator=(const FiberStacks&) = delete;
    void* of(unsigned thread) const { return stacks_[thread]; }
    static constexpr size_t kBytes = 512 * 1024;

private:
    std::array<void*, kVirtualThreads> stacks_;
};

/// Shared by successive executions.
struct Reused {
    FiberStacks stacks;
    MemoryModel memory;
};

/// Thread 0 runs the setup function, waits for the others, then runs finally().
class Execution final : public sync::AtomicObserver {
public:
    Execution(const ExploreOptions& options,
              Chooser& chooser,
              SharedWords& shared,
              Reused& reused,
              bool tracing);
    /// Returns the failure, or an empty text. After a failure the fibers and what they own are
    /// abandoned.
    std::string run(const std::function<void(Model&)>& setup);

    uint64_t steps() const { return steps_; }
    const std::vector<std::string>& trace() const { return trace_; }
    /// The one that runs on this OS thread.
    static Execution& current();

    void nameWord(const void* word, std::string text) { names_[word] = std::move(text); }
    [[noreturn]] void fail(std::string text);
    void waitUntil(std::function<bool()> condition);
    void setUninterrupted(int change) { me().uninterrupted += change; }

    uint64_t perform(sync::ExploredPlace& place, uint64_t& newest, sync::ExploredOp& op) override;
    void born(sync::ExploredPlace& place, uint64_t& newest) override;
    void died(sync::ExploredPlace& place) override;
    void fence() override;
    void plain(const void* address, bool write) override;
    void lock(sync::ExploredPlace& place) override;
    bool tryLock(sync::ExploredPlace& place) override;
    void unlock(sync::ExploredPlace& place) override;
    void point() override;
    void yield() override;
    void** threadSlot(void (*end)(void*)) override;

private:
    struct VirtualThread {
        ucontext_t context;
        bool started = false;
        bool done = false;
        bool yielded = false;  // and no thread has stored anything since
        uint32_t yields = 0;
        uint32_t wordsMade = 0;
        int uninterrupted = 0;
        std::function<bool()> blockedUntil;  // empty when it is not blocked
        void* slot = nullptr;
        void (*endSlot)(void*) = nullptr;
    };
    class Inside;

    VirtualThread& me() { return threads_[running_]; }
    static void enterFiber();
    void fiberMain();
    void firstThread();
    void endSlot();
    void startFiber(unsigned thread);
    bool isEnabled(unsigned thread);
    /// May let another thread run. `canGoOn`: the running thread is a candidate.
    void schedule(bool canGoOn);
    void countStep();
    std::vector<unsigned> candidates(bool canGoOn);
    void switchTo(unsigned thread);
    void blockUntil(std::function<bool()> condition);

    uint32_t placeOf(sync::ExploredPlace& place, uint64_t& newest);
    WordHistory& touch(uint32_t place, const void* address);
    /// Index of the store that a load returns.
    uint32_t pickStore(uint32_t place, const sync::ExploredOp& op);
    void noteStored();
    /// Remembers which threads used the word.
    void noteUse(WordHistory& word, bool written);
    std::string nameOf(uint32_t place);
    std::string plainName(const void* address);
    /// One line of the trace; texts are built only if there is one.
    void note(uint32_t place, const char* what, const char* order, uint64_t value, bool stale);
    void noteMutex(const char* what, uint32_t place);
    void noteText(std::string text);

    const ExploreOptions& options_;
    Chooser& chooser_;
    SharedWords& shared_;
    const FiberStacks& stacks_;
    const bool tracing_;
    const uint64_t run_;  // unique in the process
    const std::function<void(Model&)>* setup_ = nullptr;
    std::unique_ptr<Model> model_;
    MemoryModel& memory_;
    ucontext_t outside_;
    std::vector<VirtualThread> threads_;
    unsigned running_ = 0;
    unsigned preemptions_ = 0;
    unsigned staleLoads_ = 0;
    uint64_t steps_ = 0;
    uint64_t mutexWord_ = 0;  // mutexes have no value
    std::string failure_;
    std::map<const void*, std::string> names_;
    std::vector<std::string> trace_;
};

}  // namespace freshet::testing
