// SPDX-License-Identifier: Apache-2.0
/// What replies have beside their commands' own fields, from a standalone and from a replica set's
/// member.
#include "freshet/command/registry.h"
#include "freshet/command/run/fixture_test.h"

#include <thread>

namespace freshet::command {
namespace {

class EnvelopeTest : public CommandTest {
protected:
    void restartAsMember() {
        close();
        replicaSet_ = "rs0";
        open();
    }

    static bool hasTimes(bson::Document reply) {
        return reply.findPath("$clusterTime.clusterTime").type() == bson::Type::kTimestamp &&
               reply.find("operationTime").type() == bson::Type::kTimestamp;
    }

    /// Replies of each origin: of commands, of prepared finds, of errors before and in a command,
    /// and of messages that cannot be parsed.
    std::vector<bson::OwnedDocument> repliesOfEachOrigin() {
        std::vector<bson::OwnedDocument> replies;
        for (const char* text : {R"({"insert": "c", "documents": [{"_id": 1}]})",
                                 R"({"insert": "c", "documents": [{"_id": 1}]})",
                                 R"({"find": "c", "filter": {"_id": 1}})",
                                 R"({"find": "c", "filter": {"_id": 1}})",
                                 R"({"find": "c", "filter": {"_id": 2}})",
                                 R"({"find": "c", "filter": {"_id": {"$gt": 0}}})",
                                 R"({"nope": 1})",
                                 R"({"find": "c", "bogus": 1})",
                                 R"({"find": "c", "filter": {"a": {"$bogus": 1}}})",
                                 R"({"hello": 1})"}) {
            replies.push_back(run(text));
        }
        std::string broken = message(request(R"({"ping": 1})").view());
        broken[25] = 0x55;  // the type of the first field
        replies.push_back(bodyOf(exchange(broken)));
        dispatcher_->beginShutdown();
        replies.push_back(run(R"({"find": "c", "filter": {"_id": 1}})"));
        return replies;
    }
};

TEST_F(EnvelopeTest, AMemberSaysTheClusterTimeInEveryReply) {
    restartAsMember();
    for (const bson::OwnedDocument& reply : repliesOfEachOrigin()) {
        EXPECT_TRUE(hasTimes(reply.view())) << bson::toJson(reply.view());
    }
}

TEST_F(EnvelopeTest, AStandaloneNeverSaysATime) {
    for (const bson::OwnedDocument& reply : repliesOfEachOrigin()) {
        EXPECT_FALSE(reply.view().has("$clusterTime")) << bson::toJson(reply.view());
        EXPECT_FALSE(reply.view().has("operationTime")) << bson::toJson(reply.view());
    }
}

TEST_F(EnvelopeTest, TheTimeOfPreparedFindsGoesOn) {
    restartAsMember();
    run(R"({"insert": "c", "documents": [{"_id": 1, "a": "x"}]})");
    const std::string find = message(request(R"({"find": "c", "filter": {"_id": 1}})").view());
    const auto timesOf = [&] {
        Reply reply;
        EXPECT_TRUE(connection_->handleAtOnce(find, &reply));
        const bson::OwnedDocument body = bodyOf(reply);
        EXPECT_EQ("x", body.view().findPath("cursor.firstBatch.0.a").stringValue());
        const auto valueOf = [&](const char* path) {
            return loadLe<uint64_t>(body.view().findPath(path).value().data());
        };
        EXPECT_EQ(valueOf("operationTime"), valueOf("$clusterTime.clusterTime"));
        return valueOf("operationTime");
    };
    const uint64_t first = timesOf();
    std::this_thread::sleep_for(std::chrono::milliseconds(1'001));  // it counts seconds
    EXPECT_GT(timesOf(), first);
}

}  // namespace
}  // namespace freshet::command
