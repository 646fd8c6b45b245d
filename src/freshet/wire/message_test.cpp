// SPDX-License-Identifier: Apache-2.0
/// What a driver can send us and what it gets: round trips, every refusal, and seeded damage.
#include "freshet/wire/message.h"

#include "freshet/base/checksum.h"
#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <random>

namespace freshet::wire {
namespace {

std::string document(std::string_view name, int32_t value) {
    bson::Builder builder;
    builder.add(name, value);
    return builder.finish();
}

bson::Document view(const std::string& bytes) {
    return bson::Document(bytes.data());
}

/// An OP_MSG around hand-made sections.
std::string opMsg(uint32_t flags, const std::string& sections) {
    std::string out(kHeaderBytes, '\0');
    appendLe(out, flags);
    out += sections;
    storeHeader(out.data(), {static_cast<int32_t>(out.size()), 7, 0, 2013});
    return out;
}

std::string bodySection(const std::string& doc) {
    return std::string(1, '\0') + doc;
}

std::string sequenceSection(const std::string& name, const std::vector<std::string>& docs) {
    std::string content = name + std::string(1, '\0');
    for (const std::string& doc : docs) {
        content += doc;
    }
    std::string out(1, '\1');
    appendLe(out, static_cast<int32_t>(content.size() + 4));
    return out + content;
}

Reason reasonOf(const std::string& message) {
    StatusOr<Request> parsed = parseRequest(message);
    return parsed.isOk() ? Reason::kNone : parsed.status().reason();
}

TEST(Frame, HeaderLengthIsCheckedAtBothEnds) {
    char bytes[kHeaderBytes];
    for (int32_t good : {16, 17, 48'000'000}) {
        storeHeader(bytes, {good, 1, 2, 2013});
        StatusOr<Header> header = parseHeader({bytes, kHeaderBytes});
        ASSERT_TRUE(header.isOk());
        EXPECT_EQ(header->messageBytes, good);
        EXPECT_EQ(header->requestId, 1);
        EXPECT_EQ(header->responseTo, 2);
        EXPECT_EQ(header->opCode, 2013);
    }
    for (int32_t bad : {0, 15, -1, INT32_MIN, 48'000'001, INT32_MAX}) {
        storeHeader(bytes, {bad, 1, 2, 2013});
        StatusOr<Header> header = parseHeader({bytes, kHeaderBytes});
        ASSERT_FALSE(header.isOk()) << bad;
        EXPECT_EQ(header.status().reason(), Reason::kProtocolError);
    }
}

TEST(OpMsg, RoundTripWithSequences) {
    std::string body = document("insert", 1), one = document("a", 1), two = document("b", 2);
    std::string out = "prefix";
    appendOpMsg(&out,
                42,
                9,
                kFlagMoreToCome | kFlagExhaustAllowed,
                view(body),
                {{"documents", {view(one), view(two)}}, {"empty", {}}});
    StatusOr<Request> parsed = parseRequest(ByteView(out).substr(6));
    ASSERT_TRUE(parsed.isOk()) << parsed.status().toString();
    EXPECT_EQ(parsed->header.requestId, 42);
    EXPECT_EQ(parsed->header.responseTo, 9);
    EXPECT_EQ(parsed->op, OpCode::kMsg);
    EXPECT_TRUE(parsed->moreToCome());
    EXPECT_TRUE(parsed->exhaustAllowed());
    EXPECT_EQ(parsed->body.bytes(), body);
    ASSERT_EQ(parsed->sequences.size(), 2u);
    EXPECT_EQ(parsed->sequences[0].name, "documents");
    ASSERT_EQ(parsed->sequences[0].documents.size(), 2u);
    EXPECT_EQ(parsed->sequences[0].documents[1].bytes(), two);
    EXPECT_TRUE(parsed->sequences[1].documents.empty());
}

TEST(OpMsg, BodyMayComeAfterSequences) {
    std::string sections = sequenceSection("documents", {document("a", 1)}) +
                           bodySection(document("insert", 1)) +
                           sequenceSection("others", {document("c", 3)});
    std::string message = opMsg(0, sections);
    StatusOr<Request> parsed = parseRequest(message);
    ASSERT_TRUE(parsed.isOk()) << parsed.status().toString();
    EXPECT_TRUE(parsed->body.has("insert"));
    EXPECT_EQ(parsed->sequences.size(), 2u);
}

TEST(OpMsg, ChecksumIsComputedAndVerified) {
    std::string body = document("ping", 1);
    std::string message;
    appendOpMsg(&message, 1, 0, kFlagChecksumPresent, view(body));
    EXPECT_TRUE(parseRequest(message).isOk());
    EXPECT_EQ(loadLe<uint32_t>(message.data() + message.size() - 4),
              crc32c(message.data(), message.size() - 4));
    for (size_t i = 4; i < message.size(); ++i) {
        std::string damaged = message;
        damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
        EXPECT_FALSE(parseRequest(damaged).isOk()) << "byte " << i;
    }
}

TEST(OpMsg, BuildingInPlaceGivesTheSameMessage) {
    for (uint32_t flags : {0u, kFlagMoreToCome, kFlagChecksumPresent}) {
        std::string appended;
        appendOpMsg(&appended, 7, 5, flags, view(document("ping", 1)));
        std::string made = openOpMsg();
        {
            bson::Builder body(&made);
            body.add("ping", 1);
        }
        sealOpMsg(&made, 7, 5, flags);
        EXPECT_EQ(made, appended) << flags;
    }
}

TEST(OpMsg, WrongStructureIsAProtocolError) {
    std::string body = bodySection(document("ping", 1));
    EXPECT_EQ(reasonOf(opMsg(0, "")), Reason::kProtocolError);
    EXPECT_EQ(reasonOf(opMsg(0, body + body)), Reason::kProtocolError);
    EXPECT_EQ(reasonOf(opMsg(0, sequenceSection("a", {}))), Reason::kProtocolError);
    EXPECT_EQ(reasonOf(opMsg(0, body + sequenceSection("a", {}) + sequenceSection("a", {}))),
              Reason::kProtocolError);
    EXPECT_EQ(reasonOf(opMsg(0, body + sequenceSection("ping", {}))), Reason::kProtocolError);
    EXPECT_EQ(reasonOf(opMsg(0, body + "\x02")), Reason::kProtocolError);
    EXPECT_EQ(reasonOf(opMsg(kFlagChecksumPresent, "")), Reason::kProtocolError);
    std::string many = body;
    for (size_t i = 0; i <= kSequencesMax; ++i) {
        many += sequenceSection("s" + std::to_string(i), {});
    }
    EXPECT_EQ(reasonOf(opMsg(0, many)), Reason::kProtocolError);
    EXPECT_EQ(reasonOf(""), Reason::kProtocolError);
    EXPECT_EQ(reasonOf(opMsg(0, body) + "x"), Reason::kProtocolError);
}

TEST(OpMsg, SequenceLengthsAreChecked) {
    std::string body = bodySection(document("ping", 1));
    for (int32_t lie : {0, 4, -1, 6, 1000, INT32_MAX}) {
        std::string sequence = sequenceSection("a", {document("x", 1)});
        storeLe(sequence.data() + 1, lie);
        EXPECT_NE(reasonOf(opMsg(0, body + sequence)), Reason::kNone) << lie;
    }
}

TEST(OpMsg, DamagedDocumentsAreInvalidBson) {
    std::string doc = document("ping", 1);
    storeLe(doc.data(), int32_t{500});
    EXPECT_EQ(reasonOf(opMsg(0, bodySection(doc))), Reason::kInvalidBson);
    EXPECT_EQ(reasonOf(opMsg(0, bodySection(document("a", 1)) + sequenceSection("docs", {doc}))),
              Reason::kInvalidBson);
}

TEST(OpMsg, FlagBitsBelow16AreRequiredToBeKnown) {
    std::string body = bodySection(document("ping", 1));
    for (int bit = 2; bit < 32; ++bit) {
        EXPECT_EQ(reasonOf(opMsg(1u << bit, body)),
                  bit < 16 ? Reason::kIllegalOperation : Reason::kNone)
            << bit;
    }
}

TEST(OpMsg, DocumentsOverTheInternalLimitAreTooLarge) {
    bson::Builder builder;
    builder.add("x", std::string(bson::kInternalDocumentBytesMax, 'x'));
    EXPECT_EQ(reasonOf(opMsg(0, bodySection(builder.finish()))), Reason::kBsonObjectTooLarge);
}

std::string opQuery(const std::string& ns, const std::string& tail) {
    std::string out(kHeaderBytes + 4, '\0');
    out += ns;
    out.push_back('\0');
    appendLe(out, int32_t{0});
    appendLe(out, int32_t{-1});
    out += tail;
    storeHeader(out.data(), {static_cast<int32_t>(out.size()), 3, 0, 2004});
    return out;
}

TEST(Legacy, HelloAndItsReply) {
    std::string message = opQuery("admin.$cmd", document("isMaster", 1));
    StatusOr<Request> parsed = parseRequest(message);
    ASSERT_TRUE(parsed.isOk()) << parsed.status().toString();
    EXPECT_EQ(parsed->op, OpCode::kQuery);
    EXPECT_EQ(parsed->ns, "admin.$cmd");
    EXPECT_EQ(parsed->flags, 0u);
    EXPECT_TRUE(parsed->body.has("isMaster"));
    EXPECT_FALSE(parsed->moreToCome());

    std::string body = document("ok", 1), out;
    appendOpReply(&out, 5, 3, view(body));
    StatusOr<Request> reply = parseReply(out);
    ASSERT_TRUE(reply.isOk()) << reply.status().toString();
    EXPECT_EQ(reply->op, OpCode::kReply);
    EXPECT_EQ(reply->header.responseTo, 3);
    EXPECT_EQ(reply->body.bytes(), body);
}

TEST(Legacy, RefusesBadForms) {
    std::string doc = document("isMaster", 1);
    EXPECT_EQ(reasonOf(opQuery("admin.$cmd", "")), Reason::kInvalidBson);
    EXPECT_EQ(reasonOf(opQuery("admin.$cmd", doc + doc)), Reason::kNone);  // a projection
    EXPECT_EQ(reasonOf(opQuery("admin.$cmd", doc + doc + doc)), Reason::kProtocolError);
    std::string out;
    appendOpReply(&out, 5, 3, view(doc));
    storeLe(out.data() + kHeaderBytes + 16, int32_t{2});
    EXPECT_FALSE(parseReply(out).isOk());
}

TEST(OpCodes, OthersAreUnsupportedInEachDirection) {
    std::string message = opMsg(0, bodySection(document("ping", 1)));
    for (int32_t op : {0, 1, 2001, 2002, 2005, 2006, 2007, 2012, 99}) {
        storeLe(message.data() + 12, op);
        EXPECT_EQ(parseRequest(message).status().code(), Code::kUnsupported) << op;
    }
    storeLe(message.data() + 12, int32_t{2004});
    EXPECT_EQ(parseReply(message).status().code(), Code::kUnsupported);
}

/// Touches everything that a parsed message hands out; the sanitizers detect bytes outside the
/// message.
size_t walk(const StatusOr<Request>& parsed) {
    if (!parsed.isOk()) {
        return 0;
    }
    size_t sum = parsed->body.bytes().size() + parsed->ns.size();
    for (const bson::Element& element : parsed->body) {
        sum += element.name().size() + element.value().size();
    }
    for (const Sequence& sequence : parsed->sequences) {
        sum += sequence.name.size();
        for (const bson::Document& doc : sequence.documents) {
            sum += static_cast<size_t>(doc.fieldCount());
        }
    }
    return sum;
}

TEST(Damage, NoMutationCrashesTheParsers) {
    const uint64_t from = freshet::testing::testSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(from));
    std::mt19937_64 random(from);
    std::string body = document("insert", 1), one = document("a", 1), reply;
    appendOpReply(&reply, 5, 3, view(body));
    std::string full;
    appendOpMsg(&full, 1, 0, 0, view(body), {{"documents", {view(one), view(one)}}});
    const std::vector<std::string> originals = {full, reply, opQuery("admin.$cmd", body)};
    size_t accepted = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes = originals[random() % originals.size()];
        for (uint64_t changes = random() % 4; changes > 0; --changes) {
            bytes[random() % bytes.size()] = static_cast<char>(random());
        }
        if (random() % 4 == 0) {
            bytes.resize(random() % bytes.size());
        }
        if (bytes.size() >= 4 && random() % 4 != 0) {
            storeLe(bytes.data(), static_cast<int32_t>(bytes.size()));
        }
        // A heap block of the exact size, so that a read past the end is detected.
        std::vector<char> exact(bytes.begin(), bytes.end());
        ByteView damaged(exact.data(), exact.size());
        accepted += (walk(parseRequest(damaged)) > 0) + (walk(parseReply(damaged)) > 0);
    }
    EXPECT_GT(accepted, 100u) << "the damage must not be so heavy that nothing is parsed";
}

}  // namespace
}  // namespace freshet::wire
