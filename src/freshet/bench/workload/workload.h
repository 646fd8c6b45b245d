// SPDX-License-Identifier: Apache-2.0
/// Runs one workload against one engine and reports its cost.
#pragma once

#include "freshet/bench/engines/engine.h"
#include "freshet/bench/histogram.h"

#include <optional>
#include <string>
#include <vector>

namespace freshet::bench {

/// What a thread did, or the sum over threads.
struct Tally {
    void merge(const Tally& other);

    uint64_t reads = 0;
    uint64_t writes = 0;
    /// Of the threads that only read, or only write; empty where threads do both.
    std::optional<uint64_t> readCpuNanos, writeCpuNanos;
    Histogram latencies;
    /// Jitter: operations that waited long for the engine, the disk or the host.
    std::optional<uint64_t> stalls;
    /// Of those, the ones during which a call of the engine's had not returned from the operating
    /// system, and the others during which this machine's host had stopped a processor.
    std::optional<uint64_t> diskStalls, hostStalls;
};

/// Adds to a sum that may not have a value yet.
void addTo(std::optional<uint64_t>* sum, std::optional<uint64_t> more);

struct EngineResult : Tally {
    std::string workload;
    double seconds = 0;
    uint64_t cpuMicros = 0;  // of the whole process, including the engine's own threads
    uint64_t flushes = 0;
    uint64_t residentBytes = 0;  // the highest value seen
};

/// The share of writes, in percent of the threads or of the operations.
unsigned writePercentOf(const EngineOptions& options);

/// The number of threads that write, if each thread does only one thing.
unsigned writersOf(const EngineOptions& options);
/// Whether keys are in the order of their numbers, so that neighbours share pages.
bool keysAscend(const EngineOptions& options);

/// Loads, warms up, measures, and counts the records afterwards: an engine that lost or invented a
/// record ends the run with kCorruption. Returns one result; two for jitter and beside.
StatusOr<std::vector<EngineResult>> runWorkload(const EngineOptions& options, Engine* engine);

/// The workloads' own implementations, called by runWorkload().
StatusOr<EngineResult> runClosedLoop(const EngineOptions& options, Engine* engine);
StatusOr<std::vector<EngineResult>> runJitter(const EngineOptions& options, Engine* engine);
StatusOr<std::vector<EngineResult>> runBeside(const EngineOptions& options, Engine* engine);

/// One JSON object, or a line for humans.
std::string lineOf(const EngineOptions& options,
                   std::string_view engine,
                   LogLevel level,
                   const EngineResult& result);

}  // namespace freshet::bench
