// SPDX-License-Identifier: Apache-2.0
/// When the host of a virtual machine let its processors stand still (docs/decisions/0049). A
/// thread on each processor sleeps for a millisecond at a time. If it comes back much later
/// than was due, less what it waited for the processor because others had it, nobody ran there.
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
    /// Shorter ones are not kept.
    static constexpr uint64_t kStopNanos = 1'000'000;

    void add(uint64_t begin, uint64_t end);
    Spans within(uint64_t begin, uint64_t end) const;

private:
    mutable std::mutex mutex_;
    Spans stops_;  // of all processors
};

/// Of this machine.
HostStops& hostStops();

/// As long as it lives, they are noted.
class HostWatch {
public:
    HostWatch();
    ~HostWatch();
    HostWatch(const HostWatch&) = delete;
    HostWatch& operator=(const HostWatch&) = delete;
    /// Blocks until all that have ended by now are noted. Any thread.
    void awaitNoted() const;

private:
    void watch(unsigned core);

    mutable std::mutex mutex_;
    mutable std::condition_variable looked_;
    std::vector<uint64_t> lookedAt_;  // when, on each processor; guarded by mutex_
    bool ended_ = false;              // guarded by mutex_
    std::vector<platform::Thread> threads_;
};

}  // namespace freshet::bench
