// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/workload/turns.h"

#include "freshet/bench/engines/disk_calls.h"

namespace freshet::bench {

/// A window lasts a quarter of the time, or as long as the disturbance takes, if that is longer.
Status Turns::window(size_t kind) {
    // [window.write] relaxed: see [window.read].
    window_.store(kSettling + kind, sync::kRelaxed);
    platform::sleepMillis(plan_.settleMillis);
    EngineResult& result = results_[kind];
    const uint64_t flushesBefore = flushCount();
    const uint64_t cpuBefore = platform::processCpuMicros();
    const uint64_t begin = platform::monotonicNanos();
    window_.store(kind, sync::kRelaxed);  // [window.write] relaxed: as above
    if (kind == kDisturbed) {
        FRESHET_RETURN_IF_ERROR(plan_.disturb());
    }
    platform::sleepUntilNanos(begin + options_.windowMillis * 250'000);
    result.seconds += static_cast<double>(platform::monotonicNanos() - begin) / 1e9;
    result.cpuMicros += platform::processCpuMicros() - cpuBefore;
    result.flushes += flushCount() - flushesBefore;
    result.residentBytes = std::max(result.residentBytes, platform::residentBytes());
    return Status::ok();
}

StatusOr<std::vector<EngineResult>> Turns::run(const Loop& loop) {
    std::vector<Tallies> tallies(options_.threads);
    Workers workers;
    for (unsigned i = 0; i < options_.threads; ++i) {
        workers.push_back(std::make_unique<Worker>(options_, &engine_, i));
        workers[i]->start(
            &shared_, [&loop, mine = &tallies[i]](Worker* worker) { return loop(worker, mine); });
    }
    waitUntilReady(shared_, workers.size());
    Status status;
    // [phase.write] relaxed: see [phase.read].
    shared_.phase.store(Phase::kMeasure, sync::kRelaxed);
    platform::sleepMillis(options_.windowMillis / 4);
    for (size_t kind : {kControl, kDisturbed, kControl, kDisturbed}) {
        status = status.isOk() ? window(kind) : status;
    }
    Status stopped = stopAll(&shared_, workers);
    FRESHET_RETURN_IF_ERROR(status.isOk() ? stopped : status);
    for (size_t kind : {kControl, kDisturbed}) {
        results_[kind].workload = plan_.names[kind];
        for (const Tallies& mine : tallies) {
            results_[kind].merge(mine[kind]);
        }
    }
    FRESHET_RETURN_IF_ERROR(checkCount(options_, &engine_, workers));
    return std::vector<EngineResult>(results_.begin(), results_.end());
}

}  // namespace freshet::bench
