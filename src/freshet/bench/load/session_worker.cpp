// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/load/one_connection.h"
#include "freshet/platform/clock.h"

#include <algorithm>

namespace freshet::bench {
namespace {

class SessionWorker final : public OneConnectionWorker {
public:
    explicit SessionWorker(const PhaseFlag& phase) : OneConnectionWorker(phase) {}

    Status add(const LoadPlan& plan, RequestStream::Share share) override {
        FRESHET_ASSIGN_OR_RETURN(session_, plan.connect());
        takeShare(plan, share);
        return Status::ok();
    }

private:
    Status exchange(bool measuring) override {
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

    std::unique_ptr<transport::Session> session_;
};

}  // namespace

std::unique_ptr<LoadWorker> makeSessionWorker(const PhaseFlag& phase) {
    return std::make_unique<SessionWorker>(phase);
}

}  // namespace freshet::bench
