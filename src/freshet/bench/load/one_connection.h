// SPDX-License-Identifier: Apache-2.0
/// A worker with one connection that blocks: one exchange after another.
#pragma once

#include "freshet/bench/load/worker.h"

#include <memory>

namespace freshet::bench {

class OneConnectionWorker : public LoadWorker {
public:
    void run() final {
        // [phase.read] relaxed: reading it late only moves the window's edge.
        for (Phase now = Phase::kWarmingUp; result.isOk() && now != Phase::kOver;
             now = phase_.load(sync::kRelaxed)) {
            result = exchange(now == Phase::kMeasuring);
        }
        requestsMost = requests_->requests();
    }

protected:
    explicit OneConnectionWorker(const PhaseFlag& phase) : phase_(phase) {}
    void takeShare(const LoadPlan& plan, RequestStream::Share share) {
        requests_ = std::make_unique<RequestStream>(plan.request, share);
    }
    /// Sends the next request and reads its reply; counts it when `measuring`.
    virtual Status exchange(bool measuring) = 0;

    std::unique_ptr<RequestStream> requests_;

private:
    const PhaseFlag& phase_;
};

}  // namespace freshet::bench
