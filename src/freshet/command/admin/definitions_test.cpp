// SPDX-License-Identifier: Apache-2.0
/// Collections, indexes and databases: making, listing, dropping.
#include "freshet/command/run/fixture_test.h"

namespace freshet::command {
namespace {

using DefinitionsTest = CommandTest;

TEST_F(DefinitionsTest, CollectionsComeAndGo) {
    expectReplies({
        {R"({"create": "c"})", R"({"ok": 1.0})"},
        {R"({"create": "c"})", R"({"ok": 1.0})"},  // creating it again, as since 7.0
        {R"({"create": "c", "validationLevel": "off"})",
         R"({"ok": 0.0, "code": 48, "codeName": "NamespaceExists"})"},
        {R"({"listCollections": 1})",
         R"({"cursor": {"ns": "test.$cmd.listCollections", "id": {"$numberLong": "0"},
             "firstBatch": [{"name": "c", "type": "collection", "options": {},
                             "info": {"readOnly": false},
                             "idIndex": {"v": 2, "key": {"_id": 1}, "name": "_id_"}}]}})"},
        {R"({"listCollections": 1, "nameOnly": true, "filter": {"name": "x"}})",
         R"({"cursor": {"firstBatch": []}})"},
        {R"({"drop": "c"})", R"({"ok": 1.0, "ns": "test.c", "nIndexesWas": 1})"},
        {R"({"drop": "c"})", R"({"ok": 1.0})"},
        {R"({"listCollections": 1})", R"({"cursor": {"firstBatch": []}})"},
    });
}

TEST_F(DefinitionsTest, CollectionsHaveAUuid) {
    expectReply(R"({"create": "c"})", R"({"ok": 1.0})");
    const bson::OwnedDocument reply = run(R"({"listCollections": 1})");
    const bson::Element uuid = reply.view().findPath("cursor.firstBatch.0.info.uuid");
    ASSERT_EQ(bson::Type::kBinary, uuid.type());
    EXPECT_EQ(4, uuid.binaryValue().subtype);
    EXPECT_EQ(16u, uuid.binaryValue().bytes.size());
}

TEST_F(DefinitionsTest, RefusesCollectionsItWouldNotKeepItsWordFor) {
    expectReplies({
        {R"({"create": "c", "capped": true, "size": 4096})", R"({"code": 115})"},
        {R"({"create": "c", "capped": false})", R"({"ok": 1.0})"},
        {R"({"create": "d", "size": 4096})", R"({"code": 72})"},
        {R"({"create": "d", "validator": {"$bogus": 1}})", R"({"ok": 0.0})"},
        {R"({"create": "d", "validationAction": "shout"})", R"({"code": 2})"},
        {R"({"create": "d", "idIndex": {"key": {"a": 1}, "name": "a"}})", R"({"code": 2})"},
        {R"({"create": "system.mine"})", R"({"code": 73})"},
        {R"({"create": "d", "viewOn": "c"})", R"({"code": 115})"},
        {R"({"create": "d", "bogus": 1})", R"({"code": 40415})"},
        {R"({"create": "a$b"})", R"({"code": 73})"},
    });
}

TEST_F(DefinitionsTest, CompressorsAreChosenAndShownAsGiven) {
    expectReplies({
        {R"({"create": "c",
             "storageEngine": {"wiredTiger": {"configString": "block_compressor=zlib"}}})",
         R"({"ok": 1.0})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1",
             "storageEngine": {"wiredTiger": {"configString": "block_compressor=none"}}}]})",
         R"({"ok": 1.0})"},
        {R"({"listCollections": 1})",
         R"({"cursor": {"firstBatch": [{"name": "c", "options": {"storageEngine":
             {"wiredTiger": {"configString": "block_compressor=zlib"}}}}]}})"},
        {R"({"listIndexes": "c"})",
         R"({"cursor": {"firstBatch": [{"name": "_id_"}, {"name": "a_1", "storageEngine":
             {"wiredTiger": {"configString": "block_compressor=none"}}}]}})"},
        {R"({"create": "d",
             "storageEngine": {"wiredTiger": {"configString": "block_compressor=lz5"}}})",
         R"({"code": 2, "errmsg": "22: Invalid argument. unknown compressor 'lz5'."})"},
        {R"({"create": "d", "storageEngine": {"mmapv1": {}}})",
         R"({"code": 72,
             "errmsg": "mmapv1 is not a registered storage engine for this server"})"},
        {R"({"create": "d", "storageEngine": {"wiredTiger": {"configString": 1}}})",
         R"({"code": 14, "errmsg": "'configString' must be a string."})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"b": 1}, "name": "b_1",
             "storageEngine": {"wiredTiger": {"configString": "block_compressor=lz5"}}}]})",
         R"({"code": 2})"},
    });
}

TEST_F(DefinitionsTest, IndexesComeAndGo) {
    expectReplies({
        {R"({"listIndexes": "c"})",
         R"({"code": 26, "codeName": "NamespaceNotFound", "errmsg": "ns does not exist: test.c"})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})",
         R"({"numIndexesBefore": 1, "numIndexesAfter": 2, "createdCollectionAutomatically": true,
             "ok": 1.0})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})",
         R"({"numIndexesBefore": 2, "numIndexesAfter": 2, "createdCollectionAutomatically": false,
             "note": "all indexes already exist"})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"b": -1}, "name": "b", "unique": true}]})",
         R"({"numIndexesAfter": 3})"},
        {R"({"listIndexes": "c"})",
         R"({"cursor": {"ns": "test.c", "firstBatch": [
             {"v": 2, "key": {"_id": 1}, "name": "_id_"},
             {"v": 2, "key": {"a": 1}, "name": "a_1"},
             {"v": 2, "key": {"b": -1}, "name": "b", "unique": true}]}})"},
        {R"({"insert": "c", "documents": [{"b": 1}, {"b": 1}]})",
         R"({"n": 1, "writeErrors": [{"index": 1, "code": 11000, "keyPattern": {"b": -1},
             "keyValue": {"b": 1}}]})"},
        {R"({"dropIndexes": "c", "index": "nope"})",
         R"({"code": 27, "codeName": "IndexNotFound"})"},
        {R"({"dropIndexes": "c", "index": {"x": 1}})",
         R"({"code": 27, "errmsg": "can't find index with key: { x: 1 }"})"},
        {R"({"dropIndexes": "c", "index": "_id_"})", R"({"code": 72})"},
        {R"({"dropIndexes": "c", "index": {"a": 1}})", R"({"nIndexesWas": 3, "ok": 1.0})"},
        {R"({"deleteIndexes": "c", "index": "*"})",
         R"({"nIndexesWas": 2, "msg": "non-_id indexes dropped for collection"})"},
        {R"({"dropIndexes": "none", "index": "*"})",
         R"({"code": 26, "errmsg": "ns not found test.none"})"},
    });
}

TEST_F(DefinitionsTest, RefusesIndexesItDoesNotServe) {
    expectReplies({
        {R"({"createIndexes": "c", "indexes": []})", R"({"code": 2})"},
        {R"({"createIndexes": "c", "indexes": [{"name": "x"}]})", R"({"code": 9})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a", "bogus": 1}]})",
         R"({"code": 197})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a",
             "expireAfterSeconds": "soon"}]})",
         R"({"ok": 0.0})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"a": "text"}, "name": "a"}]})",
         R"({"ok": 0.0, "code": 67})"},
        {R"({"listCollections": 1})", R"({"cursor": {"firstBatch": []}})"},
        {R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a", "bogus": 1}],
             "ignoreUnknownIndexOptions": true})",
         R"({"ok": 1.0})"},
    });
}

TEST_F(DefinitionsTest, DatabasesComeAndGo) {
    expectReply(R"({"create": "c"})", R"({"ok": 1.0})", "one");
    expectReply(R"({"create": "c"})", R"({"ok": 1.0})", "two");
    expectReplies({{R"({"listDatabases": 1, "nameOnly": true})",
                    R"({"databases": [{"name": "one"}, {"name": "two"}], "ok": 1.0})"},
                   {R"({"listDatabases": 1, "filter": {"name": "two"}})",
                    R"({"databases": [{"name": "two", "empty": false}]})"}},
                  "admin");
    expectReply(R"({"dropDatabase": 1})", R"({"dropped": "one", "ok": 1.0})", "one");
    EXPECT_FALSE(run(R"({"dropDatabase": 1})", "one").view().has("dropped"));
    expectReply(R"({"listDatabases": 1})", R"({"databases": [{"name": "two"}]})", "admin");
}

TEST_F(DefinitionsTest, ListsHaveCursors) {
    for (const char* name : {"a", "b", "c"}) {
        expectReply(R"({"create": ")" + std::string(name) + "\"}", R"({"ok": 1.0})");
    }
    const bson::OwnedDocument first =
        run(R"({"listCollections": 1, "nameOnly": true, "cursor": {"batchSize": 2}})");
    const std::string id = std::to_string(first.view().findPath("cursor.id").toInt64());
    expectReply(
        R"({"getMore": {"$numberLong": ")" + id + R"("}, "collection": "$cmd.listCollections"})",
        R"({"cursor": {"nextBatch": [{"name": "c"}], "id": {"$numberLong": "0"}}})");
}

}  // namespace
}  // namespace freshet::command
