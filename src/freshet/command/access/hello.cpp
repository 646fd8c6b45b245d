// SPDX-License-Identifier: Apache-2.0
/// hello and its legacy spellings: what a driver learns first, and the stream that its monitor
/// reads. An awaited hello answers when the member's role or configuration changes, or at its time
/// limit.
#include "freshet/command/access/replica_set_member.h"
#include "freshet/command/access/sasl.h"
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"
#include "freshet/platform/clock.h"
#include "freshet/wire/compress.h"
#include "freshet/wire/frame.h"

namespace freshet::command {
namespace {

constexpr int32_t kMaxWireVersion = 25;
constexpr int64_t kMaxAwaitMs = INT32_MAX;
constexpr uint64_t kNanosPerMilli = 1'000'000;

/// Milliseconds the client wants to wait; 0: answer at once.
StatusOr<int64_t> awaitTime(const Invocation& call) {
    Fields fields(call.body(), "hello");
    const bson::Document version = fields.object("topologyVersion");
    const int64_t ms = fields.integer("maxAwaitTimeMS", 0, 0);
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (fields.has("topologyVersion") != fields.has("maxAwaitTimeMS")) {
        return badValue("'topologyVersion' and 'maxAwaitTimeMS' must be given together");
    }
    if (!fields.has("topologyVersion")) {
        return int64_t{0};
    }
    const bson::Element process = version.find("processId");
    const bson::Element counter = version.find("counter");
    if (process.type() != bson::Type::kObjectId || !counter.isNumber()) {
        return badValue("'topologyVersion' must have a processId and a counter");
    }
    const bson::ObjectId& ours = call.services.processId;
    const bool isCurrent = process.objectIdBytes() == ByteView(ours.bytes, sizeof(ours.bytes)) &&
                           counter.toInt64() == topologyCounter(call.services);
    return isCurrent ? std::min(ms, kMaxAwaitMs) : int64_t{0};
}

/// Waits for a change of the topology that the request names, for `ms` milliseconds at most.
sync::Task<Status> awaitChange(Invocation& call, uint64_t ms) {
    MemberState& member = call.services.member;
    const int64_t seen = call.body().findPath("topologyVersion.counter").toInt64();
    const uint64_t limit = platform::monotonicNanos() + ms * kNanosPerMilli;
    const sync::WaitToken token = sync::WaitToken::create();
    const uint64_t watch = member.watch(seen, token);
    if (watch == 0) {
        co_return Status::ok();
    }
    const sync::Alarms::Id alarm =
        call.services.alarms.set(std::min(limit, member.primaryFromNanos()), token);
    Status status = co_await waitOrStop(call, token);
    call.services.alarms.cancel(alarm);
    member.unwatch(watch);
    co_return status;
}

/// Replies with those of the client's compressors that we support.
Status addCompression(Invocation& call) {
    const bson::Element offered = call.body().find("compression");
    if (!offered.isArray()) {
        return !offered.isMissing() ? badValue("'compression' must be an array of names")
                                    : Status::ok();
    }
    std::vector<std::string> theirs;
    for (const bson::Element& name : offered.document()) {
        if (!name.isString()) {
            return badValue("'compression' must be an array of names");
        }
        theirs.emplace_back(name.stringValue());
    }
    const std::vector<std::string> common =
        wire::commonCompressors(call.services.facts.compressors, theirs);
    if (!common.empty()) {
        auto list = call.reply.array("compression");
        for (const std::string& name : common) {
            list.push(name);
        }
    }
    return Status::ok();
}

sync::Task<Status> runHello(Invocation& call) {
    StatusOr<int64_t> awaitMs = awaitTime(call);
    FRESHET_CO_RETURN_IF_ERROR(awaitMs.status());
    if (const bson::Element client = call.body().find("client"); client.isObject()) {
        FRESHET_CO_RETURN_IF_ERROR(call.connection.setMetadata(client.document()));
    }
    if (*awaitMs > 0) {
        Status waited = co_await awaitChange(call, static_cast<uint64_t>(*awaitMs));
        FRESHET_CO_RETURN_IF_ERROR(std::move(waited));
    }
    const bool isLegacy = call.body().begin()->name() != "hello";
    bson::Builder& reply = call.reply;
    if (call.body().find("helloOk").isTruthy()) {
        reply.add("helloOk", true);
    }
    reply.add(isLegacy ? "ismaster" : "isWritablePrimary", call.services.member.isPrimary());
    if (isReplicaSet(call.services)) {
        addMember(call, &reply);
    }
    addTopologyVersion(call.services, &reply);
    reply.add("maxBsonObjectSize", static_cast<int32_t>(bson::kDocumentBytesMax));
    reply.add("maxMessageSizeBytes", static_cast<int32_t>(wire::kMessageBytesMax));
    reply.add("maxWriteBatchSize", static_cast<int32_t>(kWriteBatchMax));
    reply.add("localTime", bson::Date{platform::wallMillis()});
    reply.add("logicalSessionTimeoutMinutes", call.services.sessionTimeoutMinutes());
    reply.add("connectionId", static_cast<int32_t>(call.client.connectionId));
    reply.add("minWireVersion", int32_t{0}).add("maxWireVersion", kMaxWireVersion);
    reply.add("readOnly", false);
    FRESHET_CO_RETURN_IF_ERROR(addCompression(call));
    Status loggedIn = co_await addLoginFields(call);
    FRESHET_CO_RETURN_IF_ERROR(std::move(loggedIn));
    call.isExhaust = call.request.exhaustAllowed() && call.body().has("topologyVersion");
    co_return Status::ok();
}

}  // namespace

CommandTable helloCommands() {
    return {{
        .name = "hello",
        .aliases = {"isMaster", "ismaster"},
        .help = "what this server is and can do",
        .fields = {},
        .handler = runHello,
        .access = Access::anybody(),
        .acceptsUnknownFields = true,
        .readOnly = true,
        .inApiVersion1 = true,
    }};
}

}  // namespace freshet::command
