// SPDX-License-Identifier: Apache-2.0
/// One thread of the load generator: some connections, and what it found.
#pragma once

#include "freshet/bench/load/request_stream.h"
#include "freshet/sync/atomic.h"

#include <memory>

namespace freshet::bench {

enum class Phase : uint8_t { kWarmingUp, kMeasuring, kOver };

/// Written by the main thread and only ever goes up.
using PhaseFlag = sync::Atomic<Phase>;

class Worker {
public:
    virtual ~Worker() = default;
    /// Before run().
    virtual Status add(const LoadPlan& plan, RequestStream::Share share) = 0;
    /// Until the phase is over or something fails.
    virtual void run() = 0;

    Status result;
    Histogram latencies;
    size_t replyBytes = 0;
    uint64_t requestsMost = 0;  // of one connection
};

/// Many connections of its own making over TCP.
std::unique_ptr<Worker> makeSocketWorker(const PhaseFlag& phase);
/// One connection: a session that blocks (LoadPlan::connect).
std::unique_ptr<Worker> makeSessionWorker(const PhaseFlag& phase);

}  // namespace freshet::bench
