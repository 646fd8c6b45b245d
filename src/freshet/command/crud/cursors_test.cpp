// SPDX-License-Identifier: Apache-2.0
/// Cursors across requests and connections.
#include "freshet/command/run/cursors.h"

#include "freshet/command/crud/cursor_reply.h"
#include "freshet/command/run/fixture_test.h"

namespace freshet::command {
namespace {

class CursorsTest : public CommandTest {
protected:
    void insertMany(int count) {
        std::string text = R"({"insert": "c", "documents": [)";
        for (int i = 0; i < count; ++i) {
            text += (i == 0 ? "" : ",") + std::string(R"({"_id": )") + std::to_string(i) + "}";
        }
        expectReply(text + "]}", R"({"ok": 1.0})");
    }
    static int64_t idOf(const bson::OwnedDocument& reply) {
        return reply.view().findPath("cursor.id").toInt64();
    }
    /// -1 when there is no such batch.
    static int sizeOf(const bson::OwnedDocument& reply, const char* batch) {
        const bson::Element found = reply.view().findPath(std::string("cursor.") + batch);
        return found.isArray() ? found.document().fieldCount() : -1;
    }
    bson::OwnedDocument getMore(int64_t id, const char* more = "", const char* collection = "c") {
        return run(R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
                   R"("}, "collection": ")" + collection + "\"" + more + "}");
    }
};

TEST_F(CursorsTest, GivesAllDocumentsOnceOverAnyConnection) {
    insertMany(250);
    const bson::OwnedDocument first = run(R"({"find": "c", "sort": {"_id": 1}})");
    EXPECT_EQ(101, sizeOf(first, "firstBatch"));
    const int64_t id = idOf(first);
    EXPECT_GT(id, 0);
    connection_ = dispatcher_->connect({8, "127.0.0.1:5001", "127.0.0.1:27017"});
    const bson::OwnedDocument second = getMore(id, R"(, "batchSize": 100)");
    EXPECT_EQ(100, sizeOf(second, "nextBatch"));
    EXPECT_EQ(id, idOf(second));
    EXPECT_EQ(101, second.view().findPath("cursor.nextBatch.0._id").toInt64());
    const bson::OwnedDocument third = getMore(id);
    EXPECT_EQ(49, sizeOf(third, "nextBatch"));
    EXPECT_EQ(0, idOf(third));
    EXPECT_EQ(43, getMore(id).view().find("code").toInt64());
    EXPECT_EQ("cursor id " + std::to_string(id) + " not found",
              getMore(id).view().find("errmsg").stringValue());
}

TEST_F(CursorsTest, HonoursBatchSizeAndLimit) {
    insertMany(10);
    const bson::OwnedDocument empty = run(R"({"find": "c", "batchSize": 0})");
    EXPECT_EQ(0, sizeOf(empty, "firstBatch"));
    EXPECT_NE(0, idOf(empty));
    EXPECT_EQ(10, sizeOf(getMore(idOf(empty)), "nextBatch"));
    EXPECT_EQ(0, idOf(run(R"({"find": "c", "batchSize": 2, "singleBatch": true})")));
    const bson::OwnedDocument limited = run(R"({"find": "c", "batchSize": 2, "limit": 3})");
    EXPECT_EQ(2, sizeOf(limited, "firstBatch"));
    const bson::OwnedDocument rest = getMore(idOf(limited));
    EXPECT_EQ(1, sizeOf(rest, "nextBatch"));
    EXPECT_EQ(0, idOf(rest));
    const bson::OwnedDocument aggregated =
        run(R"({"aggregate": "c", "pipeline": [{"$match": {}}], "cursor": {"batchSize": 4}})");
    EXPECT_EQ(4, sizeOf(aggregated, "firstBatch"));
    EXPECT_EQ(6, sizeOf(getMore(idOf(aggregated)), "nextBatch"));
}

TEST_F(CursorsTest, BelongToTheirNamespaceAndSession) {
    insertMany(10);
    const char* lsid = R"({"id": {"$uuid": "00112233-4455-6677-8899-aabbccddeeff"}})";
    const bson::OwnedDocument first =
        run(std::string(R"({"find": "c", "batchSize": 2, "lsid": )") + lsid + "}");
    EXPECT_EQ(13, getMore(idOf(first), "", "other").view().find("code").toInt64());
    EXPECT_EQ(50737, getMore(idOf(first)).view().find("code").toInt64());
    const std::string inSession = std::string(R"(, "batchSize": 1, "lsid": )") + lsid;
    EXPECT_EQ(1.0, getMore(idOf(first), inSession.c_str()).view().find("ok").toDouble());
    expectReply(std::string(R"({"endSessions": [)") + lsid + "]}", R"({"ok": 1.0})", "admin");
    EXPECT_EQ(43, getMore(idOf(first)).view().find("code").toInt64());
}

TEST_F(CursorsTest, CanBeKilled) {
    insertMany(10);
    const std::string id = std::to_string(idOf(run(R"({"find": "c", "batchSize": 2})")));
    const std::string kill = R"({"killCursors": "c", "cursors": [{"$numberLong": ")" + id +
                             R"("}, {"$numberLong": "12"}]})";
    expectReply(kill,
                R"({"cursorsKilled": [{"$numberLong": ")" + id +
                    R"("}], "cursorsNotFound": [{"$numberLong": "12"}], "cursorsAlive": [],
                    "cursorsUnknown": [], "ok": 1.0})");
    expectReply(R"({"killCursors": "c", "cursors": ["x"]})", R"({"code": 14})");
}

TEST_F(CursorsTest, EndWithTheirCollection) {
    insertMany(10);
    const int64_t id = idOf(run(R"({"find": "c", "batchSize": 2})"));
    expectReply(R"({"drop": "c"})", R"({"ok": 1.0})");
    EXPECT_EQ(0.0, getMore(id).view().find("ok").toDouble());
    EXPECT_EQ(43, getMore(id).view().find("code").toInt64());
}

TEST_F(CursorsTest, StreamWhenAllowed) {
    insertMany(5);
    const int64_t id = idOf(run(R"({"find": "c", "batchSize": 2})"));
    const std::string ask = R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
                            R"("}, "collection": "c", "batchSize": 2})";
    const Reply one = exchange(message(request(ask).view(), wire::kFlagExhaustAllowed));
    EXPECT_TRUE(one.moreToCome);
    auto first = wire::parseReply(one.message);
    ASSERT_TRUE(first.isOk());
    EXPECT_TRUE(first->moreToCome());
    const Reply two = executor_.run(connection_->next());
    auto second = wire::parseReply(two.message);
    ASSERT_TRUE(second.isOk());
    EXPECT_FALSE(two.moreToCome);
    EXPECT_FALSE(second->moreToCome());
    EXPECT_EQ(first->header.requestId, second->header.responseTo);
    EXPECT_EQ(0, second->body.findPath("cursor.id").toInt64());
}

TEST(CursorRegistry, KillsWhatIsCheckedOutWhenItComesBack) {
    CursorRegistry registry;
    ClientCursor cursor;
    cursor.ns = "a.b";
    cursor.cursor = makeListCursor({});
    const int64_t id = *registry.add(std::move(cursor));
    StatusOr<ClientCursor> out = registry.checkOut(id, "a.b");
    ASSERT_TRUE(out.isOk());
    EXPECT_EQ(Reason::kCursorInUse, registry.checkOut(id, "a.b").status().reason());
    EXPECT_FALSE(registry.isKilled(id));
    EXPECT_TRUE(registry.kill(id, "a.b"));
    EXPECT_FALSE(registry.kill(id, "a.b"));
    EXPECT_TRUE(registry.isKilled(id));
    registry.checkIn(std::move(*out));
    EXPECT_EQ(0u, registry.openCount());
    EXPECT_EQ(Reason::kCursorNotFound, registry.checkOut(id, "a.b").status().reason());
}

}  // namespace
}  // namespace freshet::command
