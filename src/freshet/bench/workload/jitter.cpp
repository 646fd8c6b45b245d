// SPDX-License-Identifier: Apache-2.0
/// Open loop: operations fall due at a fixed rate, whatever became of those before, and an
/// operation's latency counts from when it was due. In every other window a checkpoint is taken.
#include "freshet/bench/engines/disk_calls.h"
#include "freshet/bench/workload/turns.h"

namespace freshet::bench {
namespace {

/// Whether an operation stood still for long: the part of its time, from its own start, in which
/// its thread neither ran nor waited for a processor that others had. So it waited for the engine,
/// or the engine for the disk. Time that the host took from a virtual processor is counted, too.
class StallMeter {
public:
    enum class Cause { kNone, kDisk, kOther };

    /// kDisk: it would have been none without the time in which a call of the engine's that is not
    /// the checkpoint's, most likely the log's, had not come back from the operating system.
    Cause stall() const {
        const uint64_t now = platform::monotonicNanos();
        if (now - begin_ <= kStallNanos) {
            return Cause::kNone;
        }
        const uint64_t elsewhere = platform::threadCpuNanos() - cpuBefore_ +
                                   platform::threadRunDelayNanos() - delayBefore_;
        if (now - begin_ <= elsewhere + kStallNanos) {
            return Cause::kNone;
        }
        const uint64_t disk = slowCalls().nanosWithin(begin_, now);
        return now - begin_ <= elsewhere + disk + kStallNanos ? Cause::kDisk : Cause::kOther;
    }

private:
    static constexpr uint64_t kStallNanos = 5'000'000;

    const uint64_t delayBefore_ = platform::threadRunDelayNanos();
    const uint64_t cpuBefore_ = platform::threadCpuNanos();
    const uint64_t begin_ = platform::monotonicNanos();
};

Status operate(const EngineOptions& options,
               const Turns& turns,
               Worker* worker,
               Turns::Tallies* tallies) {
    const uint64_t step = 1'000'000'000ull * options.threads / options.rate;
    uint64_t due = platform::monotonicNanos() + step * worker->index() / options.threads;
    for (; !turns.stopped(); due += step) {
        platform::sleepUntilNanos(due);
        const size_t before = turns.window();
        const StallMeter meter;
        const bool write = worker->nextIsWrite();
        FRESHET_RETURN_IF_ERROR(write ? worker->overwriteOne() : worker->readOne());
        Tally& tally = (*tallies)[std::max(before, turns.window())];
        tally.latencies.add(platform::monotonicNanos() - due);
        const StallMeter::Cause cause = meter.stall();
        addTo(&tally.stalls, cause == StallMeter::Cause::kNone ? 0 : 1);
        addTo(&tally.diskStalls, cause == StallMeter::Cause::kDisk ? 1 : 0);
        (write ? tally.writes : tally.reads) += 1;
    }
    return Status::ok();
}

}  // namespace

StatusOr<std::vector<EngineResult>> runJitter(const EngineOptions& options, Engine* engine) {
    const CallWatch watch;
    Turns turns(options, engine, {.names = {"jitter", "jitter+checkpoint"}, .disturb = [engine] {
                                      const CheckpointCalls calls;
                                      return engine->checkpoint();
                                  }});
    return turns.run([&](Worker* worker, Turns::Tallies* tallies) {
        return operate(options, turns, worker, tallies);
    });
}

}  // namespace freshet::bench
