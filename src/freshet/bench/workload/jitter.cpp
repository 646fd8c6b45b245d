// SPDX-License-Identifier: Apache-2.0
/// Open loop: operations fall due at a fixed rate, however long earlier ones take, and an
/// operation's latency counts from the time it was due. A checkpoint is taken in every other
/// window.
#include "freshet/bench/engines/disk_calls.h"
#include "freshet/bench/workload/host_watch.h"
#include "freshet/bench/workload/turns.h"

#include <optional>
#include <vector>

namespace freshet::bench {
namespace {

/// An operation that stood still for a long time.
struct Stall {
    size_t window;
    uint64_t begin;
    uint64_t end;
    /// Time with another explanation: its thread ran, or waited while others had the processor.
    uint64_t elsewhereNanos;
};

constexpr uint64_t kStallNanos = 5'000'000;

/// Finds stalls: an operation counts if much of its time, from its own start, has no such
/// explanation. It then waited for the engine, or the engine waited for the disk, or the host
/// stopped a processor.
class StallMeter {
public:
    std::optional<Stall> stall(size_t window) const {
        const uint64_t now = platform::monotonicNanos();
        if (now - begin_ <= kStallNanos) {
            return std::nullopt;
        }
        const uint64_t elsewhere = platform::threadCpuNanos() - cpuBefore_ +
                                   platform::threadRunDelayNanos() - delayBefore_;
        if (now - begin_ <= elsewhere + kStallNanos) {
            return std::nullopt;
        }
        return Stall{window, begin_, now, elsewhere};
    }

private:
    const uint64_t delayBefore_ = platform::threadRunDelayNanos();
    const uint64_t cpuBefore_ = platform::threadCpuNanos();
    const uint64_t begin_ = platform::monotonicNanos();
};

/// A stall is the host's if it would be none without the time in which the host stopped a
/// processor. Otherwise it is the disk's if it would be none without that time and the time in
/// which a call of the engine's, other than the checkpoint's and most likely the log's, had not
/// returned from the operating system. Time spent waiting for a processor that the host had stopped
/// is subtracted once.
void count(const Stall& stall, Tally* tally) {
    const auto wouldBeNone = [&](uint64_t nanos) {
        return stall.end - stall.begin <= nanos + kStallNanos;
    };
    Spans stops = hostStops().within(stall.begin, stall.end);
    const Spans calls = slowCalls().within(stall.begin, stall.end);
    const bool isHosts = wouldBeNone(stops.nanos());
    stops.add(calls);
    const bool isDisks =
        wouldBeNone(stall.elsewhereNanos + calls.nanos()) || wouldBeNone(stops.nanos());
    addTo(&tally->stalls, 1);
    addTo(&tally->hostStalls, isHosts ? 1 : 0);
    addTo(&tally->diskStalls, !isHosts && isDisks ? 1 : 0);
}

Status operate(const EngineOptions& options,
               const Turns& turns,
               const HostWatch& watch,
               Worker* worker,
               Turns::Tallies* tallies) {
    std::vector<Stall> stalls;
    for (Tally& tally : *tallies) {
        tally.stalls = tally.diskStalls = tally.hostStalls = 0;
    }
    const uint64_t step = 1'000'000'000ull * options.threads / options.rate;
    uint64_t due = platform::monotonicNanos() + step * worker->index() / options.threads;
    for (; !turns.stopped(); due += step) {
        platform::sleepUntilNanos(due);
        const size_t before = turns.window();
        const StallMeter meter;
        const bool write = worker->nextIsWrite();
        FRESHET_RETURN_IF_ERROR(write ? worker->overwriteOne() : worker->readOne());
        const size_t window = std::max(before, turns.window());
        Tally& tally = (*tallies)[window];
        tally.latencies.add(platform::monotonicNanos() - due);
        (write ? tally.writes : tally.reads) += 1;
        if (const std::optional<Stall> stall = meter.stall(window)) {
            stalls.push_back(*stall);
        }
    }
    watch.awaitNoted();
    for (const Stall& stall : stalls) {
        count(stall, &(*tallies)[stall.window]);
    }
    return Status::ok();
}

}  // namespace

StatusOr<std::vector<EngineResult>> runJitter(const EngineOptions& options, Engine* engine) {
    const CallWatch calls;
    const HostWatch host;
    Turns turns(options, engine, {.names = {"jitter", "jitter+checkpoint"}, .disturb = [engine] {
                                      const CheckpointCalls mine;
                                      return engine->checkpoint();
                                  }});
    return turns.run([&](Worker* worker, Turns::Tallies* tallies) {
        return operate(options, turns, host, worker, tallies);
    });
}

}  // namespace freshet::bench
