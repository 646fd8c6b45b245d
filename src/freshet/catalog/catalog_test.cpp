// SPDX-License-Identifier: Apache-2.0
/// Names, definition changes, and their state after a restart.
#include "freshet/catalog/catalog.h"

#include "freshet/catalog/collection/test_support.h"
#include "freshet/catalog/storage_engine.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace freshet::catalog {
namespace {

std::vector<std::string> indexNames(const Collection& collection) {
    std::vector<std::string> names;
    for (const auto& index : collection.indexes) {
        names.push_back(index->name);
    }
    return names;
}

TEST(Catalog, FindsWhatWasCreated) {
    Database db;
    EXPECT_EQ(db.find("c"), nullptr);
    uint64_t version = db.catalog().version();
    ASSERT_NE(db.create("c"), nullptr);
    EXPECT_GT(db.catalog().version(), version);
    CollectionRef found = db.find("c");
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->ns(), "db.c");
    EXPECT_EQ(found->uuid.size(), 16u);
    EXPECT_EQ(indexNames(*found), std::vector<std::string>{"_id_"});
    EXPECT_TRUE(found->indexes[0]->unique);
    EXPECT_EQ(db.catalog().databases(), std::vector<std::string>{"db"});
    EXPECT_EQ(db.find("d"), nullptr);
    EXPECT_EQ(db.catalog().find("other", "c"), nullptr);
}

TEST(Catalog, CreatingTwiceIsAnErrorUnlessTheSameIsWanted) {
    Database db;
    auto options = doc(R"({"capped": false})");
    auto create = [&](bson::OwnedDocument wanted, bool ifMissing) {
        return Database::run(
            db.catalog().createCollection("db", "c", std::move(wanted), ifMissing));
    };
    ASSERT_TRUE(create(options, false).isOk());
    EXPECT_TRUE(create(options, true).isOk());
    EXPECT_EQ(create(options, false).reason(), Reason::kNamespaceExists);
    EXPECT_EQ(create(doc(R"({"capped": true})"), true).reason(), Reason::kNamespaceExists);
}

TEST(Catalog, RefusesBadNames) {
    using namespace std::string_literals;
    for (const auto& [db, name] :
         std::vector<std::pair<std::string, std::string>>{{"", "c"},
                                                          {"db", ""},
                                                          {"a.b", "c"},
                                                          {"a b", "c"},
                                                          {"db", "a$b"},
                                                          {"db", ".a"},
                                                          {"db", "a\0b"s},
                                                          {std::string(64, 'x'), "c"},
                                                          {"db", std::string(300, 'x')}}) {
        EXPECT_EQ(checkNames(db, name).reason(), Reason::kInvalidNamespace) << db << "." << name;
    }
    EXPECT_TRUE(checkNames("db", "a.b-c d").isOk());
}

TEST(Catalog, TakesCompressorsByMongodsNames) {
    const auto codec = [](const std::string& config) {
        const auto found =
            codecOf(doc(R"({"wiredTiger": {"configString": ")" + config + R"("}})").view());
        EXPECT_TRUE(found.isOk()) << config;
        return found.isOk() ? *found : std::nullopt;
    };
    using engine::Codec;
    EXPECT_EQ(codec("block_compressor=none"), Codec::kNone);
    EXPECT_EQ(codec("block_compressor="), Codec::kNone);
    EXPECT_EQ(codec("block_compressor=snappy"), Codec::kSnappy);
    EXPECT_EQ(codec("block_compressor=zlib"), Codec::kZstd);
    EXPECT_EQ(codec(R"(a=(b=1,block_compressor=none),block_compressor : \"zstd\" ,c)"),
              Codec::kZstd);
    EXPECT_EQ(codec("block_compressor=zstd,block_compressor=snappy"), Codec::kSnappy);
    EXPECT_EQ(codec("allocation_size=4KB"), std::nullopt);
    EXPECT_EQ(codec(""), std::nullopt);
    EXPECT_EQ(*codecOf(doc("{}").view()), std::nullopt);
    const auto refusal = [](const char* json) {
        const Status status = codecOf(doc(json).view()).status();
        EXPECT_EQ(status.code(), Code::kInvalid) << json;
        return std::pair(status.reason(), std::string(status.text()));
    };
    EXPECT_EQ(refusal(R"({"wiredTiger": {"configString": "block_compressor=lz5"}})"),
              std::pair(Reason::kBadValue,
                        std::string("22: Invalid argument. unknown compressor 'lz5'.")));
    for (const char* open : {"a=(b", "a=b)", R"(a=\"b)"}) {
        const std::string json =
            R"({"wiredTiger": {"configString": ")" + std::string(open) + R"("}})";
        EXPECT_EQ(refusal(json.c_str()).first, Reason::kBadValue) << open;
    }
    EXPECT_EQ(refusal(R"({"wiredTiger": {"configString": 1}})").first, Reason::kTypeMismatch);
    EXPECT_EQ(refusal(R"({"wiredTiger": {"other": 1}})").first, Reason::kInvalidOptions);
    EXPECT_EQ(refusal(R"({"wiredTiger": 1})").first, Reason::kBadValue);
    EXPECT_EQ(refusal(R"({"mmapv1": {}})").first, Reason::kInvalidOptions);
}

TEST(Catalog, CollectionsAndIndexesChooseHowTheyAreStored) {
    Database db;
    const auto options = [](const char* name) {
        return R"("storageEngine": {"wiredTiger": {"configString": "block_compressor=)" +
               std::string(name) + R"("}})";
    };
    ASSERT_TRUE(Database::run(db.catalog().createCollection(
                                  "db", "small", doc("{" + options("zstd") + "}"), false))
                    .isOk());
    ASSERT_TRUE(
        Database::run(db.catalog().createCollection("db", "large", doc("{}"), false)).isOk());
    const auto fill = [&](int from) {
        for (int i = from; i < from + 300; ++i) {
            const std::string document =
                "{\"_id\": " + std::to_string(i) + ", \"text\": \"" + std::string(500, 'x') + "\"}";
            ASSERT_TRUE(db.insert("small", document).isOk());
            ASSERT_TRUE(db.insert("large", document).isOk());
        }
    };
    const auto expectSizes = [&] {
        ASSERT_TRUE(db.engine().checkpointNow().isOk());
        const uint64_t small = db.engine().storedBytes(db.find("small")->treeId);
        const uint64_t large = db.engine().storedBytes(db.find("large")->treeId);
        EXPECT_GT(large, 300u * 500);
        EXPECT_LT(small, large / 3);
    };
    fill(0);
    expectSizes();
    db.reopen();
    fill(300);
    expectSizes();
}

TEST(Catalog, SurvivesAReopen) {
    Database db;
    ASSERT_TRUE(
        Database::run(db.catalog().createCollection("db", "c", doc(R"({"x": 1})"), false)).isOk());
    ASSERT_TRUE(
        db.createIndexes("c", {indexOn(R"({"a": 1, "b": -1})"), indexOn(R"({"u": 1})", true, true)})
            .isOk());
    ASSERT_TRUE(db.insert("c", R"({"_id": 1, "a": [1, 2], "u": 5})").isOk());
    std::string uuid = db.find("c")->uuid;
    db.reopen();
    CollectionRef found = db.find("c");
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->uuid, uuid);
    EXPECT_EQ(found->options.bytes(), doc(R"({"x": 1})").bytes());
    EXPECT_EQ(indexNames(*found), (std::vector<std::string>{"_id_", "a_1_b_-1", "u_1"}));
    EXPECT_TRUE(found->indexes[1]->fields[1].descending);
    EXPECT_TRUE(found->indexes[1]->isMultikey());
    EXPECT_FALSE(found->indexes[2]->isMultikey());
    EXPECT_TRUE(found->indexes[2]->unique);
    EXPECT_TRUE(found->indexes[2]->sparse);
    db.expectValid("c");
    ASSERT_TRUE(db.insert("c", R"({"_id": 2})").isOk());
    db.expectValid("c");
    EXPECT_EQ(db.verify("c").documents, 2u);
}

TEST(Catalog, DroppingACollectionLeavesNothing) {
    Database db;
    db.create("c");
    db.create("d");
    ASSERT_TRUE(db.insert("c", R"({"_id": 1})").isOk());
    CollectionRef old = db.find("c");
    ASSERT_TRUE(Database::run(db.catalog().dropCollection("db", "c")).isOk());
    EXPECT_EQ(db.find("c"), nullptr);
    EXPECT_TRUE(old->isDropped());
    sync::WaitToken token;
    EXPECT_EQ(old->gate->enter(&token).code(), Code::kCancelled);
    EXPECT_EQ(Database::run(db.catalog().dropCollection("db", "c")).reason(),
              Reason::kNamespaceNotFound);
    engine::TreeId tree = old->treeId;
    old.reset();
    db.reopen();
    EXPECT_EQ(db.find("c"), nullptr);
    EXPECT_NE(db.find("d"), nullptr);
    auto ids = db.engine().treeIds();
    EXPECT_EQ(std::count(ids.begin(), ids.end(), tree), 0);
    EXPECT_GT(db.engine().newTreeId(), tree);
}

TEST(Catalog, DroppingADatabaseSparesTheOthers) {
    Database db;
    db.create("c");
    db.create("d");
    ASSERT_TRUE(Database::run(db.catalog().createCollection("x", "c", {}, false)).isOk());
    ASSERT_TRUE(Database::run(db.catalog().dropDatabase("db")).isOk());
    EXPECT_TRUE(db.catalog().collections("db").empty());
    EXPECT_EQ(db.catalog().databases(), std::vector<std::string>{"x"});
    EXPECT_TRUE(Database::run(db.catalog().dropDatabase("db")).isOk());
}

TEST(Indexes, AskingTwiceChangesNothing) {
    Database db;
    IndexCounts counts;
    auto request = [&](std::vector<IndexRequest> requests) {
        return Database::run(db.catalog().createIndexes("db", "c", std::move(requests), &counts));
    };
    ASSERT_TRUE(request({indexOn(R"({"a": 1})")}).isOk());
    EXPECT_TRUE(counts.createdCollection);
    EXPECT_EQ(counts.before, 1);
    EXPECT_EQ(counts.after, 2);
    uint64_t version = db.catalog().version();
    ASSERT_TRUE(request({indexOn(R"({"a": 1.0})"), indexOn(R"({"_id": 1})")}).isOk());
    EXPECT_EQ(counts.before, 2);
    EXPECT_EQ(counts.after, 2);
    EXPECT_FALSE(counts.createdCollection);
    EXPECT_EQ(db.catalog().version(), version);
}

TEST(Indexes, ClashesAreNamed) {
    Database db;
    ASSERT_TRUE(db.createIndexes("c", {indexOn(R"({"a": 1})")}).isOk());
    EXPECT_EQ(db.createIndexes("c", {indexOn(R"({"a": 1})", true)}).reason(),
              Reason::kIndexKeySpecsConflict);
    IndexRequest renamed = indexOn(R"({"a": 1})");
    renamed.name = "other";
    Status status = db.createIndexes("c", {renamed});
    EXPECT_EQ(status.reason(), Reason::kIndexOptionsConflict);
    EXPECT_EQ(status.text(), "Index already exists with a different name: a_1");
    IndexRequest sameName = indexOn(R"({"b": 1})");
    sameName.name = "a_1";
    EXPECT_EQ(db.createIndexes("c", {sameName}).reason(), Reason::kIndexKeySpecsConflict);
    for (const char* key : {R"({})",
                            R"({"a": 0})",
                            R"({"": 1})",
                            R"({"a..b": 1})",
                            R"({"a": "text"})",
                            R"({"a": true})"}) {
        EXPECT_EQ(db.createIndexes("c", {indexOn(key)}).reason(), Reason::kCannotCreateIndex)
            << key;
    }
    EXPECT_EQ(db.find("c")->indexes.size(), 2u);
}

TEST(Indexes, AreFilledFromWhatIsThere) {
    Database db;
    db.create("c");
    for (int i = 0; i < 300; ++i) {
        bson::Builder builder;
        builder.add("_id", i);
        builder.add("a", i % 7);
        ASSERT_TRUE(db.insert("c", bson::OwnedDocument(builder.finish())).isOk());
    }
    ASSERT_TRUE(db.insert("c", R"({"_id": "x", "tags": ["p", "q", "p"]})").isOk());
    ASSERT_TRUE(
        db.createIndexes("c", {indexOn(R"({"a": -1})"), indexOn(R"({"tags": 1})", false, true)})
            .isOk());
    EXPECT_FALSE(db.find("c")->findIndex("a_-1")->isMultikey());
    EXPECT_TRUE(db.find("c")->findIndex("tags_1")->isMultikey());
    VerifyReport report = db.verify("c");
    EXPECT_TRUE(report.isValid()) << report.problems.front();
    EXPECT_EQ(report.indexes[1].entries, 301u);
    EXPECT_EQ(report.indexes[2].entries, 2u);
    db.reopen();
    EXPECT_TRUE(db.find("c")->findIndex("tags_1")->isMultikey());
    db.expectValid("c");
}

TEST(Indexes, AUniqueBuildThatMeetsADuplicateLeavesNothing) {
    Database db;
    db.create("c");
    ASSERT_TRUE(db.insert("c", R"({"_id": 1, "a": 7})").isOk());
    ASSERT_TRUE(db.insert("c", R"({"_id": 2, "a": 7})").isOk());
    auto trees = db.engine().treeIds();
    Status status = db.createIndexes("c", {indexOn(R"({"b": 1})"), indexOn(R"({"a": 1})", true)});
    EXPECT_EQ(status.reason(), Reason::kDuplicateKey);
    EXPECT_EQ(status.text(),
              "E11000 duplicate key error collection: db.c index: a_1 dup key: { a: 7 }");
    EXPECT_EQ(db.find("c")->indexes.size(), 1u);
    EXPECT_EQ(db.engine().treeIds(), trees);
    ASSERT_TRUE(db.insert("c", R"({"_id": 3, "a": 7})").isOk());  // the gate is open again
}

TEST(Indexes, Drop) {
    Database db;
    ASSERT_TRUE(db.createIndexes(
                      "c", {indexOn(R"({"a": 1})"), indexOn(R"({"b": 1})"), indexOn(R"({"d": 1})")})
                    .isOk());
    IndexCounts counts;
    auto drop = [&](std::vector<std::string> names) {
        return Database::run(db.catalog().dropIndexes("db", "c", std::move(names), &counts));
    };
    EXPECT_EQ(drop({"_id_"}).reason(), Reason::kInvalidOptions);
    EXPECT_EQ(drop({"nope"}).reason(), Reason::kIndexNotFound);
    EXPECT_EQ(drop({"a_1", "nope"}).reason(), Reason::kIndexNotFound);
    CollectionRef before = db.find("c");
    ASSERT_TRUE(drop({"b_1"}).isOk());
    EXPECT_EQ(counts.before, 4);
    EXPECT_TRUE(before->findIndex("b_1")->isDropped());
    EXPECT_FALSE(before->findIndex("a_1")->isDropped());
    EXPECT_EQ(indexNames(*db.find("c")), (std::vector<std::string>{"_id_", "a_1", "d_1"}));
    ASSERT_TRUE(drop({"*"}).isOk());
    EXPECT_EQ(indexNames(*db.find("c")), std::vector<std::string>{"_id_"});
    before.reset();
    db.reopen();
    EXPECT_EQ(indexNames(*db.find("c")), std::vector<std::string>{"_id_"});
}

TEST(Changes, GoOneAfterTheOther) {
    Database db;
    db.create("c");
    GatePass writer;
    sync::WaitToken token;
    ASSERT_TRUE(writer.enter(db.find("c")->gate, &token).isOk());
    auto first = db.catalog().dropCollection("db", "c");
    ASSERT_TRUE(first->run().isWouldBlock());  // for the writer
    auto second = db.catalog().createCollection("db", "d", {}, false);
    ASSERT_TRUE(second->run().isWouldBlock());  // for the first change
    EXPECT_FALSE(second->token().isDone());
    writer.release();
    EXPECT_TRUE(first->token().isDone());
    EXPECT_TRUE(first->run().isOk());
    EXPECT_TRUE(second->token().isDone());
    EXPECT_TRUE(second->run().isOk());
    EXPECT_NE(second->commitLsn(), 0u);
}

TEST(Changes, OneThatIsGivenUpLetsOthersGoOn) {
    Database db;
    db.create("c");
    auto trees = db.engine().treeIds();
    GatePass writer;
    sync::WaitToken token;
    ASSERT_TRUE(writer.enter(db.find("c")->gate, &token).isOk());
    IndexCounts counts;
    auto build = db.catalog().createIndexes("db", "c", {indexOn(R"({"a": 1})")}, &counts);
    ASSERT_TRUE(build->run().isWouldBlock());
    GatePass other;
    EXPECT_TRUE(other.enter(db.find("c")->gate, &token).isWouldBlock());
    build.reset();
    EXPECT_TRUE(token.isDone());
    EXPECT_TRUE(other.enter(db.find("c")->gate, &token).isOk());
    other.release();
    writer.release();
    EXPECT_EQ(db.engine().treeIds(), trees);
    EXPECT_EQ(db.find("c")->indexes.size(), 1u);
    EXPECT_TRUE(Database::run(db.catalog().dropCollection("db", "c")).isOk());
}

}  // namespace
}  // namespace freshet::catalog
