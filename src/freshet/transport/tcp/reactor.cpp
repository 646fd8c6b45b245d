// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/tcp/reactor.h"

#include "freshet/platform/clock.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <vector>

namespace freshet::transport {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

struct Timer {
    uint64_t due;
    sync::WaitToken token;
    bool operator<(const Timer& other) const { return due > other.due; }  // soonest on top
};

constexpr uint64_t kLongPassNanos = 50'000'000;
constexpr uint64_t kForever = std::numeric_limits<uint64_t>::max();

/// Runs a function once on the reactor, then frees itself.
template <typename F>
void postOnce(sync::Executor& executor, F body) {
    struct Once : sync::WorkItem {
        explicit Once(F f) : function(std::move(f)) {}
        F function;
    };
    auto* once = new Once(std::move(body));
    once->run = [](sync::WorkItem* item) {
        std::unique_ptr<Once> self(static_cast<Once*>(item));
        self->function();
    };
    executor.post(once);
}

}  // namespace

/// Once the reactor runs, only its thread touches this, which is why Asio's own locks are off;
/// other threads reach it through posted_ and the eventfd.
struct Reactor::Impl {
    explicit Impl(int eventFd)
        : io(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE), wake(io, eventFd), timer(io) {}
    asio::io_context io;
    asio::posix::stream_descriptor wake;
    uint64_t wakeCount = 0;
    asio::steady_timer timer;
    std::vector<Timer> timers;  // a heap
    uint64_t armedFor = kForever;
    bool timersEnded = false;
};

StatusOr<std::unique_ptr<Reactor>> Reactor::create(unsigned index, ReactorHooks hooks) {
    const int eventFd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (eventFd < 0) {
        return Status(Code::kIo, std::string("eventfd: ") + std::strerror(errno));
    }
    std::unique_ptr<Reactor> reactor(new Reactor(index, std::move(hooks)));
    reactor->impl_ = std::make_unique<Impl>(eventFd);
    return reactor;
}

Reactor::Reactor(unsigned index, ReactorHooks hooks)
    : index_(index),
      hooks_(std::move(hooks)),
      scratch_(std::make_unique_for_overwrite<char[]>(kScratchBytes)) {}

Reactor::~Reactor() {
    invariant(head_ == nullptr && !thread_.joinable());
}

asio::io_context& Reactor::io() {
    return impl_->io;
}

void Reactor::start() {
    thread_ = platform::Thread("reactor" + std::to_string(index_), [this] { runThread(); });
}

void Reactor::stop() {
    postOnce(*this, [this] { stopping_ = true; });
}

void Reactor::endTimers() {
    postOnce(*this, [this] {
        impl_->timersEnded = true;
        completeTimers(kForever);
    });
}

void Reactor::post(sync::WorkItem* item) {
    if (current() == this) {
        item->next = nullptr;
        pushLocal(item);
        return;
    }
    const int wakeFd = impl_->wake.native_handle();  // read before the push, after which `this` may
                                                     // be freed
    if (!posted_.push(item)) {
        return;
    }
    const uint64_t one = 1;
    // Cannot block: the count is at most one (PostQueue's INV-1). Nothing of ours is touched
    // afterwards.
    [[maybe_unused]] ssize_t written = ::write(wakeFd, &one, sizeof(one));
}

void Reactor::pushLocal(sync::WorkItem* first) {
    (tail_ != nullptr ? tail_->next : head_) = first;
    for (; first != nullptr; first = first->next) {
        tail_ = first;
    }
}

/// Takes posted items only when their poster has written the eventfd: PostQueue's RECLAIM depends
/// on that.
void Reactor::awaitPosts() {
    impl_->wake.async_read_some(asio::buffer(&impl_->wakeCount, sizeof(impl_->wakeCount)),
                                [this](error_code error, size_t) {
                                    if (error == asio::error::operation_aborted) {
                                        return;
                                    }
                                    invariant(!error);
                                    if (sync::WorkItem* items = posted_.takeAll()) {
                                        pushLocal(items);
                                    }
                                    awaitPosts();
                                });
}

void Reactor::runThread() {
    platform::pinToCore(index_);
    setCurrent(this);
    PutOff::setCurrent(&putOff_);
    if (hooks_.threadBegin) {
        hooks_.threadBegin();
    }
    awaitPosts();
    // First all handlers that are ready, then one pass: an idle reactor blocks in run_one, a busy
    // one looks for new input between two passes.
    while (!stopping_ || head_ != nullptr) {
        if (head_ == nullptr) {
            impl_->io.run_one();
        }
        impl_->io.poll();
        if (head_ != nullptr) {
            runPass();
        }
    }
    if (hooks_.threadEnd) {
        hooks_.threadEnd();
    }
    PutOff::setCurrent(nullptr);
    setCurrent(nullptr);
}

void Reactor::runAll(sync::WorkItem* item) {
    while (item != nullptr) {
        sync::WorkItem* next = item->next;
        item->run(item);
        item = next;
    }
}

/// Runs what is queued now, then what was put off meanwhile; what both queue belongs to the next
/// pass.
void Reactor::runPass() {
    const uint64_t began = platform::coarseNanos();
    sync::WorkItem* items = head_;
    head_ = tail_ = nullptr;
    if (hooks_.passBegin) {
        hooks_.passBegin();
    }
    runAll(items);
    if (!putOff_.isEmpty()) {
        if (hooks_.readAhead) {
            hooks_.readAhead();
        }
        runAll(putOff_.takeAll());
    }
    if (const uint64_t nanos = platform::coarseNanos() - began; nanos >= kLongPassNanos) {
        noteLongPass(nanos);
    }
    if (hooks_.passEnd) {
        hooks_.passEnd();
    }
}

void Reactor::noteLongPass(uint64_t nanos) {
    ReactorCounters::bump(counters_.longPasses, 1);
    if (nanos > ReactorCounters::read(counters_.longestPassNanos)) {
        // [counter.bump] relaxed, as everywhere: one writer.
        counters_.longestPassNanos.store(nanos, sync::kRelaxed);
    }
    if (hooks_.longPass) {
        hooks_.longPass(nanos);
    }
}

sync::WaitToken Reactor::after(uint64_t ms) {
    invariant(current() == this);
    if (impl_->timersEnded) {
        return sync::WaitToken::completed();
    }
    constexpr uint64_t kMsMax = 1'000'000'000'000;  // some 30 years: no overflow below
    const uint64_t due = platform::monotonicNanos() + std::min(ms, kMsMax) * 1'000'000u;
    sync::WaitToken token = sync::WaitToken::create();
    impl_->timers.push_back({due, token});
    std::push_heap(impl_->timers.begin(), impl_->timers.end());
    armTimer();
    return token;
}

void Reactor::armTimer() {
    Impl& impl = *impl_;
    if (impl.timers.empty() || impl.timers.front().due >= impl.armedFor) {
        return;
    }
    impl.armedFor = impl.timers.front().due;
    const uint64_t now = platform::monotonicNanos();
    const uint64_t nanos = impl.armedFor > now ? impl.armedFor - now : 0;
    impl.timer.expires_after(std::chrono::nanoseconds(nanos));  // cancels an earlier wait
    impl.timer.async_wait([this](error_code error) {
        if (!error) {
            completeTimers(platform::monotonicNanos());
        }
    });
}

void Reactor::completeTimers(uint64_t until) {
    std::vector<Timer>& timers = impl_->timers;
    while (!timers.empty() && timers.front().due <= until) {
        std::pop_heap(timers.begin(), timers.end());
        sync::WaitToken token = std::move(timers.back().token);
        timers.pop_back();
        token.complete();
    }
    impl_->armedFor = kForever;
    armTimer();
}

}  // namespace freshet::transport
