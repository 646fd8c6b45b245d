// SPDX-License-Identifier: Apache-2.0
/// Runs one workload against one engine and tells what it cost.
#pragma once

#include "freshet/bench/engines/engine.h"
#include "freshet/bench/histogram.h"

#include <optional>
#include <string>
#include <vector>

namespace freshet::bench {

/// What a thread did, or all of them.
struct Tally {
    void merge(const Tally& other);

    uint64_t reads = 0;
    uint64_t writes = 0;
    /// Of the threads that do nothing but read, or write; none where threads do both.
    std::optional<uint64_t> readCpuNanos, writeCpuNanos;
    Histogram latencies;
    /// Jitter: operations that waited long for the engine or the disk.
    std::optional<uint64_t> stalls;
    /// Of those, where a call of the engine's had not come back from the operating system; and
    /// others, where the host of this machine let a processor stand still.
    std::optional<uint64_t> diskStalls, hostStalls;
};

/// A sum of which there may be none yet.
void addTo(std::optional<uint64_t>* sum, std::optional<uint64_t> more);

struct EngineResult : Tally {
    std::string workload;
    double seconds = 0;
    uint64_t cpuMicros = 0;  // of the whole process, the engine's own threads included
    uint64_t flushes = 0;
    uint64_t residentBytes = 0;  // the most that was seen
};

/// What of all operations are writes, in percent of the threads or of the operations.
unsigned writePercentOf(const EngineOptions& options);

/// How many of the threads write where a thread does one thing only.
unsigned writersOf(const EngineOptions& options);
/// Whether the keys lie in the order of their numbers, so that neighbours share pages.
bool keysAscend(const EngineOptions& options);

/// Loads, warms up, measures, and counts the records afterwards: an engine that lost or invented
/// one ends the run with kCorruption. One result; jitter and beside have two.
StatusOr<std::vector<EngineResult>> runWorkload(const EngineOptions& options, Engine* engine);

/// Its parts.
StatusOr<EngineResult> runClosedLoop(const EngineOptions& options, Engine* engine);
StatusOr<std::vector<EngineResult>> runJitter(const EngineOptions& options, Engine* engine);
StatusOr<std::vector<EngineResult>> runBeside(const EngineOptions& options, Engine* engine);

/// One JSON object, or a line for people.
std::string lineOf(const EngineOptions& options,
                   std::string_view engine,
                   LogLevel level,
                   const EngineResult& result);

}  // namespace freshet::bench
