// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/rdma/fd_watch.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <utility>

namespace freshet::transport::rdma {
namespace asio = boost::asio;
using boost::system::error_code;

/// Asio's handler refers to it after the watch has gone.
struct FdWatch::State {
    explicit State(Reactor& reactor) : descriptor(reactor.io()), completion(reactor) {}
    ~State() { descriptor.release(); }
    asio::posix::stream_descriptor descriptor;
    Completion completion;
    bool isCancelled = false;
};

FdWatch::FdWatch(Reactor& reactor, int fd) : state_(std::make_shared<State>(reactor)) {
    error_code error;
    state_->descriptor.assign(fd, error);
    state_->isCancelled = static_cast<bool>(error);
}

FdWatch::~FdWatch() {
    invariant(state_->completion.isIdle());
    // The reactor must forget the descriptor before its owner closes it.
    if (state_->descriptor.is_open()) {
        state_->descriptor.release();
    }
}

void FdWatch::arm() {
    const uint64_t opSeq = state_->completion.begin();
    if (state_->isCancelled) {
        state_->completion.finish(opSeq, Status(Code::kCancelled, "The watch was ended"));
        return;
    }
    state_->descriptor.async_wait(
        asio::posix::stream_descriptor::wait_read, [state = state_, opSeq](error_code error) {
            state->completion.finish(
                opSeq, error ? Status(Code::kCancelled, "The watch was ended") : Status::ok());
        });
}

FdWatch::Awaiter FdWatch::awaiting() {
    return Awaiter{state_->completion};
}

void FdWatch::cancel() {
    if (!std::exchange(state_->isCancelled, true) && state_->descriptor.is_open()) {
        error_code ignored;
        state_->descriptor.cancel(ignored);
    }
}

}  // namespace freshet::transport::rdma
