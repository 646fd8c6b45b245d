// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/tcp/reactor.h"

#include "freshet/platform/clock.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace freshet::transport {

namespace {

constexpr uint64_t kLongPassNanos = 50'000'000;

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

StatusOr<std::unique_ptr<Reactor>> Reactor::create(unsigned index, ReactorHooks hooks) {
    FRESHET_ASSIGN_OR_RETURN(std::unique_ptr<Poller> poller, Poller::create());
    const int wakeFd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wakeFd < 0) {
        return Status(Code::kIo, std::string("eventfd: ") + std::strerror(errno));
    }
    std::unique_ptr<Reactor> reactor(
        new Reactor(index, std::move(hooks), std::move(poller), wakeFd));
    FRESHET_RETURN_IF_ERROR(
        reactor->poller_->watch(wakeFd, EPOLLIN | EPOLLET, static_cast<Watched*>(reactor.get())));
    return reactor;
}

Reactor::Reactor(unsigned index, ReactorHooks hooks, std::unique_ptr<Poller> poller, int wakeFd)
    : index_(index),
      hooks_(std::move(hooks)),
      scratch_(std::make_unique_for_overwrite<char[]>(kScratchBytes)),
      poller_(std::move(poller)),
      wakeFd_(wakeFd) {}

Reactor::~Reactor() {
    invariant(head_ == nullptr && !thread_.joinable());
    ::close(wakeFd_);
}

void Reactor::start() {
    thread_ = platform::Thread("reactor" + std::to_string(index_), [this] { runThread(); });
}

void Reactor::stop() {
    postOnce(*this, [this] { stopping_ = true; });
}

void Reactor::endTimers() {
    postOnce(*this, [this] { poller_->completeEarly(); });
}

void Reactor::post(sync::WorkItem* item) {
    if (current() == this) {
        item->next = nullptr;
        pushLocal(item);
        return;
    }
    const int wakeFd = wakeFd_;  // read before the push, after which `this` may be freed
    if (!posted_.push(item)) {
        return;
    }
    const uint64_t one = 1;
    // Each write is an event of its own, so nobody reads the count, and it does not overflow in a
    // thousand years. Nothing of ours is touched afterwards.
    [[maybe_unused]] ssize_t written = ::write(wakeFd, &one, sizeof(one));
}

void Reactor::pushLocal(sync::WorkItem* first) {
    (tail_ != nullptr ? tail_->next : head_) = first;
    for (; first != nullptr; first = first->next) {
        tail_ = first;
    }
}

/// Of the eventfd. Takes posted items only when their poster has written it: PostQueue's RECLAIM
/// depends on that. Between two takes there is one such write (its INV-1), and so one event.
void Reactor::onEvents(uint32_t) {
    if (sync::WorkItem* items = posted_.takeAll()) {
        pushLocal(items);
    }
}

void Reactor::runThread() {
    platform::pinToCore(index_);
    setCurrent(this);
    PutOff::setCurrent(&putOff_);
    if (hooks_.threadBegin) {
        hooks_.threadBegin();
    }
    // First all that has come, then one pass: an idle reactor blocks here, a busy one looks for new
    // input between two passes.
    while (!stopping_ || head_ != nullptr) {
        poller_->poll(head_ == nullptr);
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
    sync::WaitToken token = sync::WaitToken::create();
    poller_->completeLater(ms, token);
    return token;
}

}  // namespace freshet::transport
