// SPDX-License-Identifier: Apache-2.0
/// Reads of a small share of the records, which stays in memory, while writers run. In the control
/// window the writers overwrite another small share, in the other window all the rest, which does
/// not fit into memory. The writers use the same share of a processor in both, so that a difference
/// is caused by their page faults, the evictions and the threads that write pages for them, and not
/// by the writers' own work.
#include "freshet/bench/workload/turns.h"

namespace freshet::bench {
namespace {

/// The share of a processor that a writer may use.
constexpr uint64_t kWriterPercent = 15;
/// A writer sleeps when it is this far ahead; the system cannot keep shorter sleeps precisely.
constexpr uint64_t kAheadNanos = 1'000'000;
/// Only one read in so many is timed: a read takes no longer than reading the clock.
constexpr uint64_t kTimeEvery = 8;

/// This thread's processor time in the window in which it was used.
class CpuMeter {
public:
    /// The time used since the last call.
    uint64_t lap() {
        const uint64_t now = platform::threadCpuNanos();
        return now - std::exchange(last_, now);
    }

private:
    uint64_t last_ = platform::threadCpuNanos();
};

class Beside {
public:
    Beside(const EngineOptions& options, Engine* engine)
        : options_(options),
          share_(std::max<uint64_t>(1, options.records / 100)),
          turns_(
              options,
              engine,
              {.names = {"beside", "beside+faults"}, .settleMillis = options.windowMillis / 16}) {}
    StatusOr<std::vector<EngineResult>> run() {
        return turns_.run([this](Worker* worker, Turns::Tallies* tallies) {
            return worker->index() < writersOf(options_) ? write(worker, tallies)
                                                         : read(worker, tallies);
        });
    }

private:
    Status read(Worker* worker, Turns::Tallies* tallies) const;
    Status write(Worker* worker, Turns::Tallies* tallies) const;

    KeyRange hot() const { return {0, share_}; }
    KeyRange writtenIn(size_t window) const {
        return Turns::kindOf(window) == Turns::kControl ? KeyRange{share_, 2 * share_}
                                                        : KeyRange{2 * share_, options_.records};
    }

    const EngineOptions& options_;
    const uint64_t share_;  // number of hot records
    Turns turns_;
};

Status Beside::read(Worker* worker, Turns::Tallies* tallies) const {
    CpuMeter cpu;
    size_t seen = turns_.window();
    for (uint64_t n = 0; !turns_.stopped(); ++n) {
        const size_t before = turns_.window();
        if (before != seen) {
            addTo(&(*tallies)[seen].readCpuNanos, cpu.lap());
            seen = before;
        }
        const bool timed = n % kTimeEvery == 0;
        const uint64_t begin = timed ? platform::monotonicNanos() : 0;
        FRESHET_RETURN_IF_ERROR(worker->readOneOf(hot()));
        Tally& tally = (*tallies)[std::max(before, turns_.window())];
        tally.reads += 1;
        if (timed) {
            tally.latencies.add(platform::monotonicNanos() - begin);
        }
    }
    addTo(&(*tallies)[seen].readCpuNanos, cpu.lap());
    return Status::ok();
}

Status Beside::write(Worker* worker, Turns::Tallies* tallies) const {
    CpuMeter cpu;
    size_t seen = turns_.window();
    uint64_t begin = platform::monotonicNanos();
    uint64_t used = 0;
    while (!turns_.stopped()) {
        const size_t before = turns_.window();
        if (before != seen) {
            seen = before;
            begin = platform::monotonicNanos();
            used = 0;
        }
        FRESHET_RETURN_IF_ERROR(worker->overwriteOneOf(writtenIn(before)));
        Tally& tally = (*tallies)[std::max(before, turns_.window())];
        tally.writes += 1;
        const uint64_t took = cpu.lap();
        addTo(&tally.writeCpuNanos, took);
        used += took;
        const uint64_t earliest = begin + used * 100 / kWriterPercent;
        if (earliest > platform::monotonicNanos() + kAheadNanos) {
            platform::sleepUntilNanos(earliest);
        }
    }
    return Status::ok();
}

}  // namespace

StatusOr<std::vector<EngineResult>> runBeside(const EngineOptions& options, Engine* engine) {
    if (options.records < 3) {
        return Status(Code::kInvalid, "beside needs three records at least");
    }
    return Beside(options, engine).run();
}

}  // namespace freshet::bench
