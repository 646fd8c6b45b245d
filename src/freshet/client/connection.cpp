// SPDX-License-Identifier: Apache-2.0
/// A connection over one blocking session: it sends a request and receives its reply.
#include "freshet/bson/json.h"
#include "freshet/client/client.h"
#include "freshet/client/deadline/deadline.h"
#include "freshet/client/login/login.h"
#include "freshet/client/srv/text.h"
#include "freshet/telemetry/log.h"
#include "freshet/transport/connector.h"
#include "freshet/wire/compress.h"
#include "freshet/wire/message.h"

#include <optional>

namespace freshet::client {

namespace {

constexpr std::string_view kDriverVersion = "0.1.0";

class SessionConnection final : public Connection {
public:
    explicit SessionConnection(std::unique_ptr<transport::Session> session)
        : session_(std::move(session)) {}

    StatusOr<bson::OwnedDocument> run(std::string_view database, bson::Document command) override;
    bson::Document hello() const override { return hello_.view(); }
    std::string_view transportKind() const override { return session_->peer().kind; }

    /// kTimeout when no reply comes in time.
    Status sayHello(const ConnectionString& where);

private:
    StatusOr<bson::OwnedDocument> readReply(int32_t requestId);
    Status send(std::string message, std::string_view commandName);
    Status introduce(const ConnectionString& where);

    std::unique_ptr<transport::Session> session_;
    bson::OwnedDocument hello_;
    int32_t lastRequestId_ = 0;
    std::optional<wire::Compressor> compressor_;  // the first one that both sides support
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
    if (!where.compressors.empty()) {
        bson::Builder list = command.array("compression");
        for (const std::string& name : where.compressors) {
            list.push(name);
        }
    }
    if (where.loadBalanced.value_or(false)) {
        command.add("loadBalanced", true);
    }
    if (!where.username.empty() && where.authMechanism != kX509) {
        command.add("saslSupportedMechs", userForHello(where));
    }
    return command.finish();
}

/// For a write: the documents to write, if they can be a sequence beside the command.
std::optional<wire::Sequence> sequenceOf(const bson::Element& field) {
    wire::Sequence sequence{field.name(), {}};
    if (!field.isArray() || (sequence.name != "documents" && sequence.name != "updates" &&
                             sequence.name != "deletes")) {
        return std::nullopt;
    }
    for (const bson::Element& entry : field.document()) {
        if (!entry.isObject()) {
            return std::nullopt;
        }
        sequence.documents.push_back(entry.document());
    }
    return sequence;
}

/// A command is a document, and may be no larger than one. A message may be larger: then the
/// documents to write are sequences beside the command.
std::string requestMessage(int32_t requestId, std::string_view database, bson::Document command) {
    const bool isLarge = command.size() > bson::kDocumentBytesMax;
    std::vector<wire::Sequence> sequences;
    bson::Builder body;
    for (const bson::Element& field : command) {
        std::optional<wire::Sequence> sequence = isLarge ? sequenceOf(field) : std::nullopt;
        if (sequence) {
            sequences.push_back(std::move(*sequence));
        } else {
            body.add(field);
        }
    }
    if (!command.has("$db")) {
        body.add("$db", database);
    }
    const std::string bytes = body.finish();
    std::string message;
    wire::appendOpMsg(&message, requestId, 0, 0, bson::Document(bytes), sequences);
    return message;
}

StatusOr<bson::OwnedDocument> SessionConnection::run(std::string_view database,
                                                     bson::Document command) {
    int32_t requestId = lastRequestId_ = lastRequestId_ == INT32_MAX ? 1 : lastRequestId_ + 1;
    std::string message = requestMessage(requestId, database, command);
    if (message.size() > wire::kMessageBytesMax) {
        return Status(Code::kLimit, "the command is larger than a message may be");
    }
    const std::string_view name = command.isEmpty() ? "" : command.begin()->name();
    FRESHET_RETURN_IF_ERROR(send(std::move(message), name));
    return readReply(requestId);
}

Status SessionConnection::send(std::string message, std::string_view commandName) {
    if (compressor_ && wire::mayPack(commandName)) {
        if (StatusOr<std::string> packed = wire::packMessage(message, *compressor_);
            packed.isOk()) {
            message = std::move(*packed);
        }
    }
    return session_->sinkMessage(transport::ReplyChain(std::move(message)));
}

StatusOr<bson::OwnedDocument> SessionConnection::readReply(int32_t requestId) {
    FRESHET_ASSIGN_OR_RETURN(transport::Message message, session_->sourceMessage());
    StatusOr<wire::Unpacked> unpacked = wire::Unpacked();
    if (wire::isCompressed(message.view())) {
        unpacked = wire::unpackMessage(message.view());
    }
    if (!unpacked.isOk()) {
        session_->close();
        return std::move(unpacked).status();
    }
    StatusOr<wire::Request> reply =
        wire::parseReply(unpacked->message.empty() ? message.view() : unpacked->message);
    if (reply.isOk() && reply->header.responseTo == requestId) {
        return bson::OwnedDocument(reply->body);
    }
    session_->close();  // the rest of this connection's stream cannot be understood
    return reply.isOk() ? invalid(Reason::kProtocolError, "the reply belongs to another request")
                        : std::move(reply).status();
}

Status SessionConnection::sayHello(const ConnectionString& where) {
    Deadline deadline(*session_, where.connectTimeoutMs);
    Status introduced = introduce(where);
    if (deadline.hasPassed()) {
        return Status(Code::kTimeout,
                      "no answer within " + std::to_string(where.connectTimeoutMs) + " ms");
    }
    return introduced;
}

Status SessionConnection::introduce(const ConnectionString& where) {
    const std::string command = helloCommand(where);
    FRESHET_ASSIGN_OR_RETURN(hello_, runChecked("admin", bson::Document(command)));
    if (where.loadBalanced.value_or(false) && !hello_.view().has("serviceId")) {
        return invalid(Reason::kNone,
                       "the server is not behind a load balancer (loadBalanced=true)");
    }
    const bson::Element common = hello_.view().find("compression");
    if (common.isArray() && !common.document().isEmpty()) {
        const bson::Element first = *common.document().begin();
        StatusOr<wire::Compressor> named =
            wire::compressorNamed(first.isString() ? first.stringValue() : "");
        if (named.isOk()) {
            compressor_ = *named;
        }
    }
    const bool logsIn = !where.username.empty() || where.authMechanism == kX509;
    const Status in = logsIn ? logIn(*this, where, hello_.view()) : Status::ok();
    return in.code() == Code::kInvalid
               ? invalid(Reason::kAuthenticationFailed, std::string(in.text()))
               : in;
}

/// The TLS versions that a client may exclude: older ones are never used here.
StatusOr<std::vector<std::string>> protocolsOf(std::string_view list) {
    std::vector<std::string> protocols;
    while (!list.empty()) {
        const std::string name(takeUntil(&list, ','));
        if (name == "TLS1_2" || name == "TLS1_3") {
            protocols.push_back(name);
        } else if (name != "TLS1_0" && name != "TLS1_1" && name != "none") {
            return Status(Code::kInvalid, "unknown TLS protocol: " + name);
        }
    }
    return protocols;
}

/// Null when TLS was not asked for.
StatusOr<std::shared_ptr<const security::TlsContext>> tlsContextFor(const ConnectionString& where) {
    if (!where.tls) {
        return std::shared_ptr<const security::TlsContext>();
    }
    security::TlsOptions options;
    options.caFile = where.tlsCaFile;
    options.crlFile = where.tlsCrlFile;
    FRESHET_ASSIGN_OR_RETURN(options.disabledProtocols, protocolsOf(where.tlsDisabledProtocols));
    options.certificateKeyFile = where.tlsCertificateKeyFile;
    options.certificateKeyPassword = where.tlsCertificateKeyFilePassword;
    options.allowInvalidCertificates = where.tlsAllowInvalidCertificates;
    options.allowInvalidHostnames = where.tlsAllowInvalidHostnames;
    return security::TlsContext::make(security::TlsSide::kClient, options);
}

void tell(const Surroundings& around, const std::string& text) {
    if (around.notice) {
        around.notice(text);
    } else {
        telemetry::logInfo("client", text);
    }
}

/// Null, with a notice, when this program is built without RDMA.
std::shared_ptr<transport::verbs::Verbs> verbsFor(const ConnectionString& where,
                                                  const Surroundings& around) {
    if (!where.rdma || around.verbs != nullptr) {
        return where.rdma ? around.verbs : nullptr;
    }
    StatusOr<std::shared_ptr<transport::verbs::Verbs>> found = transport::verbs::systemVerbs();
    if (!found.isOk() && where.rdmaByCall) {
        return nullptr;  // connect() reports why that is an error
    }
    if (!found.isOk()) {
        tell(around,
             "The connection to " + where.whereText() +
                 " stays on TCP: " + std::string(found.status().text()));
        return nullptr;
    }
    return std::move(*found);
}

/// What may be the reason when a server hangs up without a word.
Status hinted(const Status& status, std::string_view hint) {
    const bool isCut = status.code() == Code::kCancelled || status.code() == Code::kIo;
    return isCut ? Status(status.code(), std::string(status.text()) + ". " + std::string(hint))
                 : status;
}

/// To its first place.
StatusOr<std::unique_ptr<Connection>> openOne(const ConnectionString& where,
                                              const Surroundings& around) {
    transport::ConnectOptions options;
    options.host = where.host;
    options.port = where.port;
    options.timeoutMs = where.connectTimeoutMs;
    FRESHET_ASSIGN_OR_RETURN(options.tls, tlsContextFor(where));
    options.rdma.verbs = verbsFor(where, around);
    options.rdma.oneSlot = around.rdmaOneSlot;
    options.byCall = where.rdmaByCall;
    options.onFallback = [&around](const std::string& text) { tell(around, text); };
    StatusOr<std::unique_ptr<transport::Session>> session = transport::connect(options);
    if (!session.isOk()) {
        return where.tls ? hinted(session.status(), "Does the server speak TLS?")
                         : session.status();
    }
    auto connection = std::make_unique<SessionConnection>(std::move(*session));
    if (Status status = connection->sayHello(where); !status.isOk()) {
        return where.tls ? status
                         : hinted(status,
                                  "A server that wants TLS does so: try --tls, or tls=true in the "
                                  "connection string");
    }
    const bson::Element set = connection->hello().find("setName");
    if (!where.replicaSet.empty() && set.isString() && set.stringValue() != where.replicaSet) {
        return invalid(Reason::kNone,
                       where.whereText() + " belongs to the replica set '" +
                           std::string(set.stringValue()) + "' and not to '" + where.replicaSet +
                           "'");
    }
    return std::unique_ptr<Connection>(std::move(connection));
}

bool mayBeWrittenTo(bson::Document hello) {
    return hello.find("isWritablePrimary").isTruthy() || hello.find("ismaster").isTruthy();
}

}  // namespace

StatusOr<std::unique_ptr<Connection>> Connection::open(const ConnectionString& where,
                                                       const Surroundings& around) {
    FRESHET_RETURN_IF_ERROR(where.check());
    FRESHET_ASSIGN_OR_RETURN(const ConnectionString found, where.lookedUp(around));
    std::unique_ptr<Connection> reader;
    Status failure;
    for (const ConnectionString& one : found.each()) {
        StatusOr<std::unique_ptr<Connection>> opened = openOne(one, around);
        if (!opened.isOk() && opened.status().code() == Code::kInvalid) {
            return opened;  // a server has refused
        }
        if (!opened.isOk()) {
            failure = failure.isOk() ? opened.status() : failure;
        } else if (found.others.empty() || mayBeWrittenTo((*opened)->hello())) {
            return opened;
        } else if (reader == nullptr) {
            reader = std::move(*opened);
        }
    }
    if (reader == nullptr) {
        return failure;
    }
    return reader;
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
