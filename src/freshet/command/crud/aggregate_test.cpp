// SPDX-License-Identifier: Apache-2.0
/// aggregate as a client sends it: over real collections, with indexes, into other collections.
#include "freshet/command/run/fixture_test.h"

namespace freshet::command {
namespace {

class AggregateTest : public CommandTest {
protected:
    AggregateTest() {
        run(R"({"insert": "orders", "documents": [
            {"_id": 1, "item": "nut", "n": 2}, {"_id": 2, "item": "bolt", "n": 5},
            {"_id": 3, "item": ["nut", "gear"], "n": 1}, {"_id": 4, "n": 7}]})");
        run(R"({"insert": "stock", "documents": [
            {"_id": 10, "sku": "nut", "left": 100}, {"_id": 11, "sku": "bolt", "left": 3},
            {"_id": 12, "left": 9}, {"_id": 13, "sku": "gear", "left": 0}]})");
    }

    /// The first batch of a pipeline, as a shell shows it.
    std::string result(const std::string& pipeline,
                       const std::string& collection = R"("orders")",
                       const std::string& more = "") {
        const bson::OwnedDocument reply =
            run(R"({"aggregate": )" + collection + R"(, "pipeline": )" + pipeline +
                R"(, "cursor": {})" + more + "}");
        const bson::Element cursor = reply.view().find("cursor");
        if (!cursor.isObject()) {
            return bson::toShellText(reply.view());
        }
        return bson::toShellText(cursor.document().find("firstBatch"));
    }

    void expectError(const std::string& pipeline, int32_t code) {
        const bson::OwnedDocument reply =
            run(R"({"aggregate": "orders", "cursor": {}, "pipeline": )" + pipeline + "}");
        EXPECT_EQ(reply.view().find("code").toInt64(), code)
            << pipeline << ": " << bson::toJson(reply.view());
    }
};

constexpr const char* kEquality = R"([
    {"$lookup": {"from": "stock", "localField": "item", "foreignField": "sku", "as": "s"}},
    {"$project": {"s": "$s._id"}}])";
constexpr const char* kEqualityResult =
    "[ { _id: 1, s: [ 10 ] }, { _id: 2, s: [ 11 ] }, { _id: 3, s: [ 10, 13 ] }, "
    "{ _id: 4, s: [ 12 ] } ]";

TEST_F(AggregateTest, LookupByEquality) {
    EXPECT_EQ(result(kEquality), kEqualityResult);
    run(R"({"createIndexes": "stock", "indexes": [{"key": {"sku": -1}, "name": "sku_1"}]})");
    EXPECT_EQ(result(kEquality), kEqualityResult);  // the index's order equals that of the records
                                                    // here
}

TEST_F(AggregateTest, LookupByPipeline) {
    EXPECT_EQ(result(R"([{"$match": {"_id": {"$lte": 2}}},
        {"$lookup": {"from": "stock", "let": {"item": "$item", "n": "$n"}, "as": "s", "pipeline": [
            {"$match": {"$expr": {"$and": [{"$eq": ["$sku", "$$item"]},
                                           {"$gte": ["$left", "$$n"]}]}}},
            {"$project": {"_id": 0, "rest": {"$subtract": ["$left", "$$n"]}}}]}},
        {"$project": {"s": 1}}])"),
              "[ { _id: 1, s: [ { rest: 98 } ] }, { _id: 2, s: [] } ]");
    EXPECT_EQ(result(R"([{"$match": {"_id": 3}}, {"$lookup": {"from": "stock", "as": "s",
        "localField": "item", "foreignField": "sku",
        "pipeline": [{"$match": {"left": {"$gt": 0}}}, {"$project": {"_id": 1}}]}}])"),
              R"([ { _id: 3, item: [ "nut", "gear" ], n: 1, s: [ { _id: 10 } ] } ])");
    EXPECT_EQ(result(R"([{"$match": {"_id": {"$lt": 3}}}, {"$project": {"_id": 1}},
        {"$lookup": {"from": "stock", "as": "s", "pipeline": [
            {"$sort": {"left": -1}}, {"$limit": 1}, {"$project": {"left": 1}}]}}])"),
              "[ { _id: 1, s: [ { _id: 10, left: 100 } ] }, "
              "{ _id: 2, s: [ { _id: 10, left: 100 } ] } ]");
    EXPECT_EQ(result(R"([{"$match": {"_id": 1}}, {"$lookup": {"from": "nowhere", "as": "s",
        "localField": "item", "foreignField": "x"}}, {"$project": {"s": 1}}])"),
              "[ { _id: 1, s: [] } ]");
}

TEST_F(AggregateTest, FacetsSeeTheSameInput) {
    EXPECT_EQ(result(R"([{"$match": {"n": {"$gt": 1}}}, {"$facet": {
        "count": [{"$count": "n"}], "first": [{"$sort": {"n": -1}}, {"$limit": 1},
        {"$project": {"n": 1}}], "none": [{"$match": {"n": 99}}]}}])"),
              "[ { count: [ { n: 3 } ], first: [ { _id: 4, n: 7 } ], none: [] } ]");
}

TEST_F(AggregateTest, UnionAndGraph) {
    EXPECT_EQ(result(R"([{"$match": {"_id": 1}}, {"$project": {"_id": 1}},
        {"$unionWith": {"coll": "stock", "pipeline": [{"$match": {"left": 0}},
                                                     {"$project": {"_id": 1}}]}}])"),
              "[ { _id: 1 }, { _id: 13 } ]");
    run(R"({"insert": "people", "documents": [{"_id": "a", "boss": "b"}, {"_id": "b", "boss": "c"},
        {"_id": "c", "boss": "a"}, {"_id": "d"}]})");
    EXPECT_EQ(
        result(R"([{"$match": {"_id": "a"}}, {"$graphLookup": {"from": "people",
        "startWith": "$boss", "connectFromField": "boss", "connectToField": "_id", "as": "up",
        "depthField": "far"}}, {"$project": {"up._id": 1, "up.far": 1, "_id": 0}}])",
               R"("people")"),
        R"([ { up: [ { _id: "b", far: 0 }, { _id: "c", far: 1 }, { _id: "a", far: 2 } ] } ])");
    EXPECT_EQ(result(R"([{"$match": {"_id": "a"}}, {"$graphLookup": {"from": "people",
        "startWith": "$boss", "connectFromField": "boss", "connectToField": "_id", "as": "up",
        "maxDepth": 0}}, {"$project": {"up._id": 1, "_id": 0}}])",
                     R"("people")"),
              R"([ { up: [ { _id: "b" } ] } ])");
}

TEST_F(AggregateTest, BucketsRedactAndDocuments) {
    EXPECT_EQ(
        result(R"([{"$bucket": {"groupBy": "$n", "boundaries": [0, 3, 6],
        "default": "many", "output": {"ids": {"$push": "$_id"}}}}])"),
        R"([ { _id: 0, ids: [ 1, 3 ] }, { _id: 3, ids: [ 2 ] }, { _id: "many", ids: [ 4 ] } ])");
    EXPECT_EQ(result(R"([{"$bucketAuto": {"groupBy": "$n", "buckets": 2}}])"),
              "[ { _id: { min: 1, max: 5 }, count: 2 }, { _id: { min: 5, max: 7 }, count: 2 } ]");
    EXPECT_EQ(result(R"([{"$documents": [{"a": {"v": 1, "b": {"v": 9, "c": 1}}}, {"v": 9}]},
        {"$redact": {"$cond": [{"$gt": ["$v", 5]}, "$$PRUNE", "$$DESCEND"]}}])",
                     "1"),
              "[ { a: { v: 1 } } ]");
    EXPECT_EQ(result(R"([{"$sample": {"size": 9}}, {"$count": "n"}])"), "[ { n: 4 } ]");
}

TEST_F(AggregateTest, VariablesOfTheCommand) {
    EXPECT_EQ(result(R"([{"$match": {"$expr": {"$eq": ["$n", "$$n"]}}},
                         {"$project": {"x": {"$add": ["$$n", 1]}}}])",
                     R"("orders")",
                     R"(, "let": {"n": {"$add": [2, 3]}})"),
              "[ { _id: 2, x: 6 } ]");
    // Operands that need no document may be constants.
    EXPECT_EQ(result(R"([{"$limit": 1}, {"$project": {"_id": 0, "r": {"$type": "$$r"}, "m": "$$m",
                    "now": {"$eq": ["$$NOW", "$$t"]}}}])",
                     R"("orders")",
                     R"(, "let": {"r": {"$cond": [true, {"$rand": {}}, 0]}, "t": "$$NOW",
                            "m": {"$map": {"input": [1, 2], "in": {"$add": ["$$this", 1]}}}})"),
              R"([ { r: "double", m: [ 2, 3 ], now: true } ])");
    for (const char* reader :
         {R"("$a")", R"("$$ROOT")", R"({"$getField": "a"})", R"({"$cond": [true, 1, "$a"]})"}) {
        expectReply(R"({"aggregate": "orders", "pipeline": [], "cursor": {}, "let": {"n": )" +
                        std::string(reader) + "}}",
                    R"({"ok": 0.0, "code": 4890500})");
    }
}

TEST_F(AggregateTest, GroupsWithNewerAccumulators) {
    EXPECT_EQ(result(R"([{"$group": {"_id": null,
        "top": {"$top": {"output": "$_id", "sortBy": {"n": -1}}},
        "low": {"$bottomN": {"n": 2, "output": "$n", "sortBy": {"n": -1}}},
        "first": {"$firstN": {"n": 2, "input": "$_id"}},
        "max": {"$maxN": {"n": 2, "input": "$n"}},
        "mid": {"$median": {"input": "$n", "method": "approximate"}}}}])"),
              "[ { _id: null, top: 4, low: [ 2, 1 ], first: [ 1, 2 ], max: [ 7, 5 ], mid: 2.0 } ]");
}

TEST_F(AggregateTest, OutReplacesAWholeCollection) {
    run(R"({"createIndexes": "stock", "indexes": [{"key": {"n": 1}, "name": "n_1"}]})");
    EXPECT_EQ(result(R"([{"$match": {"n": {"$gt": 1}}}, {"$out": "stock"}])"), "[]");
    expectReply(R"({"find": "stock", "sort": {"_id": 1}})",
                R"({"cursor": {"firstBatch": [{"_id": 1}, {"_id": 2}, {"_id": 4}]}})");
    expectReply(R"({"listIndexes": "stock"})",
                R"({"cursor": {"firstBatch": [{"name": "_id_"}, {"name": "n_1"}]}})");
    EXPECT_EQ(result(R"([{"$limit": 1}, {"$out": {"db": "other", "coll": "made"}}])"), "[]");
    expectReply(R"({"find": "made"})", R"({"cursor": {"firstBatch": [{"_id": 1}]}})", "other");
    // A failure leaves the target as it was, and no temporary collection.
    expectError(R"([{"$project": {"_id": {"$literal": 7}}}, {"$out": "stock"}])", 11000);
    expectReply(R"({"count": "stock"})", R"({"n": 3})");
    expectReply(
        R"({"listCollections": 1, "nameOnly": true, "filter": {"name": {"$regex": "^tmp"}}})",
        R"({"cursor": {"firstBatch": []}})");
}

TEST_F(AggregateTest, MergeChangesACollection) {
    EXPECT_EQ(result(R"([{"$project": {"n": 1}}, {"$merge": "copy"}])"), "[]");
    expectReply(R"({"count": "copy"})", R"({"n": 4})");
    EXPECT_EQ(result(R"([{"$match": {"_id": 1}}, {"$project": {"x": {"$literal": 1}}},
                         {"$merge": {"into": "copy"}}])"),
              "[]");
    expectReply(R"({"find": "copy", "filter": {"_id": 1}})",
                R"({"cursor": {"firstBatch": [{"_id": 1, "n": 2, "x": 1}]}})");
    result(R"([{"$match": {"_id": 1}}, {"$project": {"y": {"$literal": 1}}},
               {"$merge": {"into": "copy", "whenMatched": "replace"}}])");
    expectReply(R"({"find": "copy", "filter": {"n": {"$exists": false}}})",
                R"({"cursor": {"firstBatch": [{"_id": 1, "y": 1}]}})");
    expectReply(R"({"aggregate": "orders", "cursor": {}, "pipeline": [
                    {"$match": {"_id": 2}}, {"$merge": {"into": "copy", "whenMatched": "fail"}}]})",
                R"({"code": 11000, "keyPattern": {"_id": 1}, "keyValue": {"_id": 2}})");
    expectError(R"([{"$addFields": {"_id": 99}},
                    {"$merge": {"into": "copy", "whenNotMatched": "fail"}}])",
                13113);
    expectError(R"([{"$merge": {"into": "copy", "on": "n"}}])", 51183);
    result(R"([{"$addFields": {"_id": 99}},
               {"$merge": {"into": "copy", "whenNotMatched": "discard"}}])");
    result(R"([{"$match": {"_id": 1}}, {"$merge": {"into": "copy", "let": {"k": "$n"},
        "whenMatched": [{"$set": {"sum": {"$add": ["$y", "$$k"]}}}]}}])");
    expectReply(R"({"find": "copy", "filter": {"_id": 1}})",
                R"({"cursor": {"firstBatch": [{"_id": 1, "y": 1, "sum": 3}]}})");
    result(
        R"([{"$match": {"_id": 2}}, {"$merge": {"into": "copy", "whenMatched": "keepExisting"}}])");
    expectReply(R"({"find": "copy", "filter": {"_id": 2, "item": {"$exists": true}}})",
                R"({"cursor": {"firstBatch": []}})");
    expectReply(R"({"count": "copy"})", R"({"n": 4})");
}

TEST_F(AggregateTest, WritesHeedTheValidatorUnlessToldNotTo) {
    expectReply(R"({"create": "strict", "validator": {"n": {"$gt": 100}}})", R"({"ok": 1})");
    for (const char* last : {R"({"$out": "strict"})",
                             R"({"$merge": {"into": "strict", "whenMatched": "fail"}})",
                             R"({"$merge": {"into": "strict", "whenMatched": "replace"}})"}) {
        const std::string pipeline = R"([{"$match": {"_id": 1}}, )" + std::string(last) + "]";
        expectError(pipeline, 121);
        EXPECT_EQ(result(pipeline, R"("orders")", R"(, "bypassDocumentValidation": true)"), "[]");
        expectReply(R"({"count": "strict"})", R"({"n": 1})");
        run(R"({"delete": "strict", "deletes": [{"q": {}, "limit": 0}]})");
    }
}

TEST_F(AggregateTest, StagesOutsideTheApiAreRefusedToWhoKeepsToIt) {
    const auto code = [this](const std::string& pipeline, const char* of) {
        return run(R"({"aggregate": )" + std::string(of) + R"(, "cursor": {}, "apiVersion": "1",
                       "apiStrict": true, "pipeline": )" +
                       pipeline + "}",
                   "admin")
            .view()
            .find("code")
            .toInt64();
    };
    EXPECT_EQ(323, code(R"([{"$listLocalSessions": {}}, {"$limit": 1}])", "1"));
    EXPECT_EQ(323, code(R"([{"$currentOp": {}}])", "1"));
    EXPECT_EQ(323, code(R"([{"$indexStats": {}}])", R"("c")"));
    EXPECT_EQ(
        323,
        code(R"([{"$unionWith": {"coll": "c", "pipeline": [{"$indexStats": {}}]}}])", R"("c")"));
    EXPECT_EQ(323, code(R"([{"$collStats": {"storageStats": {}}}])", R"("c")"));
    run(R"({"insert": "c", "documents": [{}]})", "admin");
    EXPECT_EQ(0, code(R"([{"$collStats": {"count": {}}}])", R"("c")"));
    EXPECT_EQ(0, code(R"([{"$match": {}}, {"$sortByCount": "$a"}])", R"("c")"));
}

TEST_F(AggregateTest, TheCursorNamesWhatWasRead) {
    const auto nsOf = [&](const std::string& first, const std::string& last) {
        const bson::OwnedDocument reply =
            run("{\"aggregate\": " + first + last + R"(], "cursor": {}})");
        return std::string(reply.view().findPath("cursor.ns").stringValue());
    };
    for (const char* last : {"", R"(, {"$out": "zz"})", R"(, {"$merge": "zz"})"}) {
        EXPECT_EQ("test.$cmd.aggregate",
                  nsOf(R"(1, "pipeline": [{"$documents": [{"a": 1}]})", last));
        EXPECT_EQ("test.orders", nsOf(R"("orders", "pipeline": [{"$match": {}})", last));
        EXPECT_EQ("test.none", nsOf(R"("none", "pipeline": [{"$match": {}})", last));
    }
}

TEST_F(AggregateTest, ExplainShowsWhatWasArranged) {
    run(R"({"createIndexes": "orders", "indexes": [{"key": {"n": 1}, "name": "n_1"}]})");
    const bson::OwnedDocument reply = run(
        R"({"aggregate": "orders", "explain": true, "pipeline": [
            {"$unwind": "$item"}, {"$match": {"n": 2}}, {"$group": {"_id": "$item"}}]})");
    const std::string text = bson::toShellText(reply.view());
    EXPECT_NE(text.find("$cursor"), std::string::npos) << text;
    EXPECT_NE(text.find("IXSCAN"), std::string::npos) << text;
    EXPECT_NE(text.find("$group"), std::string::npos) << text;
}

TEST_F(AggregateTest, BatchesGoOnWhereTheyWere) {
    const bson::OwnedDocument first =
        run(R"({"aggregate": "orders", "cursor": {"batchSize": 0}, "pipeline": [
            {"$unwind": {"path": "$item", "preserveNullAndEmptyArrays": true}},
            {"$lookup": {"from": "stock", "localField": "item", "foreignField": "sku", "as": "s"}},
            {"$project": {"item": 1}}]})");
    const int64_t id = first.view().find("cursor").document().find("id").toInt64();
    ASSERT_NE(id, 0);
    std::string seen;
    for (int i = 0; i < 5; ++i) {
        const bson::OwnedDocument next =
            run(R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
                R"("}, "collection": "orders", "batchSize": 1})");
        const bson::Element batch = next.view().find("cursor").document().find("nextBatch");
        ASSERT_TRUE(batch.isArray()) << bson::toJson(next.view());
        seen += bson::toShellText(batch);
    }
    EXPECT_EQ(
        seen,
        R"([ { _id: 1, item: "nut" } ][ { _id: 2, item: "bolt" } ][ { _id: 3, item: "nut" } ])"
        R"([ { _id: 3, item: "gear" } ][ { _id: 4 } ])");
}

TEST_F(AggregateTest, Refuses) {
    expectError(R"([{"$out": "x"}, {"$match": {}}])", 40601);
    expectError(R"([{"$facet": {"a": [{"$out": "x"}]}}])", 40600);
    expectError(R"([{"$facet": {}}])", 40169);
    expectError(R"([{"$lookup": {"from": "x", "as": "y", "pipeline": [{"$out": "z"}]}}])", 51047);
    expectError(R"([{"$lookup": {"from": "x", "as": "y"}}])", 9);
    expectError(R"([{"$lookup": {"from": "x", "as": "y", "localField": "a"}}])", 9);
    expectError(R"([{"$lookup": 1}])", 9);
    expectError(R"([{"$match": {}}, {"$indexStats": {}}])", 40602);
    expectError(R"([{"$changeStream": {}}, {"$group": {"_id": 1}}])", 20);
    expectError(R"([{"$changeStream": {}}, {"$match": {}}, {"$out": "x"}])", 20);
    expectError(R"([{"$match": {}}, {"$changeStreamSplitLargeEvent": {}}])", 20);
    expectError(R"([{"$bucket": {"groupBy": "$n", "boundaries": [1]}}])", 40192);
    expectError(R"([{"$bucket": {"groupBy": "$n", "boundaries": [100, 200]}}])", 40066);
    expectError(R"([{"$sample": {}}])", 28749);
    expectError(R"([{"$nope": 1}])", 40324);
    expectError(R"([{"$project": {"a": {"$nope": 1}}}])", 31325);
    expectError(R"([{"$group": {"_id": 1, "a": {"$nope": 1}}}])", 15952);
    expectReply(R"({"aggregate": 1, "pipeline": [], "cursor": {}})", R"({"ok": 0.0, "code": 73})");
    expectReply(R"({"aggregate": 1, "pipeline": [{"$changeStream": {}}], "cursor": {}})",
                R"({"ok": 1.0, "cursor": {"firstBatch": []}})");
    expectReply(R"({"aggregate": "orders", "pipeline": []})", R"({"ok": 0.0, "code": 9})");
    std::string nested = R"([{"$match": {}}])";
    for (int i = 0; i < 25; ++i) {
        nested = R"([{"$unionWith": {"coll": "x", "pipeline": )" + nested + "}}]";
    }
    expectError(nested, 232);
}

}  // namespace
}  // namespace freshet::command
