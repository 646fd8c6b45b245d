// SPDX-License-Identifier: Apache-2.0
/// A server that accepts connections and never answers must not block a client for ever.
#include "freshet/client/scripted_server.h"

#include <gtest/gtest.h>

namespace freshet::client {

namespace {

class SilentHandler final : public transport::MessageHandler {
public:
    sync::Task<transport::HandlerResult> handle(transport::Message) override {
        co_return transport::HandlerResult();
    }
    sync::Task<transport::HandlerResult> handleExhaust() override {
        co_return transport::HandlerResult();
    }
};

class SilentFactory final : public transport::MessageHandlerFactory {
public:
    std::unique_ptr<transport::MessageHandler> create(const transport::PeerInfo&) override {
        return std::make_unique<SilentHandler>();
    }
};

}  // namespace

TEST(Deadline, EndsAHelloThatIsNotAnswered) {
    transport::ServerTransportOptions options;
    options.port = 0;
    options.reactors = 1;
    auto server = transport::ServerTransport::start(options, std::make_shared<SilentFactory>());
    ASSERT_TRUE(server.isOk());
    ConnectionString where;
    where.port = (*server)->port();
    where.connectTimeoutMs = 50;
    EXPECT_EQ(Connection::open(where).status().code(), Code::kTimeout);
}

}  // namespace freshet::client
