// SPDX-License-Identifier: Apache-2.0
/// Verification of a collection with unreadable leaves: it continues after them, and reports what
/// they held.
#include "freshet/catalog/verify.h"

#include "freshet/catalog/collection/test_support.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

namespace freshet::catalog {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr char kFile[] = "/db/data.freshet";
constexpr uint64_t kDocuments = 3000;

/// A leaf in the data file, in its newest image.
struct Leaf {
    block::PageHeader header;
    uint64_t offset = 0;
    uint64_t entriesBefore = 0;  // in leaves to the left
};

/// Documents with record ids from 1 on, in leaves that have not been read yet.
class VerifyDamage : public ::testing::Test {
protected:
    VerifyDamage() {
        EXPECT_TRUE(db_.createIndexes("c", {indexOn(R"({"s": 1})")}).isOk());
        for (uint64_t i = 1; i <= kDocuments; ++i) {
            bson::Builder builder;
            builder.add("_id", static_cast<int64_t>(i));
            builder.add("s", std::to_string(10'000 + i) + std::string(200, 's'));
            EXPECT_TRUE(db_.insert("c", bson::OwnedDocument(builder.finish())).isOk());
        }
        db_.reopen();
        // Opening has read the leaf of the last record.
        for (int i = 0; i < 3; ++i) {
            db_.engine().evictAll();
        }
    }

    /// The tree's leaves, from left to right.
    std::vector<Leaf> leavesOf(engine::TreeId tree) {
        auto file = *db_.disk().open(kFile, platform::OpenMode::kRead);
        std::string bytes(*file->size(), '\0');
        EXPECT_TRUE(file->pread(bytes.data(), bytes.size(), 0).isOk());
        std::map<uint64_t, Leaf> newest;  // by page
        for (uint64_t at = 0; at + block::kBlockBytes <= bytes.size(); at += block::kBlockBytes) {
            const auto header = loadLe<block::PageHeader>(bytes.data() + at);
            if (header.magic == block::kPageMagic && header.treeId == tree &&
                header.imageSeq > newest[header.pageId].header.imageSeq) {
                newest[header.pageId] = {header, at};
            }
        }
        std::set<uint64_t> rights;
        std::erase_if(newest, [](const auto& one) { return one.second.header.level != 0; });
        for (const auto& [page, leaf] : newest) {
            rights.insert(leaf.header.rightId);
        }
        std::vector<Leaf> leaves;
        for (const auto& [page, leaf] : newest) {
            if (!rights.contains(page)) {
                leaves.push_back(leaf);
            }
        }
        EXPECT_EQ(leaves.size(), 1u) << "one is the first";
        while (leaves.back().header.rightId != 0) {
            Leaf next = newest.at(leaves.back().header.rightId);
            next.entriesBefore = leaves.back().entriesBefore + leaves.back().header.entries;
            leaves.push_back(next);
        }
        EXPECT_GT(leaves.size(), 6u);
        return leaves;
    }
    /// Returns how many entries these leaves have.
    uint64_t damage(const std::vector<Leaf>& all, const std::vector<size_t>& lost) {
        uint64_t entries = 0;
        for (const size_t i : lost) {
            db_.disk().damage(kFile, all[i].offset + 110);
            entries += all[i].header.entries;
        }
        return entries;
    }

    /// Damages these leaves of the records and checks the report.
    void loseRecords(const std::vector<Leaf>& all, const std::vector<size_t>& lost) {
        const uint64_t documents = damage(all, lost);
        const VerifyReport report = db_.verify("c");
        EXPECT_FALSE(report.isValid());
        EXPECT_EQ(report.problemCount, lost.size());
        EXPECT_EQ(report.documents, kDocuments - documents);
        for (const size_t i : lost) {
            EXPECT_THAT(report.problems, Contains(HasSubstr(recordsText(all, i))));
        }
        EXPECT_THAT(report.problems, Each(HasSubstr(kFile)));
        for (const auto& index : report.indexes) {
            EXPECT_EQ(index.entries, kDocuments) << index.name;
            EXPECT_EQ(index.unchecked, documents) << index.name;
            EXPECT_TRUE(index.isWhole()) << index.name;
        }
        expectReadersStillFail();
    }
    static std::string recordsText(const std::vector<Leaf>& all, size_t i) {
        const uint64_t first = 1 + all[i].entriesBefore;
        const uint64_t entries = all[i].header.entries;
        return "records from " + (i == 0 ? "the first" : std::to_string(first)) + " to " +
               (i + 1 == all.size() ? "the last" : "before " + std::to_string(first + entries)) +
               ", " + std::to_string(entries) + " of them, cannot be read: ";
    }
    /// The number in its first key; the fence has only a prefix of the string.
    static std::string firstKeyOf(const Leaf& leaf) {
        return R"({ 0: ")" + std::to_string(10'001 + leaf.entriesBefore);
    }
    /// Reading still fails at the leaf, as before.
    void expectReadersStillFail() {
        engine::Txn txn(db_.engine());
        engine::Cursor cursor(txn, db_.find("c")->records);
        Status status = db_.drive(txn, [&] { return cursor.first(); });
        while (status.isOk() && cursor.valid()) {
            status = db_.drive(txn, [&] { return cursor.next(); });
        }
        EXPECT_EQ(status.code(), Code::kCorruption) << status.toString();
        EXPECT_THAT(std::string(status.text()), HasSubstr(kFile));
    }

    Database db_;
};

TEST_F(VerifyDamage, LeavesOfRecordsAreToldWithTheirRecords) {
    const std::vector<Leaf> all = leavesOf(db_.find("c")->treeId);
    ASSERT_NO_FATAL_FAILURE(loseRecords(all, {all.size() / 2}));
}

TEST_F(VerifyDamage, TheFirstLeafAsWell) {
    ASSERT_NO_FATAL_FAILURE(loseRecords(leavesOf(db_.find("c")->treeId), {0}));
}

TEST_F(VerifyDamage, TheLastLeafAsWell) {
    const std::vector<Leaf> all = leavesOf(db_.find("c")->treeId);
    ASSERT_NO_FATAL_FAILURE(loseRecords(all, {all.size() - 1}));
}

TEST_F(VerifyDamage, SeveralLeavesAsWell) {
    const std::vector<Leaf> all = leavesOf(db_.find("c")->treeId);
    ASSERT_NO_FATAL_FAILURE(loseRecords(all, {0, 2, 3, all.size() - 1}));
}

TEST_F(VerifyDamage, LeavesOfAnIndexAreToldWithTheirKeys) {
    const CollectionRef collection = db_.find("c");
    const std::vector<Leaf> all = leavesOf(collection->findIndex("s_1")->treeId);
    const std::vector<size_t> lost{0, 3, 4, all.size() - 1};
    const uint64_t entries = damage(all, lost);
    const VerifyReport report = db_.verify("c");
    EXPECT_FALSE(report.isValid());
    EXPECT_EQ(report.problemCount, lost.size());
    EXPECT_EQ(report.documents, kDocuments);
    for (const size_t i : lost) {
        const std::string first = i == 0 ? "the first" : firstKeyOf(all[i]);
        const std::string text = ", " + std::to_string(all[i].header.entries) + " of them";
        EXPECT_THAT(report.problems,
                    Contains(AllOf(HasSubstr("index s_1: keys from " + first), HasSubstr(text))));
    }
    EXPECT_TRUE(report.indexes[0].isWhole());
    EXPECT_FALSE(report.indexes[1].isWhole());
    EXPECT_EQ(report.indexes[1].entries, kDocuments - entries);
    EXPECT_EQ(report.indexes[1].expected, kDocuments);
}

TEST_F(VerifyDamage, LeavesOfBothAreTold) {
    const CollectionRef collection = db_.find("c");
    const uint64_t documents = damage(leavesOf(collection->treeId), {1});
    const uint64_t entries = damage(leavesOf(collection->findIndex("s_1")->treeId), {3});
    const VerifyReport report = db_.verify("c");
    EXPECT_EQ(report.problemCount, 2u);
    EXPECT_EQ(report.documents, kDocuments - documents);
    EXPECT_EQ(report.indexes[1].entries, kDocuments - entries);
    EXPECT_TRUE(report.indexes[0].isWhole());
    EXPECT_FALSE(report.indexes[1].isWhole());
}

TEST_F(VerifyDamage, AnIndexIsBlamedForItsOwnLeavesOnly) {
    const CollectionRef collection = db_.find("c");
    const std::vector<Leaf> all = leavesOf(collection->treeId);
    for (size_t i = 0; i < all.size(); ++i) {
        damage(all, {i});
    }
    damage(leavesOf(collection->findIndex("s_1")->treeId), {3});
    const VerifyReport report = db_.verify("c");
    EXPECT_EQ(report.problemCount, all.size() + 1);
    EXPECT_EQ(report.documents, 0u);
    EXPECT_TRUE(report.indexes[0].isWhole());
    EXPECT_FALSE(report.indexes[1].isWhole());
}

}  // namespace
}  // namespace freshet::catalog
