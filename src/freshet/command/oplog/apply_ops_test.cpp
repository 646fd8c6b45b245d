// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/fixture_test.h"

namespace freshet::command {
namespace {

class ApplyOpsTest : public CommandTest {
protected:
    ApplyOpsTest() {
        close();
        replicaSet_ = "rs0";
        open();
        run(R"({"create": "c"})", "t");
    }
    void apply(const std::string& operations, const std::string& expected) {
        expectReply(R"({"applyOps": [)" + operations + "]}", expected, "admin");
    }
    void applyOne(const std::string& operation) {
        apply(operation, R"({"ok": 1.0, "applied": 1, "results": [true]})");
    }
    /// The documents of t.c.
    std::string documents() {
        const bson::OwnedDocument reply = run(R"({"find": "c", "sort": {"_id": 1}})", "t");
        std::string text;
        for (const bson::Element& one : reply.view().findPath("cursor.firstBatch").document()) {
            text += bson::toShellText(one.document());
        }
        return text;
    }
};

TEST_F(ApplyOpsTest, Documents) {
    applyOne(R"({"op": "i", "ns": "t.c", "o": {"_id": 1, "a": {"b": 1}}, "ts": {"$timestamp":
                 {"t": 1, "i": 1}}, "v": 2, "wall": {"$date": 0}})");
    applyOne(R"({"op": "u", "ns": "t.c", "o2": {"_id": 1},
                 "o": {"$v": 2, "diff": {"sa": {"u": {"b": 2}}, "i": {"c": [1]}}}})");
    EXPECT_EQ(documents(), "{ _id: 1, a: { b: 2 }, c: [ 1 ] }");
    applyOne(R"({"op": "u", "ns": "t.c", "o2": {"_id": 1}, "o": {"$v": 1, "$set": {"a.b": 3}}})");
    EXPECT_EQ(documents(), "{ _id: 1, a: { b: 3 }, c: [ 1 ] }");
    applyOne(R"({"op": "u", "ns": "t.c", "o2": {"_id": 1}, "o": {"_id": 1, "whole": true}})");
    EXPECT_EQ(documents(), "{ _id: 1, whole: true }");
    applyOne(R"({"op": "u", "ns": "t.c", "b": true, "o2": {"_id": 2}, "o": {"$set": {"a": 1}}})");
    applyOne(R"({"op": "d", "ns": "t.c", "o": {"_id": 1}})");
    EXPECT_EQ(documents(), "{ _id: 2, a: 1 }");
}

/// As tools do that begin again.
TEST_F(ApplyOpsTest, WhatWasDoneAlreadyIsDoneAgain) {
    applyOne(R"({"op": "i", "ns": "t.c", "o": {"_id": 1, "a": 1}})");
    applyOne(R"({"op": "i", "ns": "t.c", "o": {"_id": 1, "$odd": 1, "b": 2}})");
    EXPECT_EQ(documents(), "{ _id: 1, $odd: 1, b: 2 }");
    applyOne(R"({"op": "d", "ns": "t.c", "o": {"_id": 7}})");
    applyOne(R"({"op": "d", "ns": "t.none", "o": {"_id": 7}})");
    applyOne(R"({"op": "c", "ns": "t.$cmd", "o": {"drop": "none"}})");
}

TEST_F(ApplyOpsTest, Definitions) {
    applyOne(R"({"op": "c", "ns": "t.$cmd", "o": {"create": "d", "validator": {"a": 1},
                 "idIndex": {"v": 2, "key": {"_id": 1}, "name": "_id_"}}})");
    applyOne(R"({"op": "c", "ns": "t.$cmd", "o": {"createIndexes": "d", "v": 2, "key": {"a": 1},
                 "name": "a_1"}})");
    applyOne(R"({"op": "c", "ns": "t.$cmd", "o": {"startIndexBuild": "d", "indexes": []}})");
    applyOne(R"({"op": "c", "ns": "t.$cmd", "o": {"commitIndexBuild": "d", "indexBuildUUID": 1,
                 "indexes": [{"v": 2, "key": {"b": 1}, "name": "b_1"}]}})");
    applyOne(R"({"op": "c", "ns": "t.$cmd", "o": {"dropIndexes": "d", "index": "a_1"}})");
    applyOne(R"({"op": "c", "ns": "t.$cmd", "o": {"collMod": "d", "index": {"name": "b_1",
                 "hidden": true}}})");
    expectReply(
        R"({"listIndexes": "d"})",
        R"({"cursor": {"firstBatch": [{"name": "_id_"}, {"name": "b_1", "hidden": true}]}})",
        "t");
    applyOne(R"({"op": "c", "ns": "t.$cmd", "o": {"renameCollection": "t.d", "to": "t.e",
                 "stayTemp": false}})");
    expectReply(R"({"listCollections": 1, "filter": {"name": "e"}})",
                R"({"cursor": {"firstBatch": [{"options": {"validator": {"a": 1}}}]}})",
                "t");
    applyOne(R"({"op": "c", "ns": "t.$cmd", "o": {"dropDatabase": 1}})");
    expectReply(R"({"listCollections": 1})", R"({"cursor": {"firstBatch": []}})", "t");
}

TEST_F(ApplyOpsTest, ATransactionsEntryIsDoneAsAWhole) {
    apply(R"({"op": "n", "ns": "", "o": {"msg": "x"}},
             {"op": "c", "ns": "admin.$cmd", "o": {"applyOps": [
                 {"op": "i", "ns": "t.c", "o": {"_id": 1}},
                 {"op": "i", "ns": "t.c", "o": {"_id": 2}}]}},
             {"op": "d", "ns": "t.c", "o": {"_id": 1}})",
          R"({"ok": 1.0, "applied": 2, "results": [true, true]})");
    EXPECT_EQ(documents(), "{ _id: 2 }");
    expectReply(R"({"applyOps": []})", R"({"ok": 1.0, "applied": 0, "results": []})", "admin");
}

TEST_F(ApplyOpsTest, ErrorsSayHowFarItCame) {
    // One update fails, and what follows is done all the same.
    apply(R"({"op": "u", "ns": "t.c", "o2": {"_id": 9}, "o": {"$v": 2, "diff": {"u": {"a": 1}}}},
             {"op": "u", "ns": "t.c", "o2": {"_id": 9}, "o": {"$set": {"a": 1}}},
             {"op": "i", "ns": "t.c", "o": {"_id": 1}})",
          R"({"ok": 0.0, "code": 8, "codeName": "UnknownError", "applied": 3,
              "results": [false, false, true],
              "errmsg": "applyOps had one or more errors applying ops"})");
    // Anything else ends it.
    apply(
        R"({"op": "i", "ns": "t.none", "o": {"_id": 1}}, {"op": "i", "ns": "t.c", "o": {"_id": 2}})",
        R"({"ok": 0.0, "code": 26, "applied": 1, "results": [false]})");
    EXPECT_EQ(documents(), "{ _id: 1 }");
    apply(R"({"op": "u", "ns": "t.c", "o2": {"_id": 1}, "o": {"$v": 2, "diff": {"x": 1}}})",
          R"({"code": 9})");
    apply(R"({"op": "i", "ns": "t.c", "o": {"a": 1}})", R"({"code": 4})");
    apply(R"({"op": "u", "ns": "t.c", "o": {"a": 1}})", R"({"code": 4})");
    apply(R"({"op": "d", "ns": "t.c", "o": {"a": 1}})", R"({"code": 4})");
    apply(R"({"op": "c", "ns": "t.$cmd", "o": {"nothing": 1}})", R"({"code": 9})");
    apply(R"({"op": "i", "ns": "t.c", "o": {"_id": 5},
              "ui": {"$uuid": "11111111-2222-3333-4444-555555555555"}})",
          R"({"code": 3318200})");
    apply(R"({"op": "c", "ns": "t.$cmd", "o": {"create": "x"},
              "ui": {"$uuid": "11111111-2222-3333-4444-555555555555"}})",
          R"({"code": 115})");
}

TEST_F(ApplyOpsTest, WhatIsNoOperationIsRefused) {
    const std::vector<Exchange> table = {
        {R"({"applyOps": 1})", R"({"code": 14})"},
        {R"({"applyOps": [1]})", R"({"code": 9, "errmsg": "op not an object: 0"})"},
        {R"({"applyOps": [{}]})",
         R"({"code": 20, "errmsg": "op does not contain required \"op\" field: 0"})"},
        {R"({"applyOps": [{"op": 1}]})", R"({"code": 20})"},
        {R"({"applyOps": [{"op": ""}]})", R"({"code": 20})"},
        {R"({"applyOps": [{"op": "i"}]})", R"({"code": 20})"},
        {R"({"applyOps": [{"op": "i", "ns": 1}]})", R"({"code": 20})"},
        {R"({"applyOps": [{"op": "i", "ns": ""}]})", R"({"code": 20})"},
        {R"({"applyOps": [{"op": "i", "ns": "t.c"}]})", R"({"code": 14})"},
        {R"({"applyOps": [{"op": "x", "ns": "t.c", "o": {}}]})", R"({"code": 9})"},
        {R"({"applyOps": [], "prepare": true})", R"({"code": 2})"},
        {R"({"applyOps": [], "partialTxn": true})", R"({"code": 31056})"},
        {R"({"applyOps": [], "count": 1})", R"({"code": 31240})"},
        {R"({"applyOps": [{"op": "c", "ns": "t.$cmd", "o": {"dropDatabase": 1}},
                          {"op": "n", "ns": ""}]})",
         R"({"code": 6275900})"},
        {R"({"applyOps": [{"op": "c", "ns": "t.$cmd", "o": {"applyOps": [
                {"op": "c", "ns": "t.$cmd", "o": {"dropDatabase": 1}}]}}]})",
         R"({"code": 9585500})"},
    };
    expectReplies(table, "admin");
    std::string nested = R"({"op": "n", "ns": ""})";
    for (int depth = 0; depth < 12; ++depth) {
        nested = R"({"op": "c", "ns": "t.$cmd", "o": {"applyOps": [)" + nested + "]}}";
    }
    apply(nested, R"({"code": 9, "errmsg": "Too many nested applyOps"})");
}

/// What the oplog says, done again, gives the same documents.
TEST_F(ApplyOpsTest, DoesWhatTheOplogSays) {
    run(R"({"insert": "c", "documents": [{"_id": 1, "l": [1, 2, 3], "o": {"x": 1}}, {"_id": 2}]})",
        "t");
    run(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$push": {"l": 4}, "$set":
            {"o.y": 2}, "$unset": {"o.x": 1}}}, {"q": {"_id": 2}, "u": {"z": 1}}]})",
        "t");
    run(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$pop": {"l": -1}}}]})", "t");
    const std::string before = documents();
    const bson::OwnedDocument oplog =
        run(R"({"find": "oplog.rs", "filter": {"ns": "t.c"}})", "local");
    run(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})", "t");
    bson::Builder command;
    {
        bson::Builder operations = command.array("applyOps");
        for (const bson::Element& entry : oplog.view().findPath("cursor.firstBatch").document()) {
            operations.push(entry.document());
        }
    }
    command.add("$db", "admin");
    const bson::OwnedDocument reply =
        bodyOf(exchange(message(bson::OwnedDocument(command.finish()).view())));
    EXPECT_EQ(reply.view().find("applied").toInt64(), 5) << bson::toJson(reply.view());
    EXPECT_EQ(documents(), before);
}

}  // namespace
}  // namespace freshet::command
