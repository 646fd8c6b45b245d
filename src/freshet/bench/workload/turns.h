// SPDX-License-Identifier: Apache-2.0
/// Two kinds of windows that alternate within one run, so that other load affects both alike: a
/// control, and one in which something is done that should not disturb.
#pragma once

#include "freshet/bench/workload/worker.h"

#include <array>
#include <functional>

namespace freshet::bench {

class Turns {
public:
    static constexpr size_t kControl = 0;
    static constexpr size_t kDisturbed = 1;

    /// A window's number is its kind, plus kSettling while it is not counted yet. An operation that
    /// touches two windows belongs to the larger number.
    static constexpr size_t kSettling = 2;
    static size_t kindOf(size_t window) { return window % kSettling; }

    /// What one thread did in each window.
    using Tallies = std::array<Tally, 2 * kSettling>;
    using Loop = std::function<Status(Worker*, Tallies*)>;

    struct Plan {
        std::array<std::string, 2> names;  // for the output lines of the two kinds
        uint64_t settleMillis = 0;         // at the beginning of each window
        /// Called when a window of kind kDisturbed begins to count; its time is part of the window.
        std::function<Status()> disturb = [] { return Status::ok(); };
    };

    Turns(const EngineOptions& options, Engine* engine, Plan plan)
        : options_(options), engine_(*engine), plan_(std::move(plan)) {}

    /// Called by the loops.
    bool stopped() const {
        // [phase.read] relaxed: reading it late only moves the window's edge.
        return shared_.phase.load(sync::kRelaxed) == Phase::kStop;
    }
    size_t window() const {
        // [window.read] relaxed: as [phase.read].
        return window_.load(sync::kRelaxed);
    }

    /// Runs `loop` in options.threads threads until all windows are over. Returns a result per
    /// kind.
    StatusOr<std::vector<EngineResult>> run(const Loop& loop);

private:
    Status window(size_t kind);

    const EngineOptions& options_;
    Engine& engine_;
    const Plan plan_;
    Shared shared_;
    /// Written by the main thread, read by all.
    sync::Atomic<size_t> window_{kSettling};
    std::array<EngineResult, 2> results_;
};

}  // namespace freshet::bench
