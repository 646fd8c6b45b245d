// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/rdma/fd_watch.h"

#include <sys/epoll.h>

#include <utility>

namespace freshet::transport::rdma {

namespace {

Status ended() {
    return Status(Code::kCancelled, "The watch was ended");
}

}  // namespace

FdWatch::FdWatch(Reactor& reactor, int fd) : reactor_(reactor), fd_(fd), completion_(reactor) {
    isWatched_ = reactor_.poller().watch(fd_, EPOLLONESHOT, this).isOk();
    isCancelled_ = !isWatched_;
}

FdWatch::~FdWatch() {
    invariant(completion_.isIdle());
    if (isWatched_) {
        reactor_.poller().unwatch(fd_);
    }
}

void FdWatch::arm() {
    opSeq_ = completion_.begin();
    if (isCancelled_) {
        end(ended());
    } else {
        reactor_.poller().rewatch(fd_, EPOLLIN | EPOLLONESHOT, this);
    }
}

void FdWatch::end(Status status) {
    if (opSeq_ != 0) {
        completion_.finish(std::exchange(opSeq_, 0), std::move(status));
    }
}

void FdWatch::onEvents(uint32_t) {
    end(Status::ok());
}

void FdWatch::cancel() {
    isCancelled_ = true;
    end(ended());
}

}  // namespace freshet::transport::rdma
