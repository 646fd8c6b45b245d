// SPDX-License-Identifier: Apache-2.0
/// MessageHandler: what the service state machine drives. Declared here, provided by server, which
/// joins it to command; transport never sees a command.
#pragma once

#include "freshet/sync/task.h"
#include "freshet/transport/message.h"
#include "freshet/transport/session.h"
#include "freshet/wire/frame.h"

#include <memory>

namespace freshet::transport {

/// What the state machine does after a message was handled.
struct HandlerResult {
    ReplyChain reply;         // empty: fire and forget, no reply
    bool exhaust = false;     // send the reply, then call handleExhaust for the next one
    bool endSession = false;  // send the reply, if any, then end
};

/// One per session, made when its first message has come and destroyed at its end, on its executor.
/// Called for one message at a time.
class MessageHandler {
public:
    virtual ~MessageHandler() = default;
    /// Answers messages that need not wait, without the cost of a coroutine. False: nothing has
    /// happened, and handle() must be called with the same message.
    virtual bool handleAtOnce(const Message& /*message*/, HandlerResult* /*result*/) {
        return false;
    }
    virtual sync::Task<HandlerResult> handle(Message message) = 0;
    /// Shows the message that will be handled next. True: it may wait until the other messages of
    /// this pass have been looked at, so that ServerTransportOptions::readAhead loads what all of
    /// them need together.
    virtual bool lookAhead(const Message& /*message*/) { return false; }
    /// The next reply of an exhaust stream. Called only after a result with `exhaust`.
    virtual sync::Task<HandlerResult> handleExhaust() = 0;
    /// The longest message accepted next: less than the protocol's limit until the client has
    /// logged in. Sessions with a smaller limit share ServerTransportOptions::limitedBytesMax for
    /// incomplete messages.
    virtual size_t messageBytesMax() const { return wire::kMessageBytesMax; }
    /// While handle or handleExhaust is suspended: the client no longer waits for the answer, so
    /// end early.
    virtual void onPeerGone() {}
    /// The last reply could not be sent. The session is about to end.
    virtual void onReplyLost() {}
};

class MessageHandlerFactory {
public:
    virtual ~MessageHandlerFactory() = default;
    /// On the session's executor.
    virtual std::unique_ptr<MessageHandler> create(const PeerInfo& peer) = 0;
    /// messageBytesMax() before there is a handler. Any thread.
    virtual size_t firstMessageBytesMax() const { return wire::kMessageBytesMax; }
};

}  // namespace freshet::transport
