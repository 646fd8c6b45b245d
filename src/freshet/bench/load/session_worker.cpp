// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/load/worker.h"
#include "freshet/platform/clock.h"

#include <algorithm>

namespace freshet::bench {
namespace {

class SessionWorker final : public Worker {
public:
    explicit SessionWorker(const PhaseFlag& phase) : phase_(phase) {}

    Status add(const LoadPlan& plan, RequestStream::Share share) override {
        FRESHET_ASSIGN_OR_RETURN(session_, plan.connect());
        requests_ = std::make_unique<RequestStream>(plan.request, share);
        return Status::ok();
    }
    void run() override {
        // [phase.read] relaxed: reading it late only moves the window's edge.
        for (Phase now = Phase::kWarmingUp; result.isOk() && now != Phase::kOver;
             now = phase_.load(sync::kRelaxed)) {
            result = exchange(now == Phase::kMeasuring);
        }
        requestsMost = requests_->requests();
    }

private:
    Status exchange(bool measuring) {
        const uint64_t startedAt = platform::monotonicNanos();
        transport::ReplyChain request;
        request.append(requests_->next(), nullptr);
        FRESHET_RETURN_IF_ERROR(session_->sinkMessage(std::move(request)));
        FRESHET_ASSIGN_OR_RETURN(transport::Message reply, session_->sourceMessage());
        if (measuring) {
            latencies.add(platform::monotonicNanos() - startedAt);
            replyBytes = std::max(replyBytes, reply.view().size());
        }
        return requests_->judge(reply.view());
    }

    const PhaseFlag& phase_;
    std::unique_ptr<transport::Session> session_;
    std::unique_ptr<RequestStream> requests_;
};

}  // namespace

std::unique_ptr<Worker> makeSessionWorker(const PhaseFlag& phase) {
    return std::make_unique<SessionWorker>(phase);
}

}  // namespace freshet::bench
