// SPDX-License-Identifier: Apache-2.0
#include "freshet/server/session_handler.h"

namespace freshet::server {
namespace {

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

private:
    command::Dispatcher& dispatcher_;
};

}  // namespace

std::shared_ptr<transport::MessageHandlerFactory> makeHandlerFactory(
    command::Dispatcher& dispatcher) {
    return std::make_shared<HandlerFactory>(dispatcher);
}

}  // namespace freshet::server
