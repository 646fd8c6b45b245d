// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/workload/host_watch.h"

#include "freshet/platform/clock.h"

#include <algorithm>

namespace freshet::bench {
namespace {

constexpr uint64_t kStepNanos = 1'000'000;

}  // namespace

void HostStops::add(uint64_t begin, uint64_t end) {
    std::lock_guard<std::mutex> guard(mutex_);
    stops_.add(begin, end);
}

Spans HostStops::within(uint64_t begin, uint64_t end) const {
    std::lock_guard<std::mutex> guard(mutex_);
    return stops_.within(begin, end);
}

HostStops& hostStops() {
    static HostStops stops;
    return stops;
}

HostWatch::HostWatch() : lookedAt_(platform::coreCount()) {
    for (unsigned core = 0; core < lookedAt_.size(); ++core) {
        threads_.emplace_back("host-watch", [this, core] { watch(core); });
    }
}

HostWatch::~HostWatch() {
    {
        std::lock_guard<std::mutex> guard(mutex_);
        ended_ = true;
    }
    threads_.clear();  // each ends when it looks next
}

void HostWatch::awaitNoted() const {
    const uint64_t now = platform::monotonicNanos();
    std::unique_lock<std::mutex> lock(mutex_);
    looked_.wait(lock, [&] { return *std::min_element(lookedAt_.begin(), lookedAt_.end()) > now; });
}

void HostWatch::watch(unsigned core) {
    platform::pinToCore(core);
    platform::stepForward();
    for (bool goesOn = true; goesOn;) {
        const uint64_t delayBefore = platform::threadRunDelayNanos();
        const uint64_t due = platform::monotonicNanos() + kStepNanos;
        platform::sleepUntilNanos(due);
        const uint64_t now = platform::monotonicNanos();
        const uint64_t could = now - (platform::threadRunDelayNanos() - delayBefore);
        if (could > due + HostStops::kStopNanos) {
            hostStops().add(due, could);
        }
        {
            std::lock_guard<std::mutex> guard(mutex_);
            lookedAt_[core] = now;
            goesOn = !ended_;
        }
        looked_.notify_all();
    }
}

}  // namespace freshet::bench
