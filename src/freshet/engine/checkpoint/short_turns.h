// SPDX-License-Identifier: Apache-2.0
/// ShortTurns: for a thread that computes for long while others wait for answers. The system lets a
/// running thread continue for some milliseconds before a woken one gets the processor, and checks
/// only at its ticks, which may be 4 ms apart. So the thread asks for the shortest turns and ends
/// them itself. Decision 0038.
#pragma once

#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"

#include <cstdint>

namespace freshet::engine {

/// The turns of the thread that makes this object, which must destroy it too.
class ShortTurns {
public:
    ShortTurns() { platform::setTurnNanos(kNanos); }
    ~ShortTurns() { platform::setTurnNanos(before_); }
    ShortTurns(const ShortTurns&) = delete;
    ShortTurns& operator=(const ShortTurns&) = delete;

    /// To be called outside of slices, every few microseconds: if the turn is over, waiting threads
    /// run now.
    void giveWay() {
        if (++calls_ % kCallsPerLook != 0) {
            return;
        }
        if (platform::monotonicNanos() - began_ >= kNanos) {
            platform::yieldThread();
            began_ = platform::monotonicNanos();
        }
    }

private:
    static constexpr uint64_t kNanos = 100'000;
    static constexpr uint32_t kCallsPerLook = 4;

    const uint64_t before_ = platform::turnNanos();
    uint64_t began_ = platform::monotonicNanos();
    uint32_t calls_ = 0;
};

}  // namespace freshet::engine
