// SPDX-License-Identifier: Apache-2.0
/// Renaming and modifying collections.
#include "freshet/catalog/collection/test_support.h"

#include <gtest/gtest.h>

namespace freshet::catalog {
namespace {

Status rename(Database& db, RenameRequest request) {
    return Database::run(db.catalog().renameCollection(std::move(request)));
}

TEST(Rename, KeepsUuidDocumentsAndIndexes) {
    Database db;
    ASSERT_NE(db.create("a"), nullptr);
    ASSERT_TRUE(db.insert("a", doc(R"({"_id": 1, "x": [1, 2]})")).isOk());
    CollectionRef before = db.find("a");
    ASSERT_TRUE(rename(db, {"db", "a", "db", "b", false}).isOk());
    EXPECT_EQ(nullptr, db.find("a"));
    EXPECT_TRUE(before->isDropped());
    CollectionRef after = db.find("b");
    ASSERT_NE(nullptr, after);
    EXPECT_EQ(before->uuid, after->uuid);
    EXPECT_EQ("db.b", after->ns());
    EXPECT_FALSE(after->isDropped());
    ASSERT_TRUE(db.insert("b", doc(R"({"_id": 2})")).isOk());
    EXPECT_EQ(Reason::kDuplicateKey, db.insert("b", doc(R"({"_id": 1})")).reason());
    before.reset();  // descriptions must end before their store
    after.reset();
    db.reopen();
    EXPECT_EQ(nullptr, db.find("a"));
    ASSERT_NE(nullptr, db.find("b"));
    EXPECT_EQ(2u, db.verify("b").documents);
    db.expectValid("b");
}

TEST(Rename, TheTargetGoesOnlyWhenWished) {
    Database db;
    ASSERT_NE(db.create("a"), nullptr);
    ASSERT_NE(db.create("b"), nullptr);
    ASSERT_TRUE(db.insert("a", doc(R"({"_id": 1})")).isOk());
    ASSERT_TRUE(db.insert("b", doc(R"({"_id": 2})")).isOk());
    ASSERT_TRUE(db.insert("b", doc(R"({"_id": 3})")).isOk());
    EXPECT_EQ(Reason::kNamespaceExists, rename(db, {"db", "a", "db", "b", false}).reason());
    EXPECT_NE(nullptr, db.find("a"));
    CollectionRef target = db.find("b");
    ASSERT_TRUE(rename(db, {"db", "a", "db", "b", true}).isOk());
    EXPECT_TRUE(target->isDropped());
    EXPECT_EQ(1u, db.verify("b").documents);
    target.reset();
    db.reopen();
    EXPECT_EQ(1u, db.verify("b").documents);
    EXPECT_EQ(nullptr, db.find("a"));
}

TEST(Rename, AcrossDatabasesTheOldDatabaseEndsWithItsLastCollection) {
    Database db;
    ASSERT_NE(db.create("a"), nullptr);
    ASSERT_TRUE(rename(db, {"db", "a", "other", "a", false}).isOk());
    EXPECT_EQ(std::vector<std::string>{"other"}, db.catalog().databases());
    ASSERT_NE(db.create("a"), nullptr);
    EXPECT_EQ(Reason::kDatabaseDifferCase, rename(db, {"db", "a", "OTHER", "b", false}).reason());
    EXPECT_EQ(Reason::kIllegalOperation, rename(db, {"db", "a", "db", "a", true}).reason());
    EXPECT_EQ(Reason::kNamespaceNotFound, rename(db, {"db", "no", "db", "x", true}).reason());
    EXPECT_EQ(Reason::kInvalidNamespace, rename(db, {"db", "a", "db", "", true}).reason());
    EXPECT_NE(nullptr, db.find("a"));
}

TEST(Modify, IsDurableAndSeesWhatIsThere) {
    Database db;
    ASSERT_NE(db.create("a"), nullptr);
    auto modify = [&](auto edit) {
        return Database::run(db.catalog().modifyCollection("db", "a", edit));
    };
    ASSERT_TRUE(modify([](const Collection& current, CollectionEdit* edit) {
                    EXPECT_TRUE(current.options.view().isEmpty());
                    edit->options = doc(R"({"validationLevel": "off"})");
                    return Status::ok();
                }).isOk());
    const Status refused = modify([](const Collection& current, CollectionEdit* edit) {
        EXPECT_TRUE(current.options.view().has("validationLevel"));
        edit->options.emplace();
        return badValue("no");
    });
    EXPECT_EQ("no", refused.text());
    db.reopen();
    EXPECT_TRUE(db.find("a")->options.view().has("validationLevel"));
    const Status missing = Database::run(
        db.catalog().modifyCollection("db", "none", [](auto&, auto*) { return Status::ok(); }));
    EXPECT_EQ(Reason::kNamespaceNotFound, missing.reason());
}

}  // namespace
}  // namespace freshet::catalog
