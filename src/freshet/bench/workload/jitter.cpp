// SPDX-License-Identifier: Apache-2.0
/// Open loop: operations fall due at a fixed rate, whatever became of those before, and an
/// operation's latency counts from when it was due. In every other window a checkpoint is taken.
#include "freshet/bench/workload/turns.h"

namespace freshet::bench {
namespace {

Status operate(const EngineOptions& options,
               const Turns& turns,
               Worker* worker,
               Turns::Tallies* tallies) {
    const uint64_t step = 1'000'000'000ull * options.threads / options.rate;
    uint64_t due = platform::monotonicNanos() + step * worker->index() / options.threads;
    for (; !turns.stopped(); due += step) {
        platform::sleepUntilNanos(due);
        const size_t before = turns.window();
        const bool write = worker->nextIsWrite();
        FRESHET_RETURN_IF_ERROR(write ? worker->overwriteOne() : worker->readOne());
        Tally& tally = (*tallies)[std::max(before, turns.window())];
        tally.latencies.add(platform::monotonicNanos() - due);
        (write ? tally.writes : tally.reads) += 1;
    }
    return Status::ok();
}

}  // namespace

StatusOr<std::vector<EngineResult>> runJitter(const EngineOptions& options, Engine* engine) {
    Turns turns(options, engine, {.names = {"jitter", "jitter+checkpoint"}, .disturb = [engine] {
                                      return engine->checkpoint();
                                  }});
    return turns.run([&](Worker* worker, Turns::Tallies* tallies) {
        return operate(options, turns, worker, tallies);
    });
}

}  // namespace freshet::bench
