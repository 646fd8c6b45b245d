// SPDX-License-Identifier: Apache-2.0
/// The order of values. Numbers are checked against an oracle that shares no code: it writes both
/// numbers as exact decimal digits and compares those.
#include "freshet/bson/compare.h"

#include "freshet/bson/json.h"
#include "freshet/bson/sample/order_for_test.h"
#include "freshet/bson/sample/sampler_for_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace freshet::bson {

namespace {

/// 0.digits * 10^exponent, exactly. Zero has sign 0; infinity a huge exponent; NaN a sign of -2.
struct ExactNumber {
    int sign = 0;
    int exponent = 0;
    std::string digits;
};

ExactNumber exactDigits(bool negative, std::string digits, int exponent) {
    size_t first = digits.find_first_not_of('0');
    if (first == std::string::npos) {
        return {};
    }
    digits.erase(digits.find_last_not_of('0') + 1);
    exponent -= static_cast<int>(first);
    return {negative ? -1 : 1, exponent, digits.substr(first)};
}

ExactNumber exactDouble(double value) {
    if (std::isnan(value)) {
        return {-2, 0, ""};
    }
    if (std::isinf(value)) {
        return {value < 0 ? -1 : 1, 1'000'000, "1"};
    }
    constexpr int kAllDigits = 1100;
    char text[kAllDigits + 16];
    std::snprintf(text, sizeof text, "%.*e", kAllDigits, std::fabs(value));
    std::string all(text);
    size_t e = all.find('e');
    return exactDigits(std::signbit(value),
                       all.substr(0, 1) + all.substr(2, e - 2),
                       std::atoi(all.c_str() + e + 1) + 1);
}

ExactNumber exactDecimal(Decimal128 value) {
    bool negative = value.high >> 63 != 0;
    uint64_t top = value.high >> 58 & 0x1f;
    if (top == 0x1f) {
        return {-2, 0, ""};
    }
    if (top == 0x1e) {
        return {negative ? -1 : 1, 1'000'000, "1"};
    }
    if (top >= 0x18) {
        return {};  // not canonical: zero
    }
    auto coefficient =
        static_cast<unsigned __int128>(value.high & 0x1ffffffffffff) << 64 | value.low;
    std::string digits;
    for (; coefficient != 0; coefficient /= 10) {
        digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(coefficient % 10)));
    }
    int exponent = static_cast<int>(value.high >> 49 & 0x3fff) - 6176;
    return exactDigits(negative, digits, exponent + static_cast<int>(digits.size()));
}

ExactNumber exact(const Element& number) {
    switch (number.type()) {
        case Type::kDouble:
            return exactDouble(number.doubleValue());
        case Type::kDecimal:
            return exactDecimal(number.decimalValue());
        default: {
            std::string digits = std::to_string(number.toInt64());
            bool negative = digits[0] == '-';
            digits.erase(0, negative ? 1 : 0);
            return exactDigits(negative, digits, static_cast<int>(digits.size()));
        }
    }
}

int compareExact(const ExactNumber& a, const ExactNumber& b) {
    if (a.sign != b.sign) {
        return a.sign < b.sign ? -1 : 1;
    }
    int order = a.exponent != b.exponent ? (a.exponent < b.exponent ? -1 : 1)
                                         : sign(a.digits.compare(b.digits));
    return a.sign < 0 ? -order : order;
}

/// One document with many values, and views of them.
struct Pool {
    std::string bytes;
    std::vector<Element> values;

    explicit Pool(std::string document) : bytes(std::move(document)) {
        for (const Element& element : Document(bytes)) {
            values.push_back(element);
        }
    }
};

}  // namespace

TEST(CompareValues, OrdersClassesAsMongod) {
    Builder builder;
    builder.push(MinKey{}).push(Undefined{}).push(Null{}).push(std::nan("")).push(-1.0);
    builder.push(int32_t{0}).push(int64_t{5}).push("").push("a");
    builder.add("object", OwnedDocument().view()).addArray("array", OwnedDocument().view());
    builder.push(Binary{0, "x"}).push(ObjectId{}).push(false).push(true).push(Date{-5});
    builder.push(Timestamp{1}).push(Regex{"a", ""}).addCode("code", "x").push(MaxKey{});
    Pool pool(builder.finish());
    for (size_t i = 0; i < pool.values.size(); ++i) {
        for (size_t j = 0; j < pool.values.size(); ++j) {
            int expected = i < j ? -1 : static_cast<int>(i > j);
            EXPECT_EQ(sign(compareValues(pool.values[i], pool.values[j])), expected)
                << show(pool.values[i]) << " against " << show(pool.values[j]);
        }
    }
}

TEST(CompareValues, MissingIsBelowNullAndEqualToUndefined) {
    std::string bytes = Builder().add("u", Undefined{}).add("n", Null{}).finish();
    Document document(bytes);
    EXPECT_EQ(compareValues(Element(), document.find("u")), 0);
    EXPECT_LT(compareValues(Element(), document.find("n")), 0);
    EXPECT_EQ(hashValue(Element()), hashValue(document.find("u")));
}

TEST(CompareValues, ObjectsByClassThenNameThenValue) {
    auto compare = [](const char* a, const char* b) {
        return sign(compareDocuments(fromJson(a)->view(), fromJson(b)->view()));
    };
    EXPECT_EQ(compare(R"({"z": 1})", R"({"a": "x"})"), -1);  // a number is below a string
    EXPECT_EQ(compare(R"({"a": 2})", R"({"b": 1})"), -1);    // names compare before values
    EXPECT_EQ(compare(R"({"a": 2})", R"({"a": 1})"), 1);
    EXPECT_EQ(compare(R"({"a": 1})", R"({"a": 1, "b": null})"), -1);
    EXPECT_EQ(compare(R"({"a": 1})", R"({"a": {"$numberDecimal": "1.00"}})"), 0);
}

TEST(CompareValues, NumbersExactlyAsTheirDigitsSay) {
    Sampler sampler(testSeed());
    Builder builder;
    constexpr int kNumbers = 1100;
    for (int i = 0; i < kNumbers; ++i) {
        sampler.addNumber(builder, "n");
    }
    Pool pool(builder.finish());
    std::vector<ExactNumber> oracle;
    for (const Element& element : pool.values) {
        oracle.push_back(exact(element));
    }
    int equalPairs = 0;
    for (size_t i = 0; i < pool.values.size(); ++i) {
        for (size_t j = 0; j < pool.values.size(); ++j) {
            const Element& a = pool.values[i];
            const Element& b = pool.values[j];
            int expected = compareExact(oracle[i], oracle[j]);
            ASSERT_EQ(sign(compareValues(a, b)), expected) << show(a) << " against " << show(b);
            if (expected == 0) {
                ASSERT_EQ(hashValue(a), hashValue(b)) << show(a) << " and " << show(b);
                equalPairs += static_cast<int>(a.type() != b.type());
            }
        }
    }
    EXPECT_GT(equalPairs, 100) << "the pool tests equality across types";
}

TEST(CompareValues, IsATotalOrderAndHashesAgree) {
    Sampler sampler(testSeed());
    Builder builder;
    for (int i = 0; i < 700; ++i) {
        sampler.addValue(builder, "v", 2);
    }
    Pool pool(builder.finish());
    std::stable_sort(pool.values.begin(),
                     pool.values.end(),
                     [](const Element& a, const Element& b) { return compareValues(a, b) < 0; });
    for (size_t i = 0; i < pool.values.size(); ++i) {
        for (size_t j = i; j < pool.values.size(); ++j) {
            int order = compareValues(pool.values[i], pool.values[j]);
            ASSERT_LE(order, 0) << show(pool.values[i]) << " and " << show(pool.values[j]);
            ASSERT_EQ(sign(compareValues(pool.values[j], pool.values[i])), -sign(order));
            if (order == 0) {
                ASSERT_EQ(hashValue(pool.values[i]), hashValue(pool.values[j]));
            }
        }
    }
}

}  // namespace freshet::bson
