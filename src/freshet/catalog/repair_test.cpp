// SPDX-License-Identifier: Apache-2.0
#include "freshet/catalog/repair.h"

#include "freshet/catalog/collection/test_support.h"
#include "freshet/catalog/index/index_keys.h"
#include "freshet/catalog/names/record.h"

#include <gmock/gmock.h>

namespace freshet::catalog {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// Ten documents, n = _id, with a plain, a unique and a multikey index.
class RepairTest : public ::testing::Test {
protected:
    RepairTest() {
        EXPECT_TRUE(
            db.createIndexes(
                  "c",
                  {indexOn(R"({"n": 1})"), indexOn(R"({"u": 1})", true), indexOn(R"({"list": 1})")})
                .isOk());
        for (int i = 1; i <= 10; ++i) {
            EXPECT_TRUE(db.insert("c", numbered(i, i)).isOk());
        }
    }
    static bson::OwnedDocument numbered(int id, int u) {
        bson::Builder builder;
        builder.add("_id", id).add("n", id).add("u", u);
        {
            auto list = builder.array("list");
            list.push(id);
            list.push(id + 1);
        }
        return bson::OwnedDocument(builder.finish());
    }
    /// Changes a tree without the catalog's knowledge.
    template <typename Change>
    void damage(Change change) {
        engine::Txn txn(db.engine());
        change(txn);
        ASSERT_TRUE(txn.commit().isOk());
    }
    void expectWhole(uint64_t documents, size_t indexes) {
        const VerifyReport report = db.verify("c");
        EXPECT_TRUE(report.isValid()) << (report.problems.empty() ? "" : report.problems[0]);
        EXPECT_EQ(report.documents, documents);
        EXPECT_EQ(report.indexes.size(), indexes);
        EXPECT_TRUE(db.insert("c", numbered(100, 100)).isOk());
        EXPECT_FALSE(db.insert("c", numbered(100, 101)).isOk());
        EXPECT_TRUE(db.verify("c").isValid());
    }

    Database db;
};

TEST_F(RepairTest, ChangesNothingThatIsWhole) {
    const engine::TreeId tree = db.find("c")->findIndex("n_1")->treeId;
    EXPECT_TRUE(db.repair(false).empty());
    EXPECT_EQ(db.find("c")->findIndex("n_1")->treeId, tree);
    expectWhole(10, 4);
}

TEST_F(RepairTest, LostDocumentsAreToldByTheirIdAndLeaveTheIndexes) {
    damage([&](engine::Txn& txn) {
        for (RecordId id : {3, 4, 10}) {
            ASSERT_TRUE(txn.erase(*db.find("c")->records, recordKey(id)).isOk());
        }
    });
    const std::vector<std::string> report = db.repair(false);
    EXPECT_EQ(report.size(), 4u);
    EXPECT_THAT(report, Contains("db.c: a document, its _id: 3"));
    EXPECT_THAT(report, Contains("db.c: a document, its _id: 10"));
    EXPECT_THAT(report, Contains(HasSubstr("3 lost documents are in the _id index")));
    EXPECT_TRUE(db.find("c")->findIndex("list_1")->isMultikey());
    expectWhole(7, 4);
}

TEST_F(RepairTest, LostEntriesAreMadeAgain) {
    const CollectionRef c = db.find("c");
    damage([&](engine::Txn& txn) {
        IndexKeys keys;
        ASSERT_TRUE(makeIndexKeys(*c->findIndex("n_1"), numbered(2, 2).view(), &keys).isOk());
        ASSERT_TRUE(
            txn.erase(*c->findIndex("n_1")->tree, entryKey(*c->findIndex("n_1"), keys.keys[0], 2))
                .isOk());
    });
    EXPECT_TRUE(db.repair(true).empty());
    expectWhole(10, 4);
}

TEST_F(RepairTest, DocumentsThatContradictEachOther) {
    const CollectionRef c = db.find("c");
    damage([&](engine::Txn& txn) {
        ASSERT_TRUE(txn.put(*c->records, recordKey(50), numbered(5, 50).view().bytes()).isOk());
        ASSERT_TRUE(txn.put(*c->records, recordKey(51), numbered(51, 7).view().bytes()).isOk());
        ASSERT_TRUE(txn.put(*c->records, recordKey(52), "junk").isOk());
    });
    const std::vector<std::string> report = db.repair(false);
    EXPECT_THAT(report, Contains(HasSubstr("record 50, whose _id an older document has")));
    EXPECT_THAT(report, Contains(HasSubstr("record 52, which is not a document")));
    EXPECT_THAT(report, Contains(HasSubstr("index u_1")));
    EXPECT_EQ(report.size(), 3u);
    EXPECT_EQ(db.find("c")->findIndex("u_1"), nullptr);
    expectWhole(11, 3);
}

TEST_F(RepairTest, ACollectionWithoutItsNameComesBackUnderAnother) {
    const engine::TreeId tree = db.find("c")->treeId;
    db.create("other");
    damage([&](engine::Txn& txn) {
        ASSERT_TRUE(
            txn.erase(*db.engine().tree(engine::kCatalogTree), catalogKey("db", "c")).isOk());
    });
    const std::vector<std::string> report = db.repair(true);
    ASSERT_EQ(report.size(), 1u);
    EXPECT_THAT(report[0], HasSubstr("local.orphan." + std::to_string(tree)));
    EXPECT_NE(db.find("other"), nullptr);
    CollectionRef found = db.catalog().find("local", "orphan." + std::to_string(tree));
    ASSERT_NE(found, nullptr);
    auto verified = verifyCollection(db.engine(), found);
    ASSERT_TRUE(verified.isOk());
    EXPECT_TRUE(verified->isValid());
    EXPECT_EQ(verified->documents, 10u);
}

TEST_F(RepairTest, WhatWasDroppedStaysSoWhenTheCatalogIsWhole) {
    const engine::TreeId tree = db.find("c")->treeId;
    damage([&](engine::Txn& txn) {
        ASSERT_TRUE(
            txn.erase(*db.engine().tree(engine::kCatalogTree), catalogKey("db", "c")).isOk());
    });
    EXPECT_TRUE(db.repair(false).empty());
    EXPECT_EQ(db.catalog().find("local", "orphan." + std::to_string(tree)), nullptr);
}

}  // namespace
}  // namespace freshet::catalog
