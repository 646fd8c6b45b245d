// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/requests.h"

#include "freshet/bson/json.h"
#include "freshet/platform/clock.h"
#include "freshet/wire/message.h"

namespace freshet::bench {
namespace {

/// Stands for the _id until its offset in the message is known.
constexpr int64_t kSentinel = 0x5eed1d5eed1d5eed;

constexpr int64_t kNumberSentinel = kSentinel + 1;
constexpr int64_t kSessionSentinel = kSentinel + 2;
constexpr uint8_t kUuidSubtype = 4;

size_t offsetOf(const std::string& message, int64_t sentinel) {
    std::string bytes;
    appendLe(bytes, sentinel);
    const size_t at = message.find(bytes);
    invariant(at != std::string::npos);
    return at;
}

RequestTemplate withId(std::string message, Ids ids) {
    RequestTemplate out;
    out.idAt = offsetOf(message, kSentinel);
    out.bytes = std::move(message);
    out.ids = ids;
    return out;
}

/// The reply's body if it contains ok: 1.
StatusOr<bson::Document> okBody(ByteView message) {
    FRESHET_ASSIGN_OR_RETURN(wire::Request reply, wire::parseReply(message));
    if (!reply.body.find("ok").isTruthy()) {
        return Status(Code::kIo, "The server answered " + bson::toJson(reply.body));
    }
    return reply.body;
}

Status checkFound(ByteView message) {
    FRESHET_ASSIGN_OR_RETURN(bson::Document body, okBody(message));
    const bson::Element batch = body.findPath("cursor.firstBatch");
    const bool isOne = batch.isArray() && batch.document().fieldCount() == 1;
    return isOne ? Status::ok() : Status(Code::kNotFound, "A get found no document");
}

Status checkInserted(ByteView message) {
    FRESHET_ASSIGN_OR_RETURN(bson::Document body, okBody(message));
    const bool isOne =
        body.find("n").toInt64() == 1 && !body.has("writeErrors") && !body.has("writeConcernError");
    return isOne ? Status::ok() : Status(Code::kIo, "A put was not done: " + bson::toJson(body));
}

RequestTemplate insertRequest(size_t valueBytes,
                              bool durable,
                              uint64_t idBase,
                              bson::Document fields) {
    bson::Builder command;
    command.add("insert", kPutCollection).add("ordered", true);
    command.object("writeConcern").add("w", int32_t{1}).add("j", durable);
    command.addFields(fields).add("$db", kDatabase);
    const std::string body = command.finish();
    bson::Builder document;
    document.add("_id", kSentinel).add("value", valueOf(valueBytes));
    const std::string bytes = document.finish();
    std::string message;
    wire::appendOpMsg(
        &message, 1, 0, 0, bson::Document(body), {{"documents", {bson::Document(bytes)}}});
    RequestTemplate out = withId(std::move(message), Ids::kUnique);
    out.idBase = idBase;
    out.checkReply = checkInserted;
    return out;
}

}  // namespace

std::string valueOf(size_t bytes) {
    std::string out(bytes, ' ');
    uint64_t random = 0x9e3779b97f4a7c15u;
    for (char& letter : out) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        letter = static_cast<char>('a' + (random >> 59) % 26);
    }
    return out;
}

RequestTemplate getRequest(uint64_t records) {
    bson::Builder command;
    command.add("find", kGetCollection);
    command.object("filter").add("_id", kSentinel);
    command.add("limit", int32_t{1}).add("singleBatch", true).add("$db", kDatabase);
    const std::string body = command.finish();
    std::string message;
    wire::appendOpMsg(&message, 1, 0, 0, bson::Document(body));
    RequestTemplate out = withId(std::move(message), Ids::kRandom);
    out.idRange = records;
    out.checkReply = checkFound;
    return out;
}

RequestTemplate pingRequest() {
    const std::string body = bson::Builder().add("ping", int32_t{1}).add("$db", "admin").finish();
    RequestTemplate out;
    wire::appendOpMsg(&out.bytes, 1, 0, 0, bson::Document(body));
    out.checkReply = [](ByteView reply) { return okBody(reply).status(); };
    return out;
}

RequestTemplate putRequest(size_t valueBytes, bool durable, uint64_t idBase) {
    return insertRequest(valueBytes, durable, idBase, {});
}

RequestTemplate retryableRequest(size_t valueBytes, bool durable, uint64_t idBase) {
    std::string session;
    appendLe(session, kSessionSentinel);
    appendLe(session, static_cast<int64_t>(platform::wallMillis()));  // none of an earlier run
    bson::Builder fields;
    fields.object("lsid").add("id", bson::Binary{kUuidSubtype, session});
    fields.add("txnNumber", kNumberSentinel);
    const std::string bytes = fields.finish();
    RequestTemplate out = insertRequest(valueBytes, durable, idBase, bson::Document(bytes.data()));
    out.numberAt = offsetOf(out.bytes, kNumberSentinel);
    out.sessionAt = offsetOf(out.bytes, kSessionSentinel);
    return out;
}

RequestTemplate echoRequest(size_t requestBytes) {
    RequestTemplate out;
    out.bytes.assign(std::max<size_t>(requestBytes, wire::kHeaderBytes), 'e');
    wire::storeHeader(
        out.bytes.data(),
        {static_cast<int32_t>(out.bytes.size()), 1, 0, static_cast<int32_t>(wire::OpCode::kMsg)});
    out.checkReply = [](ByteView) { return Status::ok(); };
    return out;
}

std::string preloadCommand(uint64_t from, uint64_t to, size_t valueBytes) {
    const std::string value = valueOf(valueBytes);
    bson::Builder command;
    command.add("insert", kGetCollection);
    {
        bson::Builder documents = command.array("documents");
        for (uint64_t id = from; id < to; ++id) {
            bson::Builder document = documents.object(documents.nextIndex());
            document.add("_id", static_cast<int64_t>(id)).add("value", value);
        }
    }
    command.object("writeConcern").add("w", int32_t{1});
    return command.finish();
}

}  // namespace freshet::bench
