// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/load.h"

#include "freshet/bench/load/client.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace freshet::bench {
namespace {

constexpr int kWarmingUp = 0;
constexpr int kMeasuring = 1;
constexpr int kOver = 2;

/// One thread's clients and what it found.
class Worker {
public:
    /// `phase` is written by the main thread and only ever goes up.
    explicit Worker(const sync::Atomic<int>* phase) : phase_(phase) {}
    ~Worker() { ::close(epoll_); }

    Status add(const LoadPlan& plan, Client::Share share) {
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
    void run();

    Status result;
    Histogram latencies;
    size_t replyBytes = 0;
    uint64_t requestsMost = 0;  // of one client

private:
    Status onEvent(Client& client, bool measuring);

    const sync::Atomic<int>* phase_;
    const int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    std::vector<std::unique_ptr<Client>> clients_;
};

Status Worker::onEvent(Client& client, bool measuring) {
    const uint64_t startedAt = client.startedAt();
    FRESHET_ASSIGN_OR_RETURN(Client::Progress progress, client.proceed());
    if (progress.replied && measuring) {
        latencies.add(progress.repliedAt - startedAt);
        replyBytes = progress.replyBytes;
    }
    if (progress.wantsWriteChanged) {
        epoll_event event{};
        event.events = EPOLLIN | (client.wantsWrite() ? EPOLLOUT : 0u);
        event.data.ptr = &client;
        ::epoll_ctl(epoll_, EPOLL_CTL_MOD, client.descriptor(), &event);
    }
    return Status::ok();
}

void Worker::run() {
    for (auto& client : clients_) {
        result = client->begin();
        if (!result.isOk()) {
            return;
        }
    }
    std::array<epoll_event, 64> events;
    // [phase.read] relaxed: a late look only moves the window's edge.
    while (phase_->load(sync::kRelaxed) != kOver) {
        const int count = ::epoll_wait(epoll_, events.data(), events.size(), 50);
        const bool measuring = phase_->load(sync::kRelaxed) == kMeasuring;
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

StatusOr<LoadResult> runLoad(const LoadPlan& plan) {
    const unsigned threadCount = std::min(plan.threads, plan.clients);
    sync::Atomic<int> phase{kWarmingUp};
    std::vector<std::unique_ptr<Worker>> workers;
    for (unsigned i = 0; i < threadCount; ++i) {
        workers.push_back(std::make_unique<Worker>(&phase));
    }
    for (unsigned i = 0; i < plan.clients; ++i) {
        FRESHET_RETURN_IF_ERROR(workers[i % threadCount]->add(plan, {i, plan.clients}));
    }
    std::vector<platform::Thread> threads;
    for (auto& worker : workers) {
        threads.emplace_back("load", [&worker] { worker->run(); });
    }
    platform::sleepMillis(plan.warmUpMillis);
    const uint64_t begin = platform::monotonicNanos();
    const uint64_t cpuBefore = platform::processCpuMicros();
    plan.measuringBegins();
    // [phase.write] relaxed: see [phase.read]; the threads' results come with their join.
    phase.store(kMeasuring, sync::kRelaxed);
    platform::sleepMillis(plan.millis);
    phase.store(kOver, sync::kRelaxed);
    LoadResult out;
    out.seconds = static_cast<double>(platform::monotonicNanos() - begin) / 1e9;
    out.clientCpuMicros = platform::processCpuMicros() - cpuBefore;
    threads.clear();  // joins
    uint64_t requestsMost = 0;
    for (auto& worker : workers) {
        FRESHET_RETURN_IF_ERROR(worker->result);
        out.latencies.merge(worker->latencies);
        out.replyBytes = std::max(out.replyBytes, worker->replyBytes);
        requestsMost = std::max(requestsMost, worker->requestsMost);
    }
    out.idsUsed = requestsMost * plan.clients;
    return out;
}

}  // namespace freshet::bench
