// SPDX-License-Identifier: Apache-2.0
/// insert, update and delete, alone and against each other.
#include "freshet/platform/thread.h"
#include "freshet/query/exec/test_support.h"

#include <gtest/gtest.h>

namespace freshet::query {
namespace {

using Texts = std::vector<std::string>;

TEST(Insert, PutsTheIdInFront) {
    TestCollection c;
    ASSERT_TRUE(c.insert(R"({"a": 1, "_id": 7})").isOk());
    EXPECT_EQ(c.find("{}"), Texts{"{ _id: 7, a: 1 }"});
    ASSERT_TRUE(c.insert(R"({"b": 1})").isOk());
    FindRequest request;
    request.filter = doc(R"({"b": 1})");
    auto found = c.find(std::move(request));
    ASSERT_TRUE(found.isOk());
    EXPECT_EQ(found->at(0).view().begin()->type(), bson::Type::kObjectId);
}

TEST(Insert, RefusesWhatCannotBeStored) {
    TestCollection c;
    EXPECT_EQ(c.insert(R"({"_id": [1]})").reason(), Reason::kInvalidIdField);
    EXPECT_EQ(c.insert(R"({"_id": {"@x": 1}})").reason(), Reason::kDollarPrefixedFieldName);
    bson::Builder builder;
    builder.add("x", std::string(bson::kDocumentBytesMax, 'x'));
    EXPECT_EQ(c.insert(bson::OwnedDocument(builder.finish()).view()).reason(), Reason::kBadValue);
    auto op = makeInsert(c.engine(), c.get(), doc(R"({"_id": 1})").view());
    ASSERT_TRUE(driven(**op).isOk());
    EXPECT_NE((*op)->commitLsn(), 0u);
    auto again = makeInsert(c.engine(), c.get(), doc(R"({"_id": 1})").view());
    EXPECT_EQ(driven(**again).reason(), Reason::kDuplicateKey);
    EXPECT_EQ(bson::toShellText((*again)->errorInfo().view()),
              "{ keyPattern: { _id: 1 }, keyValue: { _id: 1 } }");
}

TEST(Update, CountsMatchedAndModified) {
    TestCollection c;
    c.insertNumbers(10);
    auto result = c.update(R"({"a": {"$lt": 5}})", R"({"$set": {"a": 3}})", true);
    ASSERT_TRUE(result.isOk()) << result.status().toString();
    EXPECT_EQ(result->matched, 5);
    EXPECT_EQ(result->modified, 4);
    result = c.update(R"({"a": 3})", R"({"$inc": {"a": 100}})");
    ASSERT_TRUE(result.isOk());
    EXPECT_EQ(result->matched, 1);
    EXPECT_EQ(c.find(R"({"a": 3})").size(), 4u);
    result = c.update(R"({"a": -1})", R"({"$set": {"b": 1}})", true);
    ASSERT_TRUE(result.isOk());
    EXPECT_EQ(result->matched, 0);
}

TEST(Update, MeetsEachDocumentOnceThoughItMoves) {
    TestCollection c;
    c.addIndex(R"({"a": 1})");
    c.insertNumbers(300);
    UpdateRequest request;
    request.filter = doc(R"({"a": {"$gte": 0}})");
    request.update = doc(R"({"$inc": {"a": 10}})");
    request.hint = doc(R"({"a": 1})");
    request.multi = true;
    auto result = c.update(std::move(request));
    ASSERT_TRUE(result.isOk());
    EXPECT_EQ(result->modified, 300);
    EXPECT_EQ(c.find(R"({"a": {"$gt": 309}})").size(), 0u);
    EXPECT_EQ(c.find(R"({"a": {"$lt": 10}})").size(), 0u);
    c.expectValid();
}

TEST(Update, KeepsWhatWasDoneBeforeAnError) {
    TestCollection c;
    c.addIndex(R"({"u": 1})", true, true);
    c.insertNumbers(3);
    auto op = makeUpdate(c.engine(), c.get(), [] {
        UpdateRequest request;
        request.update = doc(R"({"$set": {"u": 1}})");
        request.multi = true;
        return request;
    }());
    EXPECT_EQ(driven(**op).text(),
              "E11000 duplicate key error collection: db.c index: u_1 dup key: { u: 1 }");
    EXPECT_EQ((*op)->result().modified, 1);
    EXPECT_NE((*op)->commitLsn(), 0u);
    EXPECT_FALSE((*op)->errorInfo().view().isEmpty());
    c.expectValid();
}

TEST(Update, TakesTheFirstOfAnOrder) {
    TestCollection c;
    c.insertNumbers(5);
    UpdateRequest request;
    request.update = doc(R"({"$set": {"b": 1}})");
    request.sort = doc(R"({"a": -1})");
    ASSERT_TRUE(c.update(std::move(request)).isOk());
    EXPECT_EQ(c.find(R"({"b": 1})"), Texts{"{ _id: 4, a: 4, b: 1 }"});
}

TEST(Upsert, InsertsWhenNothingMatches) {
    TestCollection c;
    auto result = c.update(R"({"_id": 5, "k": "x"})", R"({"$set": {"v": 1}})", false, true);
    ASSERT_TRUE(result.isOk()) << result.status().toString();
    EXPECT_TRUE(result->upserted);
    EXPECT_EQ(bson::toShellText(result->upsertedId.view()), "{ _id: 5 }");
    EXPECT_EQ(result->matched, 0);
    result = c.update(R"({"_id": 5, "k": "x"})", R"({"$set": {"v": 2}})", true, true);
    ASSERT_TRUE(result.isOk());
    EXPECT_FALSE(result->upserted);
    EXPECT_EQ(c.find("{}"), Texts{"{ _id: 5, k: \"x\", v: 2 }"});
    // The key belongs to a document that the filter does not match.
    auto failed = c.update(R"({"_id": 5, "k": "y"})", R"({"$set": {"v": 2}})", false, true);
    EXPECT_EQ(failed.status().reason(), Reason::kDuplicateKey);
}

TEST(Delete, OneOrAll) {
    TestCollection c;
    c.insertNumbers(10);
    auto result = c.remove(R"({"a": {"$gte": 5}})", true);
    ASSERT_TRUE(result.isOk());
    EXPECT_EQ(result->matched, 1);
    result = c.remove(R"({"a": {"$gte": 5}})");
    ASSERT_TRUE(result.isOk());
    EXPECT_EQ(result->matched, 4);
    EXPECT_EQ(c.find("{}").size(), 5u);
    c.expectValid();
}

TEST(Writes, EndWhenTheCollectionIsDropped) {
    TestCollection c;
    c.insertNumbers(1);
    auto op = makeInsert(c.engine(), c.get(), doc(R"({"_id": 9})").view());
    ASSERT_TRUE(op.isOk());
    c.change(c.catalog().dropCollection("db", "c"));
    Status status = driven(**op);
    EXPECT_EQ(status.code(), Code::kCancelled);
    EXPECT_EQ(status.reason(), Reason::kNamespaceNotFound);
}

/// An operation that was made before an index maintains the index nevertheless.
TEST(Writes, FollowADefinitionChange) {
    TestCollection c;
    c.insertNumbers(3);
    auto insert = makeInsert(c.engine(), c.get(), doc(R"({"_id": 9, "a": 9})").view());
    UpdateRequest request;
    request.filter = doc(R"({"a": 1})");
    request.update = doc(R"({"$set": {"a": 77}})");
    auto update = makeUpdate(c.engine(), c.get(), std::move(request));
    c.addIndex(R"({"a": 1})");
    ASSERT_TRUE(driven(**insert).isOk());
    ASSERT_TRUE(driven(**update).isOk());
    c.expectValid();
    EXPECT_EQ(c.find(R"({"a": 77})").size(), 1u);
    EXPECT_EQ(c.find(R"({"a": 9})").size(), 1u);
}

template <typename Body>
void inThreads(int count, Body body) {
    std::vector<platform::Thread> threads;
    for (int t = 0; t < count; ++t) {
        threads.emplace_back("writer", [body, t] { body(t); });
    }
}

TEST(Writes, IncrementsAreNotLost) {
    TestCollection c;
    ASSERT_TRUE(c.insert(R"({"_id": 1, "n": 0})").isOk());
    constexpr int kThreads = 3;
    constexpr int kRounds = 200;
    inThreads(kThreads, [&](int) {
        for (int i = 0; i < kRounds; ++i) {
            auto result = c.update(R"({"_id": 1})", R"({"$inc": {"n": 1}})");
            EXPECT_TRUE(result.isOk() && result->modified == 1);
        }
    });
    EXPECT_EQ(c.find("{}"), Texts{"{ _id: 1, n: " + std::to_string(kThreads * kRounds) + " }"});
}

/// Each job is claimed once, by an update whose filter becomes false by the claim.
TEST(Writes, AClaimIsOneThreadsOnly) {
    TestCollection c;
    c.addIndex(R"({"a": 1})");
    constexpr int kJobs = 150;
    c.insertNumbers(kJobs);
    sync::Atomic<int64_t> claims{0};
    inThreads(3, [&](int) {
        for (;;) {
            auto result = c.update(R"({"a": {"$gte": 0}})", R"({"$set": {"a": -1}})");
            ASSERT_TRUE(result.isOk()) << result.status().toString();
            if (result->modified == 0) {
                return;
            }
            claims.fetch_add(result->modified, sync::kRelaxed);  // read after the threads end
        }
    });
    EXPECT_EQ(claims.load(sync::kRelaxed), kJobs);
    EXPECT_EQ(c.find(R"({"a": -1})").size(), static_cast<size_t>(kJobs));
    c.expectValid();
}

TEST(Upsert, OfOneKeyByManyInsertsOnce) {
    TestCollection c;
    c.addIndex(R"({"k": 1})", true);
    constexpr int kThreads = 3;
    constexpr int kKeys = 60;
    sync::Atomic<int> upserted{0};
    inThreads(kThreads, [&](int) {
        for (int key = 0; key < kKeys; ++key) {
            std::string filter = R"({"k": )" + std::to_string(key) + "}";
            auto result = c.update(filter, R"({"$inc": {"n": 1}})", false, true);
            ASSERT_TRUE(result.isOk()) << result.status().toString();
            upserted.fetch_add(result->upserted ? 1 : 0, sync::kRelaxed);
        }
    });
    EXPECT_EQ(upserted.load(sync::kRelaxed), kKeys);
    EXPECT_EQ(c.find(R"({"n": )" + std::to_string(kThreads) + "}").size(),
              static_cast<size_t>(kKeys));
    c.expectValid();
}

TEST(Writes, DeletersShareTheWork) {
    TestCollection c;
    c.addIndex(R"({"a": -1})");
    c.insertNumbers(200);
    sync::Atomic<int64_t> removed{0};
    inThreads(3, [&](int t) {
        auto result = c.remove(t == 0 ? R"({"a": {"$lt": 150}})" : "{}");
        ASSERT_TRUE(result.isOk()) << result.status().toString();
        removed.fetch_add(result->matched, sync::kRelaxed);
    });
    EXPECT_EQ(removed.load(sync::kRelaxed), 200);
    EXPECT_TRUE(c.find("{}").empty());
    c.expectValid();
}

}  // namespace
}  // namespace freshet::query
