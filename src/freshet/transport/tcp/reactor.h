// SPDX-License-Identifier: Apache-2.0
/// Reactor: the executor of sessions. One pinned thread, one poller, one run queue. All session and
/// command code of the thread runs from the run queue, inside a pass; what the poller tells only
/// puts work on it. A reactor with nothing to do sleeps in epoll and uses no processor time.
#pragma once

#include "freshet/base/status.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/executor.h"
#include "freshet/transport/session/memory_watch.h"
#include "freshet/transport/session/message_cutter.h"
#include "freshet/transport/session/put_off.h"
#include "freshet/transport/tcp/poller.h"
#include "freshet/transport/tcp/post_queue.h"

#include <functional>
#include <memory>
#include <span>

namespace freshet::transport {

/// See ServerTransportOptions. Any of them may be empty.
struct ReactorHooks {
    std::function<void()> passBegin;
    std::function<void()> readAhead;
    std::function<void()> passEnd;
    std::function<void()> threadBegin;
    std::function<void()> threadEnd;
    std::function<void(uint64_t nanos)> longPass{};
};

/// Written by the reactor's thread only; read by any.
struct ReactorCounters {
    sync::Atomic<uint64_t> messagesIn{0};
    sync::Atomic<uint64_t> messagesOut{0};
    sync::Atomic<uint64_t> bytesIn{0};
    sync::Atomic<uint64_t> bytesOut{0};
    sync::Atomic<uint64_t> longPasses{0};
    sync::Atomic<uint64_t> longestPassNanos{0};

    /// Reactor's thread.
    static void bump(sync::Atomic<uint64_t>& counter, uint64_t by) {
        // [counter.bump] relaxed: one writer, and nothing is inferred from the value.
        counter.store(counter.load(sync::kRelaxed) + by, sync::kRelaxed);
    }
    // [counter.read] relaxed: a number for people.
    static uint64_t read(const sync::Atomic<uint64_t>& counter) {
        return counter.load(sync::kRelaxed);
    }
};

class Reactor final : public sync::Executor, private Watched {
public:
    static constexpr size_t kScratchBytes = 64 * 1024;

    static StatusOr<std::unique_ptr<Reactor>> create(unsigned index, ReactorHooks hooks);
    /// REQUIRES: not started, or joined.
    ~Reactor() override;

    /// Starts the thread.
    void start();
    /// Any thread. All timers are complete from now on, waiting and future ones.
    void endTimers();
    /// Any thread, once. The thread ends when it has run everything that was posted before.
    void stop();
    void join() { thread_.join(); }

    void post(sync::WorkItem* item) override;
    sync::WaitToken after(uint64_t ms) override;

    /// For sessions, on the reactor's thread (or before it starts).
    Poller& poller() { return *poller_; }
    /// Valid until the next suspension: all sessions of the reactor share it.
    std::span<char> scratch() { return {scratch_.get(), kScratchBytes}; }
    BlockPool& blocks() { return blocks_; }
    MemoryWatch& memory() { return memory_; }
    ReactorCounters& counters() { return counters_; }
    /// Nothing is queued for the next pass. Reactor's thread.
    bool isQueueEmpty() const { return head_ == nullptr; }
    /// Sessions whose TLS handshake has begun and not ended. Reactor's thread.
    uint32_t handshakes = 0;

private:
    Reactor(unsigned index, ReactorHooks hooks, std::unique_ptr<Poller> poller, int wakeFd);
    void onEvents(uint32_t events) override;
    void runThread();
    void runPass();
    void noteLongPass(uint64_t nanos);
    static void runAll(sync::WorkItem* item);
    void pushLocal(sync::WorkItem* first);

    const unsigned index_;
    const ReactorHooks hooks_;
    PostQueue posted_;
    sync::WorkItem* head_ = nullptr;  // the run queue: reactor's thread only
    sync::WorkItem* tail_ = nullptr;
    PutOff putOff_;
    bool stopping_ = false;
    std::unique_ptr<char[]> scratch_;
    BlockPool blocks_;
    MemoryWatch memory_{*this};
    ReactorCounters counters_;
    const std::unique_ptr<Poller> poller_;
    const int wakeFd_;  // an eventfd
    platform::Thread thread_;
};

}  // namespace freshet::transport
