// SPDX-License-Identifier: Apache-2.0
/// One thread of the load generator: its connections and its results.
#pragma once

#include "freshet/bench/load/request_stream.h"
#include "freshet/sync/atomic.h"

#include <memory>

namespace freshet::bench {

enum class Phase : uint8_t { kWarmingUp, kMeasuring, kOver };

/// Written by the main thread; the phase only advances.
using PhaseFlag = sync::Atomic<Phase>;

class LoadWorker {
public:
    virtual ~LoadWorker() = default;
    /// Called before run().
    virtual Status add(const LoadPlan& plan, RequestStream::Share share) = 0;
    /// Returns when the phase is kOver or something fails.
    virtual void run() = 0;

    Status result;
    Histogram latencies;
    size_t replyBytes = 0;
    uint64_t requestsMost = 0;  // of any one connection
};

/// Opens many connections over TCP.
std::unique_ptr<LoadWorker> makeSocketWorker(const PhaseFlag& phase);
/// One connection over TCP that blocks, read and written as libmongoc does it.
std::unique_ptr<LoadWorker> makeDriverWorker(const PhaseFlag& phase);
/// One connection: a session that blocks (LoadPlan::connect).
std::unique_ptr<LoadWorker> makeSessionWorker(const PhaseFlag& phase);

}  // namespace freshet::bench
