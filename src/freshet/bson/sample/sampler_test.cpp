// SPDX-License-Identifier: Apache-2.0
/// The sampler, and the check that what it makes is well-formed BSON of every type.
#include "freshet/bson/sample/sampler_for_test.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <set>

namespace freshet::bson {

namespace {

constexpr uint64_t kDecimalSign = uint64_t{1} << 63;

/// coefficient * 10^exponent; REQUIRES: coefficient < 10^34, exponent in range.
Decimal128 makeDecimal(bool negative, unsigned __int128 coefficient, int exponent) {
    auto high = static_cast<uint64_t>(coefficient >> 64) |
                static_cast<uint64_t>(exponent + 6176) << 49 | (negative ? kDecimalSign : 0);
    return {static_cast<uint64_t>(coefficient), high};
}

const double kDoubles[] = {0.0,
                           -0.0,
                           0.1,
                           0.5,
                           1.0,
                           1.5,
                           1e20,
                           1e300,
                           255.0,
                           256.0,
                           0x1p52,
                           0x1p53,
                           0x1p62,
                           0x1p63,
                           0x1p64,
                           std::numeric_limits<double>::denorm_min(),
                           std::numeric_limits<double>::min(),
                           std::numeric_limits<double>::max(),
                           std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()};

const int64_t kIntegers[] = {0,
                             1,
                             127,
                             128,
                             int64_t{1} << 31,
                             int64_t{1} << 52,
                             int64_t{1} << 53,
                             int64_t{1} << 54,
                             int64_t{1} << 62,
                             std::numeric_limits<int64_t>::max(),
                             std::numeric_limits<int64_t>::min()};

constexpr uint64_t kDecimalNan = uint64_t{0x7c} << 56;
constexpr uint64_t kDecimalInfinity = uint64_t{0x78} << 56;
constexpr uint64_t kNotCanonical = uint64_t{0x6c} << 56;  // counts as zero

template <typename T, size_t kCount>
const T& oneOf(Sampler& sampler, const T (&values)[kCount]) {
    return values[sampler.below(kCount)];
}

}  // namespace

double Sampler::someDouble() {
    double value = oneOf(*this, kDoubles);
    switch (below(7)) {
        case 6:  // next to decimals that are not doubles
            value = static_cast<double>(below(60)) / 10;
            break;
        case 0:
            value = std::bit_cast<double>(random_());
            break;
        case 1:
            value = static_cast<double>(static_cast<int64_t>(below(2000)) - 1000) / 8;
            break;
        case 2:
            value = std::nextafter(value, std::numeric_limits<double>::infinity());
            break;
        case 3:
            value = std::nextafter(value, 0);
            break;
        default:
            break;
    }
    return below(2) == 0 ? value : -value;
}

int64_t Sampler::someInteger() {
    uint64_t value = static_cast<uint64_t>(oneOf(*this, kIntegers));
    switch (below(4)) {
        case 0:
            value = random_() >> below(64);
            break;
        case 1:
            value += below(5) - 2;
            break;
        default:
            break;
    }
    return static_cast<int64_t>(below(2) == 0 ? value : 0 - value);
}

Decimal128 Sampler::someDecimal() {
    bool negative = below(2) == 0;
    auto integer = static_cast<uint64_t>(someInteger()) >> 1;
    switch (below(8)) {
        case 0: {  // an integer, perhaps with zeros after the point
            int zeros = static_cast<int>(below(10));
            unsigned __int128 coefficient = integer;
            for (int i = 0; i < zeros; ++i) {
                coefficient *= 10;
            }
            return makeDecimal(negative, coefficient, -zeros);
        }
        case 1: {  // exactly a double: k / 2^n is k * 5^n / 10^n
            int halvings = static_cast<int>(below(20));
            unsigned __int128 coefficient = integer % 100'000;
            for (int i = 0; i < halvings; ++i) {
                coefficient *= 5;
            }
            return makeDecimal(negative, coefficient, -halvings);
        }
        case 2:  // near an integer or double, but a little beyond
            return makeDecimal(
                negative,
                static_cast<unsigned __int128>(integer) * 1'000'000'000'000'000 + below(3),
                -15);
        case 3:  // 0.1 and similar: never a double, but next to one that someDouble gives
            return below(2) == 0 ? makeDecimal(negative, below(60), -1)
                                 : makeDecimal(negative, below(1000), -static_cast<int>(below(25)));
        case 4:
            return makeDecimal(negative, random_(), static_cast<int>(below(12288)) - 6176);
        case 5:  // near the largest doubles
            return makeDecimal(negative, random_(), static_cast<int>(below(8)) + 286);
        case 6:  // near the smallest doubles
            return makeDecimal(negative, random_(), -static_cast<int>(below(20)) - 334);
        default:
            break;
    }
    const uint64_t special[] = {kDecimalNan, kDecimalInfinity, kNotCanonical, 0};
    return {below(3), oneOf(*this, special) | (negative ? kDecimalSign : 0)};
}

std::string Sampler::someText(bool withZeros) {
    std::string text;
    for (uint64_t i = below(5); i != 0; --i) {
        const char letters[] = {'a', 'b', '\x01', '\x02', '\x7f', '\xff', 'c', '\0'};
        text.push_back(letters[below(withZeros ? 8 : 7)]);
    }
    return text;
}

ObjectId Sampler::someObjectId() {
    ObjectId id;
    for (char& c : id.bytes) {
        c = static_cast<char>(below(4) == 0 ? random_() : 0);
    }
    return id;
}

void Sampler::addNumber(Builder& out, std::string_view name) {
    switch (below(4)) {
        case 0:
            out.add(name, someDouble());
            return;
        case 1:
            out.add(name, static_cast<int32_t>(someInteger()));
            return;
        case 2:
            out.add(name, someInteger());
            return;
        default:
            out.add(name, someDecimal());
    }
}

void Sampler::addPointer(Builder& out, std::string_view name) {
    std::string ns = someText(true);
    std::string bytes;
    appendLe(bytes, static_cast<uint32_t>(ns.size() + 1));
    ObjectId id = someObjectId();
    bytes.append(ns).append(1, '\0').append(id.bytes, sizeof id.bytes);
    out.addRaw(name, Type::kDbPointer, bytes);
}

void Sampler::addScopedCode(Builder& out, std::string_view name, int depth) {
    std::string code = someText(true);
    std::string scope = document(2, depth - 1);
    std::string bytes;
    appendLe(bytes, static_cast<uint32_t>(4 + 4 + code.size() + 1 + scope.size()));
    appendLe(bytes, static_cast<uint32_t>(code.size() + 1));
    bytes.append(code).append(1, '\0').append(scope);
    out.addRaw(name, Type::kCodeWithScope, bytes);
}

void Sampler::addContainer(Builder& out, std::string_view name, bool isArray, int depth) {
    Builder sub = isArray ? out.array(name) : out.object(name);
    for (uint64_t i = below(4); i != 0; --i) {
        std::string field = isArray ? std::string(sub.nextIndex()) : someText(false);
        addValue(sub, field, depth - 1);
    }
}

void Sampler::addValue(Builder& out, std::string_view name, int depth) {
    uint64_t kind = below(depth > 0 ? 24 : 20);
    std::string text = someText(true);
    std::string plain = someText(false);
    switch (kind) {
        case 0:
            out.add(name, MinKey{});
            return;
        case 1:
            out.add(name, MaxKey{});
            return;
        case 2:
            out.add(name, Null{});
            return;
        case 3:
            out.add(name, Undefined{});
            return;
        case 4:
            out.add(name, below(2) == 0);
            return;
        case 5:
            out.add(name, someObjectId());
            return;
        case 6:
            out.add(name, Date{someInteger()});
            return;
        case 7:
            out.add(name, Timestamp{random_() >> below(64)});
            return;
        case 8:
            out.add(name, Regex{plain, someText(false)});
            return;
        case 9:
            out.addCode(name, text);
            return;
        case 10:
            text.insert(0, std::string("\0\0\0\0", 4));
            storeLe(text.data(), static_cast<uint32_t>(text.size() + 1 - 4));
            out.addRaw(name, Type::kSymbol, text + '\0');
            return;
        case 11:
            out.add(name, Binary{static_cast<uint8_t>(below(2)), text});
            return;
        case 12:
            return addPointer(out, name);
        case 13:
        case 14:
            out.add(name, text);
            return;
        case 20:
        case 21:
            return addContainer(out, name, false, depth);
        case 22:
            return addContainer(out, name, true, depth);
        case 23:
            return addScopedCode(out, name, depth);
        default:
            return addNumber(out, name);
    }
}

std::string Sampler::document(int fieldsMax, int depth) {
    Builder builder;
    for (uint64_t i = below(static_cast<uint64_t>(fieldsMax) + 1); i != 0; --i) {
        addValue(builder, someText(false), depth);
    }
    return builder.finish();
}

TEST(Sampler, MakesWellFormedDocumentsOfEveryType) {
    Sampler sampler(testSeed());
    std::set<Type> seen;
    for (int i = 0; i < 2000; ++i) {
        std::string bytes = sampler.document(5, 3);
        StatusOr<Document> parsed = Document::parse(bytes);
        ASSERT_TRUE(parsed.isOk()) << parsed.status().toString();
        for (const Element& element : *parsed) {
            seen.insert(element.type());
        }
    }
    EXPECT_EQ(seen.size(), 21u);
}

}  // namespace freshet::bson
