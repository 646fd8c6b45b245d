// SPDX-License-Identifier: Apache-2.0
/// What long filters cost: planning, explaining and running them.
#include "freshet/testing/sim/growth.h"

#include "freshet/query/exec/test_support.h"

#include <gtest/gtest.h>

#include <functional>

namespace freshet::query {
namespace {

using freshet::testing::growthOf;
using freshet::testing::kGrowthMax;

using Fill = std::function<void(bson::Builder* list, int i)>;

/// {field: [...]} of `n` members.
bson::OwnedDocument listOf(std::string_view field, int n, const Fill& fill) {
    bson::Builder builder;
    {
        auto list = builder.array(field);
        for (int i = 0; i < n; ++i) {
            fill(&list, i);
        }
    }
    return bson::OwnedDocument(builder.finish());
}

/// A member {name: {op: value}}.
void addCondition(bson::Builder* list, const std::string& name, const char* op, int value) {
    auto member = list->object(list->nextIndex());
    auto condition = member.object(name);
    condition.add(op, value);
}

/// {name: {$in: [0, 2, ...]}}; half of the values exist.
void addIn(bson::Builder* out, std::string_view name, int n) {
    auto condition = out->object(name);
    auto values = condition.array("$in");
    for (int i = 0; i < n; ++i) {
        values.push(static_cast<int32_t>((i * 7919LL) % n * 2));
    }
}

class Growth : public ::testing::Test {
protected:
    void SetUp() override {
        collection_.addIndex(R"({"a": 1})");
        collection_.addIndex(R"({"a": 1, "b": -1})");
        collection_.addIndex(R"({"m": 1, "a": 1})");
        collection_.addIndex(R"({"f5": 1})");
        for (int i = 0; i < 40; ++i) {
            bson::Builder builder;
            builder.add("_id", i).add("a", i).add("b", i % 7);
            auto m = builder.array("m");
            m.push(i).push(i + 1);
            m.close();
            ASSERT_TRUE(collection_.insert(bson::OwnedDocument(builder.finish()).view()).isOk());
        }
    }

    /// Explains, runs and counts.
    void runAll(const bson::OwnedDocument& filter) {
        FindRequest request;
        request.filter = filter;
        auto cursor = makeFind(collection_.engine(), collection_.get(), std::move(request));
        ASSERT_TRUE(cursor.isOk()) << cursor.status().toString();
        const bson::OwnedDocument plan = (*cursor)->describePlan();
        ASSERT_TRUE(drained(**cursor, 7).isOk());
        static_cast<void>((*cursor)->describeExecution(1));
        ASSERT_FALSE((*cursor)->work().plan.text().empty());
        FindRequest count;
        count.filter = filter;
        auto op = CountOp::make(collection_.engine(), collection_.get(), std::move(count));
        ASSERT_TRUE(op.isOk());
        ASSERT_TRUE(driven(**op).isOk());
    }

    void expectGrowth(int n, const std::function<bson::OwnedDocument(int)>& make) {
        EXPECT_LE(growthOf(n, [&](int size) { runAll(make(size)); }), kGrowthMax);
    }

    TestCollection collection_;
};

TEST_F(Growth, OfAnOrOfEqualities) {
    for (const char* name : {"_id", "a", "m", "x"}) {
        SCOPED_TRACE(name);
        expectGrowth(5'000, [&](int n) {
            return listOf("$or", n, [&](auto* list, int i) { addCondition(list, name, "$eq", i); });
        });
    }
}

TEST_F(Growth, OfAnOrOfManyScans) {
    expectGrowth(2'000, [](int n) {
        return listOf("$or", n, [](auto* list, int i) {
            auto member = list->object(list->nextIndex());
            member.add("a", i + 100).add("b", i);
        });
    });
}

TEST_F(Growth, OfAnOrOfManyPaths) {
    expectGrowth(5'000, [](int n) {
        return listOf("$or", n, [](auto* list, int i) {
            addCondition(list, "f" + std::to_string(i), "$eq", i);
        });
    });
}

TEST_F(Growth, OfAnAndOnOnePath) {
    for (const char* name : {"_id", "a", "m", "x"}) {
        SCOPED_TRACE(name);
        expectGrowth(5'000, [&](int n) {
            return listOf(
                "$and", n, [&](auto* list, int i) { addCondition(list, name, "$gt", -i); });
        });
    }
}

TEST_F(Growth, OfAnAndOfAListAndRanges) {
    for (const char* name : {"a", "m"}) {
        SCOPED_TRACE(name);
        expectGrowth(3'000, [&](int n) {
            return listOf("$and", n, [&](auto* list, int i) {
                if (i > 0) {
                    addCondition(list, name, "$gt", 30 - i);
                    return;
                }
                auto member = list->object(list->nextIndex());
                addIn(&member, name, n);
            });
        });
    }
}

TEST_F(Growth, OfLongLists) {
    for (const char* name : {"_id", "a", "m", "x"}) {
        SCOPED_TRACE(name);
        expectGrowth(10'000, [&](int n) {
            bson::Builder builder;
            addIn(&builder, name, n);
            return bson::OwnedDocument(builder.finish());
        });
    }
}

TEST_F(Growth, OfTwoLongListsOnOneIndex) {
    expectGrowth(3'000, [](int n) {
        bson::Builder builder;
        addIn(&builder, "a", n);
        addIn(&builder, "b", n);
        return bson::OwnedDocument(builder.finish());
    });
}

/// Each level can be reached by name or by index: 2^70 ways.
TEST(PathWalk, GoesOnFromEachPlaceOnce) {
    bson::OwnedDocument nested = doc(R"({"z": 1})");
    std::string path = "a";
    for (int i = 0; i < 70; ++i) {
        bson::Builder outer;
        {
            auto list = outer.array("0");
            list.push(nested.view());
        }
        nested = bson::OwnedDocument(outer.finish());
        path += i < 35 ? ".0.0" : ".0";
    }
    bson::Builder document;
    {
        auto list = document.array("a");
        list.push(nested.view());
    }
    const bson::OwnedDocument whole(document.finish());
    for (const auto& [end, value] : std::vector<std::pair<std::string, int>>{{"", 5}, {".z", 1}}) {
        bson::Builder filter;
        filter.add(path + end, value);
        auto matcher = Matcher::compile(bson::OwnedDocument(filter.finish()).view());
        ASSERT_TRUE(matcher.isOk());
        EXPECT_EQ((*matcher)->matches(whole.view()), value == 1);
    }
}

TEST_F(Growth, AListOfAnyLengthIsOneSortedProbe) {
    bson::Builder builder;
    addIn(&builder, "_id", 100'000);
    FindRequest request;
    request.filter = bson::OwnedDocument(builder.finish());
    auto cursor = makeFind(collection_.engine(), collection_.get(), std::move(request));
    ASSERT_TRUE(cursor.isOk());
    EXPECT_EQ((*cursor)->describePlan().view().findPath("inputStage.indexName").stringValue(),
              "_id_");
    auto found = drained(**cursor, 7);
    ASSERT_TRUE(found.isOk());
    ASSERT_EQ(found->size(), 20u);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ((*found)[static_cast<size_t>(i)].view().find("_id").toInt64(), 2 * i);
    }
    EXPECT_LE((*cursor)->work().keysExamined, 40);
}

TEST_F(Growth, WhatExplainTellsHasABound) {
    bson::Builder builder;
    addIn(&builder, "a", 200'000);
    FindRequest request;
    request.filter = bson::OwnedDocument(builder.finish());
    auto cursor = makeFind(collection_.engine(), collection_.get(), std::move(request));
    ASSERT_TRUE(cursor.isOk());
    const bson::OwnedDocument plan = (*cursor)->describePlan();
    EXPECT_EQ(plan.view().findPath("inputStage.warning").stringValue(),
              "index bounds omitted due to BSON size limit for explain");
    EXPECT_TRUE(plan.view().findPath("inputStage.indexBounds").isMissing());
}

}  // namespace
}  // namespace freshet::query
