// SPDX-License-Identifier: Apache-2.0
/// From a message's bytes to a reply's: parses it, looks the command up, checks its arguments, runs
/// the handler, and adds the reply's envelope.
#include "freshet/command/dispatcher.h"

#include "freshet/base/free_memory.h"
#include "freshet/command/access/authorize.h"
#include "freshet/command/access/replica_set_member.h"
#include "freshet/command/background/housekeeper.h"
#include "freshet/command/crud/prepared_find.h"
#include "freshet/command/diag/own_documents.h"
#include "freshet/command/diag/profile.h"
#include "freshet/command/error_map.h"
#include "freshet/command/oplog/oplog_source.h"
#include "freshet/command/reply/envelope.h"
#include "freshet/command/retry/record_storer.h"
#include "freshet/command/run/fail_command.h"
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/slow_log.h"
#include "freshet/command/txn/read_concern.h"
#include "freshet/command/txn/snapshot_read.h"
#include "freshet/command/txn/statement.h"
#include "freshet/platform/clock.h"
#include "freshet/telemetry/log.h"
#include "freshet/wire/compress.h"

#include <algorithm>
#include <optional>

namespace freshet::command {

struct Dispatcher::Impl {
    Impl(catalog::Catalog& catalog, ServerFacts facts) : services(catalog, std::move(facts)) {
        loadOwn(services);
    }
    Services services;
    Housekeeper housekeeper{services};
};

namespace {

constexpr uint32_t kApiVersionRequired = 498870;
constexpr int64_t kSessionNoteEveryMs = 60'000;
constexpr uint64_t kNanosPerMicro = 1'000;

/// MongoDB's error for a document that exceeds the size limit.
Status replyTooLarge(size_t bytes) {
    return invalid(Reason::kBsonObjectTooLarge,
                   "BSONObj size: " + std::to_string(bytes) +
                       " is invalid. Size must be between 0 and " +
                       std::to_string(bson::kInternalDocumentBytesMax) + "(16MB)");
}

std::string errorMessage(const Services& services,
                         const Status& status,
                         bson::Document request = {}) {
    std::string message = wire::openOpMsg();
    setError(services, {status, request}, &message);
    return message;
}

/// A legacy hello may come wrapped: {$query: {isMaster: 1}, $readPreference: ...}.
void unwrapQuery(wire::Request* request) {
    const bson::Element first = *request->body.begin();
    if (first.isObject() && (first.name() == "$query" || first.name() == "query")) {
        request->body = first.document();
    }
}

/// The reads that this thread's connections will make in this pass.
thread_local query::ReadAhead lookedAhead;

class ConnectionImpl final : public Connection {
public:
    ConnectionImpl(Services& services, ClientFacts client)
        : services_(services),
          client_(std::move(client)),
          record_(services.operations.connect(client_)) {}
    ~ConnectionImpl() override {
        LongPasses::forget(*record_);
        if (!exhaustRequest_.empty()) {
            onReplyLost();  // of the stream's next reply
        }
        services_.operations.disconnect(client_.connectionId);
    }

    bool handleAtOnce(ByteView message, Reply* reply) override;
    bool lookAhead(ByteView message) override {
        hasLookedAhead_ = prepared_ != nullptr && prepared_->takeAnother(message, login_.user) &&
                          prepared_->lookAhead(&lookedAhead);
        return hasLookedAhead_;
    }
    sync::Task<Reply> handle(ByteView message) override;
    sync::Task<Reply> next() override;
    bool isAuthenticated() const override {
        return !services_.facts.authEnabled || login_.user != nullptr;
    }
    void onPeerGone() override {
        record_->interruptIf(Reason::kInterrupted, [](const RunningOperation&) { return true; });
    }
    void onReplyLost() override {
        if (lastCursor_ != 0) {
            services_.cursors.kill(lastCursor_);
            lastCursor_ = 0;
        }
    }

private:
    /// The reply to a message that cannot be parsed.
    Reply refuse(const Status& why, ByteView message);
    sync::Task<Reply> answer(const wire::Request& request, int32_t responseTo);
    void endExhaust() {
        if (!exhaustRequest_.empty()) {
            freeMemory(&exhaustRequest_);
            exhaustHold_.release();
        }
    }
    /// Makes prepared_ describe `message`. False: it needs the general path.
    bool takePrepared(ByteView message, bool hasLookedAhead);
    bool prepare(ByteView message);
    /// As answer(), without a coroutine. False: nothing has happened.
    bool answerPrepared(Reply* reply);
    /// Runs the command; afterwards its message has the reply's body, in any case.
    sync::Task<void> run(Invocation& call);
    /// Shows currentOp which user is logged in.
    void showUser();
    /// Ends the reply's body. A body that exceeds the size limit of a document becomes an error.
    void finish(Invocation& call, Status* status);
    /// The steps between a command and its handler: those that may wait, and ...
    sync::Task<Status> admitAfterWaiting(Invocation& call, const FailCommand& fail);
    /// ... those that never do.
    Status admitAtOnce(Invocation& call);
    void useSession(const Invocation& call);
    void count(const Invocation& call, const OperationEnd& end);
    void countDocuments(const OperationStats& stats);
    /// Decompresses the message if it is compressed: `*message` then becomes the inner one, kept in
    /// `unpacked`. `hold` counts it; kExceededMemoryLimit when there is no room.
    StatusOr<wire::Request> parse(ByteView* message, std::string* unpacked, sync::MemoryHold* hold);
    StatusOr<const Command*> find(const wire::Request& request) const;
    StatusOr<GenericArguments> admit(const Command& command,
                                     const wire::Request& request,
                                     const BodyIndex& body) const;
    /// The part of admission that depends on the server's current state.
    Status admitNow(const Command& command, const GenericArguments& generic) const;
    /// Whether the reply is sent as it is made.
    bool mayBeInPieces(const wire::Request& request) const {
        return request.op == wire::OpCode::kMsg && !compressor_ &&
               (request.flags & wire::kFlagChecksumPresent) == 0;
    }
    /// Makes the reply a complete message, in the form that the request asks for.
    void seal(const wire::Request& request, int32_t responseTo, Reply* reply);

    Services& services_;
    const ClientFacts client_;
    const std::shared_ptr<ConnectionRecord> record_;
    std::string lastSession_;           // noted in the table of sessions
    int64_t lastSessionUseWallMs_ = 0;  // when
    LoginState login_;
    UserRef shownUser_;  // the user that record_ shows
    int32_t lastReplyId_ = 0;
    std::unique_ptr<PreparedFind> prepared_;      // null: none so far
    bool hasLookedAhead_ = false;                 // at the message that will be handled next
    sync::BackgroundThreads::Stay stay_;          // of the message being handled
    std::string exhaustRequest_;                  // the request that next() answers again
    sync::MemoryHold exhaustHold_;                // its memory
    int64_t lastCursor_ = 0;                      // that the last reply left open; 0: none
    std::optional<wire::Compressor> compressor_;  // the current request's; its reply gets the same
};

StatusOr<const Command*> ConnectionImpl::find(const wire::Request& request) const {
    const std::string_view name =
        request.body.isEmpty() ? std::string_view() : request.body.begin()->name();
    const Command* command = services_.registry.find(name);
    if (request.op == wire::OpCode::kQuery && (command == nullptr || command->name != "hello")) {
        return invalid(Reason::kUnsupportedOpQueryCommand,
                       "Unsupported OP_QUERY command: " + std::string(name) +
                           ". The client driver may require an upgrade.");
    }
    if (command == nullptr || (command->testOnly && !services_.facts.enableTestCommands)) {
        return invalid(Reason::kCommandNotFound, "no such command: '" + std::string(name) + "'");
    }
    return command;
}

StatusOr<GenericArguments> ConnectionImpl::admit(const Command& command,
                                                 const wire::Request& request,
                                                 const BodyIndex& body) const {
    StatusOr<GenericArguments> generic =
        parseArguments(command, request, body, isReplicaSet(services_), services_.concerns);
    if (!generic.isOk()) {
        return generic;
    }
    if (command.adminOnly && generic->db != "admin") {
        return invalid(Reason::kUnauthorized,
                       std::string(command.name) + " may only be run against the admin database.");
    }
    FRESHET_RETURN_IF_ERROR(admitNow(command, *generic));
    FRESHET_RETURN_IF_ERROR(checkTimes(*generic, services_));
    FRESHET_RETURN_IF_ERROR(ownSession(services_, login_, &generic->lsid));
    return generic;
}

Status ConnectionImpl::admitNow(const Command& command, const GenericArguments& generic) const {
    const bool isApiRequired = ParameterValues::get(services_.parameters.requireApiVersion) != 0;
    if (isApiRequired && !generic.hasApiVersion && command.name != "hello") {
        return invalid(location(kApiVersionRequired),
                       "The apiVersion parameter is required, please configure your MongoClient's "
                       "API version");
    }
    // [shutdown.admit] ORDER relaxed: only the flag itself counts.
    if (services_.isShuttingDown.load(sync::kRelaxed)) {
        return Status(Code::kUnavailable,
                      Reason::kShutdownInProgress,
                      "The server is in quiesce mode and will shut down");
    }
    return Status::ok();
}

void ConnectionImpl::seal(const wire::Request& request, int32_t responseTo, Reply* reply) {
    std::string& message = reply->message;
    lastReplyId_ = lastReplyId_ == INT32_MAX ? 1 : lastReplyId_ + 1;
    if (request.op == wire::OpCode::kQuery) {
        std::string legacy;
        const bson::Document body(message.data() + wire::kOpMsgBodyAt);
        wire::appendOpReply(&legacy, lastReplyId_, responseTo, body);
        message = std::move(legacy);
    } else {
        uint32_t flags = reply->moreToCome ? wire::kFlagMoreToCome : 0;
        flags |= request.flags & wire::kFlagChecksumPresent;
        const size_t bytesBorrowed = reply->borrowed == nullptr ? 0 : reply->borrowed->bytes();
        wire::sealOpMsg(&message, lastReplyId_, responseTo, flags, bytesBorrowed);
    }
    if (compressor_ && (request.body.isEmpty() || wire::mayPack(request.body.begin()->name()))) {
        if (StatusOr<std::string> packed = wire::packMessage(message, *compressor_);
            packed.isOk()) {
            message = std::move(*packed);
        }
    }
}

/// Notes that the session is in use. A connection that keeps using the same one updates the table
/// once a minute.
void ConnectionImpl::useSession(const Invocation& call) {
    const std::string& session = call.generic.lsid;
    if (session.empty() || call.command.access.scope == Access::Scope::kAnybody) {
        return;
    }
    const int64_t now = platform::wallMillis();
    if (session == lastSession_ && now - lastSessionUseWallMs_ < kSessionNoteEveryMs) {
        return;
    }
    services_.sessions.use(session, holderOf(call), now);
    lastSession_ = session;
    lastSessionUseWallMs_ = now;
}

Status ConnectionImpl::admitAtOnce(Invocation& call) {
    FRESHET_RETURN_IF_ERROR(checkRole(call));
    FRESHET_RETURN_IF_ERROR(admitCaller(call));
    useSession(call);
    return Status::ok();
}

sync::Task<Status> ConnectionImpl::admitAfterWaiting(Invocation& call, const FailCommand& fail) {
    if (fail) {
        Status status = co_await applyFailCommand(call, fail);
        if (!status.isOk() || call.endsSession) {
            co_return status;
        }
    }
    Status refreshed = co_await refreshCaller(call);
    FRESHET_CO_RETURN_IF_ERROR(std::move(refreshed));
    FRESHET_CO_RETURN_IF_ERROR(admitAtOnce(call));
    if (services_.writeBlock.isLocked() && isWriter(call.command, call.body())) {
        Status passed = co_await services_.writeBlock.pass(call);
        FRESHET_CO_RETURN_IF_ERROR(std::move(passed));
    }
    co_return Status::ok();
}

void ConnectionImpl::countDocuments(const OperationStats& stats) {
    const query::WorkDone& work = stats.work;
    const auto add = [this](Counter counter, int64_t number) {
        if (number > 0) {
            services_.statistics.add(counter, static_cast<uint64_t>(number));
        }
    };
    add(Counter::kDocumentsInserted, work.inserted);
    add(Counter::kDocumentsInserted, work.upserted);
    add(Counter::kDocumentsUpdated, work.matched);
    add(Counter::kDocumentsDeleted, work.deleted);
    add(Counter::kDocumentsReturned, stats.nReturned);
    add(Counter::kKeysExamined, work.keysExamined);
    add(Counter::kDocsExamined, work.docsExamined);
}

void ConnectionImpl::count(const Invocation& call, const OperationEnd& end) {
    Statistics& statistics = services_.statistics;
    const Command& command = call.command;
    const LatencyClass latency = latencyClassOf(command);
    if (command.kind != OpKind::kInsert && command.kind != OpKind::kUpdate &&
        command.kind != OpKind::kDelete) {  // those count their documents
        services_.counters.add(command.kind);
    }
    statistics.ended(services_.indexOf(command), latency, end.micros, !end.status.isOk());
    if (latency != LatencyClass::kCommands || command.access.scope == Access::Scope::kCollection) {
        statistics.touched(call.generic.db,
                           collectionOf(command, call.body()),
                           command.kind,
                           latency,
                           end.micros,
                           call.stats.work.plan.usedTree);
    }
    countDocuments(call.stats);
    if (end.status.code() == Code::kTimeout) {
        statistics.add(Counter::kKilledByTimeLimit);
    }
}

/// Shows the command to currentOp while it runs.
struct Visible {
    Visible(ConnectionRecord& shownIn, const Invocation& call) : record(shownIn) {
        record.begin({0, call.startNanos, &call.command, call.body(), &call.generic});
    }
    ~Visible() { record.end(); }
    ConnectionRecord& record;
};

void ConnectionImpl::showUser() {
    if (login_.user != shownUser_) {
        shownUser_ = login_.user;
        record_->setUser(shownUser_ == nullptr ? "" : shownUser_->user,
                         shownUser_ == nullptr ? "" : shownUser_->db);
    }
}

void addHelp(Invocation& call) {
    call.reply.add(
        "help",
        "help for: " + std::string(call.command.name) + " " + std::string(call.command.help));
}

void addWriteConcernError(Invocation& call, const FailCommand& fail, bson::Builder* reply) {
    if (fail.blamesWriteConcern()) {
        fail.blameWriteConcern(call, reply);
        return;
    }
    const Status& why = call.generic.unmetConcern;
    const WireError error = wireErrorOf(why);
    auto shown = reply->object("writeConcernError");
    shown.add("code", error.code).add("codeName", error.name).add("errmsg", why.text());
}

/// After the handler of a command, which may have failed.
void reportWriteConcern(Invocation& call, const FailCommand& fail, bool hasFailed) {
    const bool isUnmet = !call.generic.unmetConcern.isOk() &&
                         (hasFailed ? call.hasTriedToWrite : isWriter(call.command, call.body()));
    if (!isUnmet && !fail.blamesWriteConcern()) {
        return;
    }
    if (!hasFailed) {
        addWriteConcernError(call, fail, &call.reply);
        return;
    }
    bson::Builder info;
    info.addFields(call.errorInfo.view());
    addWriteConcernError(call, fail, &info);
    call.errorInfo = bson::OwnedDocument(info.finish());
}

void ConnectionImpl::finish(Invocation& call, Status* status) {
    if (status->isOk()) {
        addOk(services_, &call.reply);
    }
    call.reply.close(call.borrowedBytes());
    if (status->isOk() && call.replyBytes() > bson::kInternalDocumentBytesMax) {
        *status = replyTooLarge(call.replyBytes());
        if (call.hasOpenCursor) {
            services_.cursors.kill(call.stats.cursorId);  // its batch is lost
            call.hasOpenCursor = false;
        }
    }
    if (!status->isOk()) {
        call.isExhaust = false;
        call.borrowed.reset();
        setError(services_,
                 {.status = *status,
                  .request = call.body(),
                  .info = call.errorInfo.view(),
                  .hasLabels = call.hasErrorLabels,
                  .isOfChangeStream = call.isOfChangeStream},
                 &call.message);
    }
}

/// The command's time, as far as it is meaningful.
uint64_t microsOf(const Invocation& call) {
    // An awaited hello takes as long as the client asks for.
    return call.command.name == "hello"
               ? 0
               : (platform::monotonicNanos() - call.startNanos - call.awaitedNanos) /
                     kNanosPerMicro;
}

/// The limits apply to everything that this coroutine calls and awaits.
struct Limited {
    explicit Limited(Invocation& call)
        : limits(call.services.memory, [&call] { return call.whyInterrupted(); }) {
        call.limits = &limits;
        sync::TaskLocal::set(&limits);
    }
    ~Limited() { sync::TaskLocal::set(nullptr); }
    query::OperationLimits limits;
};

sync::Task<Status> runHandler(Invocation& call) {
    sync::Task<Status> handler = call.command.handler(call);
    if (call.runsScripts) {
        handler = call.services.scripts.run(call, std::move(handler));
    }
    if (call.generic.isInTransaction && call.command.inTransactions == InTransactions::kStatement) {
        return runInTransaction(call, std::move(handler));
    }
    return call.generic.readsSnapshot ? runInSnapshot(call, std::move(handler))
                                      : std::move(handler);
}

sync::Task<void> ConnectionImpl::run(Invocation& call) {
    const Limited limited(call);
    const FailCommand fail = findFailCommand(call);
    showUser();
    Status status;
    {
        Visible visible(*record_, call);
        LongPasses::enter(*record_, call.startNanos);
        const bool mayWait =
            fail || mustRefreshCaller(call) ||
            (services_.writeBlock.isLocked() && isWriter(call.command, call.body()));
        if (mayWait) {
            status = co_await admitAfterWaiting(call, fail);
        } else {
            status = admitAtOnce(call);
        }
        if (status.isOk() && call.generic.asksForHelp) {
            addHelp(call);
        } else if (status.isOk() && !call.endsSession) {
            call.runsScripts = mayRunScripts(call);
            call.mayTakeLong = mayTakeLong(call);
            if (call.mayTakeLong) {
                co_await goToBackground(call);
            }
            if (call.generic.db == kSessionsDb) {
                co_await showRecords(call);
            }
            status = co_await runHandler(call);
            noteChangesOfUsers(call);
            status = status.isOk() ? checkThatItAsked(call) : std::move(status);
            reportWriteConcern(call, fail, !status.isOk());
        }
    }
    finish(call, &status);
    const OperationEnd end{status, microsOf(call), call.replyBytes()};
    LongPasses::leave(call, call.startNanos + call.awaitedNanos + end.micros * kNanosPerMicro);
    count(call, end);
    if (mayBeReported(call, end)) {
        co_await report(call, end);
    }
}

sync::Task<Reply> ConnectionImpl::answer(const wire::Request& request, int32_t responseTo) {
    Reply reply;
    lastCursor_ = 0;
    const BodyIndex index(request.body);
    StatusOr<const Command*> command = find(request);
    if (!command.isOk()) {
        reply.message = errorMessage(services_, command.status(), request.body);
    } else if (StatusOr<GenericArguments> generic = admit(**command, request, index);
               !generic.isOk()) {
        reply.message = errorMessage(services_, generic.status(), request.body);
    } else {
        Invocation call{services_, client_, login_, *record_, **command, request, index, *generic};
        call.startNanos = platform::monotonicNanos();
        call.mayBorrow = mayBeInPieces(request);
        call.stay = &stay_;
        co_await run(call);
        if (call.endsSession) {
            reply.closeAfter = true;
            co_return reply;
        }
        reply.moreToCome = call.isExhaust;
        lastCursor_ = call.hasOpenCursor ? call.stats.cursorId : 0;
        reply.message = std::move(call.message);
        reply.borrowed = std::move(call.borrowed);
    }
    if (request.moreToCome()) {
        reply.message.clear();
        reply.borrowed.reset();
    } else {
        if (compressor_ && !stay_ && isForBackground(reply.message.size(), false)) {
            stay_ = services_.background.begin();
            co_await sync::moveTo(stay_.executor());
        }
        seal(request, responseTo, &reply);
    }
    co_return reply;
}

StatusOr<wire::Request> ConnectionImpl::parse(ByteView* message,
                                              std::string* unpacked,
                                              sync::MemoryHold* hold) {
    compressor_.reset();
    if (wire::isCompressed(*message)) {
        const size_t bytesMax =
            isAuthenticated() ? size_t{wire::kMessageBytesMax} : kStrangerMessageBytesMax;
        FRESHET_ASSIGN_OR_RETURN(size_t bytes, wire::unpackedBytes(*message, bytesMax));
        if (!hold->tryResize(bytes)) {
            return invalid(
                Reason::kExceededMemoryLimit,
                "There is no memory now for the message's " + std::to_string(bytes) + " bytes");
        }
        FRESHET_ASSIGN_OR_RETURN(wire::Unpacked inner, wire::unpackMessage(*message, bytesMax));
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

bool ConnectionImpl::prepare(ByteView message) {
    if (prepared_ == nullptr) {
        prepared_ = std::make_unique<PreparedFind>();
    }
    if (!prepared_->parse(message)) {
        return false;
    }
    StatusOr<GenericArguments> generic =
        admit(services_.findCommand, prepared_->request(), prepared_->index());
    return generic.isOk() && prepared_->prepare(services_, std::move(*generic), login_.user);
}

bool ConnectionImpl::takePrepared(ByteView message, bool hasLookedAhead) {
    if (hasLookedAhead) {
        lookedAhead.askForNext();
        return true;  // as lookAhead() left it
    }
    return (prepared_ != nullptr && prepared_->takeAnother(message, login_.user)) ||
           prepare(message);
}

bool ConnectionImpl::answerPrepared(Reply* reply) {
    Invocation call{services_,
                    client_,
                    login_,
                    *record_,
                    services_.findCommand,
                    prepared_->request(),
                    prepared_->index(),
                    prepared_->generic()};
    if (mustRefreshCaller(call) || !admitNow(call.command, call.generic).isOk()) {
        return false;
    }
    call.startNanos = platform::monotonicNanos();
    // Not shown to currentOp: it never waits, and ends within microseconds.
    Status status = admitAtOnce(call);
    if (!status.isOk()) {
        finish(call, &status);
    } else if (!prepared_->answer(call)) {
        return false;
    }
    const OperationEnd end{status, microsOf(call), call.replyBytes()};
    count(call, end);
    if (mayBeReported(call, end) && isSlow(call, end)) {
        logSlow(call, end);  // it is not profiled
    }
    reply->message = std::move(call.message);
    reply->borrowed = std::move(call.borrowed);
    seal(call.request, call.request.header.requestId, reply);
    return true;
}

bool ConnectionImpl::handleAtOnce(ByteView message, Reply* reply) {
    endExhaust();
    lastCursor_ = 0;
    compressor_.reset();
    const bool hasLookedAhead = std::exchange(hasLookedAhead_, false);
    // Both may make the command wait.
    if (mayFail() || services_.profiler.isUsed() || services_.concerns.readsDurably()) {
        return false;
    }
    const bool isAnswered = takePrepared(message, hasLookedAhead) && answerPrepared(reply);
    if (hasLookedAhead) {
        lookedAhead.askForRest();
    }
    return isAnswered;
}

/// Parsing it would delay the other connections of this thread.
bool isLarge(ByteView message) {
    size_t bytes = message.size();
    if (wire::isCompressed(message)) {
        const StatusOr<size_t> unpacked = wire::unpackedBytes(message);
        bytes = unpacked.isOk() ? *unpacked : bytes;
    }
    constexpr size_t kNameAt = wire::kHeaderBytes + 4 + 1 + 4 + 1;  // flags, kind, length, type
    const bool isInsert = message.size() > kNameAt &&
                          message.substr(kNameAt).starts_with(std::string_view("insert\0", 7));
    return isForBackground(bytes, isInsert);
}

Reply ConnectionImpl::refuse(const Status& why, ByteView message) {
    Reply reply;
    const bool isAnswerable = why.code() == Code::kInvalid &&
                              why.reason() != Reason::kProtocolError &&
                              message.size() >= wire::kHeaderBytes;
    if (isAnswerable) {
        wire::Request bare;
        bare.header = *wire::parseHeader(message);
        bare.op = static_cast<wire::OpCode>(bare.header.opCode);
        reply.message = errorMessage(services_, why);
        seal(bare, bare.header.requestId, &reply);
    } else {
        telemetry::logWarning("command",
                              "closing connection " + std::to_string(client_.connectionId) +
                                  " from " + client_.remote + ": " + why.toString());
        reply.closeAfter = true;
    }
    return reply;
}

sync::Task<Reply> ConnectionImpl::handle(ByteView message) {
    sync::Executor& home = *sync::Executor::current();
    endExhaust();
    if (isLarge(message)) {
        stay_ = services_.background.begin();
        co_await sync::moveTo(stay_.executor());
    }
    std::string unpacked;
    sync::MemoryHold unpackedHold(services_.memory);
    StatusOr<wire::Request> request = parse(&message, &unpacked, &unpackedHold);
    Reply reply;
    if (!request.isOk()) {
        reply = refuse(request.status(), message);
    } else {
        if (request->op == wire::OpCode::kQuery) {
            unwrapQuery(&*request);
        }
        reply = co_await answer(*request, request->header.requestId);
        if (reply.moreToCome) {
            exhaustHold_ = sync::MemoryHold(services_.memory);
            exhaustHold_.resize(message.size());
            exhaustRequest_ = std::string(message);
        }
    }
    if (stay_) {
        co_await sync::moveTo(home);
        stay_.end();
    }
    co_return reply;
}

sync::Task<Reply> ConnectionImpl::next() {
    invariant(!exhaustRequest_.empty());
    sync::Executor& home = *sync::Executor::current();
    StatusOr<wire::Request> request = wire::parseRequest(exhaustRequest_);
    // Each reply of the stream answers the one before it.
    Reply reply = co_await answer(*request, lastReplyId_);
    if (!reply.moreToCome) {
        endExhaust();
    }
    if (stay_) {
        co_await sync::moveTo(home);
        stay_.end();
    }
    co_return reply;
}

}  // namespace

Dispatcher::Dispatcher(catalog::Catalog& catalog, ServerFacts facts)
    : impl_(std::make_unique<Impl>(catalog, std::move(facts))) {
    if (isReplicaSet(impl_->services)) {
        const Status noted = noteStartInLog(impl_->services.store.journal());
        static_cast<void>(
            noted.isOk());  // a log that takes nothing more refuses the next write too
    }
}

Dispatcher::~Dispatcher() {
    beginShutdown();
}

std::unique_ptr<Connection> Dispatcher::connect(ClientFacts client) {
    return std::make_unique<ConnectionImpl>(impl_->services, std::move(client));
}

void Dispatcher::readAhead() {
    lookedAhead.run();
}

void Dispatcher::passBegan() {
    LongPasses::passBegan();
}

void Dispatcher::passEnded() {
    LongPasses::passEnded();
}

void Dispatcher::longPass(uint64_t nanos) {
    LongPasses::tell(nanos);
}

void Dispatcher::recordStart() {
    command::recordStart(impl_->services);
}

bool Dispatcher::needsLogin() const {
    return impl_->services.facts.authEnabled;
}

Services& Dispatcher::servicesForTest() {
    return impl_->services;
}

void Dispatcher::beginShutdown() {
    // [shutdown.begin] ORDER relaxed: commands that see it late complete, as commands before it do.
    impl_->services.isShuttingDown.store(true, sync::kRelaxed);
    impl_->services.cursors.killAll();
    impl_->services.operations.killIf(Reason::kInterruptedAtShutdown,
                                      [](const RunningOperation&) { return true; });
    impl_->services.housekeeping.wake();
}

}  // namespace freshet::command
