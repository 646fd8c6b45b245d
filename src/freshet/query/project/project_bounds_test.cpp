// SPDX-License-Identifier: Apache-2.0
/// Limits of projections: the length of paths, the nesting of results, and the time that many
/// fields take.
#include "freshet/bson/path.h"
#include "freshet/query/project/tree.h"
#include "freshet/query/transform.h"
#include "freshet/testing/sim/growth.h"

#include <gtest/gtest.h>

#include <functional>

namespace freshet::query {
namespace {

using bson::Builder;
using bson::Document;
using bson::OwnedDocument;

std::string pathOf(size_t parts) {
    std::string path = "a";
    while (--parts > 0) {
        path += ".a";
    }
    return path;
}

template <typename T>
OwnedDocument oneField(const std::string& path, const T& value) {
    Builder builder;
    builder.add(path, value);
    return OwnedDocument(builder.finish());
}

/// {f0: <add>, f1: ...}
OwnedDocument manyFields(int count, const std::function<void(Builder&, const std::string&)>& add) {
    Builder builder;
    for (int i = 0; i < count; ++i) {
        add(builder, "f" + std::to_string(i));
    }
    return OwnedDocument(builder.finish());
}

StatusOr<std::string> projected(const ProjectTree& tree, Document document) {
    ExprContext context;
    Builder builder;
    projectDocument(tree, document, nullptr, &context, &builder);
    std::string bytes = builder.finish();
    if (context.failed()) {
        return std::move(context.error);
    }
    return bytes;
}

TEST(ProjectBounds, PathsOfMoreThanTwoHundredPartsAreRefused) {
    for (const ProjectStyle style :
         {ProjectStyle::kFind, ProjectStyle::kStage, ProjectStyle::kAddFields}) {
        for (const size_t parts : {bson::kPathPartsMax, bson::kPathPartsMax + 1, size_t{100'000}}) {
            for (const int value : {0, 1}) {
                const std::string path = pathOf(parts);
                const OwnedDocument spec = oneField(path, value);
                const auto tree = parseProjection(spec.view(), style);
                ASSERT_EQ(tree.isOk(), parts <= bson::kPathPartsMax);
                EXPECT_EQ(tree.status().reason(), tree.isOk() ? Reason{} : Reason::kOverflow);
            }
        }
    }
    EXPECT_TRUE(makeExclusion({pathOf(bson::kPathPartsMax)}).isOk());
    EXPECT_EQ(makeExclusion({pathOf(bson::kPathPartsMax + 1)}).status().reason(),
              Reason::kOverflow);
}

TEST(ProjectBounds, ObjectsAndDotsCountTogether) {
    Builder builder;
    {
        Builder inner = builder.object(pathOf(150));
        inner.add(pathOf(51), 1);
    }
    const OwnedDocument spec(builder.finish());
    EXPECT_EQ(parseProjection(spec.view(), ProjectStyle::kStage).status().reason(),
              Reason::kOverflow);
}

TEST(ProjectBounds, WhatComesOutNestsNoDeeperThanAPathMay) {
    const std::string path = pathOf(bson::kPathPartsMax);
    const OwnedDocument scalar = oneField(path, "x");
    const auto fits = parseProjection(scalar.view(), ProjectStyle::kAddFields);
    ASSERT_TRUE(fits.isOk());
    const auto made = projected(*fits, Document());
    ASSERT_TRUE(made.isOk()) << made.status().text();
    EXPECT_TRUE(bson::nestsWithin(Document(*made), kComputedNestingMax));

    Builder builder;
    {
        Builder array = builder.array(path);
        array.push(1);
    }
    const OwnedDocument deeper(builder.finish());
    const auto tree = parseProjection(deeper.view(), ProjectStyle::kAddFields);
    ASSERT_TRUE(tree.isOk());
    EXPECT_EQ(projected(*tree, Document()).status().reason(), Reason::kOverflow);
}

TEST(ProjectBounds, ArraysThatAreEnteredCount) {
    OwnedDocument document;
    for (int level = 0; level < 150; ++level) {  // {a: [[[ ... [{}] ... ]]]}
        Builder builder;
        const bool isLast = level == 149;
        if (level == 0 || isLast) {
            level == 0 ? builder.add("0", document.view()) : builder.addArray("a", document.view());
        } else {
            builder.addArray("0", document.view());
        }
        document = OwnedDocument(builder.finish());
    }
    const std::string path = pathOf(100);
    const OwnedDocument spec = oneField(path, "x");
    const auto tree = parseProjection(spec.view(), ProjectStyle::kAddFields);
    ASSERT_TRUE(tree.isOk());
    EXPECT_EQ(projected(*tree, document.view()).status().reason(), Reason::kOverflow);
}

TEST(ProjectBounds, CollisionsNameThePathAndItsRest) {
    Builder builder;
    builder.add("a.b", 1);
    {
        Builder inner = builder.object("a");
        Builder deeper = inner.object("b.c");
        deeper.add("d", 1);
    }
    const OwnedDocument spec(builder.finish());
    const Status status = parseProjection(spec.view(), ProjectStyle::kStage).status();
    EXPECT_EQ(status.reason(), location(31249));
    EXPECT_EQ(status.text(), "Path collision at a.b.c.d remaining portion c.d");
}

void projectMany(int count, ProjectStyle style, int value) {
    const OwnedDocument spec =
        manyFields(count, [value](Builder& out, const std::string& name) { out.add(name, value); });
    const OwnedDocument document =
        manyFields(count, [](Builder& out, const std::string& name) { out.add(name, 7); });
    const auto tree = parseProjection(spec.view(), style);
    ASSERT_TRUE(tree.isOk());
    ASSERT_TRUE(projected(*tree, document.view()).isOk());
}

TEST(ProjectBounds, ManyFieldsTakeTimeInProportion) {
    constexpr int kFields = 10'000;
    EXPECT_LT(testing::growthOf(kFields, [](int n) { projectMany(n, ProjectStyle::kFind, 1); }),
              testing::kGrowthMax);
    EXPECT_LT(testing::growthOf(kFields, [](int n) { projectMany(n, ProjectStyle::kStage, 0); }),
              testing::kGrowthMax);
    EXPECT_LT(
        testing::growthOf(kFields, [](int n) { projectMany(n, ProjectStyle::kAddFields, 1); }),
        testing::kGrowthMax);
}

TEST(ProjectBounds, ManyFieldsOfOneObjectUnderALongNameTakeTimeInProportion) {
    const auto parse = [](int count) {
        Builder builder;
        {
            Builder inner = builder.object(std::string(static_cast<size_t>(count), 'x'));
            for (int i = 0; i < count; ++i) {
                inner.add("f" + std::to_string(i), 1);
            }
        }
        const OwnedDocument spec(builder.finish());
        ASSERT_TRUE(parseProjection(spec.view(), ProjectStyle::kStage).isOk());
    };
    EXPECT_LT(testing::growthOf(10'000, parse), testing::kGrowthMax);
}

TEST(ProjectBounds, ManyFieldsReadFromALargeDocumentTakeTimeInProportion) {
    const auto run = [](int count) {
        Builder builder;
        for (int i = count; i-- > 0;) {
            const std::string name = "f" + std::to_string(i);
            builder.add("x" + name, "$" + name).add("y" + name, "$in." + name);
        }
        const OwnedDocument spec(builder.finish());
        Builder fields;
        for (int i = 0; i < count; ++i) {
            fields.add("f" + std::to_string(i), i);
        }
        const OwnedDocument inner(fields.finish());
        Builder whole;
        whole.addFields(inner.view());
        whole.add("in", inner.view());
        const OwnedDocument document(whole.finish());
        const auto tree = parseProjection(spec.view(), ProjectStyle::kAddFields);
        ASSERT_TRUE(tree.isOk());
        const auto made = projected(*tree, document.view());
        ASSERT_TRUE(made.isOk());
        EXPECT_EQ(Document(*made).find("xf3").int32Value(), 3);
        EXPECT_EQ(Document(*made).find("yf4").int32Value(), 4);
    };
    EXPECT_LT(testing::growthOf(5'000, run), testing::kGrowthMax);
}

TEST(SortBounds, PathsAndFieldsAreCounted) {
    const auto compile = [](const std::string& path) {
        Builder builder;
        builder.add(path, 1);
        const OwnedDocument spec(builder.finish());
        return SortPattern::compile(spec.view()).status().reason();
    };
    EXPECT_EQ(compile(pathOf(bson::kPathPartsMax)), Reason{});
    EXPECT_EQ(compile(pathOf(bson::kPathPartsMax + 1)), Reason::kOverflow);
    const OwnedDocument many =
        manyFields(33, [](Builder& out, const std::string& name) { out.add(name, 1); });
    EXPECT_EQ(SortPattern::compile(many.view()).status().reason(), Reason::kBadValue);
}

}  // namespace
}  // namespace freshet::query
