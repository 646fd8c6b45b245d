// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/load.h"

#include "freshet/bench/load/worker.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace freshet::bench {

StatusOr<LoadResult> runLoad(const LoadPlan& plan) {
    const bool isBlocking = plan.connect != nullptr || plan.isBlocking;
    const unsigned threadCount = isBlocking ? plan.clients : std::min(plan.threads, plan.clients);
    PhaseFlag phase{Phase::kWarmingUp};
    std::vector<std::unique_ptr<LoadWorker>> workers;
    for (unsigned i = 0; i < threadCount; ++i) {
        workers.push_back(plan.connect != nullptr ? makeSessionWorker(phase)
                          : isBlocking            ? makeDriverWorker(phase)
                                                  : makeSocketWorker(phase));
    }
    for (unsigned i = 0; i < plan.clients; ++i) {
        FRESHET_RETURN_IF_ERROR(workers[i % threadCount]->add(plan, {i, plan.clients}));
    }
    std::vector<platform::Thread> threads;
    for (auto& worker : workers) {
        threads.emplace_back("load", [&worker] { worker->run(); });
    }
    platform::sleepMillis(plan.warmUpMillis);
    const uint64_t begin = platform::monotonicNanos();
    const uint64_t cpuBefore = platform::processCpuMicros();
    plan.measuringBegins();
    // [phase.write] relaxed: see [phase.read]; the threads' results come with their join.
    phase.store(Phase::kMeasuring, sync::kRelaxed);
    platform::sleepMillis(plan.millis);
    phase.store(Phase::kOver, sync::kRelaxed);
    LoadResult out;
    out.seconds = static_cast<double>(platform::monotonicNanos() - begin) / 1e9;
    out.clientCpuMicros = platform::processCpuMicros() - cpuBefore;
    threads.clear();  // joins them
    uint64_t requestsMost = 0;
    for (auto& worker : workers) {
        FRESHET_RETURN_IF_ERROR(worker->result);
        out.latencies.merge(worker->latencies);
        out.replyBytes = std::max(out.replyBytes, worker->replyBytes);
        requestsMost = std::max(requestsMost, worker->requestsMost);
    }
    out.idsUsed = requestsMost * plan.clients;
    return out;
}

}  // namespace freshet::bench
