// SPDX-License-Identifier: Apache-2.0
/// Calls: connections that the RDMA connection manager makes, without TCP. A caller asks with a few
/// bytes, whoever listens accepts or refuses with a few, and their queue pairs are connected. A
/// call also tells when its other end has gone, which the queue pairs alone do not. Real ones stand
/// behind it through librdmacm; tests put testing/net's SimVerbs there.
#pragma once

#include "freshet/transport/verbs.h"

#include <cstdint>
#include <memory>
#include <string>

namespace freshet::transport::verbs {

/// What can be said: with a request; with an answer or a refusal, which both have this much.
inline constexpr size_t kRequestBytesMax = 56;
inline constexpr size_t kAnswerBytesMax = 148;

struct CallEvent {
    enum class Kind : uint8_t {
        kAnswered,  // the queue pairs are connected; both ends are told
        kRefused,   // only the caller is told
        kEnded,     // the other end has gone, or was never reached
    };
    Kind kind = Kind::kEnded;
    /// What the other end has said, to the caller; may have more bytes than it said, which are
    /// zero. Empty with kRefused: nobody listens.
    std::string data;
    std::string text;  // for people: why
};

/// One end of a call. One thread at a time.
class Call {
public:
    /// Hangs up.
    virtual ~Call() = default;
    virtual const std::string& local() const = 0;  // "10.9.0.1:27020"
    virtual const std::string& remote() const = 0;
    /// What the caller said; of calls that came in. May have more bytes, as above.
    virtual const std::string& request() const = 0;
    /// Of a call that was dialled, once: the answer is an event. `pair`, which has its receives, is
    /// connected by then and outlives that.
    virtual Status ask(QueuePair& pair, const std::string& data) = 0;
    /// Of a call that came in, either of both once. `pair` is connected when accept() returns.
    virtual Status accept(QueuePair& pair, const std::string& data) = 0;
    virtual Status refuse(const std::string& data) = 0;
    /// The other end gets kEnded, and nothing else: its queue pair stays as it is. Any number of
    /// times.
    virtual void hangUp() = 0;
    /// Readable when there is an event.
    virtual int fd() const = 0;
    /// kWouldBlock: none. Never sleeps.
    virtual StatusOr<CallEvent> nextEvent() = 0;
};

/// One thread at a time.
class CallListener {
public:
    virtual ~CallListener() = default;
    virtual const std::string& local() const = 0;
    /// Readable when there is a call.
    virtual int fd() const = 0;
    /// kWouldBlock: none has come. Never sleeps.
    virtual StatusOr<std::unique_ptr<Call>> next() = 0;
};

}  // namespace freshet::transport::verbs
