// SPDX-License-Identifier: Apache-2.0
/// A connection over one blocking session: a request goes out, its reply comes in.
#include "freshet/bson/json.h"
#include "freshet/client/client.h"
#include "freshet/client/deadline/deadline.h"
#include "freshet/transport/connector.h"
#include "freshet/wire/message.h"

namespace freshet::client {

namespace {

constexpr std::string_view kDriverVersion = "0.1.0";

class SessionConnection final : public Connection {
public:
    explicit SessionConnection(std::unique_ptr<transport::Session> session)
        : session_(std::move(session)) {}

    StatusOr<bson::OwnedDocument> run(std::string_view database, bson::Document command) override;
    bson::Document hello() const override { return hello_.view(); }

    /// kTimeout when no answer comes in time.
    Status sayHello(const ConnectionString& where);

private:
    StatusOr<bson::OwnedDocument> readReply(int32_t requestId);

    std::unique_ptr<transport::Session> session_;
    bson::OwnedDocument hello_;
    int32_t lastRequestId_ = 0;
};

std::string helloCommand(const ConnectionString& where) {
    bson::Builder command;
    command.add("hello", 1);
    {
        bson::Builder client = command.object("client");
        if (!where.appName.empty()) {
            client.object("application").add("name", where.appName);
        }
        client.object("driver").add("name", "freshet").add("version", kDriverVersion);
        client.object("os").add("type", "Linux");
    }
    return command.finish();
}

StatusOr<bson::OwnedDocument> SessionConnection::run(std::string_view database,
                                                     bson::Document command) {
    bson::Builder body;
    body.addFields(command);
    if (!command.has("$db")) {
        body.add("$db", database);
    }
    std::string whole = body.finish();
    std::string message;
    int32_t requestId = lastRequestId_ = lastRequestId_ == INT32_MAX ? 1 : lastRequestId_ + 1;
    wire::appendOpMsg(&message, requestId, 0, 0, bson::Document(whole));
    if (message.size() > wire::kMessageBytesMax) {
        return Status(Code::kLimit, "the command is larger than a message may be");
    }
    FRESHET_RETURN_IF_ERROR(session_->sinkMessage(transport::ReplyChain(std::move(message))));
    return readReply(requestId);
}

StatusOr<bson::OwnedDocument> SessionConnection::readReply(int32_t requestId) {
    FRESHET_ASSIGN_OR_RETURN(transport::Message message, session_->sourceMessage());
    StatusOr<wire::Request> reply = wire::parseReply(message.view());
    if (reply.isOk() && reply->header.responseTo == requestId) {
        return bson::OwnedDocument(reply->body);
    }
    session_->close();  // what follows on this connection cannot be understood
    return reply.isOk() ? invalid(Reason::kProtocolError, "the reply belongs to another request")
                        : std::move(reply).status();
}

Status SessionConnection::sayHello(const ConnectionString& where) {
    std::string command = helloCommand(where);
    Deadline deadline(*session_, where.connectTimeoutMs);
    StatusOr<bson::OwnedDocument> reply = runChecked("admin", bson::Document(command));
    if (deadline.hasPassed()) {
        return Status(Code::kTimeout,
                      "no answer within " + std::to_string(where.connectTimeoutMs) + " ms");
    }
    FRESHET_RETURN_IF_ERROR(reply.status());
    hello_ = std::move(*reply);
    return Status::ok();
}

}  // namespace

StatusOr<std::unique_ptr<Connection>> Connection::open(const ConnectionString& where) {
    transport::ConnectOptions options;
    options.host = where.host;
    options.port = where.port;
    options.timeoutMs = where.connectTimeoutMs;
    FRESHET_ASSIGN_OR_RETURN(std::unique_ptr<transport::Session> session,
                             transport::connect(options));
    auto connection = std::make_unique<SessionConnection>(std::move(session));
    if (Status status = connection->sayHello(where); !status.isOk()) {
        return status.withContext("hello to " + where.host + ":" + std::to_string(where.port));
    }
    return std::unique_ptr<Connection>(std::move(connection));
}

StatusOr<bson::OwnedDocument> Connection::runChecked(std::string_view database,
                                                     bson::Document command) {
    FRESHET_ASSIGN_OR_RETURN(bson::OwnedDocument reply, run(database, command));
    if (reply.view().find("ok").isTruthy()) {
        return reply;
    }
    bson::Element text = reply.view().find("errmsg");
    return Status(Code::kInvalid,
                  text.isString() ? std::string(text.stringValue()) : bson::toJson(reply.view()));
}

}  // namespace freshet::client
