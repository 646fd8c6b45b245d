// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/rdma/fd_watch.h"

#include <sys/epoll.h>

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
    completion_.begin();
    if (isCancelled_) {
        completion_.finishCurrent(ended());
    } else {
        reactor_.poller().rewatch(fd_, EPOLLIN | EPOLLONESHOT, this);
    }
}

void FdWatch::onEvents(uint32_t) {
    completion_.finishCurrent(Status::ok());
}

void FdWatch::cancel() {
    isCancelled_ = true;
    completion_.finishCurrent(ended());
}

}  // namespace freshet::transport::rdma
