// SPDX-License-Identifier: Apache-2.0
/// A descriptor that is readable or not.
#pragma once

#include "freshet/base/assert.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace freshet::testing {

class EventFd {
public:
    EventFd() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) { invariant(fd_ >= 0); }
    EventFd(const EventFd&) = delete;
    EventFd& operator=(const EventFd&) = delete;
    ~EventFd() { ::close(fd_); }
    int fd() const { return fd_; }
    void signal() { invariant(::eventfd_write(fd_, 1) == 0); }
    void clear() {
        eventfd_t ignored;
        (void)::eventfd_read(fd_, &ignored);
    }

private:
    const int fd_;
};

}  // namespace freshet::testing
