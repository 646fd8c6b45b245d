// SPDX-License-Identifier: Apache-2.0
/// bulkWrite: its results and counts, its errors, its cursor, and that a retry does nothing again.
#include "freshet/command/run/fixture_test.h"

namespace freshet::command {
namespace {

class BulkWriteTest : public CommandTest {
protected:
    static std::string command(const std::string& ops, const std::string& more = "") {
        return R"({"bulkWrite": 1, "$db": "admin", "ops": )" + ops +
               R"(, "nsInfo": [{"ns": "test.c"}, {"ns": "other.d.e"}])" + more + "}";
    }
    /// A command that is refused as a whole.
    void expectRefused(const std::string& request, int32_t code, const std::string& text) {
        const bson::OwnedDocument reply = run(request);
        EXPECT_EQ(0, reply.view().find("ok").toInt64()) << request;
        EXPECT_EQ(code, reply.view().find("code").toInt64()) << request;
        EXPECT_EQ(text, reply.view().find("errmsg").stringValue()) << request;
    }
};

TEST_F(BulkWriteTest, WritesToSeveralCollections) {
    expectReplies({
        {command(R"([{"insert": 0, "document": {"_id": 1, "a": 1}},
                     {"insert": 1, "document": {"_id": 2}},
                     {"update": 0, "filter": {"_id": 1}, "updateMods": {"$set": {"a": 2}}},
                     {"update": 1, "filter": {}, "updateMods": [{"$set": {"b": "$$x"}}],
                      "multi": true, "constants": {"x": 5}},
                     {"update": 0, "filter": {"_id": 7}, "updateMods": {"z": 1}, "upsert": true},
                     {"update": 0, "filter": {"_id": 8}, "updateMods": {"z": 1}},
                     {"update": 0, "filter": {"_id": 7}, "updateMods": {"z": 1}},
                     {"delete": 0, "filter": {"_id": 1}},
                     {"delete": 0, "filter": {"_id": 1}, "multi": true}])"),
         R"({"cursor": {"id": {"$numberLong": "0"}, "ns": "admin.$cmd.bulkWrite", "firstBatch": [
               {"ok": 1.0, "idx": 0, "n": 1},
               {"ok": 1.0, "idx": 1, "n": 1},
               {"ok": 1.0, "idx": 2, "n": 1, "nModified": 1},
               {"ok": 1.0, "idx": 3, "n": 1, "nModified": 1},
               {"ok": 1.0, "idx": 4, "n": 1, "nModified": 0, "upserted": {"_id": 7}},
               {"ok": 1.0, "idx": 5, "n": 0, "nModified": 0},
               {"ok": 1.0, "idx": 6, "n": 1, "nModified": 0},
               {"ok": 1.0, "idx": 7, "n": 1},
               {"ok": 1.0, "idx": 8, "n": 0}]},
             "nErrors": 0, "nInserted": 2, "nMatched": 3, "nModified": 2, "nUpserted": 1,
             "nDeleted": 1, "ok": 1.0})"},
        {R"({"find": "c"})", R"({"cursor": {"firstBatch": [{"_id": 7, "z": 1}]}})"},
        {R"({"find": "d.e", "$db": "other"})",
         R"({"cursor": {"firstBatch": [{"_id": 2, "b": 5}]}})"},
    });
}

TEST_F(BulkWriteTest, StopsAtTheFirstErrorOnlyIfOrdered) {
    const std::string ops = R"([{"insert": 0, "document": {"_id": 1}},
                                {"insert": 0, "document": {"_id": 1}},
                                {"update": 0, "filter": {}, "updateMods": {"$bogus": {"a": 1}}},
                                {"insert": 1, "document": {"_id": 3}}])";
    const std::string duplicate =
        R"({"ok": 0.0, "idx": 1, "code": 11000, "keyPattern": {"_id": 1}, "keyValue": {"_id": 1},
            "errmsg": "E11000 duplicate key error collection: test.c index: _id_ dup key: { _id: 1 }",
            "n": 0})";
    expectReply(command(ops),
                R"({"cursor": {"firstBatch": [{"ok": 1.0, "idx": 0}, )" + duplicate +
                    R"(]}, "nErrors": 1, "nInserted": 1, "ok": 1.0})");
    expectReply(command(ops, R"(, "ordered": false, "errorsOnly": true)"),
                R"({"cursor": {"firstBatch": [{"ok": 0.0, "idx": 0, "code": 11000}, )" + duplicate +
                    R"(, {"ok": 0.0, "idx": 2, "code": 9, "n": 0, "nModified": 0}]},
                    "nErrors": 3, "nInserted": 1, "ok": 1.0})");
    expectReply(R"({"count": "d.e", "$db": "other"})", R"({"n": 1})");
}

TEST_F(BulkWriteTest, WhatOneStatementCannotDoIsItsOwnError) {
    expectReply(
        R"({"bulkWrite": 1, "$db": "admin", "ordered": false, "ops": [
              {"insert": 0, "document": {"_id": 1}},
              {"delete": 0, "filter": {}},
              {"insert": 1, "document": {"_id": [1]}},
              {"update": 1, "filter": {}, "updateMods": {"$set": {"a": 1}}, "multi": true,
               "sort": {"a": 1}},
              {"update": 1, "filter": {}, "updateMods": {"a": 1}, "constants": {"b": 1}},
              {"insert": 1, "document": {"_id": 1}}],
            "nsInfo": [{"ns": "test.system.bogus"}, {"ns": "test.c"}]})",
        R"({"cursor": {"firstBatch": [
              {"ok": 0.0, "idx": 0, "code": 73}, {"ok": 0.0, "idx": 1, "code": 73},
              {"ok": 0.0, "idx": 2, "code": 53},
              {"ok": 0.0, "idx": 3, "code": 9, "errmsg": "Cannot specify sort with multi=true"},
              {"ok": 0.0, "idx": 4, "code": 9}, {"ok": 1.0, "idx": 5, "n": 1}]},
            "nErrors": 5, "nInserted": 1, "ok": 1.0})");
    expectReply(R"({"listCollections": 1, "nameOnly": true})",
                R"({"cursor": {"firstBatch": [{"name": "c"}]}})");
}

TEST_F(BulkWriteTest, UpdatesAndDeletesAsTheirCommandsDo) {
    expectReplies({
        {command(R"([{"insert": 0, "document": {"_id": 1, "v": 2, "a": [1, 5]}},
                     {"insert": 0, "document": {"_id": 2, "v": 1, "a": [5, 5]}},
                     {"update": 0, "filter": {}, "updateMods": {"$set": {"hit": true}},
                      "sort": {"v": 1}},
                     {"update": 0, "filter": {"_id": 1}, "updateMods": {"$set": {"a.$[x]": 0}},
                      "arrayFilters": [{"x": 5}]},
                     {"delete": 0, "filter": {"$expr": {"$eq": ["$v", "$$one"]}}, "hint": "_id_",
                      "multi": true}])",
                 R"(, "let": {"one": 1}, "comment": "why", "writeConcern": {"w": 1})"),
         R"({"nErrors": 0, "nInserted": 2, "nMatched": 2, "nModified": 2, "nDeleted": 1})"},
        {R"({"find": "c"})", R"({"cursor": {"firstBatch": [{"_id": 1, "v": 2, "a": [1, 0]}]}})"},
        {R"({"create": "v", "validator": {"a": {"$type": "int"}}})", R"({"ok": 1.0})"},
        {R"({"bulkWrite": 1, "$db": "admin", "ops": [{"insert": 0, "document": {"a": "x"}}],
             "nsInfo": [{"ns": "test.v"}]})",
         R"({"nErrors": 1, "cursor": {"firstBatch": [{"code": 121}]}})"},
        {R"({"bulkWrite": 1, "$db": "admin", "ops": [{"insert": 0, "document": {"a": "x"}}],
             "nsInfo": [{"ns": "test.v"}], "bypassDocumentValidation": true})",
         R"({"nErrors": 0, "nInserted": 1})"},
    });
}

TEST_F(BulkWriteTest, TakesDocumentSequencesAndGivesResultsInBatches) {
    std::vector<bson::OwnedDocument> ops;
    std::vector<bson::Document> views;
    for (int i = 0; i < 250; ++i) {
        ops.push_back(json(R"({"insert": 0, "document": {"_id": )" + std::to_string(i) + "}}"));
    }
    for (const bson::OwnedDocument& op : ops) {
        views.push_back(op.view());
    }
    const bson::OwnedDocument ns = json(R"({"ns": "test.c"})");
    const auto send = [&](const std::string& more) {
        const bson::OwnedDocument body =
            json(R"({"bulkWrite": 1, "$db": "admin", "ordered": false)" + more + "}");
        return bodyOf(exchange(message(body.view(), 0, {{"ops", views}, {"nsInfo", {ns.view()}}})));
    };
    const auto inBatch = [](const bson::OwnedDocument& reply, const char* batch) {
        return reply.view().find("cursor").document().find(batch).document().fieldCount();
    };
    EXPECT_EQ(250u, inBatch(send(""), "firstBatch"));
    const bson::OwnedDocument first = send(R"(, "cursor": {"batchSize": 100})");
    EXPECT_EQ(250, first.view().find("nErrors").toInt64());
    EXPECT_EQ(100u, inBatch(first, "firstBatch"));
    const std::string id =
        std::to_string(first.view().find("cursor").document().find("id").toInt64());
    EXPECT_NE("0", id);
    const bson::OwnedDocument rest = run(R"({"getMore": {"$numberLong": ")" + id +
                                         R"("}, "$db": "admin", "collection": "$cmd.bulkWrite"})");
    EXPECT_EQ(150u, inBatch(rest, "nextBatch"));
    EXPECT_EQ(0, rest.view().find("cursor").document().find("id").toInt64());
}

TEST_F(BulkWriteTest, RefusesWhatIsNoBulkWrite) {
    const std::string insert = R"([{"insert": 0, "document": {"_id": 1}}])";
    const std::string prefix = R"({"bulkWrite": 1, "$db": "admin", "ops": )";
    expectRefused(
        command("[]"), 16, "Write batch sizes must be between 1 and 100000. Got 0 operations.");
    expectRefused(command(insert, R"(, "bogus": 1)"),
                  40415,
                  "BSON field 'bulkWrite.bogus' is an unknown field.");
    expectRefused(prefix + insert + "}",
                  40414,
                  "BSON field 'bulkWrite.nsInfo' is missing but a required field");
    expectRefused(prefix + insert + R"(, "nsInfo": null})",
                  40414,
                  "BSON field 'bulkWrite.nsInfo' is missing but a required field");
    expectRefused(prefix + R"([], "nsInfo": 5})",
                  14,
                  "BSON field 'bulkWrite.nsInfo' is the wrong type 'int', expected type 'array'");
    expectRefused(prefix + insert + R"(, "nsInfo": [5]})",
                  14,
                  "BSON field 'bulkWrite.nsInfo.0' is the wrong type 'int', expected type "
                  "'object'");
    expectRefused(prefix + insert + R"(, "nsInfo": [{"x": 1}]})",
                  40415,
                  "BSON field 'bulkWrite.nsInfo.x' is an unknown field.");
    for (const auto& [ns, named] : {std::pair{"nodot", "nodot"}, {"", ""}, {".", ""}}) {
        expectRefused(prefix + insert + R"(, "nsInfo": [{"ns": ")" + ns + R"("}]})",
                      73,
                      "Invalid namespace specified for bulkWrite: '" + std::string(named) + "'");
    }
    expectRefused(R"({"bulkWrite": 1, "ops": [], "nsInfo": []})",
                  13,
                  "bulkWrite may only be run against the admin database.");
    expectRefused(command(insert, R"(, "stmtIds": [1, 2])"),
                  16,
                  "Number of statement ids must match the number of batch entries. Got 2 statement "
                  "ids but 1 operations.");
    expectRefused(command(insert, R"(, "stmtIds": [1], "stmtId": 1)"),
                  72,
                  "May not specify both stmtId and stmtIds in bulkWrite command.");
    expectReply(R"({"count": "c"})", R"({"n": 0})");
}

TEST_F(BulkWriteTest, RefusesMalformedOperations) {
    const struct {
        const char* op;
        int32_t code;
        const char* text;
    } cases[] = {
        {R"({"insert": 2, "document": {"_id": 1}})",
         2,
         "BulkWrite ops entry { insert: 2, document: { _id: 1 } } has an invalid nsInfo index."},
        {R"({"insert": -1, "document": {"_id": 1}})",
         2,
         "BSON field 'insert' value must be >= 0, actual value '-1'"},
        {R"({"insert": "0", "document": {"_id": 1}})",
         14,
         "BSON field 'bulkWrite.ops.insert' is the wrong type 'string', expected types '[long, "
         "int, decimal, double]'"},
        {R"({"frobnicate": 0})", 40415, "BSON field 'bulkWrite.frobnicate' is an unknown field."},
        {R"({})", 40415, "BSON field 'bulkWrite.' is an unknown field."},
        {R"({"insert": 0})",
         40414,
         "BSON field 'bulkWrite.ops.document' is missing but a required field"},
        {R"({"insert": 0, "document": 5})",
         14,
         "BSON field 'bulkWrite.ops.document' is the wrong type 'int', expected type 'object'"},
        {R"({"update": 0, "filter": {}})",
         40414,
         "BSON field 'bulkWrite.ops.updateMods' is missing but a required field"},
        {R"({"update": 0, "updateMods": {"$set": {"a": 1}}})",
         40414,
         "BSON field 'bulkWrite.ops.filter' is missing but a required field"},
        {R"({"delete": 0, "filter": null})",
         40414,
         "BSON field 'bulkWrite.ops.filter' is missing but a required field"},
        {R"({"delete": 0, "filter": {}, "sort": {"a": 1}})",
         40415,
         "BSON field 'bulkWrite.ops.sort' is an unknown field."},
    };
    for (const auto& [op, code, text] : cases) {
        // Nothing of the command is done.
        expectRefused(
            command(R"([{"insert": 0, "document": {}}, )" + std::string(op) + "]"), code, text);
    }
    expectReply(R"({"count": "c"})", R"({"n": 0})");
}

constexpr const char* kSession =
    R"(, "lsid": {"id": {"$uuid": "11111111-2222-4333-8444-555555555555"}},
       "txnNumber": {"$numberLong": "1"})";

TEST_F(BulkWriteTest, AStatementIsDoneOnceHoweverOftenItIsSent) {
    const std::string ops = R"([{"insert": 0, "document": {"_id": 1}},
                                {"update": 0, "filter": {"_id": 1}, "updateMods": {"$inc": {"n": 1}}},
                                {"update": 1, "filter": {"_id": 4}, "updateMods": {"$inc": {"n": 1}},
                                 "upsert": true},
                                {"delete": 1, "filter": {"_id": 5}}])";
    const char* const counts =
        R"({"nErrors": 0, "nInserted": 1, "nMatched": 1, "nModified": 1, "nUpserted": 1,
            "nDeleted": 0, "cursor": {"firstBatch": [
              {"ok": 1.0, "idx": 0, "n": 1}, {"ok": 1.0, "idx": 1, "n": 1, "nModified": 1},
              {"ok": 1.0, "idx": 2, "n": 1, "nModified": 0, "upserted": {"_id": 4}},
              {"ok": 1.0, "idx": 3, "n": 0}]}})";
    const bson::OwnedDocument first = run(command(ops, kSession));
    EXPECT_EQ("", missingFrom(first.view(), json(counts).view())) << bson::toJson(first.view());
    EXPECT_TRUE(first.view().find("retriedStmtIds").isMissing());
    crash();
    expectReply(command(ops, kSession), counts);
    expectReply(command(ops, kSession), R"({"retriedStmtIds": [0, 1, 2]})");
    expectReply(R"({"find": "c"})", R"({"cursor": {"firstBatch": [{"_id": 1, "n": 1}]}})");
    expectReply(R"({"find": "d.e", "$db": "other"})",
                R"({"cursor": {"firstBatch": [{"_id": 4, "n": 1}]}})");
}

TEST_F(BulkWriteTest, WhatCannotBeDoneOnceIsRefusedInARetryableWrite) {
    expectReply(command(R"([{"insert": 0, "document": {"_id": 1}},
                            {"update": 0, "filter": {}, "updateMods": {"$set": {"a": 1}},
                             "multi": true},
                            {"delete": 0, "filter": {}, "multi": true}])",
                        std::string(kSession) + R"(, "ordered": false, "stmtIds": [5, 6, 7])"),
                R"({"nErrors": 2, "nInserted": 1, "cursor": {"firstBatch": [{"ok": 1.0},
                      {"ok": 0.0, "idx": 1, "code": 72, "n": 0, "nModified": 0,
                       "errmsg": "Cannot use retryable writes with multi=true"},
                      {"ok": 0.0, "idx": 2, "code": 72, "n": 0}]}})");
    // Writes to the database of the sessions are done as often as they are sent.
    const std::string config =
        R"({"bulkWrite": 1, "$db": "admin", "nsInfo": [{"ns": "config.x"}, {"ns": "test.c"}],
            "ops": [{"update": 0, "filter": {"_id": 1}, "updateMods": {"$inc": {"n": 1}},
                     "upsert": true},
                    {"insert": 1, "document": {"_id": 2}}],
            "lsid": {"id": {"$uuid": "11111111-2222-4333-8444-555555555555"}},
            "txnNumber": {"$numberLong": "2"}})";
    expectReply(config, R"({"nErrors": 0, "nUpserted": 1, "nInserted": 1})");
    expectReply(config, R"({"nErrors": 0, "nModified": 1, "nInserted": 1, "retriedStmtIds": [1]})");
}

TEST_F(BulkWriteTest, CountsEachStatement) {
    const auto counters = [this] {
        return bson::OwnedDocument(
            run(R"({"serverStatus": 1})").view().find("opcounters").document());
    };
    const bson::OwnedDocument before = counters();
    run(command(R"([{"insert": 0, "document": {"_id": 1}}, {"insert": 0, "document": {"_id": 2}},
                    {"update": 0, "filter": {}, "updateMods": {"$set": {"a": 1}}},
                    {"delete": 0, "filter": {}}])"));
    const bson::OwnedDocument after = counters();
    const auto more = [&](const char* name) {
        return after.view().find(name).toInt64() - before.view().find(name).toInt64();
    };
    EXPECT_EQ(2, more("insert"));
    EXPECT_EQ(1, more("update"));
    EXPECT_EQ(1, more("delete"));
}

}  // namespace
}  // namespace freshet::command
