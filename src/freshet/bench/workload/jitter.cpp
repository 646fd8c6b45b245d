// SPDX-License-Identifier: Apache-2.0
/// Open loop: operations fall due at a fixed rate, whatever became of those before, and an
/// operation's latency counts from when it was due. Quiet windows and windows in which a checkpoint
/// is taken take turns.
#include "freshet/bench/engines/flush_counter.h"
#include "freshet/bench/workload/worker.h"

#include <array>

namespace freshet::bench {
namespace {

constexpr size_t kQuiet = 0;
constexpr size_t kCheckpoint = 1;

/// One thread's share of the two kinds of windows.
struct Share {
    std::array<Histogram, 2> latencies;
    std::array<uint64_t, 2> reads{};
    std::array<uint64_t, 2> writes{};
};

class Jitter {
public:
    Jitter(const EngineOptions& options, Engine* engine)
        : options_(options), engine_(*engine), shares_(options.threads) {
        results_[kQuiet].workload = "jitter";
        results_[kCheckpoint].workload = "jitter+checkpoint";
    }
    StatusOr<std::vector<EngineResult>> run();

private:
    Status loop(Worker* worker, unsigned index);
    Status window(size_t kind);

    const EngineOptions& options_;
    Engine& engine_;
    Shared shared_;
    /// Which kind of window it is. Written by the main thread, read by all.
    sync::Atomic<size_t> kind_{kQuiet};
    std::vector<Share> shares_;
    std::array<EngineResult, 2> results_;
};

Status Jitter::loop(Worker* worker, unsigned index) {
    Share& share = shares_[index];
    const uint64_t step = 1'000'000'000ull * options_.threads / options_.rate;
    uint64_t due = platform::monotonicNanos() + step * index / options_.threads;
    // [phase.read] relaxed: a late look only moves the window's edge.
    for (Phase phase; (phase = shared_.phase.load(sync::kRelaxed)) != Phase::kStop; due += step) {
        platform::sleepUntilNanos(due);
        // [kind.read] relaxed: as [phase.read].
        const size_t before = kind_.load(sync::kRelaxed);
        const bool write = worker->nextIsWrite();
        FRESHET_RETURN_IF_ERROR(write ? worker->overwriteOne() : worker->readOne());
        if (phase == Phase::kMeasure) {
            // What a checkpoint's window has touched at either end belongs to it.
            const size_t kind =
                std::max(before, kind_.load(sync::kRelaxed));  // [kind.read] relaxed
            share.latencies[kind].add(platform::monotonicNanos() - due);
            (write ? share.writes : share.reads)[kind] += 1;
        }
    }
    return Status::ok();
}

/// A quarter of the time; with a checkpoint that takes longer, as long as that.
Status Jitter::window(size_t kind) {
    EngineResult& result = results_[kind];
    const uint64_t flushesBefore = flushCount();
    const uint64_t cpuBefore = platform::processCpuMicros();
    const uint64_t begin = platform::monotonicNanos();
    // [kind.write] relaxed: see [kind.read].
    kind_.store(kind, sync::kRelaxed);
    if (kind == kCheckpoint) {
        FRESHET_RETURN_IF_ERROR(engine_.checkpoint());
    }
    platform::sleepUntilNanos(begin + options_.windowMillis * 250'000);
    result.seconds += static_cast<double>(platform::monotonicNanos() - begin) / 1e9;
    result.cpuMicros += platform::processCpuMicros() - cpuBefore;
    result.flushes += flushCount() - flushesBefore;
    result.residentBytes = std::max(result.residentBytes, platform::residentBytes());
    return Status::ok();
}

StatusOr<std::vector<EngineResult>> Jitter::run() {
    Workers workers;
    for (unsigned i = 0; i < options_.threads; ++i) {
        workers.push_back(std::make_unique<Worker>(options_, &engine_, i));
        workers[i]->start(&shared_, [this, i](Worker* worker) { return loop(worker, i); });
    }
    waitUntilReady(shared_, workers.size());
    Status status;
    // [phase.write] relaxed: see [phase.read].
    shared_.phase.store(Phase::kWarmUp, sync::kRelaxed);
    platform::sleepMillis(options_.windowMillis / 4);
    shared_.phase.store(Phase::kMeasure, sync::kRelaxed);  // [phase.write] relaxed: as above
    for (size_t kind : {kQuiet, kCheckpoint, kQuiet, kCheckpoint}) {
        status = status.isOk() ? window(kind) : status;
    }
    Status stopped = stopAll(&shared_, workers);
    FRESHET_RETURN_IF_ERROR(status.isOk() ? stopped : status);
    for (const Share& share : shares_) {
        for (size_t kind : {kQuiet, kCheckpoint}) {
            results_[kind].latencies.merge(share.latencies[kind]);
            results_[kind].reads += share.reads[kind];
            results_[kind].writes += share.writes[kind];
        }
    }
    FRESHET_RETURN_IF_ERROR(checkCount(options_, &engine_, workers));
    return std::vector<EngineResult>(results_.begin(), results_.end());
}

}  // namespace

StatusOr<std::vector<EngineResult>> runJitter(const EngineOptions& options, Engine* engine) {
    return std::make_unique<Jitter>(options, engine)->run();
}

}  // namespace freshet::bench
