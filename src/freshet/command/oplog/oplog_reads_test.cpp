// SPDX-License-Identifier: Apache-2.0
/// local.oplog.rs as clients, tools and drivers read it.
#include "freshet/command/oplog/oplog_reads.h"

#include "freshet/command/run/fixture_test.h"
#include "freshet/platform/thread.h"

#include <algorithm>

namespace freshet::command {
namespace {

class OplogTest : public CommandTest {
protected:
    using Texts = std::vector<std::string>;

    OplogTest() {
        close();
        replicaSet_ = "rs0";
        open();
        run(R"({"setParameter": 1, "writePeriodicNoops": false})", "admin");
        run(R"({"appendOplogNote": 1, "data": {"msg": "new primary"}})", "admin");
    }

    static std::string jsonOf(const bson::Element& element) {
        bson::Builder out;
        out.addAs("x", element);
        std::string json = bson::toJson(bson::OwnedDocument(out.finish()).view());
        std::erase(json, ' ');
        return json.substr(5, json.size() - 6);
    }
    /// "i t.c {...}" of each entry of a batch.
    static Texts linesOf(bson::Document batch) {
        Texts lines;
        for (const bson::Element& element : batch) {
            const bson::Document entry = element.document();
            lines.push_back(std::string(entry.find("op").stringValue()) + " " +
                            std::string(entry.find("ns").stringValue()) + " " +
                            jsonOf(entry.find("o")));
        }
        return lines;
    }
    Texts found(const std::string& more) {
        const bson::OwnedDocument reply =
            run(R"({"find": "oplog.rs", "batchSize": 10000)" + more + "}", "local");
        const bson::Element batch = reply.view().findPath("cursor.firstBatch");
        EXPECT_FALSE(batch.isMissing()) << bson::toJson(reply.view());
        EXPECT_TRUE(batch.isMissing() || reply.view().findPath("cursor.id").int64Value() == 0);
        return batch.isMissing() ? Texts() : linesOf(batch.document());
    }
    bson::OwnedDocument newestEntry() {
        const bson::OwnedDocument reply =
            run(R"({"find": "oplog.rs", "sort": {"$natural": -1}, "limit": 1})", "local");
        const bson::Element entry = reply.view().findPath("cursor.firstBatch.0");
        EXPECT_TRUE(entry.isObject()) << bson::toJson(reply.view());
        return entry.isObject() ? bson::OwnedDocument(entry.document()) : bson::OwnedDocument();
    }
    /// Its ts, as JSON.
    std::string newest() { return jsonOf(newestEntry().view().find("ts")); }
    void insert(int from, int count, size_t padBytes = 0) {
        for (int i = from; i < from + count; ++i) {
            run(R"({"insert": "c", "documents": [{"_id": )" + std::to_string(i) +
                    (padBytes == 0 ? "" : R"(, "pad": ")" + std::string(padBytes, 'x') + "\"") +
                    "}]}",
                "t");
        }
    }
    static std::string after(const std::string& ts) {
        return R"(, "filter": {"ts": {"$gt": )" + ts + "}}";
    }
};

TEST_F(OplogTest, HasWhatWasDone) {
    const std::string before = newest();
    run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}]})", "t");
    run(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 2}}}]})", "t");
    run(R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]})", "t");
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})", "t");
    run(R"({"collMod": "c", "index": {"name": "a", "hidden": true}})", "t");
    run(R"({"dropDatabase": 1})", "t");
    Texts lines = found(after(before));
    ASSERT_EQ(lines.size(), 7u);
    EXPECT_TRUE(lines.back().starts_with(R"(c admin.$cmd {"applyOps":[)")) << lines.back();
    lines.pop_back();
    EXPECT_EQ(lines,
              (Texts{R"(c t.$cmd {"create":"c","idIndex":{"v":2,"key":{"_id":1},"name":"_id_"}})",
                     R"(i t.c {"_id":1,"a":1})",
                     R"(u t.c {"$v":2,"diff":{"u":{"a":2}}})",
                     R"(d t.c {"_id":1})",
                     R"(c t.$cmd {"createIndexes":"c","v":2,"key":{"a":1},"name":"a"})",
                     R"(c t.$cmd {"collMod":"c","index":{"name":"a","hidden":true}})"}));
    EXPECT_EQ(linesOf(newestEntry().view().findPath("o.applyOps").document()),
              (Texts{R"(c t.$cmd {"drop":"c"})", R"(c t.$cmd {"dropDatabase":1})"}));
}

TEST_F(OplogTest, IsReadFromATimeToATime) {
    insert(0, 3);
    const std::string third = newest();
    insert(3, 3);
    const std::string sixth = newest();
    insert(6, 1);
    EXPECT_EQ(found(R"(, "filter": {"ts": )" + third + "}"), (Texts{R"(i t.c {"_id":2})"}));
    EXPECT_EQ(found(R"(, "filter": {"$and": [{"ts": {"$gte": )" + third + R"(}}, {"ts": {"$lt": )" +
                    sixth + "}}]}"),
              (Texts{R"(i t.c {"_id":2})", R"(i t.c {"_id":3})", R"(i t.c {"_id":4})"}));
    EXPECT_EQ(found(R"(, "filter": {"ts": {"$gt": )" + third + R"(}, "o._id": {"$ne": 4}})"),
              (Texts{R"(i t.c {"_id":3})", R"(i t.c {"_id":5})", R"(i t.c {"_id":6})"}));
    EXPECT_EQ(found(R"(, "filter": {"ts": {"$gt": )" + third + R"(}}, "limit": 1, "skip": 1)"),
              (Texts{R"(i t.c {"_id":4})"}));
    // A time to come.
    EXPECT_TRUE(
        found(R"(, "filter": {"ts": {"$gt": {"$timestamp": {"t": 4294967295, "i": 1}}}})").empty());
    EXPECT_TRUE(
        found(R"(, "filter": {"ts": {"$gt": )" + sixth + R"(, "$lt": )" + third + "}}").empty());
    // One that the log no longer reaches back to.
    EXPECT_EQ(found(R"(, "filter": {"ts": {"$gte": {"$timestamp": {"t": 1, "i": 1}}}})"),
              found(""));
}

TEST_F(OplogTest, FromItsEndToo) {
    insert(0, 2);
    for (const char* backwards : {R"(, "sort": {"$natural": -1})",
                                  R"(, "hint": {"$natural": -1})",
                                  R"(, "sort": {"ts": -1})"}) {
        Texts lines = found(backwards);
        std::reverse(lines.begin(), lines.end());
        EXPECT_EQ(lines, found("")) << backwards;
    }
    EXPECT_EQ(found(R"(, "sort": {"ts": -1}, "limit": 2)"),
              (Texts{R"(i t.c {"_id":1})", R"(i t.c {"_id":0})"}));
    EXPECT_EQ(found(R"(, "sort": {"$natural": 1}, "limit": 1)").size(), 1u);
    expectReply(R"({"find": "oplog.rs", "sort": {"ns": 1}})", R"({"ok": 0.0})", "local");
}

/// More than the reader takes at a time, in both directions, with entries of more than one slot.
TEST_F(OplogTest, IsTheSameInBothDirections) {
    insert(0, 60, 40'000);
    run(R"({"insert": "c", "documents": [{"_id": "large", "pad": ")" + std::string(3'000'000, 'x') +
            R"("}]})",
        "t");
    insert(60, 20, 40'000);
    const std::string onlyIds = R"(, "projection": {"op": 1, "ns": 1, "o._id": 1})";
    Texts lines = found(onlyIds + R"(, "sort": {"$natural": -1})");
    EXPECT_GT(lines.size(), 81u);
    std::reverse(lines.begin(), lines.end());
    EXPECT_EQ(lines, found(onlyIds));
}

TEST_F(OplogTest, IsNeverEmpty) {
    const bson::OwnedDocument entry = newestEntry();
    EXPECT_EQ(entry.view().find("op").stringValue(), "n");
    EXPECT_EQ(entry.view().find("ts").type(), bson::Type::kTimestamp);
    EXPECT_EQ(entry.view().find("v").int64Value(), 2);
    EXPECT_EQ(entry.view().find("t").int64Value(), 1);
    // The log's beginning is an entry as well.
    EXPECT_EQ(found(""), (Texts{R"(n  {"msg":"periodicnoop"})", R"(n  {"msg":"newprimary"})"}));
}

TEST_F(OplogTest, ATailGetsWhatComes) {
    insert(0, 1);
    const bson::OwnedDocument first = run(
        R"({"find": "oplog.rs", "tailable": true, "awaitData": true, "filter": {"ts": {"$gt": )" +
            newest() + "}}}",
        "local");
    const int64_t id = first.view().findPath("cursor.id").int64Value();
    ASSERT_NE(id, 0) << bson::toJson(first.view());
    EXPECT_TRUE(first.view().findPath("cursor.firstBatch").document().isEmpty());
    const std::string getMore = R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
                                R"("}, "collection": "oplog.rs", "maxTimeMS": 20000})";
    Elsewhere waiting(*this, 9, message(request(getMore, "local").view()));
    insert(1, 1);
    EXPECT_EQ(linesOf(waiting.reply().view().findPath("cursor.nextBatch").document()),
              (Texts{R"(i t.c {"_id":1})"}));
    insert(2, 2);
    EXPECT_EQ(linesOf(run(getMore, "local").view().findPath("cursor.nextBatch").document()),
              (Texts{R"(i t.c {"_id":2})", R"(i t.c {"_id":3})"}));
    expectReply(R"({"find": "oplog.rs", "tailable": true, "sort": {"$natural": -1}})",
                R"({"code": 2})",
                "local");
}

TEST_F(OplogTest, ATransactionIsOneEntry) {
    insert(0, 1);
    const std::string session =
        R"("lsid": {"id": {"$uuid": "11111111-2222-3333-4444-555555555555"}},)"
        R"("txnNumber": {"$numberLong": "1"}, "autocommit": false)";
    run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}], "startTransaction": true, )" +
            session + "}",
        "t");
    run(R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}], )" + session + "}", "t");
    run(R"({"commitTransaction": 1, )" + session + "}", "admin");
    const bson::OwnedDocument entry = newestEntry();
    EXPECT_EQ(entry.view().find("txnNumber").int64Value(), 1);
    EXPECT_EQ(linesOf(entry.view().findPath("o.applyOps").document()),
              (Texts{R"(i t.c {"_id":1})", R"(i t.c {"_id":2})", R"(d t.c {"_id":1})"}));
}

TEST_F(OplogTest, AStatementOfARetryableWriteSaysWhoseItWas) {
    const std::string update =
        R"({"update": "c", "updates": [{"q": {"_id": 7}, "u": {"$inc": {"n": 1}}, "upsert": true}],
            "lsid": {"id": {"$uuid": "11111111-2222-3333-4444-555555555555"}},
            "txnNumber": {"$numberLong": "3"}, "stmtId": 5})";
    run(update, "t");
    const bson::OwnedDocument entry = newestEntry();
    EXPECT_EQ(entry.view().find("op").stringValue(), "i");
    EXPECT_EQ(entry.view().find("txnNumber").int64Value(), 3);
    EXPECT_EQ(entry.view().find("stmtId").toInt64(), 5);
    EXPECT_TRUE(entry.view().findPath("lsid.uid").type() == bson::Type::kBinary);
    // Neither what is sent again nor what has no operation of its own is an entry.
    run(update, "t");
    run(update, "local");
    EXPECT_EQ(bson::toJson(newestEntry().view()), bson::toJson(entry.view()));
    insert(1, 1);
    EXPECT_FALSE(newestEntry().view().has("txnNumber"));
}

TEST_F(OplogTest, IsCountedAndAggregated) {
    const std::string before = newest();
    insert(0, 5);
    const std::string since = R"({"ts": {"$gt": )" + before + R"(}, "op": "i"})";
    expectReply(R"({"count": "oplog.rs", "query": )" + since + "}", R"({"n": 5})", "local");
    expectReply(
        R"({"count": "oplog.rs", "query": )" + since + R"(, "limit": 3})", R"({"n": 3})", "local");
    expectReply(R"({"aggregate": "oplog.rs", "cursor": {}, "pipeline": [{"$match": )" + since +
                    R"(}, {"$group": {"_id": "$ns", "n": {"$sum": 1}}}]})",
                R"({"cursor": {"firstBatch": [{"_id": "t.c", "n": 5}]}})",
                "local");
    expectReply(R"({"aggregate": "oplog.rs", "cursor": {}, "hint": {"$natural": -1}, "pipeline":
                    [{"$limit": 1}, {"$project": {"o": 1, "_id": 0}}]})",
                R"({"cursor": {"firstBatch": [{"o": {"_id": 4}}]}})",
                "local");
    expectReply(R"({"distinct": "oplog.rs", "key": "ns"})", R"({"code": 115})", "local");
    expectReply(R"({"explain": {"find": "oplog.rs"}})",
                R"({"queryPlanner": {"winningPlan": {"stage": "COLLSCAN"}}})",
                "local");
}

TEST_F(OplogTest, IsListedAsACappedCollection) {
    expectReply(R"({"listCollections": 1, "filter": {"name": "oplog.rs"}})",
                R"({"cursor": {"firstBatch": [{"name": "oplog.rs", "type": "collection",
                    "options": {"capped": true}}]}})",
                "local");
    expectReply(R"({"listDatabases": 1, "filter": {"name": "local"}, "nameOnly": true})",
                R"({"databases": [{"name": "local"}]})",
                "admin");
    expectReply(R"({"collStats": "oplog.rs"})",
                R"({"ns": "local.oplog.rs", "capped": true, "maxSize": 0})",
                "local");
    expectReply(R"({"aggregate": "oplog.rs", "cursor": {}, "pipeline":
                    [{"$collStats": {"storageStats": {}}}]})",
                R"({"cursor": {"firstBatch": [{"storageStats": {"capped": true, "maxSize": 0}}]}})",
                "local");
}

TEST_F(OplogTest, IsNotWritten) {
    for (const char* write :
         {R"({"insert": "oplog.rs", "documents": [{"_id": 1}]})",
          R"({"update": "oplog.rs", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]})",
          R"({"delete": "oplog.rs", "deletes": [{"q": {}, "limit": 0}]})",
          R"({"create": "oplog.rs"})",
          R"({"createIndexes": "oplog.rs", "indexes": [{"key": {"a": 1}, "name": "a"}]})"}) {
        const bson::OwnedDocument reply = run(write, "local");
        EXPECT_TRUE(reply.view().find("code").toInt64() == 73 ||
                    reply.view().findPath("writeErrors.0.code").toInt64() == 73)
            << write << bson::toJson(reply.view());
    }
}

TEST_F(CommandTest, AStandaloneHasNoOplog) {
    run(R"({"insert": "c", "documents": [{"_id": 1}]})", "t");
    expectReply(R"({"find": "oplog.rs"})", R"({"cursor": {"firstBatch": []}})", "local");
    expectReply(R"({"listCollections": 1, "filter": {"name": "oplog.rs"}})",
                R"({"cursor": {"firstBatch": []}})",
                "local");
}

}  // namespace
}  // namespace freshet::command
