// SPDX-License-Identifier: Apache-2.0
/// Makes the choices of an execution: which thread runs next, what a load sees. One list of small
/// numbers is the whole schedule, however it was made.
#pragma once

#include "freshet/testing/sim/explorer.h"

#include <random>
#include <string>
#include <vector>

namespace freshet::testing {

class Chooser {
public:
    explicit Chooser(const ExploreOptions& options, uint64_t seed);

    /// Prepares the next execution. False: there is none.
    bool next();
    /// Begins the exhaustive search anew.
    void restart() {
        choices_.clear();
        started_ = false;
    }
    /// Returns one of `count` (>= 1) options; 0 is the one that costs nothing.
    unsigned choose(unsigned count);
    /// Returns the index in `candidates` of the thread that runs next. The first is the running one
    /// if it can continue.
    unsigned chooseThread(const std::vector<unsigned>& candidates);
    /// A running thread waits for others.
    void noteYield(unsigned thread);
    void noteSteps(uint64_t steps) { stepsExpected_ = std::max(stepsExpected_, steps); }

    /// Text that replays the choices made so far in this execution.
    std::string schedule() const;
    bool isExhaustive() const { return exhaustive_; }
    /// The model did not offer the same choices as when they were first made.
    bool diverged() const { return diverged_; }
    bool isComplete() const { return complete_; }

private:
    struct Choice {
        unsigned taken;
        unsigned count;
    };
    unsigned record(unsigned taken, unsigned count);
    bool isScripted() const { return choices_.size() > position_; }
    unsigned takeScripted(unsigned count);
    void parse(const std::string& schedule);
    bool backtrack();
    void shufflePriorities();

    bool exhaustive_;
    bool replayOnly_ = false;
    bool started_ = false;
    bool complete_ = false;
    bool diverged_ = false;
    uint64_t executionsLeft_;
    std::vector<Choice> choices_;  // below position_: made; above: to be replayed
    size_t position_ = 0;

    // Random mode: priorities as in PCT (Burckhardt et al., "A randomized scheduler with
    // probabilistic guarantees of finding bugs", 2010); every other execution is a plain random
    // walk.
    unsigned changePoints_;
    bool randomWalk_ = false;
    uint64_t step_ = 0;
    uint64_t stepsExpected_ = 40;
    std::vector<int64_t> priorities_;  // by thread; higher runs first
    int64_t lowest_ = 0;
    std::vector<uint64_t> changeAt_;
    std::mt19937_64 random_;
};

}  // namespace freshet::testing
