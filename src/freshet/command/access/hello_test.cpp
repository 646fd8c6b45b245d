// SPDX-License-Identifier: Apache-2.0
/// What a driver sees when it connects and monitors.
#include "freshet/command/run/fixture_test.h"
#include "freshet/platform/clock.h"

namespace freshet::command {
namespace {

using HelloTest = CommandTest;

TEST_F(HelloTest, TellsWhatDriversNeed) {
    expectReply(
        R"({"hello": 1, "helloOk": true, "client": {"driver": {"name": "x"}, "os": {"type": "y"}},
                    "compression": ["zstd"], "backpressure": true})",
        R"({"isWritablePrimary": true, "helloOk": true, "maxBsonObjectSize": 16777216,
                    "maxMessageSizeBytes": 48000000, "maxWriteBatchSize": 100000,
                    "logicalSessionTimeoutMinutes": 30, "connectionId": 7, "minWireVersion": 0,
                    "maxWireVersion": 25, "readOnly": false, "ok": 1.0})",
        "admin");
    const bson::OwnedDocument reply = run(R"({"hello": 1})", "admin");
    EXPECT_FALSE(reply.view().has("setName"));
    EXPECT_FALSE(reply.view().has("compression"));
    EXPECT_FALSE(reply.view().has("helloOk"));
    EXPECT_EQ(bson::Type::kDate, reply.view().find("localTime").type());
    for (const char* legacy : {R"({"isMaster": 1})", R"({"ismaster": 1})"}) {
        expectReply(legacy, R"({"ismaster": true, "ok": 1.0})", "admin");
    }
}

TEST_F(HelloTest, WaitsWhenTheTopologyIsKnown) {
    const bson::OwnedDocument first = run(R"({"hello": 1})", "admin");
    bson::Builder again;
    again.add("hello", int32_t{1}).add("maxAwaitTimeMS", int32_t{20});
    again.add(first.view().find("topologyVersion")).add("$db", "admin");
    const std::string body = again.finish();
    const uint64_t start = platform::monotonicNanos();
    const Reply reply = exchange(message(bson::Document(body.data()), wire::kFlagExhaustAllowed));
    EXPECT_GE(platform::monotonicNanos() - start, 20'000'000u);
    EXPECT_TRUE(reply.moreToCome);
    const Reply next = executor_.run(connection_->next());
    EXPECT_TRUE(next.moreToCome);
    auto one = wire::parseReply(reply.message);
    auto two = wire::parseReply(next.message);
    ASSERT_TRUE(one.isOk() && two.isOk());
    EXPECT_TRUE(one->moreToCome());
    EXPECT_EQ(42, one->header.responseTo);
    EXPECT_EQ(one->header.requestId, two->header.responseTo);
}

TEST_F(HelloTest, AnswersAtOnceWhenTheTopologyIsAnotherOne) {
    expectReply(R"({"hello": 1, "maxAwaitTimeMS": 3600000, "topologyVersion":
        {"processId": {"$oid": "0123456789abcdef01234567"}, "counter": {"$numberLong": "0"}}})",
                R"({"isWritablePrimary": true})",
                "admin");
    expectReply(R"({"hello": 1, "maxAwaitTimeMS": 1})", R"({"ok": 0.0, "code": 2})", "admin");
}

TEST_F(HelloTest, SessionsHaveNames) {
    const bson::OwnedDocument reply = run(R"({"startSession": 1})", "admin");
    EXPECT_EQ(16u, reply.view().findPath("id.id").binaryValue().bytes.size());
    EXPECT_EQ(30, reply.view().find("timeoutMinutes").toInt64());
    expectReply(R"({"refreshSessions": []})", R"({"ok": 1.0})", "admin");
    expectReply(R"({"endSessions": [1]})", R"({"code": 14})", "admin");
}

}  // namespace
}  // namespace freshet::command
