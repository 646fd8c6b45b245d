// SPDX-License-Identifier: Apache-2.0
/// The service state machine: the life of one session.
///
///   Created -> Source -> SourceWait -> Process -> SinkWait -> Source     request and reply
///              Process -> Source                                         fire and forget
///              Process -> SinkWait -> Process                            exhaust
///   any state before -> EndSession -> Ended                  error, peer gone, end(), shutdown
///
/// Ended is final: every call is illegal there. The state is changed by the session's executor
/// only, so there is no lock. ServiceState is the table; ServiceStateMachine drives a Session with
/// it.
#pragma once

#include "freshet/base/status.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/task.h"
#include "freshet/transport/message_handler.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

namespace freshet::transport {

enum class State : uint8_t {
    kCreated,
    kSource,
    kSourceWait,
    kProcess,
    kSinkWait,
    kEndSession,
    kEnded
};
inline constexpr size_t kStateCount = 7;

std::string_view stateName(State state);
/// The table above.
bool isLegalTransition(State from, State to);

/// The time that the sessions of one executor have spent in each state, in nanoseconds. Written by
/// that executor's thread; read by any. Times are read from a clock that advances in ticks, so a
/// transition between two ticks costs nothing.
struct StateTimes {
    std::array<sync::Atomic<uint64_t>, kStateCount> nanosIn{};

    void add(State state, uint64_t nanos) {
        // [state.times] relaxed, here and below: one writer; sums for people.
        auto& sum = nanosIn[static_cast<size_t>(state)];
        sum.store(sum.load(sync::kRelaxed) + nanos, sync::kRelaxed);
    }
    uint64_t read(size_t state) const {
        // [state.times]
        return nanosIn[state].load(sync::kRelaxed);
    }
};

/// The current state and the last 16 transitions. Their times come from a coarse clock: only sums
/// over many messages are meaningful.
class ServiceState {
public:
    static constexpr size_t kHistory = 16;
    struct Transition {
        State to = State::kCreated;
        uint64_t nanos = 0;
    };
    /// `sums`, unless null, outlives this and gets the same times.
    explicit ServiceState(StateTimes* sums = nullptr) : sums_(sums) {}
    State current() const { return current_; }
    /// kInvalid, naming both states, when the table does not allow it; the state then stays.
    Status advance(State to);
    /// The same, with the time of the last transition: a state that is only passed through needs no
    /// clock.
    Status advanceAtOnce(State to);
    /// i = 0 is the newest; fewer than kHistory may have happened.
    Transition history(size_t i) const;
    size_t transitions() const { return transitions_; }
    /// Nanoseconds spent so far in each state.
    const std::array<uint64_t, kStateCount>& nanosIn() const { return nanosIn_; }

private:
    Status advance(State to, uint64_t nanos);

    StateTimes* const sums_;
    State current_ = State::kCreated;
    std::array<Transition, kHistory> ring_{};
    std::array<uint64_t, kStateCount> nanosIn_{};
    size_t transitions_ = 0;
    uint64_t since_ = 0;
};

/// Watches over a set of machines. It is called when one of them gets a message, so that it may be
/// worth looking for handlers that run for long.
class BusyListener {
public:
    virtual void onSessionBusy() = 0;

protected:
    ~BusyListener() = default;
};

class ServiceStateMachine final : private PeerWatcher {
public:
    /// The handler is made by `handlers` when the first message has come, so that a silent
    /// connection costs none. All outlive this; `busy` and `times` may be null.
    ServiceStateMachine(std::unique_ptr<Session> session,
                        MessageHandlerFactory& handlers,
                        BusyListener* busy,
                        StateTimes* times = nullptr);
    ServiceStateMachine(const ServiceStateMachine&) = delete;
    ServiceStateMachine& operator=(const ServiceStateMachine&) = delete;
    ~ServiceStateMachine();
    /// Runs the session from Created to Ended. Once, on the session's executor; kInvalid when
    /// called again. Ok when the peer or end() ended it between messages, else the reason.
    sync::Task<Status> run();
    /// Any thread: the session will go to EndSession. An error in Ended.
    Status end();
    /// On the session's executor, periodically: if the same message is still being handled as at
    /// the last call, arranges that the handler hears when the peer leaves. True: call again.
    bool watchLongHandler();
    /// On the session's executor, after end(): tells a running handler that no client waits for it.
    void hurryHandler() { onPeerGone(); }
    const ServiceState& state() const { return state_; }
    Session& session() { return *session_; }

private:
    static constexpr uint32_t kLives = 0;
    static constexpr uint32_t kEndAsked = 1;
    static constexpr uint32_t kDead = 2;
    bool endAsked() const;
    void step(State to);
    void beginProcess();
    void onPeerGone() override;

    ServiceState state_;
    /// How end() talks to the executor. Written by: any thread (lives -> end asked), the executor
    /// (to dead, final).
    sync::Atomic<uint32_t> life_{kLives};
    std::unique_ptr<Session> session_;
    MessageHandlerFactory& handlers_;
    BusyListener* const busy_;
    std::unique_ptr<MessageHandler> handler_;
    size_t handledAt_ = 0;  // transitions() when watchLongHandler() last found a handler running
};

}  // namespace freshet::transport
