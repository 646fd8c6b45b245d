// SPDX-License-Identifier: Apache-2.0
/// The validator accepts what the builder writes, and the views read it.
#include "freshet/bson/builder.h"

#include "freshet/bson/json.h"

#include <gtest/gtest.h>

#include <set>

namespace freshet::bson {

TEST(Builder, NestsDocumentsAndArrays) {
    Builder builder;
    builder.add("ok", 1.0);
    {
        Builder cursor = builder.object("cursor");
        Builder batch = cursor.array("batch");
        for (int i = 0; i < 12; ++i) {
            batch.push(i);
        }
        batch.close();
        cursor.add("id", int64_t{0});
    }
    builder.add("last", true);
    std::string bytes = builder.finish();
    ASSERT_TRUE(Document::parse(bytes).isOk());
    EXPECT_EQ(toShellText(Document(bytes)),
              "{ ok: 1.0, cursor: { batch: [ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 ], id: 0 }, "
              "last: true }");
    EXPECT_EQ(Document(bytes).findPath("cursor.batch.11").toInt64(), 11);
}

TEST(Builder, AppendsBehindOtherBytes) {
    std::string message = "header";
    {
        Builder builder(&message);
        builder.add("a", 1);
        EXPECT_EQ(builder.size(), message.size() - 6);
    }
    ASSERT_EQ(message.substr(0, 6), "header");
    ASSERT_TRUE(Document::parse(message.substr(6)).isOk());
    EXPECT_EQ(Document(message.data() + 6).find("a").toInt64(), 1);
}

TEST(Builder, CopiesElementsUnderAnyName) {
    OwnedDocument source = *fromJson(R"({"a": {"x": [1, "two"]}, "b": 3})");
    Builder builder;
    builder.addFields(source.view());
    builder.add(source.view().find("b"));
    builder.addAs("c", source.view().findPath("a.x"));
    builder.array("d").pushElement(source.view().find("b")).pushElement(source.view().find("a"));
    std::string bytes = builder.finish();
    ASSERT_TRUE(Document::parse(bytes).isOk());
    EXPECT_EQ(toShellText(Document(bytes)),
              "{ a: { x: [ 1, \"two\" ] }, b: 3, b: 3, c: [ 1, \"two\" ], "
              "d: [ 3, { x: [ 1, \"two\" ] } ] }");
}

TEST(Builder, ZerosInNamesCannotBreakTheDocument) {
    std::string zero("a\0b", 3);
    std::string bytes = Builder().add(zero, zero).add(zero, Regex{zero, zero}).finish();
    ASSERT_TRUE(Document::parse(bytes).isOk());
    EXPECT_EQ(Document(bytes).find("a").stringValue(), zero) << "values keep theirs";
    EXPECT_EQ(Document(bytes).fieldCount(), 2);
}

TEST(Builder, ALargeValueTakesNoMoreThanItsOwnMemory) {
    const std::string large(10u << 20, 'x');
    Builder builder;
    builder.add("large", large).add("small", 1);
    const std::string bytes = builder.finish();
    EXPECT_LT(bytes.capacity(), large.size() + (large.size() >> 4));
    EXPECT_EQ(Document(bytes).find("large").stringValue(), large);
}

TEST(SharedDocument, CopiesShareTheBytes) {
    const SharedDocument none;
    EXPECT_TRUE(none.view().isEmpty());
    const SharedDocument one(OwnedDocument(Builder().add("a", 1).finish()));
    const SharedDocument other = one;
    EXPECT_EQ(one.view().bytes().data(), other.view().bytes().data());
}

TEST(ObjectId, IsNewEachTime) {
    std::set<std::string> seen;
    for (int i = 0; i < 1000; ++i) {
        seen.insert(ObjectId::generate().toHex());
    }
    EXPECT_EQ(seen.size(), 1000u);
    EXPECT_EQ(seen.begin()->size(), 24u);
}

}  // namespace freshet::bson
