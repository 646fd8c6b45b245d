// SPDX-License-Identifier: Apache-2.0
/// The law of key forms: bytes order as values do, alone and in compounds, in both directions; and
/// a form with its type bits gives the value back, byte for byte.
#include "freshet/bson/keyform.h"

#include "freshet/bson/compare.h"
#include "freshet/bson/json.h"
#include "freshet/bson/sample/order_for_test.h"
#include "freshet/bson/sample/sampler_for_test.h"

#include <gtest/gtest.h>

#include <vector>

namespace freshet::bson {

namespace {

std::string form(const Element& element, bool descending) {
    std::string key;
    appendKeyForm(element, descending, &key, nullptr);
    return key;
}

bool isPrefix(const std::string& prefix, const std::string& of) {
    return of.compare(0, prefix.size(), prefix) == 0;
}

std::string manyValues(Sampler& sampler, int count, bool onlyNumbers) {
    Builder builder;
    for (int i = 0; i < count; ++i) {
        onlyNumbers ? sampler.addNumber(builder, "n") : sampler.addValue(builder, "v", 2);
    }
    return builder.finish();
}

struct Keyed {
    Element value;
    std::string ascending;
    std::string descending;
};

/// Every pair of the document's values, both directions.
void expectLaw(Document values) {
    std::vector<Keyed> pool;
    for (const Element& element : values) {
        pool.push_back({element, form(element, false), form(element, true)});
    }
    for (const Keyed& a : pool) {
        for (const Keyed& b : pool) {
            int expected = sign(compareValues(a.value, b.value));
            ASSERT_EQ(sign(a.ascending.compare(b.ascending)), expected)
                << show(a.value) << " against " << show(b.value);
            ASSERT_EQ(sign(b.descending.compare(a.descending)), expected)
                << show(a.value) << " against " << show(b.value);
            if (expected != 0) {
                ASSERT_FALSE(isPrefix(a.ascending, b.ascending))
                    << show(a.value) << " starts " << show(b.value);
            }
        }
    }
}

}  // namespace

TEST(KeyForm, OrdersNumbersAsCompareDoes) {
    Sampler sampler(testSeed());
    std::string values = manyValues(sampler, 1000, true);
    expectLaw(Document(values));
}

TEST(KeyForm, OrdersAllValuesAsCompareDoes) {
    Sampler sampler(testSeed());
    std::string values = manyValues(sampler, 1000, false);
    expectLaw(Document(values));
}

TEST(KeyForm, OrdersCompoundsFieldByField) {
    Sampler sampler(testSeed());
    const std::vector<bool> descending{false, true, false};
    std::vector<std::string> documents;
    std::vector<std::string> keys;
    for (int i = 0; i < 600; ++i) {
        // Few distinct values at the start, so that later fields decide.
        Builder builder;
        builder.add("a", static_cast<int32_t>(sampler.below(2)));
        for (size_t field = 1; field < descending.size(); ++field) {
            sampler.addValue(builder, "v", 1);
        }
        documents.push_back(builder.finish());
        size_t field = 0;
        keys.emplace_back();
        for (const Element& element : Document(documents.back())) {
            appendKeyForm(element, descending[field++], &keys.back(), nullptr);
        }
        keys.back().append(sampler.below(2) == 0 ? "" : "\xff record id");
    }
    for (size_t i = 0; i < keys.size(); ++i) {
        for (size_t j = 0; j < keys.size(); ++j) {
            int expected = 0;
            auto left = Document(documents[i]).begin();
            auto right = Document(documents[j]).begin();
            for (size_t field = 0; field < descending.size() && expected == 0; ++field) {
                expected = sign(compareValues(*left, *right)) * (descending[field] ? -1 : 1);
                ++left;
                ++right;
            }
            if (expected != 0) {
                ASSERT_EQ(sign(keys[i].compare(keys[j])), expected)
                    << toShellText(Document(documents[i])) << " against "
                    << toShellText(Document(documents[j]));
            }
        }
    }
}

TEST(KeyForm, RestoresEveryValueExactly) {
    Sampler sampler(testSeed());
    for (int i = 0; i < 20'000; ++i) {
        Builder builder;
        std::vector<bool> descending;
        std::string key;
        std::string typeBits;
        for (uint64_t left = sampler.below(4); left != 0; --left) {
            descending.push_back(sampler.below(2) == 0);
            sampler.addValue(builder, builder.nextIndex(), 2);
        }
        std::string values = builder.finish();
        size_t field = 0;
        for (const Element& element : Document(values)) {
            appendKeyForm(element, descending[field++], &key, &typeBits);
        }
        size_t formBytes = key.size();
        key.append("record id");
        while (!typeBits.empty() && typeBits.back() == 0) {
            typeBits.pop_back();
        }
        StatusOr<OwnedDocument> restored = restoreKeyForm(key, typeBits, descending);
        ASSERT_TRUE(restored.isOk()) << toShellText(Document(values));
        ASSERT_EQ(restored->bytes(), values) << toShellText(Document(values));
        ASSERT_EQ(keyFormPrefixBytes(key, descending.size(), descending).value(), formBytes);
    }
}

TEST(KeyForm, MissingIsKeyedAsNull) {
    std::string null = Builder().add("", Null{}).finish();
    EXPECT_EQ(form(Element(), false), form(*Document(null).begin(), false));
}

TEST(KeyForm, BoundsEncloseTheirClassAndNothingElse) {
    Sampler sampler(testSeed());
    std::string values = manyValues(sampler, 400, false);
    for (bool descending : {false, true}) {
        for (const Element& a : Document(values)) {
            std::string low;
            std::string high;
            appendClassLow(a.type(), descending, &low);
            appendClassHigh(a.type(), descending, &high);
            if (descending) {
                low.swap(high);
            }
            for (const Element& b : Document(values)) {
                bool within = canonicalClass(a.type()) == canonicalClass(b.type());
                std::string key = form(b, descending);
                ASSERT_EQ(low < key && key < high, within) << show(a) << " and " << show(b);
            }
        }
    }
}

TEST(KeyForm, MinAndMaxEncloseEveryValue) {
    std::string values = Builder().add("", MinKey{}).add("", MaxKey{}).finish();
    std::string min;
    std::string max;
    appendKeyFormMin(&min);
    appendKeyFormMax(&max);
    for (const Element& element : Document(values)) {
        for (bool descending : {false, true}) {
            EXPECT_LT(min, form(element, descending));
            EXPECT_GT(max, form(element, descending));
        }
    }
}

TEST(KeyForm, CommonNumbersAreShort) {
    std::string values =
        Builder().push(int32_t{0}).push(int32_t{7}).push(int32_t{1'000'000}).push(3.25).finish();
    std::vector<size_t> sizes;
    for (const Element& element : Document(values)) {
        sizes.push_back(form(element, false).size());
    }
    EXPECT_EQ(sizes, (std::vector<size_t>{1, 2, 4, 9}));
}

TEST(KeyForm, WrongTypeBitsAreCorruption) {
    std::string half = Builder().add("", 0.5).finish();
    std::string key;
    appendKeyForm(*Document(half).begin(), false, &key, nullptr);
    const char kSaysInt32[] = {0};
    EXPECT_EQ(restoreKeyForm(key, {kSaysInt32, 1}, {false}).status().code(), Code::kCorruption);
    EXPECT_EQ(keyFormPrefixBytes(key, 2, {false, false}).status().code(), Code::kCorruption);
}

TEST(KeyForm, DamagedBytesNeverCrash) {
    Sampler sampler(testSeed());
    int refused = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string values = sampler.document(2, 2);
        std::string key;
        std::string typeBits;
        for (const Element& element : Document(values)) {
            appendKeyForm(element, false, &key, &typeBits);
        }
        for (uint64_t left = 1 + sampler.below(3); left != 0 && !key.empty(); --left) {
            key[sampler.below(key.size())] = static_cast<char>(sampler.below(256));
        }
        key.resize(key.size() - std::min<size_t>(key.size(), sampler.below(3)));
        std::vector<bool> ascending(static_cast<size_t>(Document(values).fieldCount()));
        StatusOr<OwnedDocument> restored = restoreKeyForm(key, typeBits, ascending);
        refused += static_cast<int>(!restored.isOk());
        if (restored.isOk()) {
            std::ignore = toShellText(restored->view());
        }
        std::ignore = keyFormPrefixBytes(key, ascending.size(), ascending);
    }
    EXPECT_GT(refused, 1000);
}

}  // namespace freshet::bson
