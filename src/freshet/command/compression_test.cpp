// SPDX-License-Identifier: Apache-2.0
/// OP_COMPRESSED and checksums as a client sees them: what it may offer, what it receives, what
/// ends the connection.
#include "freshet/command/run/fixture_test.h"
#include "freshet/wire/compress.h"

namespace freshet::command {
namespace {

using CompressionTest = CommandTest;

TEST_F(CompressionTest, HelloAnswersWithWhatBothHave) {
    expectReplies({
        {R"({"hello": 1, "compression": ["zlib", "brotli", "snappy"]})",
         R"({"compression": ["snappy", "zlib"]})"},
        {R"({"isMaster": 1, "compression": ["zstd"]})", R"({"compression": ["zstd"]})"},
        {R"({"hello": 1, "compression": "zstd"})", R"({"code": 2})"},
        {R"({"hello": 1, "compression": [5]})", R"({"code": 2})"},
    });
    for (const char* text : {R"({"hello": 1})",
                             R"({"hello": 1, "compression": []})",
                             R"({"hello": 1, "compression": ["lz4"]})"}) {
        EXPECT_FALSE(bodyOf(exchange(message(request(text).view()))).view().has("compression"))
            << text;
    }
}

TEST_F(CompressionTest, APackedRequestGetsAReplyPackedTheSameWay) {
    for (wire::Compressor compressor :
         {wire::Compressor::kSnappy, wire::Compressor::kZlib, wire::Compressor::kZstd}) {
        const std::string plain = message(request(R"({"ping": 1})").view());
        const Reply reply = exchange(*wire::packMessage(plain, compressor));
        ASSERT_TRUE(wire::isCompressed(reply.message));
        StatusOr<wire::Unpacked> unpacked = wire::unpackMessage(reply.message);
        ASSERT_TRUE(unpacked.isOk());
        EXPECT_EQ(unpacked->compressor, compressor);
        StatusOr<wire::Request> parsed = wire::parseReply(unpacked->message);
        ASSERT_TRUE(parsed.isOk());
        EXPECT_EQ(parsed->header.responseTo, 42);
        EXPECT_EQ(parsed->body.find("ok").toDouble(), 1.0);
        EXPECT_FALSE(wire::isCompressed(exchange(plain).message)) << "and only that one";
    }
}

TEST_F(CompressionTest, HandshakesAreAnsweredPlainly) {
    const std::string hello = message(request(R"({"hello": 1})").view());
    const Reply reply = exchange(*wire::packMessage(hello, wire::Compressor::kZlib));
    EXPECT_FALSE(wire::isCompressed(reply.message));
    EXPECT_FALSE(reply.message.empty());
}

TEST_F(CompressionTest, LiesAndDisabledCompressorsEndTheConnection) {
    const std::string plain = message(request(R"({"ping": 1})").view());
    std::string lie = *wire::packMessage(plain, wire::Compressor::kZlib);
    storeLe(lie.data() + wire::kHeaderBytes + 4, static_cast<int32_t>(plain.size() + 100));
    const std::string noop = *wire::packMessage(plain, wire::Compressor::kNoop);
    const std::string nested = *wire::packMessage(
        *wire::packMessage(plain, wire::Compressor::kZlib), wire::Compressor::kZlib);
    for (const std::string& bad : {lie, noop, nested, lie.substr(0, 20)}) {
        const Reply reply = exchange(bad);
        EXPECT_TRUE(reply.closeAfter);
        EXPECT_TRUE(reply.message.empty());
    }
}

TEST_F(CompressionTest, AChecksumIsAnsweredByAChecksum) {
    const bson::OwnedDocument ping = request(R"({"ping": 1})");
    std::string with;
    wire::appendOpMsg(&with, 42, 0, wire::kFlagChecksumPresent, ping.view());
    StatusOr<wire::Request> reply = wire::parseReply(exchange(with).message);
    ASSERT_TRUE(reply.isOk()) << "it is right";
    EXPECT_EQ(reply->flags & wire::kFlagChecksumPresent, wire::kFlagChecksumPresent);
    with.back() = static_cast<char>(with.back() ^ 1);
    EXPECT_TRUE(exchange(with).closeAfter) << "a wrong one cannot be trusted";
    reply = wire::parseReply(exchange(message(ping.view())).message);
    EXPECT_EQ(reply->flags & wire::kFlagChecksumPresent, 0u);
}

}  // namespace
}  // namespace freshet::command
