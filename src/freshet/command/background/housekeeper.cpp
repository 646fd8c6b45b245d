// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/background/housekeeper.h"

#include "freshet/platform/clock.h"

#include <algorithm>

namespace freshet::command {
namespace {

constexpr uint64_t kNanosPerMilli = 1'000'000;
constexpr uint64_t kCursorSweepMsMax = 60'000;
constexpr uint64_t kSessionSweepNanos = 300'000 * kNanosPerMilli;

}  // namespace

Housekeeper::Housekeeper(Services& services)
    : services_(services), ttl_(services), thread_("housekeeper", [this] { run(); }) {}

void Housekeeper::stop() {
    services_.housekeeping.wake();
    thread_.join();
}

void Housekeeper::run() {
    // [shutdown.housekeeper] ORDER relaxed: only the flag itself counts; stop() wakes us after it.
    while (!services_.isShuttingDown.load(sync::kRelaxed)) {
        const uint64_t now = platform::monotonicNanos();
        uint64_t next = std::min(sweepCursors(now), sweepSessions(now));
        next = std::min(next, ttl_.run(now));
        services_.housekeeping.sleepUntil(next);
    }
}

/// Cursors may live up to a quarter longer than their limit.
uint64_t Housekeeper::sweepCursors(uint64_t now) {
    const auto timeoutMs =
        static_cast<uint64_t>(ParameterValues::get(services_.parameters.cursorTimeoutMillis));
    const uint64_t period =
        std::clamp<uint64_t>(timeoutMs / 4, 10, kCursorSweepMsMax) * kNanosPerMilli;
    if (now >= cursorsDue_ || cursorsDue_ > now + period) {
        const size_t ended = services_.cursors.endIdle(timeoutMs);
        services_.statistics.add(Counter::kCursorsTimedOut, ended);
        cursorsDue_ = now + period;
    }
    return cursorsDue_;
}

uint64_t Housekeeper::sweepSessions(uint64_t now) {
    if (now >= sessionsDue_) {
        services_.expireSessions();
        sessionsDue_ = now + kSessionSweepNanos;
    }
    return sessionsDue_;
}

}  // namespace freshet::command
