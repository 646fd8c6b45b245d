// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/crud/prepared_find.h"

#include "freshet/command/access/replica_set_member.h"
#include "freshet/command/crud/find.h"
#include "freshet/command/retry/session_documents.h"

#include <algorithm>

namespace freshet::command {
namespace {

/// Finds of one document are short. Longer messages are not worth a copy.
constexpr size_t kMessageBytesMax = 1024;
/// The offset of the request id in a header.
constexpr size_t kRequestIdAt = 4;
/// The offset of the session's id in the result of sessionName().
constexpr size_t kIdInSessionName = 13;
/// The name and type of the only document in an array.
constexpr std::string_view kFirstInArray(
    "\3"
    "0\0",
    3);

/// Whether an OP_MSG's body begins like a find, at a quick look.
bool looksLikeFind(ByteView message) {
    constexpr std::string_view kStart("\2find\0", 6);
    return message.size() <= kMessageBytesMax &&
           message.size() > wire::kOpMsgBodyAt + 4 + kStart.size() &&
           message.substr(wire::kOpMsgBodyAt + 4, kStart.size()) == kStart;
}

/// {filter: {_id: value}, ...} without any option that changes what is read or how.
bool isPointRead(const BodyIndex& body) {
    constexpr uint64_t kOthers = nameBits({"sort",
                                           "projection",
                                           "hint",
                                           "min",
                                           "max",
                                           "skip",
                                           "let",
                                           "returnKey",
                                           "showRecordId",
                                           "tailable",
                                           "awaitData",
                                           "collation",
                                           "readConcern",
                                           "maxTimeMS"});
    constexpr uint64_t kUsual = nameBits({"find",
                                          "filter",
                                          "limit",
                                          "singleBatch",
                                          "batchSize",
                                          "$db",
                                          "lsid",
                                          "$readPreference",
                                          "comment",
                                          "$clusterTime",
                                          "apiVersion"});
    static_assert((kOthers & kUsual) == 0, "what drivers send all the time looks like an option");
    if (body.mayHaveAnyOf(kOthers)) {
        return false;
    }
    const bson::Element filter = body.find("filter");
    if (!filter.isObject() || filter.document().isEmpty()) {
        return false;
    }
    const bson::Element id = *filter.document().begin();
    return id.name() == "_id" && query::PointReader::isPlain(id) &&
           id.whole().size() + bson::Document().size() == filter.document().size();
}

/// The bytes of a value that may be replaced by any others of that length; none: the value is not
/// of such a type.
ByteView freeBytesOf(const bson::Element& id) {
    constexpr uint8_t kOldBinary = 2;  // has a length inside
    switch (id.type()) {
        case bson::Type::kString:
            return id.stringValue();
        case bson::Type::kBinary:
            return id.binaryValue().subtype == kOldBinary ? ByteView() : id.binaryValue().bytes;
        case bson::Type::kBool:
            return {};
        default:
            return id.value();
    }
}

}  // namespace

PreparedFind::Hole PreparedFind::holeOf(ByteView bytes) const {
    return {static_cast<size_t>(bytes.data() - message_.data()), bytes.size()};
}

bool PreparedFind::findHoles() {
    const ByteView id = freeBytesOf(id_);
    if (id.empty()) {
        return false;
    }
    session_ = {};
    if (!generic_.lsid.empty()) {
        const bson::Element session = index_->find("lsid").document().find("id");
        session_ = holeOf(session.binaryValue().bytes);
    }
    holes_ = {Hole{kRequestIdAt, sizeof(int32_t)}, holeOf(id), session_};
    std::sort(
        holes_.begin(), holes_.end(), [](const Hole& a, const Hole& b) { return a.at < b.at; });
    return true;
}

bool PreparedFind::parse(ByteView message) {
    isPrepared_ = false;
    if (!looksLikeFind(message)) {
        return false;
    }
    message_ = message;
    StatusOr<wire::Request> request = wire::parseRequest(message_);
    const bool isPlain = request.isOk() && request->op == wire::OpCode::kMsg &&
                         request->flags == 0 && request->sequences.empty();
    if (!isPlain) {
        return false;
    }
    request_ = std::move(*request);
    index_.emplace(request_.body);
    return isPointRead(*index_);
}

bool PreparedFind::prepare(Services& services, GenericArguments generic, UserRef user) {
    StatusOr<FindCommand> find = parseFind(*index_);
    if (!find.isOk() || find->firstBatch.batchSize == 0 || generic.needsDurableRead ||
        generic.isInTransaction || generic.db == kSessionsDb) {  // see showRecords()
        return false;
    }
    const std::string_view name = request_.body.begin()->stringValue();
    catalog::CollectionRef collection = services.catalog.find(generic.db, name);
    if (collection == nullptr) {
        return false;
    }
    id_ = *index_->find("filter").document().begin();
    generic_ = std::move(generic);
    if (!findHoles()) {
        return false;
    }
    makeEmptyReply(services, collection->ns());
    reader_.emplace(services.store, std::move(collection));
    user_ = std::move(user);
    isPrepared_ = true;
    return true;
}

void PreparedFind::makeEmptyReply(const Services& services, const std::string& ns) {
    emptyReply_ = emptyFirstBatch(services, ns);
    const bson::Document body(emptyReply_.data());
    const bson::Document cursor = body.find("cursor").document();
    const bson::Document batch = cursor.find("firstBatch").document();
    const auto placeOf = [&](const bson::Document& document) {
        return static_cast<size_t>(document.data() - body.data());
    };
    lengthsAt_ = {0, placeOf(cursor), placeOf(batch)};
    documentAt_ = placeOf(batch) + batch.size() - 1;
    timesAt_ = {};
    if (isReplicaSet(services)) {
        const auto placeOfValue = [&](const bson::Element& element) {
            return static_cast<size_t>(element.value().data() - body.data());
        };
        timesAt_ = {placeOfValue(body.findPath("$clusterTime.clusterTime")),
                    placeOfValue(body.find("operationTime"))};
    }
}

void PreparedFind::renewTimes(const Services& services) {
    const uint64_t now = clusterTime(services).value;
    for (const size_t at : timesAt_) {
        storeLe(emptyReply_.data() + at, now);
    }
}

bool PreparedFind::takeAnother(ByteView message, const UserRef& user) {
    if (!isPrepared_ || message.size() != message_.size() || user != user_) {
        return false;
    }
    size_t at = 0;
    for (const Hole& hole : holes_) {
        if (std::memcmp(message.data() + at, message_.data() + at, hole.at - at) != 0) {
            return false;
        }
        at = hole.at + hole.bytes;
    }
    if (message.substr(at) != ByteView(message_).substr(at)) {
        return false;
    }
    for (const Hole& hole : holes_) {
        std::memcpy(message_.data() + hole.at, message.data() + hole.at, hole.bytes);
    }
    request_.header.requestId = loadLe<int32_t>(message_.data() + kRequestIdAt);
    if (session_.bytes > 0) {
        std::memcpy(
            generic_.lsid.data() + kIdInSessionName, message_.data() + session_.at, session_.bytes);
    }
    return true;
}

bool PreparedFind::answer(Invocation& call) {
    call.reply.close();
    std::string& message = call.message;
    message.resize(wire::kOpMsgBodyAt);
    message.append(emptyReply_, 0, documentAt_).append(kFirstInArray);
    const size_t documentAt = message.size();
    engine::ValueShare large;
    const Status status = reader_->read(id_, &message, &large);
    const bool isFound = status.isOk();
    if (!isFound && status.code() != Code::kNotFound) {
        isPrepared_ = false;
        return false;
    }
    // After the read: the time is not below that of anything it saw.
    if (timesAt_[0] != 0) {
        renewTimes(call.services);
    }
    if (!large.isEmpty()) {
        call.borrowed = std::make_unique<query::BorrowedDocuments>();
        call.borrowed->add(documentAt, std::move(large));
    }
    if (isFound) {
        const size_t bytes =
            message.size() - documentAt + kFirstInArray.size() + call.borrowedBytes();
        for (const size_t at : lengthsAt_) {
            char* length = message.data() + wire::kOpMsgBodyAt + at;
            storeLe(length, static_cast<uint32_t>(loadLe<uint32_t>(length) + bytes));
        }
        message.append(emptyReply_, documentAt_);
    } else {
        message.resize(wire::kOpMsgBodyAt);
        message.append(emptyReply_);
    }
    call.stats.nReturned = isFound ? 1 : 0;
    call.stats.work = reader_->work(isFound);
    return true;
}

}  // namespace freshet::command
