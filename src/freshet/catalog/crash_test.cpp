// SPDX-License-Identifier: Apache-2.0
/// Power failures in the middle of writes and definition changes: afterwards each change has
/// happened or not, every index equals its collection, and every tree has a name.
#include "freshet/catalog/collection/test_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace freshet::catalog {
namespace {

bson::OwnedDocument randomDocument(std::mt19937_64& random) {
    bson::Builder builder;
    builder.add("_id", static_cast<int64_t>(random() % 100'000));
    builder.add("a", static_cast<int32_t>(random() % 50));
    if (random() % 3 == 0) {
        auto list = builder.array("b");
        list.push(static_cast<int32_t>(random() % 9)).push("x");
    }
    return bson::OwnedDocument(builder.finish());
}

void expectOnlyNamedTrees(Database& db) {
    std::set<engine::TreeId> named{engine::kCatalogTree};
    for (const std::string& database : db.catalog().databases()) {
        for (const CollectionRef& collection : db.catalog().collections(database)) {
            named.insert(collection->treeId);
            for (const auto& index : collection->indexes) {
                named.insert(index->treeId);
            }
        }
    }
    for (engine::TreeId id : db.engine().treeIds()) {
        EXPECT_TRUE(named.contains(id)) << "tree " << id;
    }
}

std::unique_ptr<Change> randomChange(Database& db, uint64_t choice, IndexCounts* counts) {
    switch (choice % 5) {
        case 0:
            return db.catalog().dropCollection("db", "c");
        case 1:
            return db.catalog().dropIndexes("db", "c", {"*"}, counts);
        case 2:
            return db.catalog().createIndexes(
                "db", "c", {indexOn(R"({"b": 1})"), indexOn(R"({"a": -1, "b": 1})")}, counts);
        default:
            return db.catalog().createIndexes("db", "c", {indexOn(R"({"a": 1})")}, counts);
    }
}

TEST(Crash, LeavesAllOrNothing) {
    std::mt19937_64 random(testSeed());
    Database db;
    for (int round = 0; round < 25 && !::testing::Test::HasFailure(); ++round) {
        db.create("c");
        for (uint64_t i = random() % 300; i > 0; --i) {
            Status status = db.insert("c", randomDocument(random));
            ASSERT_TRUE(status.isOk() || status.reason() == Reason::kDuplicateKey)
                << status.toString();
        }
        if (random() % 2 == 0) {  // separates what is durable from what may get lost
            db.reopen();
        }
        IndexCounts counts;
        auto change = randomChange(db, random(), &counts);
        Status status = change->run();
        for (uint64_t steps = random() % 5; status.isWouldBlock() && steps > 0; --steps) {
            sync::blockOn(change->token());
            status = change->run();
        }
        change.reset();
        db.crash(random());
        if (db.find("c") != nullptr) {
            db.expectValid("c");
        }
        expectOnlyNamedTrees(db);
    }
}

/// What was durable before the power failed still exists, and so does the flag for planners.
TEST(Crash, KeepsWhatWasDurable) {
    Database db;
    ASSERT_TRUE(db.createIndexes("c", {indexOn(R"({"a": 1})")}).isOk());
    ASSERT_TRUE(db.insert("c", R"({"_id": 1, "a": [1, 2]})").isOk());
    auto last = doc(R"({"_id": 2, "a": 3})");
    ASSERT_TRUE(db.insert("c", last, engine::Durability::kDurable).isOk());
    db.crash(0);
    ASSERT_NE(db.find("c"), nullptr);
    EXPECT_EQ(db.verify("c").documents, 2u);
    EXPECT_TRUE(db.find("c")->findIndex("a_1")->isMultikey());
    db.expectValid("c");
}

}  // namespace
}  // namespace freshet::catalog
