// SPDX-License-Identifier: Apache-2.0
/// From a message's bytes to a reply's: parse, look the command up, check its arguments, run the
/// handler, put the envelope around what it says.
#include "freshet/command/dispatcher.h"

#include "freshet/command/error_map.h"
#include "freshet/command/run/invocation.h"
#include "freshet/telemetry/log.h"
#include "freshet/wire/compress.h"

#include <algorithm>
#include <optional>

namespace freshet::command {

struct Dispatcher::Impl {
    Impl(catalog::Catalog& catalog, ServerFacts facts) : services(catalog, std::move(facts)) {}
    Services services;
};

namespace {

std::string errorBody(const Status& status, bson::Document info = {}) {
    const WireError error = wireErrorOf(status);
    bson::Builder reply;
    reply.add("ok", 0.0).add("errmsg", status.text());
    reply.add("code", error.code).add("codeName", error.name).addFields(info);
    return reply.finish();
}

/// A legacy hello may come wrapped: {$query: {isMaster: 1}, $readPreference: ...}.
void unwrapQuery(wire::Request* request) {
    const bson::Element first = *request->body.begin();
    if (first.isObject() && (first.name() == "$query" || first.name() == "query")) {
        request->body = first.document();
    }
}

class ConnectionImpl final : public Connection {
public:
    ConnectionImpl(Services& services, ClientFacts client)
        : services_(services), client_(std::move(client)) {}

    sync::Task<Reply> handle(ByteView message) override;
    sync::Task<Reply> next() override;

private:
    sync::Task<Reply> answer(const wire::Request& request, int32_t responseTo);
    sync::Task<Status> execute(Invocation& call);
    /// `*message` becomes the one inside, kept in `unpacked`, when it is compressed.
    StatusOr<wire::Request> parse(ByteView* message, std::string* unpacked);
    StatusOr<const Command*> find(const wire::Request& request) const;
    StatusOr<GenericArguments> admit(const Command& command, const wire::Request& request) const;
    std::string wrap(const wire::Request& request,
                     int32_t responseTo,
                     bool isExhaust,
                     const std::string& body);

    Services& services_;
    const ClientFacts client_;
    int32_t lastReplyId_ = 0;
    std::string exhaustRequest_;                  // what next() answers again
    std::optional<wire::Compressor> compressor_;  // the current request's; its reply gets the same
};

StatusOr<const Command*> ConnectionImpl::find(const wire::Request& request) const {
    const std::string name(request.body.isEmpty() ? std::string_view()
                                                  : request.body.begin()->name());
    const Command* command = services_.registry.find(name);
    if (request.op == wire::OpCode::kQuery && (command == nullptr || command->name != "hello")) {
        return invalid(Reason::kUnsupportedOpQueryCommand,
                       "Unsupported OP_QUERY command: " + name +
                           ". The client driver may require an upgrade.");
    }
    if (command == nullptr) {
        return invalid(Reason::kCommandNotFound, "no such command: '" + name + "'");
    }
    return command;
}

StatusOr<GenericArguments> ConnectionImpl::admit(const Command& command,
                                                 const wire::Request& request) const {
    FRESHET_ASSIGN_OR_RETURN(GenericArguments generic, parseArguments(command, request));
    if (command.adminOnly && generic.db != "admin") {
        return invalid(Reason::kUnauthorized,
                       std::string(command.name) + " may only be run against the admin database.");
    }
    // [shutdown.admit] ORDER relaxed: only the flag itself counts.
    if (services_.isShuttingDown.load(sync::kRelaxed)) {
        return Status(Code::kUnavailable,
                      Reason::kShutdownInProgress,
                      "The server is in quiesce mode and will shut down");
    }
    return generic;
}

std::string ConnectionImpl::wrap(const wire::Request& request,
                                 int32_t responseTo,
                                 bool isExhaust,
                                 const std::string& body) {
    std::string message;
    message.reserve(body.size() + 64);
    lastReplyId_ = lastReplyId_ == INT32_MAX ? 1 : lastReplyId_ + 1;
    bson::Document document(body.data());
    if (request.op == wire::OpCode::kQuery) {
        wire::appendOpReply(&message, lastReplyId_, responseTo, document);
    } else {
        uint32_t flags = isExhaust ? wire::kFlagMoreToCome : 0;
        flags |= request.flags & wire::kFlagChecksumPresent;
        wire::appendOpMsg(&message, lastReplyId_, responseTo, flags, document);
    }
    if (compressor_ && (request.body.isEmpty() || wire::mayPack(request.body.begin()->name()))) {
        StatusOr<std::string> packed = wire::packMessage(message, *compressor_);
        return packed.isOk() ? std::move(*packed) : message;
    }
    return message;
}

sync::Task<Status> ConnectionImpl::execute(Invocation& call) {
    if (call.command.kind != OpKind::kInsert && call.command.kind != OpKind::kUpdate &&
        call.command.kind != OpKind::kDelete) {  // those count their documents
        services_.counters.add(client_.connectionId, call.command.kind);
    }
    co_return co_await call.command.handler(call);
}

sync::Task<Reply> ConnectionImpl::answer(const wire::Request& request, int32_t responseTo) {
    Reply reply;
    Status status;
    std::string body;
    bson::OwnedDocument errorInfo;
    StatusOr<const Command*> command = find(request);
    if (!command.isOk()) {
        status = command.status();
    } else {
        StatusOr<GenericArguments> generic = admit(**command, request);
        if (!generic.isOk()) {
            status = generic.status();
        } else {
            Invocation call{services_, client_, **command, request, std::move(*generic), {}};
            status = co_await execute(call);
            if (call.endsSession) {
                reply.closeAfter = true;
                co_return reply;
            }
            reply.moreToCome = status.isOk() && call.isExhaust;
            errorInfo = std::move(call.errorInfo);
            call.reply.add("ok", 1.0);
            body = call.reply.finish();
        }
    }
    if (!status.isOk()) {
        body = errorBody(status, errorInfo.view());
    }
    if (!request.moreToCome()) {
        reply.message = wrap(request, responseTo, reply.moreToCome, body);
    }
    co_return reply;
}

StatusOr<wire::Request> ConnectionImpl::parse(ByteView* message, std::string* unpacked) {
    compressor_.reset();
    if (wire::isCompressed(*message)) {
        FRESHET_ASSIGN_OR_RETURN(wire::Unpacked inner, wire::unpackMessage(*message));
        const std::vector<std::string>& ours = services_.facts.compressors;
        if (std::find(ours.begin(), ours.end(), wire::compressorName(inner.compressor)) ==
            ours.end()) {
            return invalid(Reason::kProtocolError, "That compressor is not enabled here");
        }
        compressor_ = inner.compressor;
        *unpacked = std::move(inner.message);
        *message = *unpacked;
    }
    return wire::parseRequest(*message);
}

sync::Task<Reply> ConnectionImpl::handle(ByteView message) {
    exhaustRequest_.clear();
    std::string unpacked;
    StatusOr<wire::Request> request = parse(&message, &unpacked);
    if (!request.isOk()) {
        Reply reply;
        const Status& why = request.status();
        const bool isAnswerable = why.code() == Code::kInvalid &&
                                  why.reason() != Reason::kProtocolError &&
                                  message.size() >= wire::kHeaderBytes;
        if (isAnswerable) {
            wire::Request bare;
            bare.header = *wire::parseHeader(message);
            bare.op = static_cast<wire::OpCode>(bare.header.opCode);
            reply.message = wrap(bare, bare.header.requestId, false, errorBody(why));
        } else {
            telemetry::logWarning("command",
                                  "closing connection " + std::to_string(client_.connectionId) +
                                      " from " + client_.remote + ": " + why.toString());
            reply.closeAfter = true;
        }
        co_return reply;
    }
    if (request->op == wire::OpCode::kQuery) {
        unwrapQuery(&*request);
    }
    Reply reply = co_await answer(*request, request->header.requestId);
    if (reply.moreToCome) {
        exhaustRequest_ = std::string(message);
    }
    co_return reply;
}

sync::Task<Reply> ConnectionImpl::next() {
    invariant(!exhaustRequest_.empty());
    StatusOr<wire::Request> request = wire::parseRequest(exhaustRequest_);
    // Each reply of the stream answers the one before it.
    co_return co_await answer(*request, lastReplyId_);
}

}  // namespace

Dispatcher::Dispatcher(catalog::Catalog& catalog, ServerFacts facts)
    : impl_(std::make_unique<Impl>(catalog, std::move(facts))) {}

Dispatcher::~Dispatcher() = default;

std::unique_ptr<Connection> Dispatcher::connect(ClientFacts client) {
    return std::make_unique<ConnectionImpl>(impl_->services, std::move(client));
}

void Dispatcher::beginShutdown() {
    // [shutdown.begin] ORDER relaxed: commands that see it late run to their end, as before it.
    impl_->services.isShuttingDown.store(true, sync::kRelaxed);
    impl_->services.cursors.killAll();
}

}  // namespace freshet::command
