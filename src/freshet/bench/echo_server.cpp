// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/echo_server.h"

#include "freshet/bench/requests.h"
#include "freshet/transport/server_transport.h"

#include <signal.h>

#include <cstdio>

namespace freshet::bench {
namespace {

class PrebuiltReply final : public transport::MessageHandler {
public:
    explicit PrebuiltReply(std::shared_ptr<const std::string> reply) : reply_(std::move(reply)) {}
    sync::Task<transport::HandlerResult> handle(transport::Message) override {
        transport::HandlerResult result;
        result.reply.append(*reply_, reply_);
        co_return result;
    }
    sync::Task<transport::HandlerResult> handleExhaust() override {
        co_return transport::HandlerResult();
    }

private:
    const std::shared_ptr<const std::string> reply_;
};

class PrebuiltReplies final : public transport::MessageHandlerFactory {
public:
    explicit PrebuiltReplies(std::string reply)
        : reply_(std::make_shared<const std::string>(std::move(reply))) {}
    std::unique_ptr<transport::MessageHandler> create(const transport::PeerInfo&) override {
        return std::make_unique<PrebuiltReply>(reply_);
    }

private:
    const std::shared_ptr<const std::string> reply_;
};

}  // namespace

int runEchoServer(uint16_t port, size_t replyBytes) {
    sigset_t ends;
    ::sigemptyset(&ends);
    ::sigaddset(&ends, SIGTERM);
    ::sigaddset(&ends, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before the reactors start
    transport::ServerTransportOptions options;
    options.port = port;
    auto server = transport::ServerTransport::start(
        options, std::make_shared<PrebuiltReplies>(echoRequest(replyBytes).bytes));
    if (!server.isOk()) {
        std::fprintf(stderr, "%s\n", server.status().toString().c_str());
        return 1;
    }
    int signal = 0;
    ::sigwait(&ends, &signal);
    (*server)->shutdown();
    return 0;
}

}  // namespace freshet::bench
