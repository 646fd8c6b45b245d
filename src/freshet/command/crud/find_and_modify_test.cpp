// SPDX-License-Identifier: Apache-2.0
/// findAndModify, distinct, explain, and the options of reads and writes, as a driver sees them.
#include "freshet/command/run/fixture_test.h"

namespace freshet::command {
namespace {

using FindAndModifyTest = CommandTest;
using OptionsTest = CommandTest;
using ExplainTest = CommandTest;

TEST_F(FindAndModifyTest, ChangesOneAndGivesItBack) {
    expectReplies({
        {R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}]})",
         R"({"n": 2})"},
        {R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"a": 1}}})",
         R"({"lastErrorObject": {"n": 1, "updatedExisting": true}, "value": {"_id": 1, "a": 1},
             "ok": 1.0})"},
        {R"({"findandmodify": "c", "sort": {"_id": -1}, "update": [{"$set": {"b": "$a"}}],
             "new": true, "fields": {"b": 1}})",
         R"({"value": {"_id": 2, "b": 2}})"},
        {R"({"findAndModify": "c", "query": {"_id": 9}, "update": {"$set": {"a": 1}}})",
         R"({"lastErrorObject": {"n": 0, "updatedExisting": false}, "value": null})"},
        {R"({"findAndModify": "c", "query": {"_id": 9}, "update": {"a": 1}, "upsert": true})",
         R"({"lastErrorObject": {"n": 1, "updatedExisting": false, "upserted": 9},
             "value": null})"},
        {R"({"findAndModify": "c", "query": {"_id": 9}, "remove": true})",
         R"({"lastErrorObject": {"n": 1}, "value": {"_id": 9, "a": 1}})"},
        {R"({"findAndModify": "none", "query": {}, "remove": true})",
         R"({"lastErrorObject": {"n": 0}, "value": null, "ok": 1.0})"},
        {R"({"findAndModify": "made", "query": {"x": 1}, "update": {"$set": {"y": 1}},
             "upsert": true, "new": true, "fields": {"_id": 0}})",
         R"({"value": {"x": 1, "y": 1}})"},
    });
}

TEST_F(FindAndModifyTest, Refuses) {
    expectReplies({
        {R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2, "u": 2}]})", R"({"n": 2})"},
        {R"({"findAndModify": "c"})",
         R"({"code": 9, "errmsg": "Either an update or remove=true must be specified"})"},
        {R"({"findAndModify": "c", "remove": true, "update": {}})", R"({"code": 9})"},
        {R"({"findAndModify": "c", "remove": true, "new": true})", R"({"code": 9})"},
        {R"({"findAndModify": "c", "update": 5})", R"({"code": 9})"},
        {R"({"findAndModify": "c", "update": {}, "bogus": 1})", R"({"code": 40415})"},
        {R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"_id": 5}})", R"({"code": 66})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"u": 1}, "name": "u", "unique": true}]})",
         R"({"ok": 1.0})"},
        {R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$set": {"u": 2}}})",
         R"({"ok": 0.0, "code": 11000, "keyPattern": {"u": 1}, "keyValue": {"u": 2}})"},
    });
}

TEST_F(OptionsTest, LetReachesFiltersAndUpdates) {
    expectReplies({
        {R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}]})",
         R"({"n": 2})"},
        {R"({"find": "c", "filter": {"$expr": {"$eq": ["$a", "$$x"]}}, "let": {"x": 2}})",
         R"({"cursor": {"firstBatch": [{"_id": 2, "a": 2}]}})"},
        {R"({"update": "c", "let": {"x": 2}, "updates": [
             {"q": {"$expr": {"$eq": ["$a", "$$x"]}}, "u": [{"$set": {"a": "$$y"}}],
              "c": {"y": 7}}]})",
         R"({"n": 1, "nModified": 1})"},
        {R"({"delete": "c", "let": {"x": 7}, "deletes": [
             {"q": {"$expr": {"$eq": ["$a", "$$x"]}}, "limit": 0}]})",
         R"({"n": 1})"},
        {R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}, "c": {"y": 7}}]})",
         R"({"code": 9})"},
        {R"({"distinct": "c", "key": "a"})", R"({"values": [1], "ok": 1.0})"},
        {R"({"distinct": "none", "key": "a"})", R"({"values": []})"},
        {R"({"distinct": "c"})", R"({"code": 40414})"},
        {R"({"find": "c", "awaitData": true})", R"({"code": 9})"},
        {R"({"find": "c", "showRecordId": true, "projection": {"_id": 1}})",
         R"({"cursor": {"firstBatch": [{"_id": 1, "$recordId": {"$numberLong": "1"}}]}})"},
    });
}

TEST_F(OptionsTest, IndexesOfAllServedKinds) {
    expectReplies({
        {R"({"createIndexes": "c", "indexes": [
             {"key": {"a": 1}, "name": "p", "partialFilterExpression": {"a": {"$gt": 1}}},
             {"key": {"t": 1}, "name": "t", "expireAfterSeconds": 60, "background": true},
             {"key": {"h": 1}, "name": "h", "hidden": true, "ns": "test.c"}]})",
         R"({"numIndexesBefore": 1, "numIndexesAfter": 4})"},
        {R"({"listIndexes": "c"})",
         R"({"cursor": {"firstBatch": [{"name": "_id_"},
             {"v": 2, "key": {"a": 1}, "name": "p",
              "partialFilterExpression": {"a": {"$gt": 1}}},
             {"key": {"t": 1}, "name": "t", "expireAfterSeconds": 60},
             {"key": {"h": 1}, "name": "h", "hidden": true}]}})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"t": 1}, "name": "t",
             "expireAfterSeconds": 61}]})",
         R"({"code": 85, "codeName": "IndexOptionsConflict"})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "t"}]})",
         R"({"code": 86})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"t": 1}, "name": "other",
             "expireAfterSeconds": 60}]})",
         R"({"code": 85, "errmsg": "Index already exists with a different name: t"})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"a": 1, "b": 1}, "name": "x",
             "expireAfterSeconds": 1}]})",
         R"({"code": 67})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"q": 1}, "name": "x", "sparse": true,
             "partialFilterExpression": {"q": 1}}]})",
         R"({"code": 67,
             "errmsg": "cannot mix \"partialFilterExpression\" and \"sparse\" options"})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"q": 1}, "name": "x",
             "partialFilterExpression": {"q": {"$ne": 1}}}]})",
         R"({"code": 67})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"q": "text"}, "name": "x"}]})",
         R"({"code": 67})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"q": 1}}]})", R"({"code": 9})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"q": 1}, "name": "x", "unique": "y"}]})",
         R"({"code": 14})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"_id": 1}, "name": "_id_",
             "sparse": true}]})",
         R"({"code": 197})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"q": 1}, "name": "x", "bogus": 1}]})",
         R"({"code": 197})"},
        {R"({"createIndexes": "c", "ignoreUnknownIndexOptions": true,
             "indexes": [{"key": {"q": 1}, "name": "x", "bogus": 1}]})",
         R"({"numIndexesAfter": 5})"},
        {R"({"dropIndexes": "c", "index": {"q": 1}})", R"({"nIndexesWas": 5})"},
    });
}

TEST_F(OptionsTest, ValidatorsSpeakThroughWriteErrors) {
    expectReplies({
        {R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]})",
         R"({"ok": 1.0})"},
        {R"({"insert": "c", "documents": [{"_id": 1}], "bypassDocumentValidation": true})",
         R"({"n": 1})"},
        {R"({"count": "c", "query": {"$jsonSchema": {"required": ["a"]}}})", R"({"n": 0})"},
    });
}

TEST_F(ExplainTest, ShowsWhatCommandsWouldDo) {
    expectReplies({
        {R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}]})",
         R"({"n": 2})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})",
         R"({"ok": 1.0})"},
        {R"({"explain": {"find": "c", "filter": {"a": 2}}, "verbosity": "executionStats"})",
         R"({"queryPlanner": {"namespace": "test.c", "parsedQuery": {"a": {"$eq": 2}},
                              "winningPlan": {"stage": "FETCH", "inputStage":
                                  {"stage": "IXSCAN", "indexName": "a_1",
                                   "indexBounds": {"a": ["[2, 2]"]}}}},
             "executionStats": {"nReturned": 1, "totalKeysExamined": 1, "totalDocsExamined": 1,
                                "executionStages": {"stage": "FETCH", "nReturned": 1}},
             "ok": 1.0})"},
        {R"({"explain": {"count": "c", "query": {"a": 2}}, "verbosity": "executionStats"})",
         R"({"queryPlanner": {"winningPlan": {"stage": "COUNT", "inputStage":
                                              {"stage": "COUNT_SCAN"}}},
             "executionStats": {"totalDocsExamined": 0,
                                "executionStages": {"stage": "COUNT", "nCounted": 1}}})"},
        {R"({"explain": {"distinct": "c", "key": "a"}, "verbosity": "queryPlanner"})",
         R"({"queryPlanner": {"winningPlan": {"stage": "COLLSCAN"}}})"},
        {R"({"explain": {"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 2}},
             "multi": true}]}, "verbosity": "executionStats"})",
         R"({"executionStats": {"executionStages": {"stage": "UPDATE", "nMatched": 2,
                                                    "nWouldModify": 1, "nWouldUpsert": 0}}})"},
        {R"({"explain": {"delete": "c", "deletes": [{"q": {"a": 1}, "limit": 0}]}})",
         R"({"executionStats": {"executionStages": {"stage": "DELETE", "nWouldDelete": 1}}})"},
        {R"({"explain": {"findAndModify": "c", "query": {"_id": 1}, "remove": true}})",
         R"({"executionStats": {"executionStages": {"stage": "DELETE", "nWouldDelete": 1}}})"},
        {R"({"count": "c"})", R"({"n": 2})"},
        {R"({"explain": {"insert": "c", "documents": [{}]}})", R"({"ok": 0.0})"},
        {R"({"explain": {"update": "c", "updates": []}})", R"({"code": 16})"},
    });
}

}  // namespace
}  // namespace freshet::command
