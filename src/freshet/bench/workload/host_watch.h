// SPDX-License-Identifier: Apache-2.0
/// Finds out when the host of a virtual machine did not run the machine's processors
/// (docs/decisions/0049). A thread on each processor sleeps for a millisecond at a time. If it
/// wakes much later than due, not counting the time in which other threads had the processor, the
/// host had stopped it.
#pragma once

#include "freshet/bench/engines/spans.h"
#include "freshet/platform/thread.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace freshet::bench {

/// Any thread.
class HostStops {
public:
    /// Shorter stops are not kept.
    static constexpr uint64_t kStopNanos = 1'000'000;

    void add(uint64_t begin, uint64_t end);
    Spans within(uint64_t begin, uint64_t end) const;

private:
    mutable std::mutex mutex_;
    Spans stops_;  // of all processors
};

/// This machine's stops.
HostStops& hostStops();

/// While one exists, stops are recorded.
class HostWatch {
public:
    HostWatch();
    ~HostWatch();
    HostWatch(const HostWatch&) = delete;
    HostWatch& operator=(const HostWatch&) = delete;
    /// Blocks until all stops that have ended by now are recorded. Any thread.
    void awaitNoted() const;

private:
    void watch(unsigned core);

    mutable std::mutex mutex_;
    mutable std::condition_variable looked_;
    std::vector<uint64_t> lookedAt_;  // of each processor, the last look in ns; guarded by mutex_
    bool ended_ = false;              // guarded by mutex_
    std::vector<platform::Thread> threads_;
};

}  // namespace freshet::bench
