// SPDX-License-Identifier: Apache-2.0
/// What a server did between two moments: its processor time and, on request, what the server and
/// the system count of its work. Own thread.
#pragma once

#include "freshet/bench/wire/process_events.h"
#include "freshet/client/client.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace freshet::bench {

/// An empty number: the server or the system does not report it.
struct ServerWork {
    using Number = std::optional<double>;

    Number cpuMicros;
    // Time in each stage of a message's life, over all sessions.
    Number sourceMicros;
    Number processMicros;
    Number sinkMicros;
    Number otherMicros;
    Number copiedBytes;        // by the server, between a message and the adapter's memory
    Number kernelCopiedBytes;  // by the system, between a message and a socket
    Number rdmaWrites;
    Number rdmaPolls;  // polls that found something
    Number systemCalls;
    Number instructions;

    /// Returns , "server_cpu_us_per_op": 1.5[, ...]; all divided by `ops`.
    std::string json(double ops, bool withStages) const;
    /// For humans: the processor time; and the stages' numbers, on one line.
    std::string cpuText(double ops) const;
    std::string stagesText(double ops) const;
};

class Meter {
public:
    /// serverStatus is read through `connection`, which outlives this and uses TCP; null: no
    /// stages. `isRdma`: the work, and nothing else, comes over RDMA.
    Meter(int64_t pid, client::Connection* connection, bool isRdma)
        : pid_(pid), connection_(connection), isRdma_(isRdma) {}
    /// Call when the work begins.
    void begin();
    /// Call when the work is done. `settle` runs before the processor time is read, after all other
    /// readings.
    ServerWork end(const std::function<void()>& settle);

private:
    struct Reading {
        bool isThere = false;
        uint64_t readAtNanos = 0;
        std::array<double, 4> stageMicros{};  // source, process, sink, other
        bool hasStages = false;
        double networkBytes = 0;
        double rdmaCopiedBytes = 0;
        double rdmaWrites = 0;
        double rdmaPolls = 0;
        bool hasRdma = false;
    };
    Reading readStatus();
    void addStatus(const Reading& before, const Reading& after, ServerWork* out) const;
    ServerWork::Number cpu() const;

    const int64_t pid_;
    client::Connection* const connection_;
    const bool isRdma_;
    Reading before_;
    ServerWork::Number cpuBefore_;
    std::unique_ptr<ProcessEvents> systemCalls_;
    std::unique_ptr<ProcessEvents> instructions_;
};

}  // namespace freshet::bench
