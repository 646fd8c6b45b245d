// SPDX-License-Identifier: Apache-2.0
/// Reading and writing documents, as a driver sees it.
#include "freshet/command/run/fixture_test.h"

namespace freshet::command {
namespace {

using CrudTest = CommandTest;

TEST_F(CrudTest, WritesAndReadsBack) {
    expectReplies({
        {R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}]})",
         R"({"n": 2, "ok": 1.0})"},
        {R"({"find": "c", "filter": {"a": {"$gt": 1}}})",
         R"({"cursor": {"firstBatch": [{"_id": 2, "a": 2}], "id": {"$numberLong": "0"},
             "ns": "test.c"}})"},
        {R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 5}}},
                                        {"q": {"_id": 9}, "u": {"a": 7}, "upsert": true}]})",
         R"({"n": 2, "nModified": 1, "upserted": [{"index": 1, "_id": 9}], "ok": 1.0})"},
        {R"({"update": "c", "updates": [{"q": {}, "u": {"$inc": {"a": 1}}, "multi": true}]})",
         R"({"n": 3, "nModified": 3})"},
        {R"({"find": "c", "sort": {"_id": 1}})",
         R"({"cursor": {"firstBatch": [{"_id": 1, "a": 6}, {"_id": 2, "a": 3},
                                       {"_id": 9, "a": 8}]}})"},
        {R"({"count": "c", "query": {"a": {"$gte": 6}}})", R"({"n": 2})"},
        {R"({"count": "c", "limit": -1})", R"({"n": 1})"},
        {R"({"aggregate": "c", "pipeline": [{"$match": {"a": {"$gt": 3}}}, {"$count": "n"}],
             "cursor": {}})",
         R"({"cursor": {"firstBatch": [{"n": 2}], "ns": "test.c"}})"},
        {R"({"delete": "c", "deletes": [{"q": {}, "limit": 1}]})", R"({"n": 1})"},
        {R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})", R"({"n": 2})"},
        {R"({"count": "c"})", R"({"n": 0})"},
    });
}

TEST_F(CrudTest, NullIsNoFilter) {
    expectReplies({
        {R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})", R"({"n": 2})"},
        {R"({"delete": "c", "deletes": [{"q": null, "limit": 0}]})",
         R"({"ok": 0.0, "code": 40414,
             "errmsg": "BSON field 'delete.deletes.q' is missing but a required field"})"},
        {R"({"delete": "c", "deletes": [{"q": {}, "limit": null}]})",
         R"({"ok": 0.0, "code": 9,
             "errmsg": "The limit field in delete objects must be 0 or 1. Got null"})"},
        {R"({"update": "c", "updates": [{"q": null, "u": {"a": 1}}]})",
         R"({"ok": 0.0, "code": 40414,
             "errmsg": "BSON field 'update.updates.q' is missing but a required field"})"},
        {R"({"count": "c"})", R"({"n": 2})"},
    });
}

TEST_F(CrudTest, AnUpdateOfOneDocumentTakesASort) {
    expectReplies({
        {R"({"insert": "c", "documents": [{"_id": 1, "v": 3}, {"_id": 2, "v": 1},
                                          {"_id": 3, "v": 2}]})",
         R"({"n": 3})"},
        {R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"hit": 1}}, "sort": {"v": 1}},
                                        {"q": {"hit": null}, "u": {"v": 9}, "sort": {"v": -1}}]})",
         R"({"n": 2, "nModified": 2})"},
        {R"({"find": "c", "sort": {"_id": 1}})",
         R"({"cursor": {"firstBatch": [{"_id": 1, "v": 9}, {"_id": 2, "v": 1, "hit": 1},
                                       {"_id": 3, "v": 2}]}})"},
        {R"({"update": "c", "updates": [{"q": {"v": 77}, "u": {"$set": {"a": 1}}, "upsert": true,
                                         "sort": {"v": 1}}]})",
         R"({"n": 1, "nModified": 0})"},
        {R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}, "multi": true,
                                         "sort": {"v": 1}}]})",
         R"({"ok": 0.0, "code": 9, "errmsg": "Cannot specify sort with multi=true"})"},
        {R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}, "sort": 1}]})",
         R"({"ok": 0.0, "code": 14})"},
        {R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}, "sort": {"v": 7}}]})",
         R"({"ok": 1.0, "n": 0, "writeErrors": [{"index": 0, "code": 15975}]})"},
        {R"({"delete": "c", "deletes": [{"q": {}, "limit": 1, "sort": {"v": 1}}]})",
         R"({"ok": 0.0, "code": 40415})"},
    });
}

TEST_F(CrudTest, TakesDocumentSequences) {
    const bson::OwnedDocument one = json(R"({"_id": 1})");
    const bson::OwnedDocument two = json(R"({"_id": 2})");
    const std::string bytes =
        message(request(R"({"insert": "c"})").view(), 0, {{"documents", {one.view(), two.view()}}});
    EXPECT_EQ(2, bodyOf(exchange(bytes)).view().find("n").toInt64());
    const std::string wrong =
        message(request(R"({"insert": "c"})").view(), 0, {{"updates", {one.view()}}});
    EXPECT_EQ(40415, bodyOf(exchange(wrong)).view().find("code").toInt64());
}

TEST_F(CrudTest, ReportsErrorsByIndex) {
    expectReply(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 1}, {"_id": 2}]})",
                R"({"n": 1, "ok": 1.0, "writeErrors": [{"index": 1, "code": 11000,
                    "keyPattern": {"_id": 1}, "keyValue": {"_id": 1}}]})");
    expectReply(
        R"({"insert": "c", "ordered": false, "documents": [{"_id": 1}, {"_id": 2}, {"_id": 2}]})",
        R"({"n": 1, "ok": 1.0, "writeErrors": [{"index": 0, "code": 11000},
            {"index": 2, "code": 11000}]})");
    const bson::OwnedDocument reply = run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    const bson::Document error = reply.view().find("writeErrors").document().begin()->document();
    EXPECT_EQ("E11000 duplicate key error collection: test.c index: _id_ dup key: { _id: 1 }",
              error.find("errmsg").stringValue());
    expectReply(R"({"update": "c", "updates": [{"q": {}, "u": {"$bogus": {"a": 1}}}]})",
                R"({"ok": 1.0, "n": 0, "writeErrors": [{"index": 0, "code": 9}]})");
}

TEST_F(CrudTest, ChecksBatches) {
    expectReplies({
        {R"({"insert": "c", "documents": []})", R"({"code": 16, "codeName": "InvalidLength"})"},
        {R"({"insert": "c"})", R"({"code": 40414})"},
        {R"({"insert": "", "documents": [{}]})", R"({"code": 73})"},
        {R"({"insert": 1, "documents": [{}]})", R"({"ok": 0.0})"},
        {R"({"insert": "c", "documents": [1]})", R"({"code": 14})"},
        {R"({"insert": "c", "documents": [{}], "ordered": "yes"})", R"({"code": 14})"},
        {R"({"update": "c", "updates": [{"q": {}}]})", R"({"code": 40414})"},
        {R"({"update": "c", "updates": [{"q": {}, "u": {}, "limit": 1}]})",
         R"({"code": 40415,
             "errmsg": "BSON field 'update.updates.limit' is an unknown field."})"},
        // An unknown stage is an error of the whole command; a known stage at a wrong place, or
        // with wrong contents, is an error of its statement.
        {R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}},
                                        {"q": {}, "u": [{"$nope": 1}]}]})",
         R"({"ok": 0.0, "code": 40324, "errmsg": "Unrecognized pipeline stage name: '$nope'"})"},
        {R"({"update": "c", "updates": [{"q": {}, "u": [{"$set": {"a": 1}, "$unset": "b"}]}]})",
         R"({"ok": 0.0, "code": 40323})"},
        {R"({"update": "c", "updates": [{"q": {}, "u": [1]}]})", R"({"ok": 0.0, "code": 14})"},
        {R"({"update": "c", "updates": [{"q": {}, "u": [{"$match": {}}]}]})",
         R"({"ok": 1.0, "writeErrors": [{"index": 0, "code": 72}]})"},
        {R"({"update": "c", "updates": [{"q": {}, "u": [{"$set": 1}]}]})",
         R"({"ok": 1.0, "writeErrors": [{"index": 0}]})"},
        {R"({"delete": "c", "deletes": [{"q": {}}]})", R"({"code": 40414})"},
        {R"({"delete": "c", "deletes": [{"q": {}, "limit": 2}]})", R"({"code": 9})"},
    });
    std::vector<bson::Document> many(100'001, bson::Document());
    const std::string bytes =
        message(request(R"({"insert": "c"})").view(), 0, {{"documents", std::move(many)}});
    EXPECT_EQ(16, bodyOf(exchange(bytes)).view().find("code").toInt64());
}

TEST_F(CrudTest, MissingCollectionsAreEmpty) {
    expectReplies({
        {R"({"find": "none"})",
         R"({"cursor": {"firstBatch": [], "id": {"$numberLong": "0"}, "ns": "test.none"}})"},
        {R"({"count": "none"})", R"({"n": 0})"},
        {R"({"update": "none", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]})",
         R"({"n": 0, "nModified": 0})"},
        {R"({"update": "none", "updates": [{"q": {}, "u": {"$bogus": {"a": 1}}}]})",
         R"({"writeErrors": [{"index": 0, "code": 9}]})"},
        {R"({"delete": "none", "deletes": [{"q": {"a": {"$bogus": 1}}, "limit": 0}]})",
         R"({"writeErrors": [{"index": 0, "code": 2}]})"},
        {R"({"aggregate": "none", "pipeline": [], "cursor": {}})",
         R"({"cursor": {"firstBatch": []}})"},
        {R"({"listCollections": 1})", R"({"cursor": {"firstBatch": []}})"},
    });
}

TEST_F(CrudTest, RefusesWhatItWouldGetWrong) {
    expectReplies({
        {R"({"find": "c", "collation": {"locale": "de"}})", R"({"code": 115})"},
        {R"({"find": "c", "collation": {"locale": "simple"}})", R"({"ok": 1.0})"},
        {R"({"create": "made"})", R"({"ok": 1.0})"},
        {R"({"find": "made", "tailable": true})",
         R"({"code": 2, "errmsg": "error processing query: ns=test.made: tailable cursor )"
         R"(requested on non capped collection"})"},
        {R"({"find": "made", "tailable": true, "sort": {"a": 1}})",
         R"({"code": 2,
             "errmsg": "cannot use tailable option with a sort other than {$natural: 1}"})"},
        {R"({"find": "made", "tailable": true, "singleBatch": true})",
         R"({"code": 2, "errmsg": "cannot use tailable option with the 'singleBatch' option"})"},
        {R"({"find": "missing", "tailable": true, "awaitData": true})",
         R"({"ok": 1.0, "cursor": {"id": {"$numberLong": "0"}}})"},
        {R"({"find": "c", "limit": -1})", R"({"code": 51024})"},
        {R"({"find": "c", "batchSize": -1})",
         R"({"code": 51024,
             "errmsg": "BSON field 'batchSize' value must be >= 0, actual value '-1'"})"},
        {R"({"aggregate": "c", "pipeline": []})", R"({"code": 9})"},
        {R"({"aggregate": "c", "pipeline": [{"$bogus": {}}], "cursor": {}})",
         R"({"code": 40324, "errmsg": "Unrecognized pipeline stage name: '$bogus'"})"},
        {R"({"aggregate": 1, "pipeline": [{"$match": {}}], "cursor": {}})", R"({"code": 73})"},
        {R"({"update": "c", "updates": [{"q": {}, "u": [{"$group": {"_id": 1}}]}]})",
         R"({"writeErrors": [{"index": 0}]})"},
    });
}

TEST_F(CrudTest, ExplainsFinds) {
    expectReplies({
        {R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})",
         R"({"ok": 1.0})"},
        {R"({"explain": {"find": "c", "filter": {"b": 1}}, "verbosity": "queryPlanner"})",
         R"({"queryPlanner": {"namespace": "test.c", "parsedQuery": {"b": {"$eq": 1}},
                              "winningPlan": {"stage": "COLLSCAN"}, "rejectedPlans": []},
             "command": {"find": "c", "filter": {"b": 1}}, "ok": 1.0})"},
        {R"({"explain": {"find": "c", "bogus": 1}})", R"({"code": 40415})"},
        {R"({"explain": {"bogus": "c"}})", R"({"code": 59})"},
        {R"({"explain": {"listIndexes": "c"}})", R"({"code": 115})"},
        {R"({"explain": {"find": "c"}, "verbosity": "loud"})", R"({"code": 2})"},
    });
    const bson::OwnedDocument reply = run(R"({"explain": {"find": "c", "filter": {"a": 1}}})");
    EXPECT_NE(std::string::npos, bson::toJson(reply.view()).find("IXSCAN"));
}

TEST_F(CrudTest, EndsAtTheTimeLimit) {
    std::string text = R"({"insert": "c", "documents": [)";
    for (int i = 0; i < 2000; ++i) {
        text += (i == 0 ? "" : ",") + std::string("{}");
    }
    expectReply(text + R"(], "writeConcern": {"w": 1}})", R"({"n": 2000})");
    // Far more work than a millisecond's; the deadline is checked every 128 documents.
    std::string filter;
    for (int i = 0; i < 500; ++i) {
        filter += (i == 0 ? "" : ",") + std::string(R"({"x": {"$regex": "a.*b"}})");
    }
    const std::string slow = R"({"count": "c", "query": {"$or": [)" + filter + "]}";
    expectReply(slow + R"(, "maxTimeMS": 1})",
                R"({"code": 50, "errmsg": "operation exceeded time limit"})");
    expectReply(slow + "}", R"({"n": 0})");
}

TEST_F(CrudTest, LongBatchesAreWholeAndDurable) {
    std::vector<bson::OwnedDocument> owned;
    std::vector<bson::Document> documents;
    for (int i = 0; i < 3000; ++i) {
        bson::Builder document;
        document.add("_id", int32_t{i});
        owned.emplace_back(document.finish());
    }
    for (const auto& document : owned) {
        documents.push_back(document.view());
    }
    const std::string bytes =
        message(request(R"({"insert": "c"})").view(), 0, {{"documents", documents}});
    EXPECT_EQ(3000, bodyOf(exchange(bytes)).view().find("n").toInt64());
    // Acknowledged writes survive a power cut.
    crash();
    expectReply(R"({"count": "c"})", R"({"n": 3000})");
}

}  // namespace
}  // namespace freshet::command
