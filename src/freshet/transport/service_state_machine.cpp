// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/service_state_machine.h"

#include "freshet/platform/clock.h"
#include "freshet/transport/session/put_off.h"

#include <string>

namespace freshet::transport {
namespace {

constexpr uint8_t bit(State state) {
    return static_cast<uint8_t>(1u << static_cast<unsigned>(state));
}

/// For each state, those that may follow it.
constexpr std::array<uint8_t, kStateCount> kFollowers = {
    /* Created */ bit(State::kSource) | bit(State::kEndSession),
    /* Source */ bit(State::kSourceWait) | bit(State::kEndSession),
    /* SourceWait */ bit(State::kProcess) | bit(State::kEndSession),
    /* Process */ bit(State::kSinkWait) | bit(State::kSource) | bit(State::kEndSession),
    /* SinkWait */ bit(State::kSource) | bit(State::kProcess) | bit(State::kEndSession),
    /* EndSession */ bit(State::kEnded),
    /* Ended */ 0,
};

/// Continues in the second half of the pass.
struct SecondHalf : sync::WorkItem {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
        whole = waiting;
        run = [](sync::WorkItem* item) { static_cast<SecondHalf*>(item)->whole.resume(); };
        PutOff::current()->push(this);
    }
    void await_resume() const noexcept {}

    std::coroutine_handle<> whole;
};

}  // namespace

std::string_view stateName(State state) {
    constexpr std::string_view kNames[kStateCount] = {
        "Created", "Source", "SourceWait", "Process", "SinkWait", "EndSession", "Ended"};
    return kNames[static_cast<size_t>(state)];
}

bool isLegalTransition(State from, State to) {
    return (kFollowers[static_cast<size_t>(from)] & bit(to)) != 0;
}

Status ServiceState::advance(State to) {
    return advance(to, platform::coarseNanos());
}

Status ServiceState::advanceAtOnce(State to) {
    return advance(to, since_);
}

Status ServiceState::advance(State to, uint64_t nanos) {
    if (!isLegalTransition(current_, to)) {
        return Status(Code::kInvalid,
                      "A session cannot go from " + std::string(stateName(current_)) + " to " +
                          std::string(stateName(to)));
    }
    if (transitions_ > 0) {  // the time before the first step is not counted
        nanosIn_[static_cast<size_t>(current_)] += nanos - since_;
        if (sums_ != nullptr && nanos != since_) {
            sums_->add(current_, nanos - since_);
        }
    }
    since_ = nanos;
    current_ = to;
    ring_[transitions_++ % kHistory] = {to, nanos};
    return Status::ok();
}

ServiceState::Transition ServiceState::history(size_t i) const {
    if (i >= kHistory || i >= transitions_) {
        return {};
    }
    return ring_[(transitions_ - 1 - i) % kHistory];
}

ServiceStateMachine::ServiceStateMachine(std::unique_ptr<Session> session,
                                         MessageHandlerFactory& handlers,
                                         BusyListener* busy,
                                         StateTimes* times)
    : state_(times), session_(std::move(session)), handlers_(handlers), busy_(busy) {}

ServiceStateMachine::~ServiceStateMachine() {
    invariant(state_.current() == State::kCreated || state_.current() == State::kEnded);
}

Status ServiceStateMachine::end() {
    uint32_t life = kLives;
    // [session.end] CAS  asks for the end.
    //   ORDER   acquire on failure: pairs with [session.ended]. Success needs no order: the
    //           session's own close() wakes the executor.
    //   LOST    asked already (nothing to do) or ended (an error).
    //   PROGRESS one attempt.
    if (!life_.compare_exchange_strong(life, kEndAsked, sync::kAcquire, sync::kAcquire) &&
        life == kDead) {
        return Status(Code::kInvalid, "The session has ended");
    }
    session_->close();
    return Status::ok();
}

bool ServiceStateMachine::endAsked() const {
    // [session.endAsked] relaxed: a late look is repaired by the session being closed.
    return life_.load(sync::kRelaxed) != kLives;
}

sync::Task<Status> ServiceStateMachine::run() {
    if (Status first = state_.advance(State::kSource); !first.isOk()) {
        co_return first;
    }
    Status why;
    while (why.isOk()) {
        invariant(state_.advanceAtOnce(State::kSourceWait).isOk());
        session_->setMessageBytesMax(handler_ != nullptr ? handler_->messageBytesMax()
                                                         : handlers_.firstMessageBytesMax());
        StatusOr<Message> message = co_await session_->asyncSourceMessage();
        if (!message.isOk()) {
            why = std::move(message).status();
            break;
        }
        beginProcess();
        HandlerResult result;
        Message request = std::move(message).value();
        if (PutOff::current() != nullptr && handler_->lookAhead(request)) {
            co_await SecondHalf();
        }
        if (handler_->handleAtOnce(request, &result)) {
            request = Message();  // releases its memory before the next one
        } else {
            result = co_await handler_->handle(std::move(request));
        }
        while (!result.reply.isEmpty()) {
            step(State::kSinkWait);
            why = co_await session_->asyncSinkMessage(std::move(result.reply));
            if (!why.isOk()) {
                handler_->onReplyLost();
            }
            if (!why.isOk() || !result.exhaust || result.endSession || endAsked()) {
                break;
            }
            step(State::kProcess);
            result = co_await handler_->handleExhaust();
        }
        if (why.isOk() && (result.endSession || endAsked())) {
            why = Status(Code::kCancelled, "The session was ended here");
        }
        if (why.isOk()) {
            step(State::kSource);
        }
    }
    // Nothing is in progress here: every operation begun above has completed.
    step(State::kEndSession);
    session_->close();
    handler_.reset();
    step(State::kEnded);
    // [session.ended] release: pairs with [session.end].
    life_.store(kDead, sync::kRelease);
    co_return why.code() == Code::kCancelled ? Status::ok() : why;
}

/// From Source to Process.
void ServiceStateMachine::beginProcess() {
    step(State::kProcess);
    if (handler_ == nullptr) {
        handler_ = handlers_.create(session_->peer());
    }
    if (busy_ != nullptr) {
        busy_->onSessionBusy();
    }
}

bool ServiceStateMachine::watchLongHandler() {
    if (state_.current() != State::kProcess) {
        return false;
    }
    if (handledAt_ != state_.transitions()) {
        handledAt_ = state_.transitions();
        return true;
    }
    return !session_->watchPeer(this);
}

void ServiceStateMachine::onPeerGone() {
    if (state_.current() == State::kProcess) {
        handler_->onPeerGone();
    }
}

void ServiceStateMachine::step(State to) {
    invariant(state_.advance(to).isOk());
}

}  // namespace freshet::transport
