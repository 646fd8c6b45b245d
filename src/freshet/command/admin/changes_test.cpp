// SPDX-License-Identifier: Apache-2.0
/// renameCollection, collMod, options of create, sizes, sessions and housekeeping.
#include "freshet/command/run/fixture_test.h"
#include "freshet/platform/thread.h"

namespace freshet::command {
namespace {

constexpr const char* kLsid =
    R"("lsid": {"id": {"$binary": {"base64": "AAECAwQFBgcICQoLDA0ODw==", "subType": "04"}}})";
constexpr const char* kOtherLsid =
    R"("lsid": {"id": {"$binary": {"base64": "BBECAwQFBgcICQoLDA0ODw==", "subType": "04"}}})";

class ChangesTest : public CommandTest {
protected:
    int64_t status(std::string_view path) {
        return run(R"({"serverStatus": 1})", "admin").view().findPath(path).toInt64();
    }
};

TEST_F(ChangesTest, ARenamedCollectionKeepsItsDocuments) {
    run(R"({"insert": "a", "documents": [{"_id": 1}]})");
    run(R"({"insert": "b", "documents": [{"_id": 2}, {"_id": 3}]})");
    expectReplies(
        {
            {R"({"renameCollection": "test.a", "to": "test.b"})",
             R"({"code": 48, "codeName": "NamespaceExists", "errmsg": "target namespace exists"})"},
            {R"({"renameCollection": "test.none", "to": "test.x"})", R"({"code": 26})"},
            {R"({"renameCollection": "test.a", "to": "test.a"})", R"({"code": 20})"},
            {R"({"renameCollection": "test.a", "to": "test."})", R"({"code": 73})"},
            {R"({"renameCollection": "test.a", "to": "TEST.x"})",
             R"({"code": 13297, "codeName": "DatabaseDifferCase"})"},
            {R"({"renameCollection": "test.a", "to": "test.b", "dropTarget": true})",
             R"({"ok": 1.0})"},
        },
        "admin");
    expectReply(R"({"count": "a"})", R"({"n": 0})");
    expectReply(R"({"count": "b"})", R"({"n": 1})");
    close();
    open();
    expectReply(R"({"count": "b"})", R"({"n": 1})");
    expectReply(R"({"renameCollection": "test.b", "to": "test.c"})", R"({"code": 13})");
}

TEST_F(ChangesTest, ARenameEndsCursorsOfTheOldName) {
    run(R"({"insert": "a", "documents": [{"_id": 1}, {"_id": 2}]})");
    const bson::OwnedDocument first = run(R"({"find": "a", "batchSize": 1})");
    const std::string id = std::to_string(first.view().findPath("cursor.id").toInt64());
    run(R"({"renameCollection": "test.a", "to": "test.b"})", "admin");
    expectReply(R"({"getMore": {"$numberLong": ")" + id + R"("}, "collection": "a"})",
                R"({"ok": 0.0, "code": 175})");
}

TEST_F(ChangesTest, IndexesAreModifiedForGood) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"t": 1}, "name": "t_1",
        "expireAfterSeconds": 100}, {"key": {"a": 1, "b": 1}, "name": "ab"}]})");
    expectReplies({
        {R"({"collMod": "c", "index": {"keyPattern": {"t": 1}, "expireAfterSeconds": 200}})",
         R"({"ok": 1.0, "expireAfterSeconds_old": {"$numberLong": "100"},
             "expireAfterSeconds_new": {"$numberLong": "200"}})"},
        {R"({"collMod": "c", "index": {"name": "ab", "hidden": true}})",
         R"({"hidden_old": false, "hidden_new": true})"},
        {R"({"collMod": "c", "index": {"name": "ab", "expireAfterSeconds": 1}})",
         R"({"code": 72})"},
        {R"({"collMod": "c", "index": {"name": "_id_", "hidden": true}})", R"({"code": 2})"},
        {R"({"collMod": "c", "index": {"name": "zz", "hidden": true}})", R"({"code": 27})"},
        {R"({"collMod": "c", "index": {"name": "ab"}})", R"({"code": 72})"},
        {R"({"collMod": "none", "index": {"name": "ab", "hidden": true}})", R"({"code": 26})"},
        {R"({"collMod": "c", "validationLevel": "much"})", R"({"code": 2})"},
        {R"({"collMod": "c", "validationLevel": "moderate"})", R"({"ok": 1.0})"},
    });
    close();
    open();
    expectReply(R"({"listIndexes": "c"})",
                R"({"cursor": {"firstBatch": [{"name": "_id_"},
                   {"name": "t_1", "expireAfterSeconds": 200}, {"name": "ab", "hidden": true}]}})");
    expectReply(R"({"listCollections": 1})",
                R"({"cursor": {"firstBatch": [{"options": {"validationLevel": "moderate"}}]}})");
}

TEST_F(ChangesTest, SizesAreCounted) {
    run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})");
    expectReplies({
        {R"({"collStats": "c"})", R"({"ns": "test.c", "count": 2, "size": 28, "nindexes": 1})"},
        {R"({"collStats": "none"})", R"({"count": 0, "size": 0})"},
        {R"({"collStats": "c", "scale": 0})", R"({"code": 2})"},
        {R"({"dbStats": 1})",
         R"({"db": "test", "collections": 1, "objects": 2, "dataSize": 28.0})"},
        {R"({"dataSize": "test.c"})", R"({"size": 28, "numObjects": 2})"},
    });
    expectReply(R"({"top": 1})", R"({"totals": {"test.c": {"insert": {"count": 1}}}})", "admin");
}

TEST_F(ChangesTest, ServerStatusCountsAndLeavesOut) {
    run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})");
    run(R"({"find": "c", "filter": {"$no": 1}})");
    EXPECT_EQ(2, status("metrics.document.inserted"));
    EXPECT_EQ(1, status("metrics.commands.insert.total"));
    EXPECT_EQ(1, status("metrics.commands.find.failed"));
    EXPECT_EQ(1, status("opLatencies.writes.ops"));
    const bson::OwnedDocument some = run(R"({"serverStatus": 1, "none": 1, "mem": 1})", "admin");
    EXPECT_TRUE(some.view().has("mem"));
    EXPECT_FALSE(some.view().has("metrics"));
    EXPECT_FALSE(run(R"({"serverStatus": 1, "metrics": 0})", "admin").view().has("metrics"));
}

TEST_F(ChangesTest, ASessionsCursorsAreItsOwn) {
    run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})");
    const std::string find = std::string(R"({"find": "c", "batchSize": 1, )") + kLsid + "}";
    const bson::OwnedDocument first = run(find);
    EXPECT_EQ(1, status("logicalSessionRecordCache.activeSessionsCount"));
    const std::string more = R"({"getMore": {"$numberLong": ")" +
                             std::to_string(first.view().findPath("cursor.id").toInt64()) +
                             R"("}, "collection": "c", "batchSize": 1)";
    expectReply(more + "}", R"({"code": 50737})");
    expectReply(more + ", " + kOtherLsid + "}", R"({"code": 50738})");
    expectReply(more + ", " + kLsid + "}", R"({"ok": 1.0})");
    const std::string id = std::string(kLsid).substr(8);
    expectReply(R"({"endSessions": [)" + id + "]}", R"({"ok": 1.0})", "admin");
    expectReply(more + ", " + kLsid + "}", R"({"code": 43})");
    expectReply(R"({"ping": 1, "lsid": {"id": 1}})", R"({"code": 14})");
    expectReply(R"({"ping": 1, "lsid": {}})", R"({"code": 40414})");
    expectReply(R"({"ping": 1, "lsid": {"id": {"$binary": {"base64": "AAE=", "subType": "04"}}}})",
                R"({"code": 207, "codeName": "InvalidUUID"})");
}

TEST_F(ChangesTest, IdleCursorsEnd) {
    run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})");
    run(R"({"find": "c", "batchSize": 1})");
    run(R"({"find": "c", "batchSize": 1, "noCursorTimeout": true})");
    EXPECT_EQ(2, status("metrics.cursor.open.total"));
    run(R"({"setParameter": 1, "cursorTimeoutMillis": 1})", "admin");
    while (status("metrics.cursor.open.total") > 1) {
        platform::sleepMillis(2);
    }
    EXPECT_EQ(1, status("metrics.cursor.timedOut"));
    EXPECT_EQ(1, status("metrics.cursor.open.noTimeout"));
}

TEST_F(ChangesTest, DocumentsPastTheirTimeGo) {
    run(R"({"createIndexes": "c", "indexes": [{"key": {"t": 1}, "name": "t_1",
        "expireAfterSeconds": 10}]})");
    run(R"({"insert": "c", "documents": [
        {"_id": 1, "t": {"$date": "2020-01-01T00:00:00Z"}},
        {"_id": 2, "t": [{"$date": "2020-01-01T00:00:00Z"}, {"$date": "2199-01-01T00:00:00Z"}]},
        {"_id": 3, "t": {"$date": "2199-01-01T00:00:00Z"}},
        {"_id": 4, "t": 5}, {"_id": 5}]})");
    run(R"({"setParameter": 1, "ttlMonitorSleepSecs": 1})", "admin");
    while (status("metrics.ttl.deletedDocuments") < 2 || status("metrics.ttl.passes") == 0) {
        platform::sleepMillis(5);
    }
    EXPECT_EQ(2, status("metrics.ttl.deletedDocuments"));
    expectReply(R"({"find": "c", "projection": {"_id": 1}})",
                R"({"cursor": {"firstBatch": [{"_id": 3}, {"_id": 4}, {"_id": 5}]}})");
}

}  // namespace
}  // namespace freshet::command
