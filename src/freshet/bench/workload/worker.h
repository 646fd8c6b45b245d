// SPDX-License-Identifier: Apache-2.0
/// A thread of a workload: its session, its random choices, its counts.
#pragma once

#include "freshet/bench/workload/keys.h"
#include "freshet/bench/workload/workload.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/atomic.h"

#include <memory>
#include <vector>

namespace freshet::bench {

enum class Phase : uint32_t { kWait, kWarmUp, kMeasure, kStop };

/// State that all threads of a run share.
struct Shared {
    sync::Atomic<Phase> phase{Phase::kWait};
    /// The number of threads that have a session, and of threads that have failed. Only waited for.
    sync::Atomic<unsigned> ready{0};
    sync::Atomic<unsigned> failed{0};
};

class Worker {
public:
    Worker(const EngineOptions& options, Engine* engine, unsigned index)
        : options_(options),
          engine_(*engine),
          index_(index),
          random_(index),
          keys_(keysAscend(options)),
          values_(options.valueBytes, index) {}

    /// Starts the thread: it opens a session, reports that it is ready, waits for the phase to
    /// leave kWait, runs `loop` and keeps its status.
    template <typename Loop>
    void start(Shared* shared, Loop loop) {
        thread_ = platform::Thread("worker", [this, shared, loop] {
            Status status = open();
            // [ready.add] relaxed: the main thread only waits for the number.
            shared->ready.fetch_add(1, sync::kRelaxed);
            // [phase.read] relaxed: reading it late only moves the window's edge.
            while (shared->phase.load(sync::kRelaxed) == Phase::kWait) {
                platform::sleepMillis(1);
            }
            status_ = status.isOk() ? loop(this) : status;
            if (!status_.isOk()) {
                // [failed.add] relaxed: the status itself comes with the join.
                shared->failed.fetch_add(1, sync::kRelaxed);
            }
            session_.reset();
        });
    }
    /// Returns the thread's status.
    Status join() {
        thread_.join();
        return status_;
    }

    Status readOneOf(KeyRange range) { return session_->read(anyOf(range), &taker_); }
    Status readOne() { return readOneOf({0, options_.records}); }
    Status overwriteOneOf(KeyRange range) { return session_->write(anyOf(range), values_.next()); }
    Status overwriteOne() { return overwriteOneOf({0, options_.records}); }
    /// Inserts a key that no other thread uses.
    Status insertOne() {
        const uint64_t own = (uint64_t{index_} + 1) << 40;
        return session_->write(keys_.key(own + inserted++), values_.next());
    }
    Status appendOne() {
        ++inserted;
        return session_->append(values_.next());
    }
    bool nextIsWrite() { return random_.below(100) < options_.writePercent; }
    unsigned index() const { return index_; }

    uint64_t inserted = 0;  // from the start, warm-up included
    Tally tally;            // of the measured window only, if there is one

private:
    ByteView anyOf(KeyRange range) {
        return keys_.key(range.first + random_.below(range.end - range.first));
    }
    Status open() {
        FRESHET_ASSIGN_OR_RETURN(session_, engine_.session());
        return Status::ok();
    }

    const EngineOptions& options_;
    Engine& engine_;
    const unsigned index_;
    Random random_;
    KeyMaker keys_;
    ValueMaker values_;
    ValueTaker taker_;
    std::unique_ptr<EngineSession> session_;
    Status status_;
    platform::Thread thread_;
};

using Workers = std::vector<std::unique_ptr<Worker>>;

/// Waits until all threads have a session.
void waitUntilReady(const Shared& shared, size_t threads);
/// Stops and joins all threads. Returns the first failure.
Status stopAll(Shared* shared, const Workers& workers);
/// Scans the engine: it must hold exactly what was loaded and what the workers inserted.
Status checkCount(const EngineOptions& options, Engine* engine, const Workers& workers);

}  // namespace freshet::bench
