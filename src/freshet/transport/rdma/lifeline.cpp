// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/rdma/lifeline.h"

#include <utility>

namespace freshet::transport::rdma {

/// The peer sends nothing more on TCP, so any event is the end.
sync::Task<void> TcpLifeline::untilGone() {
    (void)co_await tcp_.asyncSourceMessage();
}

CallLifeline::CallLifeline(Reactor& reactor,
                           std::unique_ptr<verbs::Call> call,
                           uint64_t connectionId)
    : call_(std::move(call)), watch_(reactor, call_->fd()) {
    peer_.connectionId = connectionId;
    peer_.remote = call_->remote();
    peer_.local = call_->local();
    peer_.kind = "rdma";
}

sync::Task<void> CallLifeline::untilGone() {
    while (!isOver_) {
        const bool hasNews = co_await watch_.readable();
        if (!hasNews || !takeEvents()) {
            break;
        }
    }
    isOver_ = true;
}

bool CallLifeline::takeEvents() {
    while (true) {
        const StatusOr<verbs::CallEvent> event = call_->nextEvent();
        if (!event.isOk()) {
            return event.status().isWouldBlock();
        }
        if (event->kind != verbs::CallEvent::Kind::kAnswered) {
            return false;
        }
        isUp_ = true;
    }
}

void CallLifeline::close() {
    if (!std::exchange(isOver_, true)) {
        call_->hangUp();
        watch_.cancel();
    }
}

}  // namespace freshet::transport::rdma
