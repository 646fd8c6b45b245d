// SPDX-License-Identifier: Apache-2.0
/// Reads with read concern snapshot outside of transactions, as a client sees them.
#include "freshet/command/txn/snapshot_read.h"

#include "freshet/command/run/fixture_test.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"

#include <utility>
#include <vector>

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
    static std::string concernAt(uint64_t time) {
        return R"("readConcern": {"level": "snapshot", "atClusterTime": {"$timestamp": {"t": )" +
               std::to_string(time >> 32) + R"(, "i": )" +
               std::to_string(static_cast<uint32_t>(time)) + "}}}";
    }
    /// At the time that a reply has shown.
    static std::string concernAt(const bson::OwnedDocument& reply,
                                 const char* path = "cursor.atClusterTime") {
        return concernAt(timeOf(reply, path));
    }
    static std::string getMoreOf(const bson::OwnedDocument& first) {
        const int64_t id = first.view().findPath("cursor.id").toInt64();
        return R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
               R"("}, "collection": "c"})";
    }
    bson::OwnedDocument getMore(const bson::OwnedDocument& first) { return run(getMoreOf(first)); }
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

TEST_F(SnapshotReadTest, AGetMoreGoesOnInItsCursorsSnapshotWhateverItAsksFor) {
    insert(2);
    const bson::OwnedDocument first = run(at(R"({"find": "c", "batchSize": 1})"));
    const bson::OwnedDocument again = run(at(R"({"find": "c", "batchSize": 1})"));
    const bson::OwnedDocument plain = run(R"({"find": "c", "batchSize": 1})");
    changeAll();
    // As drivers do in snapshot sessions.
    EXPECT_EQ("{ _id: 2, v: 0 }", textOf(run(at(getMoreOf(first), concernAt(first))), "nextBatch"));
    EXPECT_EQ("{ _id: 2, v: 0 }", textOf(run(at(getMoreOf(again))), "nextBatch"));
    EXPECT_EQ("{ _id: 9, v: 9 }", textOf(run(at(getMoreOf(plain))), "nextBatch"));
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

TEST_F(SnapshotReadTest, ReadsAtATimeThatAnyReplyHasShown) {
    insert(3);
    // From here on the past is kept.
    const uint64_t first = timeOf(run(at(R"({"find": "c"})")), "cursor.atClusterTime");
    std::vector<std::pair<uint64_t, std::string>> states;
    const char* all = R"({"find": "c", "sort": {"_id": 1}})";
    const auto note = [&](const bson::OwnedDocument& reply) {
        states.emplace_back(timeOf(reply, "operationTime"), textOf(run(all)));
    };
    EXPECT_EQ("{ _id: 1, v: 0 } { _id: 2, v: 0 } { _id: 3, v: 0 }", textOf(run(all)));
    for (int i = 10; i < 15; ++i) {
        note(run(R"({"insert": "c", "documents": [{"_id": )" + std::to_string(i) + "}]}"));
        note(run(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"v": 1}}}]})"));
    }
    note(run(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})"));
    for (const auto& [time, state] : states) {
        const bson::OwnedDocument reply = run(at(all, concernAt(time)));
        EXPECT_EQ(state, textOf(reply));
        EXPECT_EQ(time, timeOf(reply, "cursor.atClusterTime"));
        const bson::OwnedDocument piped =
            run(at(R"({"aggregate": "c", "pipeline": [{"$sort": {"_id": 1}}], "cursor": {}})",
                   concernAt(time)));
        EXPECT_EQ(state, textOf(piped));
        EXPECT_EQ(time, timeOf(piped, "cursor.atClusterTime"));
    }
    const bson::OwnedDocument distinct =
        run(at(R"({"distinct": "c", "key": "_id"})", concernAt(first)));
    EXPECT_EQ(3, distinct.view().find("values").document().fieldCount());
    EXPECT_EQ(first, timeOf(distinct, "atClusterTime"));
    const uint64_t before = first >> 32 << 32 | 1;
    const bson::OwnedDocument refused = run(at(all, concernAt(before)));
    EXPECT_EQ(239, refused.view().find("code").toInt64());
    EXPECT_EQ("SnapshotTooOld", refused.view().find("codeName").stringValue());
    EXPECT_EQ("Read timestamp Timestamp(" + std::to_string(before >> 32) +
                  ", 1) is older than the oldest available timestamp.",
              refused.view().find("errmsg").stringValue());
}

TEST_F(SnapshotReadTest, ACursorThatWaitsHoldsNoSnapshot) {
    run(R"({"setParameter": 1, "minSnapshotHistoryWindowInSeconds": 1})", "admin");
    insert(3);
    const bson::OwnedDocument first = run(at(R"({"find": "c", "batchSize": 1})"));
    const bson::OwnedDocument again = run(at(R"({"find": "c", "batchSize": 1})"));
    changeAll();
    EXPECT_EQ("{ _id: 2, v: 0 } { _id: 3, v: 0 }", textOf(getMore(first), "nextBatch"));
    const uint64_t began = platform::monotonicNanos();
    while (run(at(R"({"find": "c"})", concernAt(again))).view().find("ok").toDouble() == 1.0) {
        run(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"v": 1}}}]})");
        platform::sleepMillis(50);
        ASSERT_LT(platform::monotonicNanos() - began, 20'000'000'000u);
    }
    const bson::OwnedDocument late = getMore(again);
    EXPECT_EQ(239, late.view().find("code").toInt64()) << bson::toJson(late.view());
    EXPECT_EQ(43, getMore(again).view().find("code").toInt64());
}

TEST_F(SnapshotReadTest, ADefinitionThatIsNewerCannotBeReadBefore) {
    insert(1);
    const bson::OwnedDocument before = run(at(R"({"find": "c"})"));
    insert(1, "made");
    run(R"({"createIndexes": "c", "indexes": [{"key": {"v": 1}, "name": "v"}]})");
    expectReply(at(R"({"find": "made"})", concernAt(before)),
                R"({"code": 246, "codeName": "SnapshotUnavailable"})");
    expectReply(at(R"({"find": "c"})", concernAt(before)), R"({"code": 246})");
    expectReply(at(R"({"aggregate": "other", "cursor": {}, "pipeline": [
                       {"$unionWith": "made"}]})",
                   concernAt(before)),
                R"({"code": 246})");
    expectReply(at(R"({"find": "c"})"), R"({"cursor": {"firstBatch": [{"_id": 1, "v": 0}]}})");
}

TEST_F(SnapshotReadTest, ATransactionMayBeginInThePast) {
    insert(2);
    const bson::OwnedDocument before = run(at(R"({"find": "c"})"));
    changeAll();
    const auto in = [](std::string_view command, int number, const std::string& more = "") {
        const std::string text(command);
        return text.substr(0, text.rfind('}')) +
               R"(, "lsid": {"id": {"$binary": {"base64": "BAAAAAAAAAAAAAAAAAAAAA==",
                  "subType": "04"}}}, "autocommit": false, "txnNumber": {"$numberLong": ")" +
               std::to_string(number) + R"("})" + more + "}";
    };
    const std::string starts = R"(, "startTransaction": true, )" + concernAt(before);
    const bson::OwnedDocument read = run(in(R"({"find": "c"})", 1, starts));
    EXPECT_EQ("{ _id: 1, v: 0 } { _id: 2, v: 0 }", textOf(read));
    EXPECT_EQ(0U, timeOf(read, "cursor.atClusterTime"));
    expectReply(in(R"({"insert": "c", "documents": [{"_id": 5}]})", 1), R"({"n": 1})");
    expectReply(in(R"({"commitTransaction": 1})", 1), R"({"ok": 1})", "admin");
    expectReply(R"({"count": "c", "query": {"_id": 5}})", R"({"n": 1})");
    // The session's own document has been written since then: that is no conflict.
    run(in(R"({"find": "c"})", 2, starts));
    expectReply(in(R"({"insert": "c", "documents": [{"_id": 6}]})", 2), R"({"n": 1})");
    expectReply(in(R"({"commitTransaction": 1})", 2), R"({"ok": 1})", "admin");
    // What was changed since then cannot be changed from there.
    run(in(R"({"find": "c"})", 3, starts));
    expectReply(
        in(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"v": 1}}}]})", 3),
        R"({"code": 112, "errorLabels": ["TransientTransactionError"]})");
}

TEST_F(SnapshotReadTest, TheWindowIsAParameter) {
    expectReplies(
        {
            {R"({"getParameter": 1, "minSnapshotHistoryWindowInSeconds": 1})",
             R"({"minSnapshotHistoryWindowInSeconds": 300})"},
            {R"({"setParameter": 1, "minSnapshotHistoryWindowInSeconds": 600})",
             R"({"was": 300, "ok": 1})"},
            {R"({"getParameter": 1, "minSnapshotHistoryWindowInSeconds": 1})",
             R"({"minSnapshotHistoryWindowInSeconds": 600})"},
            {R"({"setParameter": 1, "minSnapshotHistoryWindowInSeconds": -1})", R"({"code": 2})"},
        },
        "admin");
    // Once it is set, the past can be read although nobody has read a snapshot before.
    run(at(R"({"find": "c"})"));
    const bson::OwnedDocument written = run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    changeAll();
    EXPECT_EQ("{ _id: 1 }",
              textOf(run(at(R"({"find": "c"})", concernAt(written, "operationTime")))));
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
        {R"({"aggregate": "c", "pipeline": [{"$changeStream": {}}], "cursor": {},
             "readConcern": {"level": "snapshot"}})",
         R"({"code": 72})"},
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
    expectReplies(
        {
            {R"({"find": "oplog.rs", "readConcern": {"level": "snapshot"}})",
             R"({"code": 246, "codeName": "SnapshotUnavailable"})"},
            {R"({"aggregate": "oplog.rs", "pipeline": [], "cursor": {},
                 "readConcern": {"level": "snapshot"}})",
             R"({"code": 246})"},
        },
        "local");
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
