// SPDX-License-Identifier: Apache-2.0
/// The schedule explorer: runs a small concurrent model under every schedule (within bounds), or
/// under many random ones, and reports the first that breaks it with a string that replays it. Only
/// in the `explore` variant (files named *_explore_test.cpp), where sync::Atomic, sync::Mutex and
/// sync::heavyFence report what the code under test does.
///
///     TEST(Counter, CountsBoth) {
///         auto result = explore({}, [](Model& model) {         // called anew for each execution
///             struct State { sync::Atomic<uint64_t> n{0}; };
///             auto state = std::make_shared<State>();
///             for (int i = 0; i < 2; ++i) {
///                 model.thread([state] {                       // a virtual thread
///                     uint64_t n = state->n.load(sync::kRelaxed);
///                     state->n.store(n + 1, sync::kRelaxed);   // a lost update: found at once
///                 });
///             }
///             model.finally([state] {
///                 check(state->n.load(sync::kRelaxed) == 2, "both counted");
///             });
///         });
///         EXPECT_TRUE(result.passed()) << result.report;       // with trace and schedule
///     }
///
/// What is checked in every execution: check() conditions; races between plain accesses announced
/// by notePlainRead/notePlainWrite; atomics used without a happens-before edge from their
/// construction, or destroyed without one from their last use (so a node published with a relaxed
/// store, or freed too early, is found without any annotation); atomics or announced memory used
/// after `delete` (memory deleted in an execution is not reused before its end); deadlock; more
/// steps than stepsMax (livelock).
///
/// Scheduling points are atomic operations, fences, Mutex and explorePoint(). A model must be
/// deterministic apart from scheduling: no clocks, no real threads, no std::mutex, no thread_local,
/// no decisions by address, and no blockOn() (it parks the one real thread). A loop that waits for
/// another thread calls sync::exploreYield() in each round, or is a waitUntil().
///
/// Sizes: two or three threads of ten to twenty operations each, with preemptions = 2 or 3, take
/// seconds. Put code that need not be interleaved into an Uninterrupted scope. Check `complete`: it
/// says whether executionsMax cut the search short.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace freshet::testing {

struct ExploreOptions {
    enum class Mode : uint8_t {
        kExhaustive,  // every schedule with at most `preemptions` preemptions
        kRandom       // random schedules from `seed`
    };
    Mode mode = Mode::kExhaustive;
    /// How often a thread is interrupted although it could continue. Most bugs need one or two.
    unsigned preemptions = 3;
    /// Loads per execution that may return an older value than the newest, as far as the memory
    /// orders used allow it. 0: sequentially consistent values (races are found all the same).
    unsigned staleLoads = 0;
    /// Exhaustive mode stops here; random mode runs this many.
    uint64_t executionsMax = 300'000;
    uint64_t stepsMax = 5'000;
    /// Random mode; 0 takes FRESHET_SEED from the environment, or a fresh one.
    uint64_t seed = 0;
    /// A schedule from a report: only that one is run. FRESHET_SCHEDULE in the environment does the
    /// same.
    std::string replay;
};

struct ExploreResult {
    bool passed() const { return failure.empty(); }
    std::string failure;   // what broke; empty on success
    std::string schedule;  // replays it
    std::string report;    // for people: failure, schedule, seed and the trace of the last steps
    uint64_t executions = 0;
    uint64_t stepsLongest = 0;
    uint64_t seed = 0;      // of random mode
    bool complete = false;  // exhaustive mode tried all schedules within its bounds
};

/// One execution, built by the setup function.
class Model {
public:
    /// At most kThreadsMax. What the function captures lives until after finally().
    void thread(std::function<void()> body) { threads.push_back(std::move(body)); }
    /// Runs when all threads have ended; sees everything they did.
    void finally(std::function<void()> body) { last = std::move(body); }
    /// Uses this name for the word in traces.
    void name(const void* word, std::string text);

    static constexpr size_t kThreadsMax = 7;
    std::vector<std::function<void()>> threads;
    std::function<void()> last;
};

/// Runs `setup` and the model it makes again and again. Stops at the first failure.
ExploreResult explore(const ExploreOptions& options, const std::function<void(Model&)>& setup);

/// Inside a model: fails the execution, without returning, unless `condition` holds.
void check(bool condition, const char* what);
/// Inside a thread of a model: blocks it until the condition holds. The condition is evaluated at
/// any time and must only read plain variables of the model; it creates no happens-before edge.
void waitUntil(std::function<bool()> condition);

/// Inside a model: while it lives the thread is not interrupted (unless it blocks).
class Uninterrupted {
public:
    Uninterrupted();
    ~Uninterrupted();
    Uninterrupted(const Uninterrupted&) = delete;
    Uninterrupted& operator=(const Uninterrupted&) = delete;
};

}  // namespace freshet::testing
