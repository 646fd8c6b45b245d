// SPDX-License-Identifier: Apache-2.0
/// A server for tests of what stands on a client: real sockets, and replies that the test makes up.
#pragma once

#include "freshet/client/client.h"
#include "freshet/transport/server_transport.h"
#include "freshet/wire/message.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace freshet::client {

class ScriptedServer {
public:
    /// Answers one request with a document's bytes; with nothing, the server hangs up. Called on
    /// the server's one thread.
    using Script = std::function<std::string(const wire::Request&)>;

    /// hello is answered without asking the script.
    explicit ScriptedServer(Script script, uint16_t port = 0) {
        transport::ServerTransportOptions options;
        options.port = port;
        options.reactors = 1;
        auto started = transport::ServerTransport::start(
            options, std::make_shared<Factory>(std::move(script)));
        invariant(started.isOk());
        server_ = std::move(*started);
    }

    ConnectionString where() const {
        ConnectionString result;
        result.port = server_->port();
        return result;
    }

private:
    class Handler final : public transport::MessageHandler {
    public:
        explicit Handler(const Script& script) : script_(script) {}

        sync::Task<transport::HandlerResult> handle(transport::Message message) override {
            StatusOr<wire::Request> request = wire::parseRequest(message.view());
            invariant(request.isOk());
            std::string body =
                request->body.has("hello")
                    ? bson::Builder().add("maxWireVersion", 21).add("ok", 1.0).finish()
                    : script_(*request);
            transport::HandlerResult result;
            result.endSession = body.empty();
            if (!body.empty()) {
                std::string bytes;
                wire::appendOpMsg(&bytes, 1, request->header.requestId, 0, bson::Document(body));
                result.reply.append(std::move(bytes));
            }
            co_return result;
        }
        sync::Task<transport::HandlerResult> handleExhaust() override {
            co_return transport::HandlerResult();
        }

    private:
        const Script& script_;
    };

    class Factory final : public transport::MessageHandlerFactory {
    public:
        explicit Factory(Script script) : script_(std::move(script)) {}
        std::unique_ptr<transport::MessageHandler> create(const transport::PeerInfo&) override {
            return std::make_unique<Handler>(script_);
        }

    private:
        Script script_;
    };

    std::unique_ptr<transport::ServerTransport> server_;
};

}  // namespace freshet::client
