// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/load/client.h"
#include "freshet/bench/load/worker.h"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

namespace freshet::bench {
namespace {

/// Keeps the calling thread from preempting other threads when it wakes. Clients on a machine of
/// their own never do that; here, a reply would let its client run on the server's core before the
/// server has sent its next reply.
void standBack() {
    const sched_param none{};
    ::pthread_setschedparam(::pthread_self(), SCHED_BATCH, &none);  // best effort
}

class SocketWorker final : public LoadWorker {
public:
    explicit SocketWorker(const PhaseFlag& phase) : phase_(phase) {}
    ~SocketWorker() override { ::close(epoll_); }

    Status add(const LoadPlan& plan, RequestStream::Share share) override {
        auto client = std::make_unique<Client>(plan.request, share);
        FRESHET_RETURN_IF_ERROR(client->connect(plan.host, plan.port));
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.ptr = client.get();
        if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, client->descriptor(), &event) != 0) {
            return Status(Code::kIo, "epoll_ctl failed");
        }
        clients_.push_back(std::move(client));
        return Status::ok();
    }
    void run() override;

private:
    Status onEvent(Client& client, bool measuring);

    const PhaseFlag& phase_;
    const int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    std::vector<std::unique_ptr<Client>> clients_;
};

Status SocketWorker::onEvent(Client& client, bool measuring) {
    const uint64_t startedAt = client.startedAt();
    FRESHET_ASSIGN_OR_RETURN(Client::Progress progress, client.proceed());
    if (progress.replied && measuring) {
        latencies.add(progress.repliedAt - startedAt);
        replyBytes = std::max(replyBytes, progress.replyBytes);
    }
    if (progress.wantsWriteChanged) {
        epoll_event event{};
        event.events = EPOLLIN | (client.wantsWrite() ? EPOLLOUT : 0u);
        event.data.ptr = &client;
        ::epoll_ctl(epoll_, EPOLL_CTL_MOD, client.descriptor(), &event);
    }
    return Status::ok();
}

void SocketWorker::run() {
    standBack();
    for (auto& client : clients_) {
        result = client->begin();
        if (!result.isOk()) {
            return;
        }
    }
    std::array<epoll_event, 64> events;
    // [phase.read] relaxed: reading it late only moves the window's edge.
    while (phase_.load(sync::kRelaxed) != Phase::kOver) {
        const int count = ::epoll_wait(epoll_, events.data(), events.size(), 50);
        const bool measuring = phase_.load(sync::kRelaxed) == Phase::kMeasuring;
        for (int i = 0; i < count; ++i) {
            const auto& event = events[static_cast<size_t>(i)];
            result = onEvent(*static_cast<Client*>(event.data.ptr), measuring);
            if (!result.isOk()) {
                return;
            }
        }
    }
    for (auto& client : clients_) {
        requestsMost = std::max(requestsMost, client->requests());
    }
}

}  // namespace

std::unique_ptr<LoadWorker> makeSocketWorker(const PhaseFlag& phase) {
    return std::make_unique<SocketWorker>(phase);
}

}  // namespace freshet::bench
