// SPDX-License-Identifier: Apache-2.0
#include "freshet/catalog/event.h"

#include "freshet/bson/json.h"
#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <random>

namespace freshet::catalog {
namespace {

bson::OwnedDocument json(const std::string& text) {
    auto document = bson::fromJson(text);
    invariant(document.isOk());
    return std::move(*document);
}

Collection collectionWith(const std::string& options) {
    Collection collection;
    collection.db = "shop";
    collection.name = "orders.of 2026";
    collection.uuid = "0123456789abcdef";
    collection.treeId = 77;
    collection.options = json(options);
    return collection;
}

Event decoded(const std::string& bytes) {
    auto event = decodeEvent(bytes);
    EXPECT_TRUE(event.isOk()) << event.status().toString();
    return event.isOk() ? *event : Event();
}

std::string beforeOfUpdate(const std::string& before, const std::string& after) {
    const bson::OwnedDocument old = json(before);
    const bson::OwnedDocument now = json(after);
    std::string bytes;
    encodeUpdate(collectionWith("{}"), 5, old.view(), now.view(), false, &bytes);
    auto found = beforeOf(decoded(bytes), now.view());
    EXPECT_TRUE(found.isOk());
    EXPECT_EQ(found->bytes(), old.bytes());
    return bytes;
}

TEST(Event, AReplacementHasItsOldDocumentOnlyWhereImagesAreKept) {
    const bson::OwnedDocument old = json(R"({"_id": 1, "a": "what was there"})");
    const bson::OwnedDocument now = json(R"({"_id": 1, "b": 2})");
    std::string bytes;
    encodeUpdate(collectionWith("{}"), 5, old.view(), now.view(), true, &bytes);
    EXPECT_FALSE(decoded(bytes).hasBefore());
    EXPECT_EQ(bytes.find("what was there"), std::string::npos);
    encodeUpdate(collectionWith(R"({"changeStreamPreAndPostImages": {"enabled": true}})"),
                 5,
                 old.view(),
                 now.view(),
                 true,
                 &bytes);
    const Event event = decoded(bytes);
    ASSERT_TRUE(event.hasBefore());
    EXPECT_EQ(beforeOf(event, now.view())->bytes(), old.bytes());
}

TEST(Event, SaysWhatWasChangedAndWhere) {
    std::string bytes;
    encodeInsert(collectionWith("{}"), 0x123456789a, &bytes);
    const Event insert = decoded(bytes);
    EXPECT_EQ(insert.kind, EventKind::kInsert);
    EXPECT_EQ(insert.ns(), "shop.orders.of 2026");
    EXPECT_EQ(insert.uuid, "0123456789abcdef");
    EXPECT_EQ(insert.tree, 77u);
    EXPECT_EQ(insert.record, 0x123456789au);
    EXPECT_FALSE(insert.keepsImages);

    const bson::OwnedDocument details = json(R"({"to": {"db": "a", "coll": "b"}})");
    encodeDefinition(EventKind::kRename, "shop", "c", "0123456789abcdef", details.view(), &bytes);
    EXPECT_EQ(decoded(bytes).document.bytes(), details.bytes());
    encodeDefinition(EventKind::kDropDatabase, "shop", {}, {}, bson::Document(), &bytes);
    EXPECT_TRUE(decoded(bytes).collection.empty());
    EXPECT_TRUE(decoded(bytes).uuid.empty());
}

TEST(Event, ADeletedDocumentIsKeptIfTheCollectionKeepsImages) {
    const bson::OwnedDocument gone = json(R"({"_id": 3, "a": "b"})");
    std::string bytes;
    encodeDelete(collectionWith("{}"), 5, gone.view(), &bytes);
    EXPECT_EQ(decoded(bytes).document.bytes(), json(R"({"_id": 3})").bytes());
    const Collection keeping =
        collectionWith(R"({"changeStreamPreAndPostImages": {"enabled": true}})");
    encodeDelete(keeping, 5, gone.view(), &bytes);
    EXPECT_TRUE(decoded(bytes).keepsImages);
    EXPECT_EQ(decoded(bytes).document.bytes(), gone.bytes());
    const Collection notKeeping =
        collectionWith(R"({"changeStreamPreAndPostImages": {"enabled": false}})");
    encodeDelete(notKeeping, 5, gone.view(), &bytes);
    EXPECT_FALSE(decoded(bytes).keepsImages);
}

TEST(Event, TheDocumentBeforeAnUpdateIsMadeFromTheOneAfterIt) {
    beforeOfUpdate(R"({"_id": 1})", R"({"_id": 1, "a": 1})");
    beforeOfUpdate(R"({"_id": 1, "a": 1})", R"({"_id": 1})");
    beforeOfUpdate(R"({"_id": 1, "a": "xxxx"})", R"({"_id": 1, "a": "xx"})");
    beforeOfUpdate(R"({"_id": 1, "a": [1, 2, 3], "b": 1})", R"({"_id": 1, "a": [1], "b": 1})");
    const std::string pad(10'000, 'p');
    const std::string small = beforeOfUpdate(R"({"_id": 1, "n": 1, "pad": ")" + pad + "\"}",
                                             R"({"_id": 1, "n": 2, "pad": ")" + pad + "\"}");
    EXPECT_LT(small.size(), 100u);
}

TEST(Event, AnyTwoDocumentsWillDo) {
    const uint64_t seed = testing::testSeed();
    std::mt19937_64 random(seed);
    const auto document = [&random] {
        std::string text = R"({"_id": 1)";
        for (uint64_t i = random() % 5; i > 0; --i) {
            text += ", \"" + std::string(1, static_cast<char>('a' + random() % 3)) + "\": \"" +
                    std::string(random() % 20, static_cast<char>('x' + random() % 2)) + "\"";
        }
        return text + "}";
    };
    for (int i = 0; i < 5'000; ++i) {
        SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed) + " " + std::to_string(i));
        beforeOfUpdate(document(), document());
        ASSERT_FALSE(HasFailure());
    }
}

TEST(Event, OtherBytesAreRefused) {
    std::string bytes;
    const bson::OwnedDocument gone = json(R"({"_id": 3})");
    encodeDelete(collectionWith("{}"), 5, gone.view(), &bytes);
    for (size_t length = 0; length < bytes.size(); ++length) {
        EXPECT_FALSE(decodeEvent(ByteView(bytes).substr(0, length)).isOk()) << length;
    }
    EXPECT_FALSE(decodeEvent(bytes + "x").isOk());
    std::string unknown = bytes;
    unknown[0] = 99;
    EXPECT_EQ(decodeEvent(unknown).status().code(), Code::kUnsupported);
    encodeUpdate(collectionWith("{}"),
                 5,
                 json(R"({"_id": 1, "a": "longer than the other one"})").view(),
                 json(R"({"_id": 1, "a": "longer than the other"})").view(),
                 false,
                 &bytes);
    EXPECT_FALSE(beforeOf(decoded(bytes), json(R"({"_id": 1})").view()).isOk());
}

}  // namespace
}  // namespace freshet::catalog
