// SPDX-License-Identifier: Apache-2.0
/// CrashStates: the disks that a crash could have left behind, for a recorded run. For every prefix
/// of the trace: none of the unsynced operations, all of them, and subsets, in which writes are
/// torn into sectors of 512 bytes. A sync covers everything written to that file (or named in that
/// directory) before it.
///
///     TraceRecorder disk(memory);  ... run, noting disk.position() after each acknowledgement ...
///     Status bad = forEachCrashState(disk.trace(), {.seed = testSeed()},
///         [&](MemoryFileSystem& disk, const CrashState& state) {
///             ... open; all that was acknowledged at a position <= state.prefix must be there ...
///         });
///     EXPECT_TRUE(bad.isOk()) << bad.toString();      // names the state
#pragma once

#include "freshet/testing/sim/memory_file_system.h"
#include "freshet/testing/sim/trace_recorder.h"

#include <cstdint>
#include <functional>
#include <string>

namespace freshet::testing {

struct CrashState {
    size_t prefix = 0;    // operations of the trace that had begun
    size_t unsynced = 0;  // of these, not yet synced
    std::string kept;     // one letter for each of those: . dropped, k kept, t torn
    uint64_t number = 0;  // of the state
};

struct CrashStatesOptions {
    uint64_t seed = 0;
    /// About how many states to make, in prefixes spread evenly over the trace from `from` on. A
    /// prefix with few unsynced operations gets less than its share of states.
    uint64_t statesMax = 1000;
    size_t from = 0;
    /// Up to this many unsynced operations, all subsets of whole operations are made.
    size_t allSubsetsUpTo = 3;
};

struct CrashStatesCount {
    uint64_t prefixes = 0;
    uint64_t states = 0;
    uint64_t torn = 0;  // states with a torn write
};

/// Calls `check` with each state until it returns a status that is not ok. Returns that status with
/// the state's description, else ok. Each disk is passed to one check only; all its content is
/// durable.
Status forEachCrashState(
    const Trace& trace,
    const CrashStatesOptions& options,
    const std::function<Status(MemoryFileSystem& disk, const CrashState& state)>& check,
    CrashStatesCount* count = nullptr);

/// FRESHET_CRASH_STATES from the environment, else `usual`: how many states a test makes. For
/// longer runs.
uint64_t crashStatesWanted(uint64_t usual);

}  // namespace freshet::testing
