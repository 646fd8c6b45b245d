// SPDX-License-Identifier: Apache-2.0
/// Pipelines over the server's reports on itself, and which users may run them.
#include "freshet/command/access/auth_fixture_test.h"

namespace freshet::command {
namespace {

std::string aggregate(std::string_view collection, std::string_view pipeline) {
    return R"({"aggregate": )" + std::string(collection) + R"(, "cursor": {}, "pipeline": )" +
           std::string(pipeline) + "}";
}

class SourcesTest : public CommandTest {
protected:
    void expectBatch(std::string_view collection,
                     std::string_view pipeline,
                     std::string_view batch,
                     std::string_view db = "test") {
        expectReply(aggregate(collection, pipeline),
                    R"({"ok": 1.0, "cursor": {"id": 0, "firstBatch": )" + std::string(batch) + "}}",
                    db);
    }
    void expectCode(std::string_view collection,
                    std::string_view pipeline,
                    int code,
                    std::string_view db = "test") {
        expectReply(aggregate(collection, pipeline),
                    R"({"ok": 0.0, "code": )" + std::to_string(code) + "}",
                    db);
    }
};

TEST_F(SourcesTest, CurrentOpShowsItself) {
    expectBatch("1",
                R"([{"$currentOp": {}}, {"$match": {"command.comment": {"$exists": false}}},
                    {"$project": {"ns": 1, "op": 1, "active": 1, "connectionId": 1}}])",
                R"([{"ns": "admin.$cmd", "op": "command", "active": true, "connectionId": 7}])",
                "admin");
    auto other = dispatcher_->connect(clientFacts(9));
    expectBatch("1",
                R"([{"$currentOp": {"allUsers": true, "idleConnections": true}},
                    {"$match": {"active": false}}, {"$project": {"connectionId": 1}}])",
                R"([{"connectionId": 9}])",
                "admin");
    run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})");
    run(R"({"find": "c", "batchSize": 1, "noCursorTimeout": true})");
    expectBatch("1",
                R"([{"$currentOp": {"idleCursors": true}}, {"$match": {"type": "idleCursor"}}])",
                R"([{"ns": "test.c", "cursor": {"noCursorTimeout": true}}])",
                "admin");
    expectCode("1", R"([{"$currentOp": {}}])", 73);
    expectCode(R"("c")", R"([{"$currentOp": {}}])", 73, "admin");
    expectCode("1", R"([{"$currentOp": 1}])", 9, "admin");
    expectCode("1", R"([{"$currentOp": {"allUsers": 1}}])", 9, "admin");
    expectCode("1", R"([{"$currentOp": {"nope": true}}])", 9, "admin");
    expectCode("1", R"([{"$currentOp": {}}, {"$currentOp": {}}])", 40602, "admin");
}

TEST_F(SourcesTest, CollStatsTellsSizesCountsAndTimes) {
    run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}]})");
    run(R"({"find": "c"})");
    expectBatch(R"("c")",
                R"([{"$collStats": {"storageStats": {}, "count": {}, "latencyStats": {}}}])",
                R"([{"ns": "test.c", "count": 2,
                     "storageStats": {"size": 42, "count": 2, "avgObjSize": 21, "nindexes": 1,
                                      "capped": false, "scaleFactor": 1},
                     "latencyStats": {"reads": {"ops": 1}, "writes": {"ops": 1},
                                      "commands": {"ops": 0}}}])");
    expectBatch(R"("c")",
                R"([{"$collStats": {"storageStats": {"scale": 21}}},
                    {"$project": {"size": "$storageStats.size", "n": {"$type": "$count"}}}])",
                R"([{"size": 2, "n": "missing"}])");
    run(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}]})");
    run(R"({"delete": "c", "deletes": [{"q": {"_id": 3}, "limit": 1}]})");
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})");
    expectBatch(R"("c")",
                R"([{"$collStats": {"latencyStats": {}}}])",
                R"([{"latencyStats": {"writes": {"ops": 3}, "commands": {"ops": 1}}}])");
    // How drivers count documents without a filter.
    expectBatch(
        R"("c")",
        R"([{"$collStats": {"count": {}}}, {"$group": {"_id": 1, "n": {"$sum": "$count"}}}])",
        R"([{"_id": 1, "n": 2}])");
    expectBatch(R"("nothing")",
                R"([{"$collStats": {"latencyStats": {}}}])",
                R"([{"ns": "test.nothing", "latencyStats": {"reads": {"ops": 0}}}])");
    expectCode(R"("nothing")", R"([{"$collStats": {"count": {}}}])", 26);
    expectCode(R"("nothing")", R"([{"$collStats": {"storageStats": {}}}])", 26);
    expectCode(R"("c")", R"([{"$collStats": 1}])", 5447000);
    expectCode(R"("c")", R"([{"$collStats": {"nope": {}}}])", 40415);
    expectCode(R"("c")", R"([{"$collStats": {"count": 1}}])", 14);
    expectCode(R"("c")", R"([{"$collStats": {"storageStats": {"scale": 0}}}])", 2);
    expectCode("1", R"([{"$collStats": {}}])", 73);
    expectCode(R"("c")", R"([{"$match": {}}, {"$collStats": {}}])", 40602);
}

TEST_F(SourcesTest, IndexStatsCountsUses) {
    run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}]})");
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})");
    run(R"({"find": "c", "filter": {"a": 2}})");
    run(R"({"update": "c", "updates": [{"q": {"a": 1}, "u": {"$set": {"b": 1}}}]})");
    run(R"({"find": "c", "filter": {"b": 2}})");
    run(R"({"find": "c", "filter": {"_id": 2}})");
    expectBatch(R"("c")",
                R"([{"$indexStats": {}}, {"$sort": {"name": 1}}])",
                R"([{"name": "_id_", "key": {"_id": 1}, "accesses": {"ops": 1}},
                    {"name": "a_1", "key": {"a": 1}, "accesses": {"ops": 2},
                     "spec": {"v": 2, "name": "a_1"}}])");
    // A new index with the old name starts from zero.
    run(R"({"dropIndexes": "c", "index": "a_1"})");
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})");
    expectBatch(R"("c")",
                R"([{"$indexStats": {}}, {"$match": {"name": "a_1"}}])",
                R"([{"accesses": {"ops": 0}}])");
    expectBatch(R"("nothing")", R"([{"$indexStats": {}}])", "[]");
    expectCode(R"("c")", R"([{"$indexStats": {"a": 1}}])", 28803);
}

TEST_F(SourcesTest, InsideOtherPipelinesTheyAreRefused) {
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    expectCode(R"("c")",
               R"([{"$collStats": {"count": {}}},
                   {"$unionWith": {"coll": "c", "pipeline": [{"$collStats": {"count": {}}}]}}])",
               115);
}

TEST_F(AuthTest, WhatTheServerTellsIsForWhoMayAsk) {
    makeRoot();
    makeUser("ann", R"(["read"])");
    makeUser("amy", R"([])", "admin");
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    Connection& ann = as("ann");
    EXPECT_EQ(0, codeOn(ann, aggregate(R"("c")", R"([{"$collStats": {"count": {}}}])")));
    EXPECT_EQ(13, codeOn(ann, aggregate(R"("c")", R"([{"$indexStats": {}}])")));
    EXPECT_EQ(13, codeOn(ann, aggregate(R"("c")", R"([{"$collStats": {}}])"), "other"));
    EXPECT_EQ(0, codeOn(ann, aggregate("1", R"([{"$currentOp": {}}])"), "admin"));
    EXPECT_EQ(13, codeOn(ann, aggregate("1", R"([{"$currentOp": {"allUsers": true}}])"), "admin"));
    EXPECT_EQ(13, codeOn(ann, aggregate("1", R"([{"$listLocalSessions": {"allUsers": true}}])")));
}

TEST_F(AuthTest, LocalSessionsAreListedToTheirUser) {
    makeRoot();
    makeUser("ann", R"(["read"])");
    makeUser("bob", R"(["read"])");
    const auto find = [](char digit) {
        return R"({"find": "c", "lsid": {"id": {"$binary": {"subType": "04", "base64": "AAAAAAAAAAAAAAAAAAAAA)" +
               std::string(1, digit) + R"(=="}}}})";
    };
    ASSERT_EQ(0, codeOn(as("ann"), find('A')));
    ASSERT_EQ(0, codeOn(as("ann"), find('Q')));
    ASSERT_EQ(0, codeOn(as("bob"), find('g')));
    const auto listed = [&](Connection& connection, std::string_view options) {
        const bson::OwnedDocument reply =
            runOn(connection,
                  aggregate("1", R"([{"$listLocalSessions": )" + std::string(options) + "}]"));
        const bson::Element batch = reply.view().findPath("cursor.firstBatch");
        return batch.isArray() ? batch.document().fieldCount() : -1;
    };
    EXPECT_EQ(2, listed(as("ann"), "{}"));
    EXPECT_EQ(1, listed(as("bob"), "{}"));
    EXPECT_EQ(3, listed(*connection_, R"({"allUsers": true})"));
    EXPECT_EQ(-1, listed(*connection_, R"({"nope": true})"));
    EXPECT_EQ(73, codeOn(*connection_, aggregate(R"("c")", R"([{"$listLocalSessions": {}}])")));
}

}  // namespace
}  // namespace freshet::command
