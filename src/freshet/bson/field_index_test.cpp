// SPDX-License-Identifier: Apache-2.0
#include "freshet/bson/field_index.h"

#include "freshet/bson/builder.h"
#include "freshet/bson/path.h"

#include <gtest/gtest.h>

namespace freshet::bson {
namespace {

TEST(FieldIndex, FindsWhatTheDocumentFinds) {
    for (const int count : {0, 1, 2, 7, 8, 1000}) {
        Builder builder;
        for (int i = 0; i < count; ++i) {
            builder.add("f" + std::to_string(i), i);
        }
        builder.add("", 5).add("f3", 7).add("f3", 8);
        const OwnedDocument document(builder.finish());
        const FieldIndex index(document.view());
        for (int i = 0; i < count + 5; ++i) {
            const std::string name = "f" + std::to_string(i);
            EXPECT_EQ(index.find(name).whole().data(), document.view().find(name).whole().data());
        }
        EXPECT_EQ(index.find("").int32Value(), 5);
    }
    EXPECT_TRUE(FieldIndex(Document()).find("a").isMissing());
}

std::string pathOf(size_t parts) {
    std::string path = "a";
    while (--parts > 0) {
        path += ".a";
    }
    return path;
}

TEST(Paths, HaveAtMostTwoHundredParts) {
    EXPECT_EQ(pathParts(""), 1u);
    EXPECT_EQ(pathParts("a.b."), 3u);
    EXPECT_TRUE(checkPathLength(pathOf(kPathPartsMax)).isOk());
    const Status status = checkPathLength(pathOf(kPathPartsMax + 1));
    EXPECT_EQ(status.reason(), Reason::kOverflow);
    EXPECT_EQ(status.text(), "FieldPath is too long");
}

OwnedDocument nested(int levels, bool inArrays) {
    OwnedDocument document;
    for (int level = 1; level < levels; ++level) {
        Builder builder;
        if (inArrays) {
            builder.addArray("0", document.view());
        } else {
            builder.add("a", document.view());
        }
        document = OwnedDocument(builder.finish());
    }
    return document;
}

TEST(Nesting, IsCountedInObjectsArraysAndScopes) {
    for (const bool inArrays : {false, true}) {
        EXPECT_TRUE(nestsWithin(nested(5, inArrays).view(), 5));
        EXPECT_FALSE(nestsWithin(nested(5, inArrays).view(), 4));
        EXPECT_TRUE(checkNesting(nested(kNestingMax, inArrays).view()).isOk());
        const Status status = checkNesting(nested(kNestingMax + 1, inArrays).view());
        EXPECT_EQ(status.reason(), Reason::kOverflow);
        EXPECT_EQ(status.text(), "Document exceeds maximum nesting depth of 180");
        // Only the allowed number of levels is examined, however deep the document is.
        EXPECT_FALSE(checkNesting(nested(5000, inArrays).view()).isOk());
    }
    const OwnedDocument scope = nested(3, false);
    std::string code;
    appendLe(code, static_cast<uint32_t>(4 + 4 + 2 + scope.bytes().size()));
    appendLe(code, uint32_t{2});
    code += std::string("x\0", 2) + scope.bytes();
    Builder builder;
    builder.addRaw("c", Type::kCodeWithScope, code);
    const OwnedDocument document(builder.finish());
    EXPECT_TRUE(nestsWithin(document.view(), 4));
    EXPECT_FALSE(nestsWithin(document.view(), 3));
    EXPECT_TRUE(nestsWithin(*document.view().begin(), 3));
    EXPECT_TRUE(nestsWithin(Element(), 0));
}

}  // namespace
}  // namespace freshet::bson
