// SPDX-License-Identifier: Apache-2.0
/// How a command waits: for a token, or for whatever ends the command first: its time limit,
/// killOp, the end of its session, shutdown.
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/slow_log.h"
#include "freshet/platform/clock.h"

#include <algorithm>

namespace freshet::command {
namespace {

/// Passes the completion of one token on to another. Shared by the waiting command and the token it
/// is armed at; the last one to release it frees it.
class Relay : private sync::Waiter {
public:
    /// False when `from` is complete already.
    static Relay* arm(const sync::WaitToken& from, sync::WaitToken to) {
        auto* relay = new Relay(std::move(to));
        if (!from.arm(relay)) {
            delete relay;
            return nullptr;
        }
        return relay;
    }
    /// The command no longer waits.
    void takeBack(const sync::WaitToken& from) {
        if (from.disarm(this)) {
            delete this;
            return;
        }
        letGo();
    }

private:
    explicit Relay(sync::WaitToken to) : to_(std::move(to)) {
        wake = [](Waiter* waiter) {
            auto* self = static_cast<Relay*>(waiter);
            self->to_.complete();
            self->letGo();
        };
    }
    void letGo() {
        // [relay.letGo] ORDER acq_rel: pairs with itself; the last one sees the other's uses.
        if (holders_.fetch_sub(1, sync::kAcqRel) == 1) {
            delete this;
        }
    }

    const sync::WaitToken to_;
    /// The command and the token's completer. Written by: both, once each.
    ///   STEPS    2 -> 1 -> 0
    ///   RECLAIM  the one that makes it 0 frees the relay
    sync::Atomic<uint32_t> holders_{2};
};

/// 0: never.
uint64_t earlierOf(uint64_t a, uint64_t b) {
    return a == 0 || b == 0 ? a + b : std::min(a, b);
}

}  // namespace

sync::Task<Status> waitOrStop(Invocation& call, sync::WaitToken token, uint64_t untilNanos) {
    FRESHET_CO_RETURN_IF_ERROR(call.checkInterrupt());
    if (token.isDone()) {
        co_await sync::wait(token);  // only to let others run
        LongPasses::enter(call.connection, platform::monotonicNanos());
        co_return call.checkInterrupt();
    }
    const sync::WaitToken either = sync::WaitToken::create();
    Relay* relay = Relay::arm(token, either);
    if (relay == nullptr) {
        either.complete();
    }
    sync::Alarms::Id alarm{0, 0};
    if (const uint64_t due = earlierOf(call.deadlineNanos, untilNanos); due != 0) {
        alarm = call.services.alarms.set(due, either);
    }
    call.connection.setWake(either);
    co_await sync::wait(either);
    LongPasses::enter(call.connection, platform::monotonicNanos());
    call.connection.clearWake();
    call.services.alarms.cancel(alarm);
    if (relay != nullptr) {
        relay->takeBack(token);
    }
    co_return call.checkInterrupt();
}

sync::Task<Status> sleepOrStop(Invocation& call, uint64_t ms) {
    const uint64_t due = platform::monotonicNanos() + ms * 1'000'000;
    const sync::WaitToken token = sync::WaitToken::create();
    const sync::Alarms::Id alarm = call.services.alarms.set(due, token);
    Status status = co_await waitOrStop(call, token);
    call.services.alarms.cancel(alarm);
    co_return status;
}

}  // namespace freshet::command
