// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/tcp/poller.h"

#include "freshet/base/assert.h"
#include "freshet/platform/clock.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace freshet::transport {

namespace {

constexpr size_t kEventsMax = 128;  // of one call; more come with the next one
constexpr uint64_t kNanosPerMilli = 1'000'000;

uint64_t dueIn(uint64_t ms) {
    constexpr uint64_t kMsMax = 1'000'000'000'000;  // some 30 years: no overflow below
    return platform::monotonicNanos() + std::min(ms, kMsMax) * kNanosPerMilli;
}

int control(int epollFd, int operation, int fd, uint32_t events, Watched* who) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = who;
    return ::epoll_ctl(epollFd, operation, fd, &event);
}

}  // namespace

StatusOr<std::unique_ptr<Poller>> Poller::create() {
    const int fd = ::epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0) {
        return Status(Code::kIo, std::string("epoll_create: ") + std::strerror(errno));
    }
    return std::unique_ptr<Poller>(new Poller(fd));
}

Poller::~Poller() {
    ::close(epollFd_);
}

Status Poller::watch(int fd, uint32_t events, Watched* who) {
    if (control(epollFd_, EPOLL_CTL_ADD, fd, events, who) != 0) {
        return Status(Code::kIo, std::string("Cannot watch a descriptor: ") + std::strerror(errno));
    }
    return Status::ok();
}

void Poller::rewatch(int fd, uint32_t events, Watched* who) {
    invariant(control(epollFd_, EPOLL_CTL_MOD, fd, events, who) == 0);
}

void Poller::unwatch(int fd) {
    invariant(!isTelling_);
    invariant(control(epollFd_, EPOLL_CTL_DEL, fd, 0, nullptr) == 0);
}

void Poller::completeLater(uint64_t ms, sync::WaitToken token) {
    if (isEarly_) {
        token.complete();
    } else {
        timers_.emplace(dueIn(ms), Timer{std::move(token)});
    }
}

void Poller::completeEarly() {
    isEarly_ = true;
    for (auto& [due, timer] : timers_) {
        if (timer.token.isSet()) {
            timer.token.complete();
        }
    }
    std::erase_if(timers_, [](const auto& entry) { return entry.second.token.isSet(); });
}

/// Until the next timer is due, rounded up: a timer is never early.
int Poller::waitMillis() const {
    if (timers_.empty()) {
        return -1;
    }
    const uint64_t due = timers_.begin()->first;
    const uint64_t now = platform::monotonicNanos();
    constexpr uint64_t kHour = 3'600'000;  // it fits an int
    return due <= now ? 0
                      : static_cast<int>(
                            std::min((due - now + kNanosPerMilli - 1) / kNanosPerMilli, kHour));
}

void Poller::completeDue() {
    if (timers_.empty()) {
        return;
    }
    const uint64_t now = platform::monotonicNanos();
    while (!timers_.empty() && timers_.begin()->first <= now) {
        const Timer due = std::move(timers_.extract(timers_.begin()).mapped());
        if (due.caller != nullptr) {
            due.caller->makeCall();
        } else {
            due.token.complete();
        }
    }
}

void Poller::poll(bool mayBlock) {
    std::array<epoll_event, kEventsMax> events;
    const int count =
        ::epoll_wait(epollFd_, events.data(), kEventsMax, mayBlock ? waitMillis() : 0);
    invariant(count >= 0 || errno == EINTR);
    isTelling_ = true;
    for (int i = 0; i < count; ++i) {
        static_cast<Watched*>(events[i].data.ptr)->onEvents(events[i].events);
    }
    isTelling_ = false;
    completeDue();
}

void LaterCall::start(uint64_t ms, std::function<void()> call) {
    cancel();
    call_ = std::move(call);
    at_ = poller_.timers_.emplace(dueIn(ms), Poller::Timer{{}, this});
}

void LaterCall::cancel() {
    if (at_.has_value()) {
        poller_.timers_.erase(*std::exchange(at_, std::nullopt));
    }
}

/// The poller has taken the timer out. The call may destroy this.
void LaterCall::makeCall() {
    at_.reset();
    const std::function<void()> call = std::move(call_);
    call();
}

}  // namespace freshet::transport
