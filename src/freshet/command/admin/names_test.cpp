// SPDX-License-Identifier: Apache-2.0
/// Invalid collection names, in every command that takes a name; and documents with two _id fields.
/// A refused command leaves nothing behind.
#include "freshet/command/run/fixture_test.h"
#include "freshet/testing/sim/growth.h"

#include <string>
#include <utility>
#include <vector>

namespace freshet::command {
namespace {

class NamesTest : public CommandTest {
protected:
    /// The reply to `text` with "%" replaced by a byte that is not UTF-8, in the name or the
    /// database.
    bson::OwnedDocument runWith(std::string text, std::string db = "test") {
        bson::OwnedDocument body = request(text, db);
        std::string bytes(body.view().bytes());
        for (const char* name : {"a%", "d%"}) {  // in other texts it could be a length
            for (size_t at = bytes.find(name); at != std::string::npos; at = bytes.find(name)) {
                bytes[at + 1] = '\xff';
            }
        }
        return bodyOf(exchange(message(bson::Document(bytes.data()))));
    }
    void expectCode(int64_t code, const std::string& text, const std::string& db = "test") {
        const bson::OwnedDocument reply = runWith(text, db);
        const bson::Element own = reply.view().find("code");
        const bson::Element first = reply.view().findPath("writeErrors.0.code");
        EXPECT_EQ(code, own.isMissing() ? first.toInt64() : own.toInt64())
            << text << "\n"
            << bson::toJson(reply.view());
    }
    void expectNothingIn(const std::string& db) {
        expectReply(
            R"({"listCollections": 1, "nameOnly": true})", R"({"cursor": {"firstBatch": []}})", db);
    }
};

TEST_F(NamesTest, WhatIsNoUtf8IsNoName) {
    for (const char* command :
         {R"({"create": "a%"})",
          R"({"insert": "a%", "documents": [{}]})",
          R"({"update": "a%", "updates": [{"q": {}, "u": {"a": 1}, "upsert": true}]})",
          R"({"delete": "a%", "deletes": [{"q": {}, "limit": 0}]})",
          R"({"findAndModify": "a%", "update": {"a": 1}, "upsert": true})",
          R"({"find": "a%"})",
          R"({"count": "a%"})",
          R"({"distinct": "a%", "key": "a"})",
          R"({"aggregate": "a%", "pipeline": [], "cursor": {}})",
          R"({"aggregate": "c", "pipeline": [{"$out": "a%"}], "cursor": {}})",
          R"({"aggregate": "c", "pipeline": [{"$merge": "a%"}], "cursor": {}})",
          R"({"aggregate": "c", "pipeline": [{"$out": {"db": "d%", "coll": "a"}}], "cursor": {}})",
          R"({"aggregate": "c", "pipeline": [{"$lookup": {"from": "a%", "localField": "a",
              "foreignField": "b", "as": "c"}}], "cursor": {}})",
          R"({"aggregate": "c", "pipeline": [{"$unionWith": "a%"}], "cursor": {}})",
          R"({"aggregate": "c", "pipeline": [{"$graphLookup": {"from": "a%", "startWith": "$a",
              "connectFromField": "a", "connectToField": "b", "as": "c"}}], "cursor": {}})",
          R"({"createIndexes": "a%", "indexes": [{"key": {"a": 1}, "name": "a"}]})",
          R"({"dropIndexes": "a%", "index": "*"})",
          R"({"listIndexes": "a%"})",
          R"({"collMod": "a%"})",
          R"({"drop": "a%"})",
          R"({"validate": "a%"})",
          R"({"collStats": "a%"})",
          R"({"explain": {"find": "a%"}})"}) {
        expectCode(73, command);
    }
    expectCode(73, R"({"renameCollection": "test.c", "to": "test.a%"})", "admin");
    expectCode(73, R"({"renameCollection": "test.a%", "to": "test.c"})", "admin");
    expectCode(73, R"({"ping": 1})", "d%");
    expectCode(73, R"({"insert": "c", "documents": [{}]})", "d%");
    expectNothingIn("test");
}

TEST_F(NamesTest, SystemCollectionsAreMadeByNobody) {
    for (const auto& [name, code] : std::vector<std::pair<std::string, int64_t>>{
             {"system.foo", 73}, {"system.", 73}, {"system.views", 73}, {"x.system.y", 2}}) {
        const std::string quoted = "\"" + name + "\"";
        expectCode(code, R"({"create": )" + quoted + "}");
        expectCode(code, R"({"insert": )" + quoted + R"(, "documents": [{}]})");
        expectCode(code,
                   R"({"update": )" + quoted +
                       R"(, "updates": [{"q": {}, "u": {"a": 1}, "upsert": true}]})");
        expectCode(code,
                   R"({"findAndModify": )" + quoted + R"(, "update": {"a": 1}, "upsert": true})");
        expectCode(
            code,
            R"({"createIndexes": )" + quoted + R"(, "indexes": [{"key": {"a": 1}, "name": "a"}]})");
        for (const char* stage : {"$out", "$merge"}) {
            expectCode(code,
                       R"({"aggregate": "c", "pipeline": [{")" + std::string(stage) + R"(": )" +
                           quoted + R"(}], "cursor": {}})");
        }
        expectNothingIn("test");
        run(R"({"create": "c"})");
        expectCode(
            code, R"({"renameCollection": "test.c", "to": "test.)" + name + R"("})", "admin");
        run(R"({"drop": "c"})");
    }
    expectReply(R"({"insert": "system.foo", "documents": [{}]})",
                R"({"ok": 0.0, "code": 73, "codeName": "InvalidNamespace",
                    "errmsg": "Invalid system namespace: test.system.foo"})");
    expectReply(R"({"insert": "x.system.y", "documents": [{}]})",
                R"({"ok": 0.0, "code": 2, "errmsg": "Invalid namespace: test.x.system.y"})");
    expectCode(73, R"({"create": "system.version"})");
    expectReplies({{R"({"create": "system.js"})", R"({"ok": 1.0})"},
                   {R"({"create": "system.users"})", R"({"ok": 1.0})"},
                   {R"({"create": "systemx.y"})", R"({"ok": 1.0})"}});
}

TEST_F(NamesTest, AreAtMost255Bytes) {
    const std::string longest(250, 'x');  // and "test."
    expectReply(R"({"insert": ")" + longest + R"(", "documents": [{}]})", R"({"n": 1})");
    expectReply(
        R"({"insert": ")" + longest + R"(y", "documents": [{}]})",
        R"({"code": 73, "errmsg": "Fully qualified namespace is too long. Namespace: test.)" +
            longest + R"(y Max: 255"})");
    expectReply(
        R"({"renameCollection": "test.)" + longest + R"(", "to": "test.y)" + longest + R"("})",
        R"({"code": 73, "errmsg": "error with target namespace: Fully qualified namespace)"
        R"( is too long. Namespace: test.y)" +
            longest + R"( Max: 255"})",
        "admin");
}

TEST_F(NamesTest, DatabasesThatDifferInCaseAreTold) {
    run(R"({"insert": "c", "documents": [{}]})");
    constexpr const char* kText =
        R"({"n": 0, "writeErrors": [{"index": 0, "code": 13297, "errmsg": "db already exists with)"
        R"( different case already have: [test] trying to create [Test]"}]})";
    expectReply(R"({"insert": "c", "documents": [{}]})", kText, "Test");
    expectReply(
        R"({"update": "c", "updates": [{"q": {}, "u": {"a": 1}, "upsert": true}]})", kText, "Test");
    expectCode(13297, R"({"findAndModify": "c", "update": {"a": 1}, "upsert": true})", "Test");
}

TEST_F(NamesTest, ACursorsIdIsALong) {
    expectReply(R"({"getMore": {"$numberInt": "5"}, "collection": "c"})",
                R"({"code": 14, "codeName": "TypeMismatch", "errmsg":
                    "BSON field 'getMore.getMore' is the wrong type 'int', expected type 'long'"})");
}

TEST_F(NamesTest, ADocumentHasOneId) {
    constexpr const char* kText = "can't have multiple _id fields in one document";
    const std::string refused =
        R"({"writeErrors": [{"code": 2, "errmsg": ")" + std::string(kText) + R"("}]})";
    expectReply(R"({"insert": "c", "documents": [{"_id": 1, "_id": 2}]})", refused);
    expectReply(R"({"insert": "c", "documents": [{"a": 1, "_id": 1, "b": 1, "_id": 1}]})", refused);
    expectReply(
        R"({"update": "c", "updates": [{"q": {}, "u": {"_id": 1, "_id": 2}, "upsert": true}]})",
        refused);
    expectCode(2, R"({"findAndModify": "c", "update": {"_id": 1, "_id": 2}, "upsert": true})");
    expectNothingIn("test");
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    expectReply(R"({"update": "c", "updates": [{"q": {}, "u": {"_id": 1, "a": 2, "_id": 1}}]})",
                refused);
    expectReply(R"({"aggregate": "c", "pipeline": [
                    {"$replaceWith": {"$literal": {"_id": 1, "a": 2, "_id": 1}}}, {"$out": "o"}],
                    "cursor": {}})",
                R"({"ok": 0.0, "code": 2})");
    expectReply(R"({"aggregate": "c", "pipeline": [
                    {"$replaceWith": {"$literal": {"_id": 5, "a": 2, "_id": 5}}}, {"$merge": "o"}],
                    "cursor": {}})",
                R"({"ok": 0.0, "code": 2})");
    expectReply(R"({"find": "c"})", R"({"cursor": {"firstBatch": [{"_id": 1}]}})");
}

TEST_F(NamesTest, ARefusedInsertMakesNoCollection) {
    expectCode(53, R"({"insert": "c", "documents": [{"_id": [1]}]})");
    expectCode(52, R"({"insert": "c", "documents": [{"_id": {"$a": 1}}]})");
    expectNothingIn("test");
    expectReply(R"({"insert": "c", "documents": [{"_id": [1]}, {"_id": 1}], "ordered": false})",
                R"({"n": 1})");
}

std::string specs(int n, const char* fields) {
    std::string list;
    for (int i = 0; i < n; ++i) {
        std::string one = fields;
        for (size_t at = one.find('#'); at != std::string::npos; at = one.find('#')) {
            one.replace(at, 1, std::to_string(i));
        }
        list += (i == 0 ? "" : ", ") + one;
    }
    return R"({"createIndexes": "c", "indexes": [)" + list + "]}";
}

TEST_F(NamesTest, IndexesAreAtMost64) {
    expectReply(specs(64, R"({"key": {"f#": 1}, "name": "f#"})"),
                R"({"code": 67, "codeName": "CannotCreateIndex", "errmsg":
                    "add index fails, too many indexes for test.c key:{ f63: 1 }"})");
    expectNothingIn("test");
    expectReply(specs(63, R"({"key": {"f#": 1}, "name": "f#"})"), R"({"numIndexesAfter": 64})");
    expectReply(specs(63, R"({"key": {"f#": 1}, "name": "f#"})"), R"({"numIndexesAfter": 64})");
    expectReply(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x"}]})",
                R"({"code": 67})");
}

TEST_F(NamesTest, IndexesAreAskedForOnce) {
    expectReply(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"},
                    {"key": {"a": 1}, "name": "a_1"}]})",
                R"({"code": 68, "codeName": "IndexAlreadyExists",
                    "errmsg": "Identical index already exists: a_1"})");
    expectReply(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"},
                    {"key": {"a": 1}, "name": "b"}]})",
                R"({"code": 85})");
    expectReply(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"},
                    {"key": {"b": 1}, "name": "a_1"}]})",
                R"({"code": 86})");
    expectReply(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1",
                    "unique": true, "unique": true}]})",
                R"({"code": 40413})");
    expectNothingIn("test");
}

TEST_F(NamesTest, ManySpecificationsTakeNoLongerThanTheyAreLong) {
    const char* const kDifferent = R"({"key": {"f#": 1}, "name": "f#"})";
    const char* const kThere = R"({"key": {"a": 1}, "name": "a_1"})";
    const auto seconds = [&](const char* fields) {
        return testing::growthOf(2'500, [&](int n) { run(specs(n, fields)); });
    };
    EXPECT_LE(seconds(kDifferent), testing::kGrowthMax);
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})");
    EXPECT_LE(seconds(kThere), testing::kGrowthMax);
}

}  // namespace
}  // namespace freshet::command
