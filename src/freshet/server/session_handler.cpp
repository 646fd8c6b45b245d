// SPDX-License-Identifier: Apache-2.0
#include "freshet/server/session_handler.h"

namespace freshet::server {
namespace {

/// What somebody who has not logged in may send: every command of a login fits well.
constexpr size_t kStrangerBytesMax = 64 * 1024;

transport::HandlerResult resultOf(command::Reply reply) {
    transport::HandlerResult result;
    if (!reply.message.empty()) {
        result.reply.append(std::move(reply.message));
    }
    result.exhaust = reply.moreToCome;
    result.endSession = reply.closeAfter;
    return result;
}

class Handler final : public transport::MessageHandler {
public:
    explicit Handler(std::unique_ptr<command::Connection> connection)
        : connection_(std::move(connection)) {}

    sync::Task<transport::HandlerResult> handle(transport::Message message) override {
        command::Reply reply = co_await connection_->handle(message.view());
        co_return resultOf(std::move(reply));
    }
    sync::Task<transport::HandlerResult> handleExhaust() override {
        command::Reply reply = co_await connection_->next();
        co_return resultOf(std::move(reply));
    }
    size_t messageBytesMax() const override {
        return connection_->isAuthenticated() ? wire::kMessageBytesMax : kStrangerBytesMax;
    }
    void onPeerGone() override { connection_->onPeerGone(); }

private:
    const std::unique_ptr<command::Connection> connection_;
};

class HandlerFactory final : public transport::MessageHandlerFactory {
public:
    explicit HandlerFactory(command::Dispatcher& dispatcher) : dispatcher_(dispatcher) {}
    std::unique_ptr<transport::MessageHandler> create(const transport::PeerInfo& peer) override {
        return std::make_unique<Handler>(dispatcher_.connect({peer.connectionId,
                                                              peer.remote,
                                                              peer.local,
                                                              peer.isLocal,
                                                              peer.isTls,
                                                              peer.certificateSubject}));
    }

    size_t firstMessageBytesMax() const override {
        return dispatcher_.needsLogin() ? kStrangerBytesMax : wire::kMessageBytesMax;
    }

private:
    command::Dispatcher& dispatcher_;
};

}  // namespace

std::shared_ptr<transport::MessageHandlerFactory> makeHandlerFactory(
    command::Dispatcher& dispatcher) {
    return std::make_shared<HandlerFactory>(dispatcher);
}

}  // namespace freshet::server
