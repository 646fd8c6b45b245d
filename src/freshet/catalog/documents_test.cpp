// SPDX-License-Identifier: Apache-2.0
/// Documents and their index entries change together; the verification notices when they do not.
#include "freshet/catalog/documents.h"

#include "freshet/catalog/collection/test_support.h"
#include "freshet/catalog/index/index_keys.h"
#include "freshet/platform/thread.h"

#include <gtest/gtest.h>

#include <random>

namespace freshet::catalog {
namespace {

TEST(DocumentWriter, KeepsIndexesInStep) {
    Database db;
    ASSERT_TRUE(db.createIndexes("c",
                                 {indexOn(R"({"a": 1})"),
                                  indexOn(R"({"b": 1})", false, true),
                                  indexOn(R"({"u": 1})", true)})
                    .isOk());
    ASSERT_TRUE(db.insert("c", R"({"_id": 1, "a": [1, 2, 3], "b": 5, "u": 1})").isOk());
    ASSERT_TRUE(db.insert("c", R"({"_id": 2, "a": 2, "u": 2})").isOk());
    VerifyReport report = db.verify("c");
    EXPECT_TRUE(report.isValid()) << report.problems.front();
    EXPECT_EQ(report.indexes[1].entries, 4u);
    EXPECT_EQ(report.indexes[2].entries, 1u);
    ASSERT_TRUE(db.update("c", 1, doc(R"({"_id": 1, "a": [2, 4], "u": 3})")).isOk());
    report = db.verify("c");
    EXPECT_TRUE(report.isValid()) << report.problems.front();
    EXPECT_EQ(report.indexes[1].entries, 3u);
    EXPECT_EQ(report.indexes[2].entries, 0u);
    ASSERT_TRUE(db.insert("c", R"({"_id": 3, "u": 1})").isOk());  // free again
    ASSERT_TRUE(db.remove("c", 1).isOk());
    report = db.verify("c");
    EXPECT_TRUE(report.isValid()) << report.problems.front();
    EXPECT_EQ(report.documents, 2u);
}

/// The change waits for a writer inside the gate, and that one may wait for the transaction.
TEST(DocumentWriter, ATransactionDoesNotWaitForTheChangeThatWaitsForWriters) {
    Database db;
    ASSERT_TRUE(db.createIndexes("c", {}).isOk());
    const CollectionRef collection = db.catalog().find("db", "c");
    ASSERT_NE(collection, nullptr);
    engine::Txn txn(db.catalog().store(), engine::OnConflict::kFail);
    RecordId id = 0;
    {
        sync::Slice slice(db.catalog().store().epochs());
        DocumentWriter writer(txn, collection, &db.catalog().store());
        ASSERT_TRUE(writer.insert(doc(R"({"_id": 1})").view(), &id).isOk());
    }
    GatePass inside;
    sync::WaitToken token;
    ASSERT_TRUE(inside.enter(collection->gate, &token).isOk());
    IndexCounts counts;
    const auto change = db.catalog().createIndexes("db", "c", {indexOn(R"({"a": 1})")}, &counts);
    ASSERT_TRUE(change->run().isWouldBlock());
    TransactionCommit parts;
    parts.txn = &txn;
    parts.written = {collection};
    EXPECT_EQ(db.catalog().commitTransaction(std::move(parts))->run().code(), Code::kConflict);
    txn.abort();
    inside.release();
    while (change->run().isWouldBlock()) {
        sync::blockOn(change->token());
    }
    db.expectValid("c");
}

TEST(DocumentWriter, TellsWhichKeyIsThereTwice) {
    Database db;
    ASSERT_TRUE(db.createIndexes("c", {indexOn(R"({"a": 1, "b.c": -1})", true)}).isOk());
    ASSERT_TRUE(db.insert("c", R"({"_id": 1, "a": 1, "b": {"c": "x"}})").isOk());
    Status status = db.insert("c", R"({"_id": 1})");
    EXPECT_EQ(status.reason(), Reason::kDuplicateKey);
    EXPECT_EQ(status.text(),
              "E11000 duplicate key error collection: db.c index: _id_ dup key: { _id: 1 }");
    bson::OwnedDocument info;
    auto again = doc(R"({"_id": 2, "a": [0, 1.0], "b": {"c": "x"}})");
    status =
        db.write("c", [&](engine::Txn&, DocumentWriter& writer, const Collection&, std::string*) {
            RecordId id = 0;
            Status result = writer.insert(again.view(), &id);
            info = writer.duplicateKeyInfo();
            return result;
        });
    EXPECT_EQ(status.text(),
              "E11000 duplicate key error collection: db.c index: a_1_b.c_-1 dup key: "
              "{ a: 1.0, b.c: \"x\" }");
    EXPECT_EQ(bson::toJson(info.view()),
              bson::toJson(doc(R"({"keyPattern": {"a": 1, "b.c": -1},
                                   "keyValue": {"a": 1.0, "b.c": "x"}})")
                               .view()));
    db.expectValid("c");
    EXPECT_EQ(db.verify("c").documents, 1u);
}

TEST(DocumentWriter, MissingCountsAsNullForUniqueness) {
    Database db;
    ASSERT_TRUE(
        db.createIndexes("c", {indexOn(R"({"a": 1})", true), indexOn(R"({"s": 1})", true, true)})
            .isOk());
    ASSERT_TRUE(db.insert("c", R"({"_id": 1})").isOk());
    Status status = db.insert("c", R"({"_id": 2, "a": null})");
    EXPECT_EQ(status.text(),
              "E11000 duplicate key error collection: db.c index: a_1 dup key: { a: null }");
    EXPECT_TRUE(db.insert("c", R"({"_id": 3, "a": 1})").isOk());  // sparse: no second null
}

TEST(DocumentWriter, RefusesParallelArrays) {
    Database db;
    ASSERT_TRUE(db.createIndexes("c", {indexOn(R"({"a": 1, "b": 1})")}).isOk());
    Status status = db.insert("c", R"({"_id": 1, "a": [1], "b": [2]})");
    EXPECT_EQ(status.reason(), Reason::kParallelArrays);
    EXPECT_EQ(status.text(), "cannot index parallel arrays [b] [a]");
    EXPECT_EQ(db.verify("c").documents, 0u);
}

/// The flag must be durable with the first durable array, even if the transaction that set it in
/// memory was aborted.
TEST(DocumentWriter, RecordsTheFirstArrayForGood) {
    Database db;
    ASSERT_TRUE(db.createIndexes("c", {indexOn(R"({"a": 1})")}).isOk());
    {
        engine::Txn txn(db.engine());
        CollectionRef collection = db.find("c");
        DocumentWriter writer(txn, collection);
        RecordId id = 0;
        auto document = doc(R"({"_id": 1, "a": [1, 2]})");
        ASSERT_TRUE(writer.insert(document.view(), &id).isOk());
        EXPECT_TRUE(collection->findIndex("a_1")->isMultikey());
        txn.abort();
    }
    db.reopen();
    EXPECT_FALSE(db.find("c")->findIndex("a_1")->isMultikey());
    {
        engine::Txn txn(db.engine());
        DocumentWriter writer(txn, db.find("c"));
        RecordId id = 0;
        auto document = doc(R"({"_id": 1, "a": [1, 2]})");
        auto insert = [&] { return writer.insert(document.view(), &id); };
        ASSERT_TRUE(Database::drive(txn, insert).isOk());  // its pages are on disk
        txn.abort();
    }
    ASSERT_TRUE(db.insert("c", R"({"_id": 2, "a": [3, 4]})").isOk());
    db.reopen();
    EXPECT_TRUE(db.find("c")->findIndex("a_1")->isMultikey());
    db.expectValid("c");
}

TEST(Verify, SeesEveryKindOfDamage) {
    Database db;
    ASSERT_TRUE(
        db.createIndexes("c", {indexOn(R"({"a": 1})"), indexOn(R"({"u": 1})", true)}).isOk());
    for (int i = 1; i <= 3; ++i) {
        bson::Builder builder;
        builder.add("_id", i).add("a", i).add("u", i);
        ASSERT_TRUE(db.insert("c", bson::OwnedDocument(builder.finish())).isOk());
    }
    CollectionRef collection = db.find("c");
    const Index& plain = *collection->findIndex("a_1");
    const Index& unique = *collection->findIndex("u_1");
    auto damage = [&](auto change) {
        engine::Txn txn(db.engine());
        change(txn);
        ASSERT_TRUE(txn.commit().isOk());
    };
    auto keyOf = [&](const Index& index, const char* json) {
        IndexKeys keys;
        EXPECT_TRUE(makeIndexKeys(index, doc(json).view(), &keys).isOk());
        return keys.keys.at(0);
    };
    ASSERT_TRUE(db.verify("c").isValid());
    std::string missing = entryKey(plain, keyOf(plain, R"({"a": 2})"), 2);
    damage([&](engine::Txn& txn) { ASSERT_TRUE(txn.erase(*plain.tree, missing).isOk()); });
    EXPECT_EQ(db.verify("c").problemCount, 1u);
    damage([&](engine::Txn& txn) { ASSERT_TRUE(txn.put(*plain.tree, missing, "").isOk()); });
    ASSERT_TRUE(db.verify("c").isValid());
    damage([&](engine::Txn& txn) {
        std::string extra = entryKey(plain, keyOf(plain, R"({"a": 9})"), 2);
        ASSERT_TRUE(txn.put(*plain.tree, extra, "").isOk());
    });
    EXPECT_EQ(db.verify("c").problemCount, 1u);
    damage([&](engine::Txn& txn) {
        ASSERT_TRUE(txn.put(*unique.tree, keyOf(unique, R"({"u": 1})"), recordKey(3)).isOk());
    });
    EXPECT_EQ(db.verify("c").problemCount, 3u);  // record 1 lacks its entry; 3 has a surplus one
    damage([&](engine::Txn& txn) {
        ASSERT_TRUE(txn.put(*collection->records, recordKey(2), "junk").isOk());
    });
    EXPECT_GT(db.verify("c").problemCount, 3u);
}

bson::OwnedDocument randomDocument(std::mt19937_64& random, int64_t id) {
    auto number = [&] { return static_cast<int32_t>(random() % 20); };
    bson::Builder builder;
    builder.add("_id", id);
    if (random() % 4 != 0) {
        builder.add("a", number());
    }
    if (random() % 2 == 0) {
        auto list = builder.array("b");
        for (uint64_t i = random() % 4; i > 0; --i) {
            list.push(number());
        }
    }
    if (random() % 3 == 0) {
        builder.add("u", static_cast<int32_t>(random() % 200));
    }
    return bson::OwnedDocument(builder.finish());
}

/// Writers and definition changes at once; whatever the outcome, indexes equal the collection.
TEST(DocumentWriter, ThreadsKeepIndexesInStep) {
    Database db;
    ASSERT_TRUE(
        db.createIndexes("c", {indexOn(R"({"a": 1, "b": 1})"), indexOn(R"({"u": 1})", true, true)})
            .isOk());
    uint64_t seed = testSeed();
    constexpr int kWriters = 3;
    constexpr int kRounds = 400;
    std::vector<platform::Thread> threads;
    for (int t = 0; t < kWriters; ++t) {
        threads.emplace_back("writer", [&, t] {
            std::mt19937_64 random(seed + static_cast<uint64_t>(t));
            for (int i = 0; i < kRounds; ++i) {
                RecordId id = 1 + random() % 100;
                Status status;
                switch (random() % 3) {
                    case 0:
                        status = db.insert(
                            "c", randomDocument(random, static_cast<int64_t>(random() % 500)));
                        break;
                    case 1:
                        status = db.update(
                            "c", id, randomDocument(random, static_cast<int64_t>(id + 1000)));
                        break;
                    default:
                        status = db.remove("c", id);
                }
                bool expected = status.isOk() || status.code() == Code::kNotFound ||
                                status.reason() == Reason::kDuplicateKey;
                EXPECT_TRUE(expected) << status.toString();
            }
        });
    }
    threads.emplace_back("definer", [&] {
        for (int i = 0; i < 10; ++i) {
            IndexCounts counts;
            Status status = db.createIndexes("c", {indexOn(R"({"b": -1})")});
            EXPECT_TRUE(status.isOk()) << status.toString();
            if (i % 2 == 0) {
                status = Database::run(db.catalog().dropIndexes("db", "c", {"b_-1"}, &counts));
                EXPECT_TRUE(status.isOk()) << status.toString();
            }
        }
    });
    threads.clear();
    db.expectValid("c");
    EXPECT_EQ(db.find("c")->indexes.size(), 4u);
    db.reopen();
    db.expectValid("c");
}

/// Of several inserts of one key at once, one succeeds.
TEST(DocumentWriter, OneOfManyGetsAUniqueKey) {
    Database db;
    db.create("c");
    constexpr int kThreads = 4;
    constexpr int kKeys = 100;
    sync::Atomic<int> inserted{0};
    std::vector<platform::Thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back("inserter", [&] {
            for (int key = 0; key < kKeys; ++key) {
                bson::Builder builder;
                builder.add("_id", key);
                Status status = db.insert("c", bson::OwnedDocument(builder.finish()));
                EXPECT_TRUE(status.isOk() || status.reason() == Reason::kDuplicateKey)
                    << status.toString();
                // Relaxed: read after the threads have ended.
                inserted.fetch_add(status.isOk() ? 1 : 0, sync::kRelaxed);
            }
        });
    }
    threads.clear();
    EXPECT_EQ(inserted.load(sync::kRelaxed), kKeys);
    EXPECT_EQ(db.verify("c").documents, static_cast<uint64_t>(kKeys));
    db.expectValid("c");
}

}  // namespace
}  // namespace freshet::catalog
