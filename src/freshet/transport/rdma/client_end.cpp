// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/rdma/client_end.h"

#include "freshet/platform/clock.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace freshet::transport::rdma {

PeerSign::~PeerSign() {
    if (socket_ >= 0) {
        ::close(socket_);
    }
}

bool PeerSign::isEnd() {
    if (call_ == nullptr) {
        return true;
    }
    StatusOr<verbs::CallEvent> event = call_->nextEvent();
    while (event.isOk() && event->kind == verbs::CallEvent::Kind::kAnswered) {
        event = call_->nextEvent();
    }
    return event.isOk() || !event.status().isWouldBlock();
}

StatusOr<std::unique_ptr<ClientEnd>> ClientEnd::create(const RdmaOptions& options,
                                                       const std::string& localAddress,
                                                       PeerSign sign) {
    std::unique_ptr<ClientEnd> end(new ClientEnd(options, std::move(sign)));
    FRESHET_RETURN_IF_ERROR(end->open(localAddress));
    return end;
}

Status ClientEnd::open(const std::string& localAddress) {
    wakeFd_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wakeFd_ < 0) {
        return Status(Code::kIo, std::string("eventfd: ") + std::strerror(errno));
    }
    FRESHET_ASSIGN_OR_RETURN(device_, options_.verbs->open(localAddress));
    FRESHET_ASSIGN_OR_RETURN(queue_, device_->makeCompletionQueue(Link::kCompletionsMax));
    const LinkSizes sizes = options_.oneSlot
                                ? LinkSizes::oneSlot()
                                : LinkSizes{options_.ringBytes, options_.ringBytes / 2};
    FRESHET_ASSIGN_OR_RETURN(link_,
                             Link::create({*device_, *queue_, blocks_, counters_}, 0, sizes));
    return Status::ok();
}

ClientEnd::~ClientEnd() {
    link_.reset();
    if (wakeFd_ >= 0) {
        ::close(wakeFd_);
    }
}

void ClientEnd::wake() {
    (void)::eventfd_write(wakeFd_, 1);
}

Status ClientEnd::look() {
    std::array<verbs::Completion, 32> some;
    found_ = false;
    while (true) {
        FRESHET_ASSIGN_OR_RETURN(size_t count, queue_->poll(some));
        (count > 0 ? counters_.polls : counters_.emptyPolls).add(1);
        for (size_t i = 0; i < count; ++i) {
            link_->onCompletion(some[i]);
        }
        found_ = found_ || count > 0;
        if (count < some.size()) {
            return Status::ok();
        }
    }
}

StatusOr<bool> ClientEnd::await(Lock& lock, uint64_t untilNanos) {
    if (isSomebodyWaiting_) {
        progress_.wait(lock);
        return true;
    }
    const uint64_t began = platform::monotonicNanos();
    isSomebodyWaiting_ = true;
    StatusOr<bool> result = isWorthSpinning() ? spin() : StatusOr<bool>(false);
    if (result.isOk() && !*result) {
        result = sleep(lock, untilNanos);
    }
    isSomebodyWaiting_ = false;
    progress_.notify_all();
    const uint64_t gap = std::min(platform::monotonicNanos() - began, 8 * kDenseNanos);
    gapNanos_ = (3 * gapNanos_ + gap) / 4;
    return result;
}

/// Spins with the lock held: other threads would only wait as well.
StatusOr<bool> ClientEnd::spin() {
    constexpr uint64_t kNanosPerMicro = 1'000;
    const uint64_t end = platform::monotonicNanos() + options_.spinMicrosMax * kNanosPerMicro;
    do {
        FRESHET_RETURN_IF_ERROR(look());
        if (found_) {
            return true;
        }
    } while (platform::monotonicNanos() < end);
    return false;
}

StatusOr<bool> ClientEnd::sleep(Lock& lock, uint64_t untilNanos) {
    FRESHET_RETURN_IF_ERROR(queue_->arm());
    FRESHET_RETURN_IF_ERROR(look());
    if (found_) {
        return true;
    }
    constexpr uint64_t kNanosPerMs = 1'000'000;
    const uint64_t now = platform::monotonicNanos();
    const int millis = untilNanos == 0
                           ? -1
                           : static_cast<int>((std::max(untilNanos, now) - now) / kNanosPerMs + 1);
    if (untilNanos != 0 && now >= untilNanos) {
        return false;
    }
    pollfd what[] = {{queue_->fd(), POLLIN, 0}, {sign_.fd(), POLLIN, 0}, {wakeFd_, POLLIN, 0}};
    counters_.sleeps.add(1);
    lock.unlock();
    const int ready = ::poll(what, std::size(what), millis);
    lock.lock();
    if (ready < 0) {  // EINTR too: as with TCP, a signal that has a handler ends the wait
        return Status(Code::kIo, std::string("poll: ") + std::strerror(errno));
    }
    if (what[0].revents != 0) {
        queue_->clearEvents();
    }
    FRESHET_RETURN_IF_ERROR(look());
    // Set after the last look at the queue, so that what the peer had sent before is received.
    peerGone_ = peerGone_ || (what[1].revents != 0 && sign_.isEnd());
    if (what[2].revents != 0) {
        eventfd_t ignored;
        (void)::eventfd_read(wakeFd_, &ignored);
    }
    return true;
}

}  // namespace freshet::transport::rdma
