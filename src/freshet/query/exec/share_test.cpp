// SPDX-License-Identifier: Apache-2.0
/// Which documents a batch leaves out because they are large, and that what is sent is the same.
#include "freshet/query/aggregate.h"
#include "freshet/query/exec/test_support.h"

#include <gtest/gtest.h>

namespace freshet::query {
namespace {

constexpr int kDocuments = 12;
constexpr size_t kBatchBytes = 16u << 20;

class ShareTest : public ::testing::Test {
protected:
    /// Every third document is large: 3, 6, 9. Document 0 is just too small, 3 is just large
    /// enough.
    ShareTest() {
        collection.addIndex(R"({"a": 1})");
        for (int i = 0; i < kDocuments; ++i) {
            EXPECT_TRUE(collection.insert(document(i).view()).isOk());
        }
    }

    static bson::OwnedDocument document(int i) {
        const size_t bare = 38;  // without the padding
        size_t bytes = i % 3 == 0 ? kBorrowBytesMin + static_cast<size_t>(i) * 1'000 : 100;
        bytes = i == 0 ? kBorrowBytesMin - 1 : i == 3 ? kBorrowBytesMin : bytes;
        bson::Builder builder;
        builder.add("_id", i).add("a", i).add("b", i);
        builder.add("pad", std::string(bytes - bare, static_cast<char>('a' + i)));
        return bson::OwnedDocument(builder.finish());
    }

    /// What is sent for a batch.
    struct Sent {
        std::vector<int> ids;
        std::vector<int> borrowed;
    };

    static void fill(QueryCursor& cursor, Batch* batch) {
        cursor.attach();
        Status status = cursor.next(batch);
        while (status.isWouldBlock()) {  // the turn may be over at any time on a slow machine
            sync::blockOn(cursor.token());
            status = cursor.next(batch);
        }
        cursor.detach();
        EXPECT_TRUE(status.isOk()) << status.toString();
    }

    Sent nextOf(QueryCursor& cursor, size_t documentsMax, size_t bytesMax = kBatchBytes) {
        std::unique_ptr<BorrowedDocuments> borrowed;
        std::string text;
        bson::Builder array(&text);
        Batch batch(&array, documentsMax, bytesMax, &borrowed);
        fill(cursor, &batch);
        array.close(borrowed == nullptr ? 0 : borrowed->bytes());
        return read(text, borrowed.get());
    }
    static Sent read(const std::string& text, BorrowedDocuments* borrowed) {
        Sent sent;
        if (borrowed != nullptr) {
            for (const BorrowedDocuments::Entry& entry : borrowed->entries()) {
                sent.borrowed.push_back(
                    bson::Document(entry.document.view()).find("_id").int32Value());
            }
        }
        const std::string whole = borrowed == nullptr ? text : borrowed->putIntoForTest(text);
        const StatusOr<bson::Document> array = bson::Document::parse(whole);
        EXPECT_TRUE(array.isOk()) << array.status().toString();
        for (const bson::Element& element : *array) {
            const int id = element.document().find("_id").int32Value();
            sent.ids.push_back(id);
            EXPECT_TRUE(element.document().bytes() == document(id).view().bytes()) << id;
        }
        return sent;
    }

    std::unique_ptr<QueryCursor> find(std::string_view filter, std::string_view sort = "{}") {
        FindRequest request;
        request.filter = doc(filter);
        request.sort = doc(sort);
        auto cursor = makeFind(collection.engine(), collection.get(), std::move(request));
        EXPECT_TRUE(cursor.isOk()) << cursor.status().toString();
        return std::move(*cursor);
    }
    std::unique_ptr<QueryCursor> aggregate(std::string_view pipeline) {
        AggregateRequest request;
        request.db = "db";
        request.collection = collection.get();
        const bson::OwnedDocument holder = doc("{\"p\": " + std::string(pipeline) + "}");
        request.pipeline = bson::OwnedDocument(holder.view().find("p").document());
        auto cursor = makeAggregate(collection.engine(), std::move(request));
        EXPECT_TRUE(cursor.isOk()) << cursor.status().toString();
        return std::move(*cursor);
    }
    void expect(QueryCursor& cursor, const std::vector<int>& ids, const std::vector<int>& lent) {
        const Sent sent = nextOf(cursor, 1'000);
        EXPECT_EQ(sent.ids, ids);
        EXPECT_EQ(sent.borrowed, lent);
    }

    TestCollection collection;
};

using Ids = std::vector<int>;

TEST_F(ShareTest, ScansGiveWhatIsLarge) {
    const Ids all{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    expect(*find("{}"), all, Ids{3, 6, 9});
    expect(*find("{}", R"({"$natural": -1})"), Ids(all.rbegin(), all.rend()), Ids{9, 6, 3});
    expect(*find(R"({"b": {"$in": [1, 6, 8]}})"), Ids{1, 6, 8}, Ids{6});
}

TEST_F(ShareTest, FetchesByIndexGiveWhatIsLarge) {
    expect(*find(R"({"a": {"$gte": 5, "$lt": 10}})"), Ids{5, 6, 7, 8, 9}, Ids{6, 9});
    expect(*find(R"({"$or": [{"a": 1}, {"a": 6}]})"), Ids{1, 6}, Ids{6});
    expect(*find(R"({"_id": {"$in": [3, 4]}})"), Ids{3, 4}, Ids{3});
}

TEST_F(ShareTest, LookupsByIdGiveWhatIsLarge) {
    expect(*find(R"({"_id": 3})"), Ids{3}, Ids{3});
    expect(*find(R"({"_id": 0})"), Ids{0}, Ids{});
    expect(*find(R"({"_id": 4})"), Ids{4}, Ids{});
    expect(*find(R"({"_id": 6, "b": 6})"), Ids{6}, Ids{6});
}

TEST_F(ShareTest, StagesThatChangeNothingPassThemOn) {
    expect(*aggregate("[]"), Ids{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, Ids{3, 6, 9});
    expect(*aggregate(R"([{"$match": {"a": {"$gt": 2}}}, {"$skip": 1}, {"$limit": 3}])"),
           Ids{4, 5, 6},
           Ids{6});
    expect(*aggregate(R"([{"$limit": 8}, {"$match": {"b": {"$gt": 4}}}])"), Ids{5, 6, 7}, Ids{6});
}

TEST_F(ShareTest, WhatIsMadeAnewIsCopied) {
    expect(*find(R"({"a": {"$gte": 6}})", R"({"b": -1})"), Ids{11, 10, 9, 8, 7, 6}, Ids{});
    expect(*aggregate(R"([{"$match": {"a": {"$gte": 9}}}, {"$sort": {"b": -1}}])"),
           Ids{11, 10, 9},
           Ids{});
    expect(*aggregate(R"([{"$addFields": {"b": "$a"}}, {"$match": {"b": 9}}])"), Ids{9}, Ids{});
    FindRequest request;
    request.filter = doc(R"({"_id": {"$gte": 9}})");
    request.showsRecordId = true;
    auto cursor = makeFind(collection.engine(), collection.get(), std::move(request));
    ASSERT_TRUE(cursor.isOk());
    std::unique_ptr<BorrowedDocuments> borrowed;
    bson::Builder array;
    Batch batch(&array, 10, kBatchBytes, &borrowed);
    fill(**cursor, &batch);
    EXPECT_EQ(batch.count(), 3u);
    EXPECT_EQ(borrowed, nullptr);
}

TEST_F(ShareTest, NoMoreThanAMessageHasPiecesFor) {
    for (int i = 0; i < 20; ++i) {
        bson::Builder builder;
        builder.add("_id", 3 + 3 * (i + 4)).add("a", 1'000 + i);
        builder.add("pad", std::string(kBorrowBytesMin, 'p'));
        ASSERT_TRUE(collection.insert(bson::OwnedDocument(builder.finish()).view()).isOk());
    }
    std::unique_ptr<BorrowedDocuments> borrowed;
    std::string text;
    bson::Builder array(&text);
    Batch batch(&array, 1'000, kBatchBytes, &borrowed);
    const auto cursor = find(R"({"a": {"$gte": 1000}})");
    fill(*cursor, &batch);
    array.close(borrowed->bytes());
    EXPECT_EQ(batch.count(), 20u);
    EXPECT_EQ(borrowed->entries().size(), BorrowedDocuments::kDocumentsMax);
    EXPECT_GT(text.size(), 5 * kBorrowBytesMin);
    EXPECT_EQ(bson::Document(borrowed->putIntoForTest(text)).fieldCount(), 20);
}

TEST_F(ShareTest, WhatDidNotFitWaitsThoughItIsDeleted) {
    for (const bool isFind : {true, false}) {
        const auto cursor = isFind ? find(R"({"a": {"$gte": 6}})")
                                   : aggregate(R"([{"$match": {"a": {"$gte": 6}}}])");
        const size_t bytesMax = kBorrowBytesMin * 2;
        const Sent first = nextOf(*cursor, 1'000, bytesMax);
        EXPECT_EQ(first.ids, (Ids{6, 7, 8}));
        EXPECT_EQ(first.borrowed, (Ids{6}));
        ASSERT_TRUE(collection.remove(R"({"_id": 9})").isOk());
        const Sent second = nextOf(*cursor, 1'000, bytesMax);
        EXPECT_EQ(second.ids, (Ids{9, 10, 11}));
        EXPECT_EQ(second.borrowed, (Ids{9}));
        EXPECT_TRUE(cursor->isExhausted());
        ASSERT_TRUE(collection.insert(document(9).view()).isOk());
    }
}

}  // namespace
}  // namespace freshet::query
