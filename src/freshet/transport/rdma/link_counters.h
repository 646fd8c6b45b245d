// SPDX-License-Identifier: Apache-2.0
/// The counters of links, for serverStatus and benchmarks. One writer: the links' thread.
#pragma once

#include "freshet/sync/atomic.h"
#include "freshet/transport/rdma.h"

#include <array>
#include <cstdint>

namespace freshet::transport::rdma {

class Counter {
public:
    void add(uint64_t by) {
        // [rdma.count] relaxed: one writer, and nothing is inferred from the value.
        value_.store(value_.load(sync::kRelaxed) + by, sync::kRelaxed);
    }
    void subtract(uint64_t by) { add(0 - by); }
    uint64_t read() const {
        // [rdma.count] relaxed: a number for people.
        return value_.load(sync::kRelaxed);
    }

private:
    sync::Atomic<uint64_t> value_{0};
};

struct LinkCounters {
    Counter writes;            // of all kinds
    Counter inlineWrites;      // of these, without registered memory
    Counter creditWrites;      // of these, for nothing but credit
    Counter stagedBytes;       // copied once on their way out
    Counter sentInPlaceBytes;  // not copied at all
    Counter copiedInBytes;     // of requests, out of the ring
    Counter inPlaceBytes;      // of requests, read in the ring
    Counter creditStalls;      // a message had to wait for the peer
    Counter polls;             // looks at a completion queue that found something
    Counter emptyPolls;        // and those that did not
    Counter sleeps;            // a completion queue was armed and left
    Counter links;             // live now
    Counter linksMade;         // ever
    Counter callsTaken;        // of these, by the connection manager
    Counter callsRefused;
    std::array<Counter, RdmaStats::kFallbacks> fallbacks;  // by RdmaFallback

    Counter& fallback(RdmaFallback why) { return fallbacks[static_cast<size_t>(why)]; }
};

}  // namespace freshet::transport::rdma
