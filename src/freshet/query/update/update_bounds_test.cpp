// SPDX-License-Identifier: Apache-2.0
/// Limits of updates: the length of paths, the nesting of what is stored, and the time that many
/// fields take.
#include "freshet/bson/path.h"
#include "freshet/query/update.h"
#include "freshet/testing/sim/growth.h"

#include <gtest/gtest.h>

#include <functional>

namespace freshet::query {
namespace {

using bson::Builder;
using bson::Document;
using bson::OwnedDocument;

std::string deepPath(size_t parts) {
    std::string path = "a";
    while (--parts > 0) {
        path += ".a";
    }
    return path;
}

OwnedDocument deepObject(int levels) {
    OwnedDocument document;
    for (int level = 1; level < levels; ++level) {
        Builder builder;
        builder.add("a", document.view());
        document = OwnedDocument(builder.finish());
    }
    return document;
}

/// {modifier: {name: value}}
template <typename T>
OwnedDocument modifierOf(const char* modifier, const std::string& name, const T& value) {
    Builder builder;
    {
        Builder fields = builder.object(modifier);
        fields.add(name, value);
    }
    return OwnedDocument(builder.finish());
}

Status applied(const OwnedDocument& update, Document before) {
    auto program = UpdateProgram::compile(update, Document());
    if (!program.isOk()) {
        return program.status();
    }
    bool changed = false;
    auto after = (*program)->apply(before, nullptr, &changed);
    return after.isOk() ? bson::checkNesting(after->view()) : after.status();
}

TEST(UpdateBounds, PathsOfMoreThanTwoHundredPartsAreRefused) {
    const std::string path = deepPath(bson::kPathPartsMax + 1);
    for (const char* modifier : {"$set", "$unset", "$inc", "$min", "$push", "$addToSet", "$pull"}) {
        const Status status = applied(modifierOf(modifier, path, 1), Document());
        EXPECT_EQ(status.reason(), Reason::kOverflow) << modifier;
        EXPECT_EQ(status.text(), "FieldPath is too long") << modifier;
    }
    EXPECT_EQ(applied(modifierOf("$rename", "b", path), Document()).reason(), Reason::kOverflow);
    EXPECT_EQ(applied(modifierOf("$rename", path, "b"), Document()).reason(), Reason::kOverflow);
}

TEST(UpdateBounds, NothingIsMadeThatNestsDeeperThanWhatIsStored) {
    const OwnedDocument hundred = deepObject(100);
    EXPECT_TRUE(applied(modifierOf("$set", deepPath(80), hundred.view()), Document()).isOk());
    for (const char* modifier : {"$set", "$min", "$max", "$setOnInsert"}) {
        const Status status =
            applied(modifierOf(modifier, deepPath(81), hundred.view()), Document());
        EXPECT_EQ(status.reason(), Reason::kOverflow) << modifier;
        EXPECT_EQ(status.text(), "Document exceeds maximum nesting depth of 180") << modifier;
    }
    for (const char* modifier : {"$push", "$addToSet"}) {  // with an array around the value
        EXPECT_TRUE(applied(modifierOf(modifier, deepPath(79), hundred.view()), Document()).isOk());
        EXPECT_EQ(applied(modifierOf(modifier, deepPath(80), hundred.view()), Document()).reason(),
                  Reason::kOverflow);
    }
}

TEST(UpdateBounds, RenamesAndUpsertsObeyTheSame) {
    Builder before;
    before.add("b", deepObject(100).view());
    const OwnedDocument document(before.finish());
    EXPECT_TRUE(applied(modifierOf("$rename", "b", deepPath(80)), document.view()).isOk());
    EXPECT_EQ(applied(modifierOf("$rename", "b", deepPath(81)), document.view()).reason(),
              Reason::kOverflow);

    Builder builder;
    builder.add(deepPath(100), deepObject(100).view());
    const OwnedDocument filter(builder.finish());
    const auto matcher = Matcher::compile(filter.view());
    ASSERT_TRUE(matcher.isOk());
    const OwnedDocument update = modifierOf("$set", "z", 1);
    const auto program = UpdateProgram::compile(update, Document());
    ASSERT_TRUE(program.isOk());
    EXPECT_EQ((*program)->makeUpsert(**matcher).status().reason(), Reason::kOverflow);
}

TEST(UpdateBounds, PipelinesObeyTheSame) {
    for (const size_t parts : {size_t{179}, size_t{180}, size_t{201}}) {
        Builder stages;
        {
            Builder stage = stages.object("0");
            Builder fields = stage.object("$set");
            fields.add(deepPath(parts), "x");
        }
        const OwnedDocument array(stages.finish());
        const auto program = UpdateProgram::compilePipeline(array.view(), Document());
        ASSERT_EQ(program.isOk(), parts <= bson::kPathPartsMax);
        bool changed = false;
        Builder before;
        before.add("_id", 1);
        const OwnedDocument document(before.finish());
        const Status status = program.isOk()
                                  ? (*program)->apply(document.view(), nullptr, &changed).status()
                                  : program.status();
        EXPECT_EQ(status.reason(), parts > 180 ? Reason::kOverflow : Reason::kNone) << parts;
    }
}

void updateMany(int count, const char* modifier, const std::string& prefix, bool inArray) {
    Builder builder;
    {
        Builder fields = builder.object(modifier);
        for (int i = count; i-- > 0;) {
            const std::string number = std::to_string(i);
            if (std::string_view(modifier) == "$rename") {
                fields.add(prefix + number, "to" + number);
            } else {
                fields.add(prefix + number, 1);
            }
        }
    }
    const OwnedDocument update(builder.finish());
    Builder before;
    if (inArray) {
        Builder array = before.array("a");
        for (int i = 0; i < count; ++i) {
            array.push(7);
        }
    } else {
        for (int i = 0; i < count; ++i) {
            before.add(prefix + std::to_string(i), 7);
        }
    }
    const OwnedDocument document(before.finish());
    ASSERT_TRUE(applied(update, document.view()).isOk());
}

TEST(UpdateBounds, ManyFieldsTakeTimeInProportion) {
    constexpr int kFields = 5'000;
    for (const char* modifier : {"$set", "$unset", "$inc", "$rename"}) {
        EXPECT_LT(testing::growthOf(kFields, [&](int n) { updateMany(n, modifier, "f", false); }),
                  testing::kGrowthMax)
            << modifier;
    }
    EXPECT_LT(testing::growthOf(kFields, [](int n) { updateMany(n, "$set", "a.", true); }),
              testing::kGrowthMax);
}

TEST(UpdateBounds, ManyValuesOfASetTakeTimeInProportion) {
    for (const char* modifier : {"$addToSet", "$pullAll"}) {
        const auto run = [modifier](int count) {
            Builder builder;
            {
                Builder fields = builder.object(modifier);
                Builder values;
                for (int i = 0; i < count; ++i) {
                    values.add(std::to_string(i), i);
                }
                const OwnedDocument list(values.finish());
                if (std::string_view(modifier) == "$pullAll") {
                    fields.addArray("a", list.view());
                } else {
                    Builder each = fields.object("a");
                    each.addArray("$each", list.view());
                }
            }
            const OwnedDocument update(builder.finish());
            Builder before;
            {
                Builder array = before.array("a");
                for (int i = 0; i < count; ++i) {
                    array.push(count + i);
                }
            }
            const OwnedDocument document(before.finish());
            ASSERT_TRUE(applied(update, document.view()).isOk());
        };
        EXPECT_LT(testing::growthOf(3'000, run), testing::kGrowthMax) << modifier;
    }
}

TEST(UpdateBounds, ManyArrayFiltersOnOneElementTakeTimeInProportion) {
    const auto run = [](int count) {
        Builder builder;
        Builder filters;
        {
            Builder fields = builder.object("$set");
            for (int i = 0; i < count; ++i) {
                const std::string name = "e" + std::to_string(i);
                fields.add("a.$[" + name + "].x" + name, 1);
                Builder filter = filters.object(filters.nextIndex());
                filter.add(name + ".k", 1);
            }
        }
        const OwnedDocument update(builder.finish());
        const OwnedDocument arrayFilters(filters.finish());
        const auto program = UpdateProgram::compile(update, arrayFilters.view());
        ASSERT_TRUE(program.isOk()) << program.status().text();
        Builder before;
        {
            Builder array = before.array("a");
            Builder element = array.object("0");
            element.add("k", 1);
        }
        const OwnedDocument document(before.finish());
        bool changed = false;
        ASSERT_TRUE((*program)->apply(document.view(), nullptr, &changed).isOk());
    };
    EXPECT_LT(testing::growthOf(1'000, run), testing::kGrowthMax);
}

}  // namespace
}  // namespace freshet::query
