// SPDX-License-Identifier: Apache-2.0
/// What a server did between two moments: its processor time, and when asked for, what it and the
/// system count of its work. Own thread.
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

/// Nothing: the server, or the system, does not tell.
struct ServerWork {
    using Number = std::optional<double>;

    Number cpuMicros;
    // The life of a message, as the source document has it (003, section 4.2), over all sessions.
    Number sourceMicros;
    Number processMicros;
    Number sinkMicros;
    Number otherMicros;
    Number copiedBytes;        // by the server, between message and adapter's memory
    Number kernelCopiedBytes;  // by the system, between message and socket
    Number rdmaWrites;
    Number rdmaPolls;  // that found something
    Number systemCalls;
    Number instructions;

    /// , "server_cpu_us_per_op": 1.5[, ...]; all divided by `ops`.
    std::string json(double ops, bool withStages) const;
    /// For people: the processor time; and the stages' numbers, on one line.
    std::string cpuText(double ops) const;
    std::string stagesText(double ops) const;
};

class Meter {
public:
    /// `connection`, which outlives this and goes over TCP, is asked for serverStatus; null: no
    /// stages. `isRdma`: the work comes over RDMA, and nothing else does.
    Meter(int64_t pid, client::Connection* connection, bool isRdma)
        : pid_(pid), connection_(connection), isRdma_(isRdma) {}
    /// The work begins.
    void begin();
    /// The work is done. `settle` is called before the processor time is taken, after all else.
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
