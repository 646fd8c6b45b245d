// SPDX-License-Identifier: Apache-2.0
/// A server for tests of code above a client: real sockets, and replies that the test provides.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/client/client.h"
#include "freshet/transport/server_transport.h"
#include "freshet/wire/compress.h"
#include "freshet/wire/message.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace freshet::client {

inline const std::string kPing = bson::Builder().add("ping", 1).finish();

class ScriptedServer {
public:
    /// Answers one request with a document's bytes; without any, the server hangs up. Called on the
    /// server's one thread.
    using Script = std::function<std::string(const wire::Request&)>;

    /// Sees each message as received.
    using Onlooker = std::function<void(ByteView)>;

    /// hello is answered without the script, agreeing to `compressors`. Packed requests get packed
    /// replies.
    explicit ScriptedServer(Script script,
                            uint16_t port = 0,
                            std::vector<std::string> compressors = {},
                            Onlooker onlooker = {},
                            std::shared_ptr<transport::verbs::Verbs> verbs = nullptr,
                            uint16_t callPort = 0) {
        transport::ServerTransportOptions options;
        options.port = port;
        options.reactors = 1;
        options.rdma.verbs = std::move(verbs);
        options.rdma.spinMicrosMax = 0;
        options.rdma.callPort = callPort;
        auto started = transport::ServerTransport::start(
            options,
            std::make_shared<Factory>(
                Play{std::move(script), std::move(compressors), std::move(onlooker)}));
        invariant(started.isOk());
        server_ = std::move(*started);
    }

    ConnectionString where() const {
        ConnectionString result;
        result.port = server_->port();
        return result;
    }

private:
    struct Play {
        Script script;
        std::vector<std::string> compressors;
        Onlooker onlooker;
    };

    class Handler final : public transport::MessageHandler {
    public:
        explicit Handler(const Play& play) : play_(play) {}

        sync::Task<transport::HandlerResult> handle(transport::Message message) override {
            if (play_.onlooker) {
                play_.onlooker(message.view());
            }
            const bool isPacked = wire::isCompressed(message.view());
            wire::Unpacked unpacked;
            if (isPacked) {
                unpacked = std::move(wire::unpackMessage(message.view())).value();
            }
            StatusOr<wire::Request> request =
                wire::parseRequest(isPacked ? unpacked.message : message.view());
            invariant(request.isOk());
            const std::string body =
                request->body.has("hello") ? helloReply() : play_.script(*request);
            transport::HandlerResult result;
            result.endSession = body.empty();
            if (!body.empty()) {
                std::string bytes;
                wire::appendOpMsg(&bytes, 1, request->header.requestId, 0, bson::Document(body));
                if (isPacked) {
                    bytes = std::move(wire::packMessage(bytes, unpacked.compressor)).value();
                }
                result.reply.append(std::move(bytes));
            }
            co_return result;
        }
        sync::Task<transport::HandlerResult> handleExhaust() override {
            co_return transport::HandlerResult();
        }

    private:
        std::string helloReply() const {
            bson::Builder reply;
            reply.add("maxWireVersion", 21);
            if (!play_.compressors.empty()) {
                bson::Builder list = reply.array("compression");
                for (const std::string& name : play_.compressors) {
                    list.push(name);
                }
            }
            return reply.add("ok", 1.0).finish();
        }

        const Play& play_;
    };

    class Factory final : public transport::MessageHandlerFactory {
    public:
        explicit Factory(Play play) : play_(std::move(play)) {}
        std::unique_ptr<transport::MessageHandler> create(const transport::PeerInfo&) override {
            return std::make_unique<Handler>(play_);
        }

    private:
        const Play play_;
    };

    std::unique_ptr<transport::ServerTransport> server_;
};

}  // namespace freshet::client
