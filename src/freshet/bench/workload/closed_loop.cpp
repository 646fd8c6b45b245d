// SPDX-License-Identifier: Apache-2.0
/// Each thread starts its next operation when the last one has returned.
#include "freshet/bench/engines/disk_calls.h"
#include "freshet/bench/workload/worker.h"

namespace freshet::bench {
namespace {

enum class Role : uint8_t { kReader, kInserter, kAppender, kBoth };

Role roleOf(const EngineOptions& options, unsigned thread) {
    switch (options.workload) {
        case Workload::kRead:
            return Role::kReader;
        case Workload::kMixed:
            return thread < writersOf(options) ? Role::kInserter : Role::kReader;
        case Workload::kAppend:
            return Role::kAppender;
        case Workload::kJournal:
            return Role::kInserter;
        case Workload::kSpill:
        case Workload::kJitter:
        case Workload::kBeside:
            break;
    }
    return Role::kBoth;
}

/// The loop of one thread, compiled for each role.
template <Role kRole>
class Loop {
public:
    /// If an operation may take no longer than reading the clock, only one in `timeEvery` is timed.
    Loop(Shared* shared, uint64_t timeEvery) : shared_(*shared), timeEvery_(timeEvery) {}

    Status operator()(Worker* worker) const {
        Phase seen = Phase::kWarmUp;
        uint64_t cpuBefore = 0;
        for (uint64_t n = 0;; ++n) {
            // [phase.read] relaxed: reading it late only moves the window's edge.
            const Phase phase = shared_.phase.load(sync::kRelaxed);
            if (phase == Phase::kStop) {
                break;
            }
            if (phase != seen) {
                seen = phase;
                cpuBefore = platform::threadCpuNanos();
            }
            FRESHET_RETURN_IF_ERROR(one(worker, seen == Phase::kMeasure, n % timeEvery_ == 0));
        }
        if (kRole != Role::kBoth) {
            (kRole == Role::kReader ? worker->tally.readCpuNanos : worker->tally.writeCpuNanos) =
                seen == Phase::kMeasure ? platform::threadCpuNanos() - cpuBefore : 0;
        }
        return Status::ok();
    }

private:
    static Status one(Worker* worker, bool counted, bool timed) {
        const bool write = kRole == Role::kBoth ? worker->nextIsWrite() : kRole != Role::kReader;
        const uint64_t begin = timed ? platform::monotonicNanos() : 0;
        FRESHET_RETURN_IF_ERROR(kRole == Role::kAppender   ? worker->appendOne()
                                : kRole == Role::kInserter ? worker->insertOne()
                                : write                    ? worker->overwriteOne()
                                                           : worker->readOne());
        if (counted) {
            (write ? worker->tally.writes : worker->tally.reads) += 1;
            if (timed) {
                worker->tally.latencies.add(platform::monotonicNanos() - begin);
            }
        }
        return Status::ok();
    }

    Shared& shared_;
    const uint64_t timeEvery_;
};

void startAll(const EngineOptions& options, Shared* shared, const Workers& workers) {
    const bool shortOnes =
        options.workload == Workload::kRead || options.workload == Workload::kMixed;
    const uint64_t timeEvery = shortOnes ? 8 : 1;
    for (unsigned i = 0; i < options.threads; ++i) {
        switch (roleOf(options, i)) {
            case Role::kReader:
                workers[i]->start(shared, Loop<Role::kReader>(shared, timeEvery));
                break;
            case Role::kInserter:
                workers[i]->start(shared, Loop<Role::kInserter>(shared, timeEvery));
                break;
            case Role::kAppender:
                workers[i]->start(shared, Loop<Role::kAppender>(shared, timeEvery));
                break;
            case Role::kBoth:
                workers[i]->start(shared, Loop<Role::kBoth>(shared, timeEvery));
                break;
        }
    }
}

/// Watches the measured window from the main thread.
void watchWindow(const EngineOptions& options, Shared* shared, EngineResult* result) {
    const uint64_t lookMillis = std::min<uint64_t>(100, options.windowMillis / 4);
    const uint64_t flushesBefore = flushCount();
    const uint64_t cpuBefore = platform::processCpuMicros();
    const uint64_t begin = platform::monotonicNanos();
    const uint64_t end = begin + options.windowMillis * 1'000'000;
    // [phase.write] relaxed: see [phase.read]; the threads' results come with their join.
    shared->phase.store(Phase::kMeasure, sync::kRelaxed);
    // [failed.read] relaxed: see [failed.add].
    while (platform::monotonicNanos() < end && shared->failed.load(sync::kRelaxed) == 0) {
        platform::sleepMillis(lookMillis);
        result->residentBytes = std::max(result->residentBytes, platform::residentBytes());
    }
    shared->phase.store(Phase::kStop, sync::kRelaxed);  // [phase.write] relaxed: as above
    result->seconds = static_cast<double>(platform::monotonicNanos() - begin) / 1e9;
    result->cpuMicros = platform::processCpuMicros() - cpuBefore;
    result->flushes = flushCount() - flushesBefore;
}

}  // namespace

StatusOr<EngineResult> runClosedLoop(const EngineOptions& options, Engine* engine) {
    Workers workers;
    for (unsigned i = 0; i < options.threads; ++i) {
        workers.push_back(std::make_unique<Worker>(options, engine, i));
    }
    Shared shared;
    startAll(options, &shared, workers);
    waitUntilReady(shared, workers.size());
    // [phase.write] relaxed: see [phase.read].
    shared.phase.store(Phase::kWarmUp, sync::kRelaxed);
    platform::sleepMillis(options.windowMillis / 4);
    EngineResult result;
    result.workload = workloadName(options.workload);
    watchWindow(options, &shared, &result);
    FRESHET_RETURN_IF_ERROR(stopAll(&shared, workers));
    for (const std::unique_ptr<Worker>& worker : workers) {
        result.merge(worker->tally);
    }
    FRESHET_RETURN_IF_ERROR(checkCount(options, engine, workers));
    return result;
}

}  // namespace freshet::bench
