// SPDX-License-Identifier: Apache-2.0
/// Calls: connections that the RDMA connection manager makes, without TCP. The caller sends a
/// request of a few bytes, the listener accepts or refuses with a few bytes, and the queue pairs of
/// both are connected. A call also reports that its other end has gone, which the queue pairs alone
/// do not. The implementation uses librdmacm; tests use testing/net's SimVerbs.
#pragma once

#include "freshet/transport/verbs.h"

#include <cstdint>
#include <memory>
#include <string>

namespace freshet::transport::verbs {

/// The bytes that a request, an answer or a refusal can carry.
inline constexpr size_t kRequestBytesMax = 56;
inline constexpr size_t kAnswerBytesMax = 148;

struct CallEvent {
    enum class Kind : uint8_t {
        kAnswered,  // the queue pairs are connected; both ends get this event
        kRefused,   // only the caller gets this event
        kEnded,     // the other end has gone, or was never reached
    };
    Kind kind = Kind::kEnded;
    /// For the caller: the other end's answer, which may be padded with zero bytes. Empty with
    /// kRefused: nothing listens there.
    std::string data;
    std::string text;  // the reason, for people
};

/// One end of a call. One thread at a time.
class Call {
public:
    /// Hangs up.
    virtual ~Call() = default;
    virtual const std::string& local() const = 0;  // "10.9.0.1:27020"
    virtual const std::string& remote() const = 0;
    /// Of incoming calls: the caller's request. May be padded with zero bytes.
    virtual const std::string& request() const = 0;
    /// Of outgoing calls, once: the answer comes as an event. `pair`, whose receives are posted, is
    /// connected by then and outlives the call.
    virtual Status ask(QueuePair& pair, const std::string& data) = 0;
    /// Of incoming calls: accept() or refuse(), once. `pair` is connected when accept() returns.
    virtual Status accept(QueuePair& pair, const std::string& data) = 0;
    virtual Status refuse(const std::string& data) = 0;
    /// The other end gets kEnded; its queue pair stays as it is. May be called again.
    virtual void hangUp() = 0;
    /// Readable when there is an event.
    virtual int fd() const = 0;
    /// kWouldBlock: no event. Never sleeps.
    virtual StatusOr<CallEvent> nextEvent() = 0;
};

/// One thread at a time.
class CallListener {
public:
    virtual ~CallListener() = default;
    virtual const std::string& local() const = 0;
    /// Readable when there is a call.
    virtual int fd() const = 0;
    /// kWouldBlock: no call. Never sleeps.
    virtual StatusOr<std::unique_ptr<Call>> next() = 0;
};

}  // namespace freshet::transport::verbs
