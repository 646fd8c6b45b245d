// SPDX-License-Identifier: Apache-2.0
/// Replies whose large documents are left out of the message: together with them they are, byte for
/// byte, the replies that a client which asks for one piece gets.
#include "freshet/command/run/fixture_test.h"
#include "freshet/wire/compress.h"

#include <gtest/gtest.h>

namespace freshet::command {
namespace {

constexpr size_t kLargeBytes = 17 * 1024;
/// The bytes that a reply has for a document that is left out, and around its batch.
constexpr size_t kNameBytes = 4;
constexpr size_t kEnvelopeBytes = 256;

class BorrowedReplyTest : public CommandTest {
protected:
    void insert(int id, size_t padBytes) {
        const std::string pad(padBytes, static_cast<char>('a' + id % 26));
        run(R"({"insert": "c", "documents": [{"_id": )" + std::to_string(id) + R"(, "pad": ")" +
            pad + "\"}]}");
    }
    /// `large` of them large, and as many small ones between them.
    void fill(int large) {
        run(R"({"drop": "c"})");
        insert(-1, 10);
        for (int i = 0; i < large; ++i) {
            insert(2 * i, kLargeBytes + static_cast<size_t>(i));
            insert(2 * i + 1, 10);
        }
    }

    Reply handled(const std::string& bytes) { return executor_.run(connection_->handle(bytes)); }

    /// As a driver that wants a checksum gets it.
    std::string bodyInOnePiece(const bson::OwnedDocument& asked) {
        const Reply reply = handled(message(asked.view(), wire::kFlagChecksumPresent));
        EXPECT_EQ(reply.borrowed, nullptr);
        auto parsed = wire::parseReply(reply.message);
        EXPECT_TRUE(parsed.isOk()) << parsed.status().toString();
        return parsed.isOk() ? std::string(parsed->body.bytes()) : "";
    }
    std::string bodyInPieces(const Reply& reply) {
        const std::string whole = wholeOf(reply);
        auto parsed = wire::parseReply(whole);  // its lengths are right
        EXPECT_TRUE(parsed.isOk()) << parsed.status().toString();
        return parsed.isOk() ? std::string(parsed->body.bytes()) : "";
    }
    void expectSame(std::string_view text, size_t borrowed) {
        const bson::OwnedDocument asked = request(text);
        const Reply reply = handled(message(asked.view()));
        EXPECT_EQ(reply.borrowed == nullptr ? 0 : reply.borrowed->entries().size(), borrowed)
            << text;
        EXPECT_TRUE(bodyInPieces(reply) == bodyInOnePiece(asked)) << text;
    }
};

TEST_F(BorrowedReplyTest, IsTheSameHoweverManyDocumentsAreLarge) {
    for (const int large : {0, 1, 2, 14, 15, 16, 40}) {
        fill(large);
        const size_t borrowed = std::min<size_t>(static_cast<size_t>(large), 15);
        expectSame(R"({"find": "c", "batchSize": 200})", borrowed);
        expectSame(R"({"find": "c", "batchSize": 3, "singleBatch": true})", large > 0 ? 1 : 0);
        expectSame(R"({"aggregate": "c", "pipeline": [], "cursor": {"batchSize": 200}})", borrowed);
        expectSame(R"({"find": "c", "sort": {"pad": 1}, "batchSize": 200})", 0);
    }
}

TEST_F(BorrowedReplyTest, GoesOnWithTheCursor) {
    fill(40);
    const auto batches = [&](bool isInPieces) {
        std::string ask = R"({"find": "c", "batchSize": 7})";
        std::string field = "cursor.firstBatch";
        std::vector<std::string> got;
        for (int64_t id = 1; id != 0; field = "cursor.nextBatch") {
            const bson::OwnedDocument asked = request(ask);
            const std::string body =
                isInPieces ? bodyInPieces(handled(message(asked.view()))) : bodyInOnePiece(asked);
            const bson::Document reply(body);
            got.emplace_back(reply.findPath(field).document().bytes());
            id = reply.findPath("cursor.id").toInt64();
            ask = R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
                  R"("}, "collection": "c", "batchSize": 7})";
        }
        return got;
    };
    EXPECT_TRUE(batches(true) == batches(false));
}

TEST_F(BorrowedReplyTest, CopiesNothingThatIsLarge) {
    fill(15);
    const Reply many = handled(message(request(R"({"find": "c"})").view()));
    ASSERT_NE(many.borrowed, nullptr);
    const size_t small =
        bodyOf(handled(message(request(R"({"find": "c", "filter": {"_id": -1}})").view())))
            .bytes()
            .size();
    EXPECT_LT(many.message.size(), 16 * small + 15 * kNameBytes + kEnvelopeBytes);
    EXPECT_GE(many.borrowed->bytes(), 15 * kLargeBytes);

    const std::string ask = message(request(R"({"find": "c", "filter": {"_id": 4}})").view());
    Reply one;
    ASSERT_TRUE(connection_->handleAtOnce(ask, &one));
    ASSERT_NE(one.borrowed, nullptr);
    EXPECT_LT(one.message.size(), kEnvelopeBytes);
    EXPECT_GE(one.borrowed->bytes(), kLargeBytes);
}

TEST_F(BorrowedReplyTest, AtOnceIsTheSame) {
    fill(3);
    for (const std::string id : {"0", "1", "2", "3", "99"}) {
        const bson::OwnedDocument asked =
            request(R"({"find": "c", "filter": {"_id": )" + id + "}}");
        Reply reply;
        ASSERT_TRUE(connection_->handleAtOnce(message(asked.view()), &reply));
        EXPECT_EQ(reply.borrowed != nullptr, id == "0" || id == "2");
        EXPECT_TRUE(bodyInPieces(reply) == bodyInOnePiece(asked)) << id;
    }
}

TEST_F(BorrowedReplyTest, IsInOnePieceWhenItIsCompressed) {
    fill(2);
    const bson::OwnedDocument asked = request(R"({"find": "c"})");
    for (const auto compressor : {wire::Compressor::kSnappy, wire::Compressor::kZstd}) {
        const Reply packed = handled(*wire::packMessage(message(asked.view()), compressor));
        EXPECT_EQ(packed.borrowed, nullptr);
        auto unpacked = wire::unpackMessage(packed.message);
        ASSERT_TRUE(unpacked.isOk());
        auto parsed = wire::parseReply(unpacked->message);
        ASSERT_TRUE(parsed.isOk());
        EXPECT_TRUE(std::string(parsed->body.bytes()) == bodyInOnePiece(asked));
    }
}

TEST_F(BorrowedReplyTest, AnErrorTakesNothingWithIt) {
    fill(3);
    run(R"({"insert": "c", "documents": [{"_id": 100, "zero": 0}]})");
    const bson::OwnedDocument asked = request(
        R"({"find": "c", "filter": {"$expr": {"$ne": [{"$divide": [1, {"$ifNull": ["$zero", 1]}]},
            5]}}})");
    const Reply reply = handled(message(asked.view()));
    EXPECT_EQ(reply.borrowed, nullptr);
    EXPECT_EQ(bodyOf(reply).view().find("ok").toDouble(), 0.0);
    EXPECT_TRUE(bodyInPieces(reply) == bodyInOnePiece(asked));
}

TEST_F(BorrowedReplyTest, OutlivesWhatItWasMadeOf) {
    fill(3);
    const bson::OwnedDocument asked = request(R"({"find": "c"})");
    const std::string before = bodyInOnePiece(asked);
    const Reply reply = handled(message(asked.view()));
    run(R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"pad": "x"}}, "multi": true}]})");
    run(R"({"drop": "c"})");
    ASSERT_TRUE(store_->checkpointNow().isOk());
    store_->evictAll();
    EXPECT_TRUE(bodyInPieces(reply) == before);
}

}  // namespace
}  // namespace freshet::command
