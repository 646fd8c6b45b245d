// SPDX-License-Identifier: Apache-2.0
/// Reads with read concern snapshot outside of transactions, as a client sees them.
#include "freshet/command/txn/snapshot_read.h"

#include "freshet/command/run/fixture_test.h"

namespace freshet::command {
namespace {

class SnapshotReadTest : public CommandTest {
protected:
    SnapshotReadTest() {
        close();
        replicaSet_ = "rs0";
        open();
    }

    static constexpr const char* kSnapshot = R"("readConcern": {"level": "snapshot"})";

    /// {_id: 1, v: 0} to {_id: n, v: 0}.
    void insert(int n, const std::string& collection = "c") {
        std::string documents;
        for (int i = 1; i <= n; ++i) {
            documents +=
                (i == 1 ? R"({"_id": )" : R"(, {"_id": )") + std::to_string(i) + R"(, "v": 0})";
        }
        run(R"({"insert": ")" + collection + R"(", "documents": [)" + documents + "]}");
    }
    /// Changes all documents, removes one and adds one.
    void changeAll(const std::string& collection = "c") {
        const std::string name = '"' + collection + '"';
        run(R"({"update": )" + name +
            R"(, "updates": [{"q": {}, "u": {"$inc": {"v": 1}}, "multi": true}]})");
        run(R"({"delete": )" + name + R"(, "deletes": [{"q": {"_id": 2}, "limit": 1}]})");
        run(R"({"insert": )" + name + R"(, "documents": [{"_id": 9, "v": 9}]})");
    }
    /// The command with read concern snapshot.
    static std::string at(std::string_view command, const std::string& concern = kSnapshot) {
        const std::string text(command);
        return text.substr(0, text.rfind('}')) + ", " + concern + "}";
    }
    static std::string textOf(const bson::OwnedDocument& reply, const char* batch = "firstBatch") {
        const bson::Element found = reply.view().findPath(std::string("cursor.") + batch);
        if (!found.isArray()) {
            return bson::toJson(reply.view());
        }
        std::string all;
        for (const bson::Element& document : found.document()) {
            all += (all.empty() ? "" : " ") + bson::toShellText(document.document());
        }
        return all;
    }
    static uint64_t timeOf(const bson::OwnedDocument& reply, const char* path) {
        const bson::Element time = reply.view().findPath(path);
        return time.type() == bson::Type::kTimestamp ? time.timestampValue() : 0;
    }
    bson::OwnedDocument getMore(const bson::OwnedDocument& first) {
        const int64_t id = first.view().findPath("cursor.id").toInt64();
        return run(R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
                   R"("}, "collection": "c"})");
    }
};

TEST_F(SnapshotReadTest, AllBatchesAreOfOneMoment) {
    insert(4);
    for (const char* command : {R"({"find": "c", "sort": {"_id": 1}, "batchSize": 1})",
                                R"({"find": "c", "filter": {"_id": {"$gt": 0}}, "batchSize": 1})",
                                R"({"aggregate": "c", "pipeline": [{"$match": {"_id": {"$gt": 0}}}],
              "cursor": {"batchSize": 1}})"}) {
        const bson::OwnedDocument first = run(at(command));
        EXPECT_EQ("{ _id: 1, v: 0 }", textOf(first));
        changeAll();
        run(R"({"createIndexes": "c", "indexes": [{"key": {"v": 1}, "name": "v"}]})");
        const bson::OwnedDocument next = getMore(first);
        EXPECT_EQ("{ _id: 2, v: 0 } { _id: 3, v: 0 } { _id: 4, v: 0 }", textOf(next, "nextBatch"));
        EXPECT_NE(0U, timeOf(first, "cursor.atClusterTime"));
        EXPECT_EQ(timeOf(first, "cursor.atClusterTime"), timeOf(next, "cursor.atClusterTime"));
        EXPECT_EQ(0, next.view().findPath("cursor.id").toInt64());
        run(R"({"drop": "c"})");
        insert(4);
    }
}

TEST_F(SnapshotReadTest, ACursorWithoutAFirstBatchKeepsItsMomentToo) {
    insert(2);
    const bson::OwnedDocument first = run(at(R"({"find": "c", "batchSize": 0})"));
    changeAll();
    EXPECT_EQ("{ _id: 1, v: 0 } { _id: 2, v: 0 }", textOf(getMore(first), "nextBatch"));
}

TEST_F(SnapshotReadTest, TheTimeIsNotBeforeWhatWasAcknowledged) {
    const bson::OwnedDocument written = run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    const bson::OwnedDocument read = run(at(R"({"find": "c"})"));
    EXPECT_GE(timeOf(read, "cursor.atClusterTime"), timeOf(written, "operationTime"));
    const bson::OwnedDocument distinct = run(at(R"({"distinct": "c", "key": "_id"})"));
    EXPECT_GE(timeOf(distinct, "atClusterTime"), timeOf(read, "cursor.atClusterTime"));
    EXPECT_EQ(0U, timeOf(run(R"({"find": "c"})"), "cursor.atClusterTime"));
    EXPECT_EQ(0U, timeOf(run(R"({"distinct": "c", "key": "_id"})"), "atClusterTime"));
}

TEST_F(SnapshotReadTest, StagesReadOtherCollectionsAtTheSameMoment) {
    insert(3);
    insert(3, "d");
    const bson::OwnedDocument first = run(at(
        R"({"aggregate": "c", "pipeline": [
            {"$sort": {"_id": 1}},
            {"$lookup": {"from": "d", "localField": "_id", "foreignField": "_id", "as": "d"}},
            {"$project": {"d": "$d.v"}}], "cursor": {"batchSize": 1}})"));
    EXPECT_EQ("{ _id: 1, d: [ 0 ] }", textOf(first));
    changeAll("d");
    EXPECT_EQ("{ _id: 2, d: [ 0 ] } { _id: 3, d: [ 0 ] }", textOf(getMore(first), "nextBatch"));
}

TEST_F(SnapshotReadTest, APipelineMayWriteWhatItHasReadInASnapshot) {
    insert(2);
    expectReply(at(R"({"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {}})"),
                R"({"cursor": {"firstBatch": []}})");
    expectReply(at(R"({"aggregate": "c", "cursor": {}, "pipeline": [
                       {"$set": {"v": 5}}, {"$merge": "c"}]})"),
                R"({"cursor": {"firstBatch": []}})");
    EXPECT_EQ("{ _id: 1, v: 0 } { _id: 2, v: 0 }", textOf(run(R"({"find": "d"})")));
    EXPECT_EQ("{ _id: 1, v: 5 } { _id: 2, v: 5 }", textOf(run(R"({"find": "c"})")));
}

TEST_F(SnapshotReadTest, WhatIsRefused) {
    insert(1);
    expectReplies({
        {R"({"count": "c", "readConcern": {"level": "snapshot"}})",
         R"({"code": 72, "codeName": "InvalidOptions",
             "errmsg": "Command count does not support { readConcern: { level: \"snapshot\", provenance: \"clientSupplied\" } } :: caused by :: read concern snapshot not supported"})"},
        {R"({"insert": "c", "documents": [{}], "readConcern": {"level": "snapshot",
             "atClusterTime": {"$timestamp": {"t": 9, "i": 1}}}})",
         R"({"code": 72,
             "errmsg": "Command insert does not support { readConcern: { level: \"snapshot\", atClusterTime: Timestamp(9, 1), provenance: \"clientSupplied\" } } :: caused by :: read concern not supported"})"},
        {R"({"listCollections": 1, "readConcern": {"level": "snapshot"}})", R"({"code": 72})"},
        {R"({"aggregate": "c", "pipeline": [{"$indexStats": {}}], "cursor": {},
             "readConcern": {"level": "snapshot"}})",
         R"({"code": 72,
             "errmsg": "Aggregation stage $indexStats cannot run with a readConcern other than 'local'. Current readConcern: snapshot"})"},
        {R"({"find": "c", "readConcern": {"level": "snapshot", "atClusterTime": 5}})",
         R"({"code": 14, "codeName": "TypeMismatch"})"},
        {R"({"find": "c", "readConcern": {"level": "snapshot",
             "atClusterTime": {"$timestamp": {"t": 0, "i": 7}}}})",
         R"({"code": 72, "errmsg": "atClusterTime cannot be a null timestamp"})"},
        {R"({"find": "c", "readConcern": {"level": "majority",
             "atClusterTime": {"$timestamp": {"t": 9, "i": 1}}}})",
         R"({"code": 72,
             "errmsg": "atClusterTime field can be set only if level is equal to snapshot"})"},
        {R"({"find": "c", "readConcern": {"atClusterTime": {"$timestamp": {"t": 9, "i": 1}}}})",
         R"({"code": 72})"},
        {R"({"find": "c", "readConcern": {"level": "snapshot",
             "atClusterTime": {"$timestamp": {"t": 9, "i": 1}},
             "afterClusterTime": {"$timestamp": {"t": 9, "i": 1}}}})",
         R"({"code": 72,
             "errmsg": "Specifying a timestamp for readConcern snapshot in a causally consistent session is not allowed. See https://docs.mongodb.com/manual/core/read-isolation-consistency-recency/#causal-consistency"})"},
        {R"({"find": "c", "readConcern": {"level": "linearizable",
             "afterClusterTime": {"$timestamp": {"t": 9, "i": 1}}}})",
         R"({"code": 72,
             "errmsg": "afterClusterTime field can be set only if level is equal to majority, local, or snapshot"})"},
    });
    for (const char* name : {"atClusterTime", "afterClusterTime"}) {
        const bson::OwnedDocument refused =
            run(R"({"find": "c", "readConcern": {"level": "snapshot", ")" + std::string(name) +
                R"(": {"$timestamp": {"t": 4294967295, "i": 1}}}})");
        EXPECT_EQ(72, refused.view().find("code").toInt64());
        EXPECT_EQ(0U,
                  refused.view().find("errmsg").stringValue().find(
                      "readConcern " + std::string(name) +
                      " value must not be greater than the current clusterTime. Requested "
                      "clusterTime: { ts: Timestamp(4294967295, 1) }; current clusterTime: { ts: "
                      "Timestamp("));
    }
}

TEST_F(SnapshotReadTest, AStandaloneHasNoTimes) {
    close();
    replicaSet_.clear();
    open();
    insert(1);
    expectReplies({
        {R"({"find": "c", "readConcern": {"level": "snapshot"}})",
         R"({"code": 123, "codeName": "NotAReplicaSet"})"},
        {R"({"distinct": "c", "key": "v", "readConcern": {"level": "snapshot"}})",
         R"({"code": 123})"},
        {R"({"find": "c", "readConcern": {"level": "snapshot",
             "atClusterTime": {"$timestamp": {"t": 9, "i": 1}}}})",
         R"({"code": 123})"},
    });
}

}  // namespace
}  // namespace freshet::command
