// SPDX-License-Identifier: Apache-2.0
#include "freshet/server/session_handler.h"

#include "freshet/sync/atomic.h"
#include "freshet/telemetry/log.h"

namespace freshet::server {
namespace {

/// A line when a connection comes and one when it goes.
class ConnectionLog {
public:
    explicit ConnectionLog(bool isOn) : isOn_(isOn) {}
    void accepted(uint64_t id, const std::string& remote) {
        // [connectionLog.count] relaxed: a number for people.
        const uint64_t count = count_.fetch_add(1, sync::kRelaxed) + 1;
        const telemetry::LogContext context("listener");
        write(telemetry::LogId::kConnectionAccepted, "Connection accepted", id, remote, count);
    }
    void ended(uint64_t id, const std::string& remote) {
        // [connectionLog.count] relaxed, as above.
        const uint64_t count = count_.fetch_sub(1, sync::kRelaxed) - 1;
        const telemetry::LogContext context("conn" + std::to_string(id));
        write(telemetry::LogId::kConnectionEnded, "Connection ended", id, remote, count);
    }

private:
    void write(telemetry::LogId line,
               std::string_view message,
               uint64_t id,
               const std::string& remote,
               uint64_t count) const {
        if (isOn_) {
            telemetry::log(telemetry::Severity::kInfo,
                           telemetry::Component::kNetwork,
                           line,
                           message,
                           {{"remote", remote}, {"connectionId", id}, {"connectionCount", count}});
        }
    }

    const bool isOn_;
    /// The number of connections. Any thread; nothing else depends on it.
    sync::Atomic<uint64_t> count_{0};
};

static_assert(2 * query::BorrowedDocuments::kDocumentsMax + 1 <=
                  transport::ReplyChain::kSegmentsMax,
              "a document and what is before it are two pieces");

/// A long reply, counted in the pool for as long as it exists.
struct HeldReply {
    HeldReply(std::string bytesIn, size_t replyBytes, sync::MemoryPool* pool)
        : bytes(std::move(bytesIn)), hold(pool) {
        hold.resize(replyBytes);
    }
    const std::string bytes;
    sync::MemoryHold hold;
};

/// The message in pieces, with the borrowed documents between them; they are held until it has been
/// sent.
transport::ReplyChain piecesOf(command::Reply reply, sync::MemoryPool* memory) {
    transport::ReplyChain chain;
    const size_t replyBytes = reply.message.size() + reply.borrowed->bytes();
    const auto text = std::make_shared<HeldReply>(std::move(reply.message), replyBytes, memory);
    const ByteView bytes = text->bytes;
    size_t from = 0;
    for (query::BorrowedDocuments::Entry& entry : reply.borrowed->entries()) {
        chain.append(bytes.substr(from, entry.at - from), text);
        auto document = std::make_shared<const engine::ValueShare>(std::move(entry.document));
        const ByteView view = document->view();
        chain.append(view, std::move(document));
        from = entry.at;
    }
    chain.append(bytes.substr(from), text);
    return chain;
}

transport::HandlerResult resultOf(command::Reply reply, sync::MemoryPool* memory) {
    transport::HandlerResult result;
    if (reply.borrowed != nullptr) {
        result.reply = piecesOf(std::move(reply), memory);
    } else if (const size_t bytes = reply.message.size(); bytes >= sync::MemoryHold::kUnitBytes) {
        auto held = std::make_shared<HeldReply>(std::move(reply.message), bytes, memory);
        const ByteView view = held->bytes;
        result.reply.append(view, std::move(held));
    } else if (!reply.message.empty()) {
        result.reply.append(std::move(reply.message));
    }
    result.exhaust = reply.moreToCome;
    result.endSession = reply.closeAfter;
    return result;
}

class Handler final : public transport::MessageHandler {
public:
    Handler(std::unique_ptr<command::Connection> connection,
            const transport::PeerInfo& peer,
            std::shared_ptr<ConnectionLog> log,
            sync::MemoryPool* memory)
        : connection_(std::move(connection)),
          connectionId_(peer.connectionId),
          remote_(peer.remote),
          log_(std::move(log)),
          memory_(memory) {
        log_->accepted(connectionId_, remote_);
    }
    ~Handler() override { log_->ended(connectionId_, remote_); }

    bool handleAtOnce(const transport::Message& message,
                      transport::HandlerResult* result) override {
        command::Reply reply;
        if (!connection_->handleAtOnce(message.view(), &reply)) {
            return false;
        }
        *result = resultOf(std::move(reply), memory_);
        return true;
    }
    bool lookAhead(const transport::Message& message) override {
        return connection_->lookAhead(message.view());
    }
    sync::Task<transport::HandlerResult> handle(transport::Message message) override {
        command::Reply reply = co_await connection_->handle(message.view());
        co_return resultOf(std::move(reply), memory_);
    }
    sync::Task<transport::HandlerResult> handleExhaust() override {
        command::Reply reply = co_await connection_->next();
        co_return resultOf(std::move(reply), memory_);
    }
    size_t messageBytesMax() const override {
        return connection_->isAuthenticated() ? size_t{wire::kMessageBytesMax}
                                              : command::kStrangerMessageBytesMax;
    }
    void onPeerGone() override { connection_->onPeerGone(); }
    void onReplyLost() override { connection_->onReplyLost(); }

private:
    const std::unique_ptr<command::Connection> connection_;
    const uint64_t connectionId_;
    const std::string remote_;
    const std::shared_ptr<ConnectionLog> log_;
    sync::MemoryPool* const memory_;
};

class HandlerFactory final : public transport::MessageHandlerFactory {
public:
    HandlerFactory(command::Dispatcher& dispatcher,
                   bool logsConnections,
                   std::shared_ptr<sync::MemoryPool> memory)
        : dispatcher_(dispatcher),
          log_(std::make_shared<ConnectionLog>(logsConnections)),
          memory_(std::move(memory)) {}
    std::unique_ptr<transport::MessageHandler> create(const transport::PeerInfo& peer) override {
        auto connection = dispatcher_.connect({peer.connectionId,
                                               peer.remote,
                                               peer.local,
                                               peer.isLocal,
                                               peer.isTls,
                                               peer.certificateSubject,
                                               peer.serverName,
                                               peer.kind});
        return std::make_unique<Handler>(std::move(connection), peer, log_, memory_.get());
    }

    size_t firstMessageBytesMax() const override {
        return dispatcher_.needsLogin() ? command::kStrangerMessageBytesMax
                                        : size_t{wire::kMessageBytesMax};
    }

private:
    command::Dispatcher& dispatcher_;
    const std::shared_ptr<ConnectionLog> log_;
    const std::shared_ptr<sync::MemoryPool> memory_;
};

}  // namespace

std::shared_ptr<transport::MessageHandlerFactory> makeHandlerFactory(
    command::Dispatcher& dispatcher,
    bool logsConnections,
    std::shared_ptr<sync::MemoryPool> memory) {
    return std::make_shared<HandlerFactory>(dispatcher, logsConnections, std::move(memory));
}

}  // namespace freshet::server
