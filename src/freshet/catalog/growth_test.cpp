// SPDX-License-Identifier: Apache-2.0
/// What documents with long indexed arrays cost: their keys, writing and verifying them.
#include "freshet/testing/sim/growth.h"

#include "freshet/catalog/collection/test_support.h"
#include "freshet/catalog/index/index_keys.h"
#include "freshet/catalog/writable_names.h"

namespace freshet::catalog {
namespace {

using freshet::testing::growthOf;
using freshet::testing::kGrowthMax;

/// {_id, s, a: [...]}; half of the array's values occur twice.
bson::OwnedDocument documentOf(int id, int n, int from = 0, size_t beside = 1) {
    bson::Builder builder;
    builder.add("_id", id).add("s", std::string(beside, 's'));
    {
        auto list = builder.array("a");
        for (int i = 0; i < n; ++i) {
            list.push(from + (i * 7919 % n) / 2);
        }
    }
    return bson::OwnedDocument(builder.finish());
}

TEST(Growth, OfADocumentsWrites) {
    Database db;
    db.create("c");
    ASSERT_TRUE(
        db.createIndexes("c", {indexOn(R"({"a": 1})"), indexOn(R"({"s": 1, "a": -1})")}).isOk());
    int id = 0;
    EXPECT_LE(
        growthOf(2'000,
                 [&](int n) {
                     ASSERT_TRUE(db.insert("c", documentOf(++id, n)).isOk());
                     ASSERT_TRUE(db.update("c", RecordId(id), documentOf(id, n, n / 4)).isOk());
                     ASSERT_TRUE(db.remove("c", RecordId(id)).isOk());
                 }),
        kGrowthMax);
    db.expectValid("c");
}

TEST(Growth, OfBuildingAnIndex) {
    EXPECT_LE(growthOf(2'000,
                       [&](int n) {
                           Database db;
                           db.create("c");
                           ASSERT_TRUE(db.insert("c", documentOf(1, n)).isOk());
                           ASSERT_TRUE(db.createIndexes("c", {indexOn(R"({"a": 1})")}).isOk());
                           db.expectValid("c");
                       }),
              kGrowthMax);
}

class VerifyGrowth : public ::testing::Test {
protected:
    /// Verifies one document of n and of 4n elements.
    double growth(bool isDamaged) {
        std::vector<int> sizes{2'500, 10'000};
        for (int n : sizes) {
            const std::string name = "c" + std::to_string(n);
            db_.create(name);
            EXPECT_TRUE(
                db_.createIndexes(name, {indexOn(R"({"a": 1})"), indexOn(R"({"s": 1, "a": -1})")})
                    .isOk());
            EXPECT_TRUE(db_.insert(name, documentOf(1, n)).isOk());
            if (isDamaged) {
                addSurplus(name);
            }
        }
        return growthOf(sizes[0], [&](int n) {
            const VerifyReport report = db_.verify("c" + std::to_string(n));
            EXPECT_EQ(report.problemCount, isDamaged ? 1u : 0u);
            EXPECT_EQ(report.indexes[1].expected, static_cast<uint64_t>(n / 2));
            EXPECT_EQ(report.indexes[1].entries,
                      static_cast<uint64_t>(n / 2 + (isDamaged ? 1 : 0)));
        });
    }
    /// Adds an entry that no document has.
    void addSurplus(const std::string& name) {
        const CollectionRef collection = db_.find(name);
        const Index& index = *collection->indexes[1];
        IndexKeys keys;
        ASSERT_TRUE(makeIndexKeys(index, documentOf(1, 1, -5).view(), &keys).isOk());
        engine::Txn txn(db_.engine());
        ASSERT_TRUE(Database::drive(txn, [&] {
                        return txn.insert(*index.tree, entryKey(index, keys.keys[0], 1), "");
                    }).isOk());
        ASSERT_TRUE(Database::drive(txn, [&] { return txn.commit(); }).isOk());
    }
    Database db_;
};

TEST_F(VerifyGrowth, OfALongArray) {
    EXPECT_LE(growth(false), kGrowthMax);
}

TEST_F(VerifyGrowth, OfALongArrayWithAnEntryTooMuch) {
    EXPECT_LE(growth(true), kGrowthMax);
}

TEST(IndexKeys, OfOneDocumentHaveABound) {
    Database db;
    ASSERT_TRUE(db.createIndexes("c", {indexOn(R"({"s": 1, "a": 1})")}).isOk());
    // 40 KB in each of 4,000 keys.
    EXPECT_EQ(db.insert("c", documentOf(1, 8'000, 0, 40'000)).code(), Code::kLimit);
    EXPECT_TRUE(db.insert("c", documentOf(1, 1'000, 0, 40'000)).isOk());
    EXPECT_EQ(db.insert("c", documentOf(2, 8'000, 0, 70'000)).code(), Code::kLimit);
    db.expectValid("c");
}

TEST(Names, OfSystemCollectionsThatMayBeWritten) {
    EXPECT_TRUE(checkWritable("db", "system.js").isOk());
    EXPECT_TRUE(checkWritable("db", "system.profile").isOk());
    EXPECT_TRUE(checkWritable("admin", "system.version").isOk());
    EXPECT_TRUE(checkWritable("config", "system.sessions").isOk());
    EXPECT_TRUE(checkWritable("db", "a.systems.b").isOk());
    EXPECT_EQ(checkWritable("db", "system.version").reason(), Reason::kInvalidNamespace);
    EXPECT_EQ(checkWritable("db", "system.foo").reason(), Reason::kInvalidNamespace);
    EXPECT_EQ(checkWritable("db", "a.system.b").reason(), Reason::kBadValue);
    EXPECT_EQ(checkWritable("db", "a\xff").reason(), Reason::kInvalidNamespace);
    EXPECT_EQ(checkWritable("d\xc3(", "a").reason(), Reason::kInvalidNamespace);
    EXPECT_TRUE(checkWritable("d\xc3\xa4", "\xe6\x97\xa5").isOk());
}

}  // namespace
}  // namespace freshet::catalog
