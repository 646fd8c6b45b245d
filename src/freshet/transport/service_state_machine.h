// SPDX-License-Identifier: Apache-2.0
/// The service state machine: the life of one session as the source document has it (003,
/// section 2.2).
///
///   Created -> Source -> SourceWait -> Process -> SinkWait -> Source     request and reply
///              Process -> Source                                         fire and forget
///              Process -> SinkWait -> Process                            exhaust
///   any state but Ended -> EndSession -> Ended                           error, idle time,
///   shutdown
///
/// Ended is final: every call is illegal there. The state is changed by the session's executor
/// only, so there is no lock. ServiceState is the table; ServiceStateMachine drives a Session with
/// it.
#pragma once

#include "freshet/base/status.h"
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

/// The current state and the last 16 transitions with their times.
class ServiceState {
public:
    static constexpr size_t kHistory = 16;
    struct Transition {
        State to = State::kCreated;
        uint64_t nanos = 0;
    };
    State current() const { return current_; }
    /// kInvalid, naming both states, when the table does not have it; the state then stays.
    Status advance(State to);
    /// i = 0 is the newest; fewer than kHistory may have happened.
    Transition history(size_t i) const;
    size_t transitions() const { return transitions_; }
    /// Nanoseconds spent so far in each state.
    const std::array<uint64_t, kStateCount>& nanosIn() const { return nanosIn_; }

private:
    State current_ = State::kCreated;
    std::array<Transition, kHistory> ring_{};
    std::array<uint64_t, kStateCount> nanosIn_{};
    size_t transitions_ = 0;
    uint64_t since_ = 0;
};

class ServiceStateMachine {
public:
    ServiceStateMachine(std::unique_ptr<Session> session, std::unique_ptr<MessageHandler> handler);
    ~ServiceStateMachine();
    /// Runs the session from Created to Ended. Once, on the session's executor; kInvalid when
    /// called again.
    sync::Task<Status> run();
    /// Any thread: the session will go to EndSession. An error in Ended.
    Status end();
    const ServiceState& state() const { return state_; }
    Session& session() { return *session_; }

private:
    ServiceState state_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<MessageHandler> handler_;
};

}  // namespace freshet::transport
