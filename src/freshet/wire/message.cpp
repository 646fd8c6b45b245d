// SPDX-License-Identifier: Apache-2.0
#include "freshet/wire/message.h"

#include "freshet/base/checksum.h"
#include "freshet/base/spare_strings.h"
#include "freshet/bson/body.h"

namespace freshet::wire {
namespace {

constexpr uint32_t kFlagsKnown = kFlagChecksumPresent | kFlagMoreToCome;
constexpr uint32_t kFlagsRequired = 0xffff;  // an unknown one of these must not be ignored
constexpr size_t kChecksumBytes = 4;
constexpr size_t kReplyFixedBytes = 20;  // flags, cursor id, starting from, number returned

/// Takes pieces off the front of a message. INV-wire-2: everything it hands out lies in the
/// message.
class Reader {
public:
    explicit Reader(ByteView bytes) : left_(bytes) {}
    ByteView left() const { return left_; }
    bool isEmpty() const { return left_.empty(); }

    template <typename T>
    StatusOr<T> number(const char* what) {
        if (left_.size() < sizeof(T)) {
            return malformed(std::string("The message ends in its ") + what);
        }
        T value = loadLe<T>(left_.data());
        left_.remove_prefix(sizeof(T));
        return value;
    }

    StatusOr<std::string_view> cstring(const char* what) {
        const size_t zero = left_.find('\0');
        if (zero == ByteView::npos) {
            return malformed(std::string("The message ends in its ") + what);
        }
        std::string_view text = left_.substr(0, zero);
        left_.remove_prefix(zero + 1);
        return text;
    }

    StatusOr<bson::Document> document() { return taken(bson::Document::parsePrefix(left_)); }
    StatusOr<bson::Document> body(int nestingMax) {
        return taken(bson::parseBodyPrefix(left_, nestingMax));
    }

    /// REQUIRES: bytes <= left().size().
    Reader take(size_t bytes) {
        Reader part(left_.substr(0, bytes));
        left_.remove_prefix(bytes);
        return part;
    }

private:
    StatusOr<bson::Document> taken(StatusOr<bson::Document> parsed) {
        FRESHET_ASSIGN_OR_RETURN(bson::Document found, std::move(parsed));
        if (found.size() > bson::kInternalDocumentBytesMax) {
            return invalid(Reason::kBsonObjectTooLarge,
                           "A document of " + std::to_string(found.size()) +
                               " bytes is larger than the maximum of " +
                               std::to_string(bson::kInternalDocumentBytesMax));
        }
        left_.remove_prefix(found.size());
        return found;
    }

    ByteView left_;
};

StatusOr<Header> parseWholeHeader(ByteView message) {
    if (message.size() < kHeaderBytes) {
        return malformed("The message is shorter than its header");
    }
    FRESHET_ASSIGN_OR_RETURN(Header header, parseHeader(message));
    if (static_cast<size_t>(header.messageBytes) != message.size()) {
        return malformed("The message's length is not the one in its header");
    }
    return header;
}

Status parseSequence(Reader* reader, Request* out) {
    const size_t leftBefore = reader->left().size();
    FRESHET_ASSIGN_OR_RETURN(int32_t bytes, reader->number<int32_t>("document sequence"));
    if (bytes < 5 || static_cast<size_t>(bytes) > leftBefore) {
        return malformed("A document sequence's length is wrong");
    }
    if (out->sequences.size() == kSequencesMax) {
        return malformed("The message has too many document sequences");
    }
    Reader part = reader->take(static_cast<size_t>(bytes) - sizeof(int32_t));
    Sequence sequence;
    FRESHET_ASSIGN_OR_RETURN(sequence.name, part.cstring("document sequence's name"));
    for (const Sequence& other : out->sequences) {
        if (other.name == sequence.name) {
            return malformed("Two document sequences are named '" + std::string(sequence.name) +
                             "'");
        }
    }
    while (!part.isEmpty()) {
        FRESHET_ASSIGN_OR_RETURN(bson::Document document, part.document());
        sequence.documents.push_back(document);
    }
    out->sequences.push_back(std::move(sequence));
    return Status::ok();
}

Status parseSections(Reader* reader, int nestingMax, Request* out) {
    bool hasBody = false;
    while (!reader->isEmpty()) {
        FRESHET_ASSIGN_OR_RETURN(uint8_t kind, reader->number<uint8_t>("section"));
        if (kind == 1) {
            FRESHET_RETURN_IF_ERROR(parseSequence(reader, out));
        } else if (kind == 0 && !hasBody) {
            FRESHET_ASSIGN_OR_RETURN(out->body, reader->body(nestingMax));
            hasBody = true;
        } else if (kind == 0) {
            return malformed("The message has two body sections");
        } else {
            return malformed("Unknown section kind " + std::to_string(kind));
        }
    }
    if (!hasBody) {
        return malformed("The message has no body section");
    }
    for (const Sequence& sequence : out->sequences) {
        if (out->body.has(sequence.name)) {
            return malformed("'" + std::string(sequence.name) +
                             "' is both in the body and a document sequence");
        }
    }
    return Status::ok();
}

/// Verifies the checksum and takes it off the message's end.
Status checkChecksum(ByteView message, Reader* reader) {
    if (reader->left().size() < kChecksumBytes) {
        return malformed("The message ends in its checksum");
    }
    const size_t covered = message.size() - kChecksumBytes;
    if (loadLe<uint32_t>(message.data() + covered) != crc32c(message.data(), covered)) {
        return malformed("The message's checksum does not match its content");
    }
    *reader = reader->take(reader->left().size() - kChecksumBytes);
    return Status::ok();
}

Status parseOpMsg(ByteView message, int nestingMax, Request* out) {
    Reader reader(message.substr(kHeaderBytes));
    FRESHET_ASSIGN_OR_RETURN(out->flags, reader.number<uint32_t>("flags"));
    // Before the sections: an unknown flag may change what they mean.
    if ((out->flags & kFlagsRequired & ~kFlagsKnown) != 0) {
        return invalid(Reason::kIllegalOperation,
                       "Message contains unknown required flags: " + std::to_string(out->flags));
    }
    if ((out->flags & kFlagChecksumPresent) != 0) {
        FRESHET_RETURN_IF_ERROR(checkChecksum(message, &reader));
    }
    return parseSections(&reader, nestingMax, out);
}

Status parseOpQuery(ByteView message, Request* out) {
    Reader reader(message.substr(kHeaderBytes));
    FRESHET_RETURN_IF_ERROR(reader.number<uint32_t>("flags").status());
    FRESHET_ASSIGN_OR_RETURN(out->ns, reader.cstring("namespace"));
    FRESHET_RETURN_IF_ERROR(reader.number<int32_t>("skip").status());
    FRESHET_RETURN_IF_ERROR(reader.number<int32_t>("number to return").status());
    FRESHET_ASSIGN_OR_RETURN(out->body, reader.body(bson::kRequestNestingMax));
    if (!reader.isEmpty()) {  // a projection, which no command uses
        FRESHET_RETURN_IF_ERROR(reader.document().status());
    }
    return reader.isEmpty() ? Status::ok() : malformed("Bytes follow the query");
}

Status parseOpReply(ByteView message, Request* out) {
    Reader reader(message.substr(kHeaderBytes));
    if (reader.left().size() < kReplyFixedBytes) {
        return malformed("The reply ends in its fixed part");
    }
    Reader fixed = reader.take(kReplyFixedBytes);
    if (loadLe<int32_t>(fixed.left().data() + 16) != 1) {
        return malformed("A command's reply must be one document");
    }
    FRESHET_ASSIGN_OR_RETURN(out->body, reader.body(bson::kReplyNestingMax));
    return reader.isEmpty() ? Status::ok() : malformed("Bytes follow the reply");
}

/// OP_MSG, or the one legacy form that is valid in this direction.
StatusOr<Request> parseMessage(ByteView message,
                               OpCode legacy,
                               Status (*parseLegacy)(ByteView, Request*)) {
    Request out;
    FRESHET_ASSIGN_OR_RETURN(out.header, parseWholeHeader(message));
    out.op = static_cast<OpCode>(out.header.opCode);
    if (out.op != OpCode::kMsg && out.op != legacy) {
        return Status(Code::kUnsupported,
                      "Unsupported op code " + std::to_string(out.header.opCode));
    }
    const int nestingMax =
        legacy == OpCode::kReply ? bson::kReplyNestingMax : bson::kRequestNestingMax;
    FRESHET_RETURN_IF_ERROR(out.op == OpCode::kMsg ? parseOpMsg(message, nestingMax, &out)
                                                   : parseLegacy(message, &out));
    return out;
}

/// Starts a message at the end of `out`; finishMessage sets its length.
size_t startMessage(std::string* out, int32_t requestId, int32_t responseTo, OpCode op) {
    const size_t start = out->size();
    out->resize(start + kHeaderBytes);
    storeHeader(out->data() + start, {0, requestId, responseTo, static_cast<int32_t>(op)});
    return start;
}

void finishMessage(std::string* out, size_t start, size_t bytesToCome = 0) {
    const size_t bytes = out->size() - start + bytesToCome;
    invariant(bytes <= static_cast<size_t>(INT32_MAX));
    storeLe(out->data() + start, static_cast<int32_t>(bytes));
}

void finishOpMsg(std::string* out, size_t start, uint32_t flags) {
    if ((flags & kFlagChecksumPresent) == 0) {
        finishMessage(out, start);
        return;
    }
    finishMessage(out, start, kChecksumBytes);  // the checksum covers the final length
    appendLe(*out, crc32c(out->data() + start, out->size() - start));
}

}  // namespace

StatusOr<Request> parseRequest(ByteView message) {
    return parseMessage(message, OpCode::kQuery, parseOpQuery);
}

StatusOr<Request> parseReply(ByteView message) {
    return parseMessage(message, OpCode::kReply, parseOpReply);
}

std::string openOpMsg() {
    constexpr size_t kSmallReplyBytes = 256;
    std::string message = takeSpareString();
    message.reserve(kSmallReplyBytes);
    message.resize(kOpMsgBodyAt);
    return message;
}

void sealOpMsg(std::string* message,
               int32_t requestId,
               int32_t responseTo,
               uint32_t flags,
               size_t bytesLeftOut) {
    storeHeader(message->data(), {0, requestId, responseTo, static_cast<int32_t>(OpCode::kMsg)});
    storeLe(message->data() + kHeaderBytes, flags);
    if (bytesLeftOut > 0) {
        invariant((flags & kFlagChecksumPresent) == 0);
        finishMessage(message, 0, bytesLeftOut);
    } else {
        finishOpMsg(message, 0, flags);
    }
}

void appendOpMsg(
    std::string* out, int32_t requestId, int32_t responseTo, uint32_t flags, bson::Document body) {
    appendOpMsg(out, requestId, responseTo, flags, body, {});
}

void appendOpMsg(std::string* out,
                 int32_t requestId,
                 int32_t responseTo,
                 uint32_t flags,
                 bson::Document body,
                 const std::vector<Sequence>& sequences) {
    const size_t start = startMessage(out, requestId, responseTo, OpCode::kMsg);
    appendLe(*out, flags);
    out->push_back(0);
    out->append(body.bytes());
    for (const Sequence& sequence : sequences) {
        out->push_back(1);
        const size_t sectionStart = out->size();
        appendLe(*out, int32_t{0});
        out->append(sequence.name);
        out->push_back(0);
        for (const bson::Document& document : sequence.documents) {
            out->append(document.bytes());
        }
        storeLe(out->data() + sectionStart, static_cast<int32_t>(out->size() - sectionStart));
    }
    finishOpMsg(out, start, flags);
}

void appendOpReply(std::string* out, int32_t requestId, int32_t responseTo, bson::Document body) {
    constexpr uint32_t kAwaitCapable = 8;  // always set by servers of our wire version
    const size_t start = startMessage(out, requestId, responseTo, OpCode::kReply);
    appendLe(*out, kAwaitCapable);
    appendLe(*out, int64_t{0});
    appendLe(*out, int32_t{0});
    appendLe(*out, int32_t{1});
    out->append(body.bytes());
    finishMessage(out, start);
}

}  // namespace freshet::wire
