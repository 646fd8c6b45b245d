// SPDX-License-Identifier: Apache-2.0
/// The validator, which must refuse whatever is not BSON, and the accessors, which rely on it.
#include "freshet/bson/view.h"

#include "freshet/bson/builder.h"
#include "freshet/bson/json.h"
#include "freshet/bson/sample/sampler_for_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

namespace freshet::bson {

namespace {

/// A document with one field "a" with this type and these value bytes.
std::string with(Type type, std::string_view value) {
    return Builder().addRaw("a", type, value).finish();
}

std::string bytes(std::string_view text) {
    return std::string(text);
}

std::string nested(int levels) {
    std::string document = Builder().finish();
    for (int i = 1; i < levels; ++i) {
        document = Builder().add("", Document(document)).finish();
    }
    return document;
}

/// Bytes with nothing after them (a string has its zero), so that asan sees any read past the end.
class Exact {
public:
    explicit Exact(ByteView bytes) : data_(new char[bytes.size()]), size_(bytes.size()) {
        std::copy(bytes.begin(), bytes.end(), data_.get());
    }
    ByteView view() const { return {data_.get(), size_}; }

private:
    std::unique_ptr<char[]> data_;
    size_t size_;
};

bool parses(ByteView document) {
    Exact exact(document);
    StatusOr<Document> parsed = Document::parse(exact.view());
    EXPECT_TRUE(parsed.isOk() || parsed.status().reason() == Reason::kInvalidBson ||
                parsed.status().reason() == Reason::kOverflow);
    return parsed.isOk();
}

using namespace std::string_view_literals;

}  // namespace

TEST(Parse, AcceptsTheEmptyDocument) {
    EXPECT_TRUE(parses("\x05\0\0\0\0"sv));
    EXPECT_TRUE(Document().isEmpty());
    EXPECT_TRUE(parses(Document().bytes()));
}

TEST(Parse, RefusesBadFrames) {
    EXPECT_FALSE(parses(""));
    EXPECT_FALSE(parses("\x05\0\0\0"sv));
    EXPECT_FALSE(parses("\x04\0\0\0\0"sv)) << "length below the smallest";
    EXPECT_FALSE(parses("\x06\0\0\0\0"sv)) << "length beyond the bytes";
    EXPECT_FALSE(parses("\x05\0\0\0\x01"sv)) << "no terminator";
    EXPECT_FALSE(parses("\x05\0\0\0\0x"sv)) << "bytes behind";
    EXPECT_FALSE(parses("\xff\xff\xff\xff\0"sv)) << "negative length";
    EXPECT_TRUE(Document::parsePrefix("\x05\0\0\0\0x"sv).isOk());
}

TEST(Parse, RefusesEveryTruncation) {
    Sampler sampler(testSeed());
    for (int i = 0; i < 50; ++i) {
        std::string whole = sampler.document(4, 2);
        for (size_t length = 0; length < whole.size(); ++length) {
            std::string cut = whole.substr(0, length);
            ASSERT_FALSE(parses(cut));
            if (length >= 5) {
                // Even if the length at the front fits.
                storeLe(cut.data(), static_cast<uint32_t>(length));
                cut.back() = 1;
                ASSERT_FALSE(parses(cut));
            }
        }
    }
}

TEST(Parse, RefusesBadValues) {
    const std::pair<Type, std::string> bad[] = {
        {Type::kBool, "\x02"},
        {Type::kInt32, "abc"},
        {Type::kDecimal, "123456789012345"},
        {Type::kObjectId, "12345678901"},
        {Type::kString, bytes("\0\0\0\0"sv)},
        {Type::kString, bytes("\x01\0\0\0x"sv)},
        {Type::kString, bytes("\x09\0\0\0x\0"sv)},
        {Type::kSymbol, bytes("\xff\xff\xff\xffx\0"sv)},
        {Type::kBinary, bytes("\xff\xff\xff\xff\0x"sv)},
        {Type::kBinary, bytes("\x05\0\0\0\x02\x02\0\0\0x"sv)},
        {Type::kBinary, bytes("\x02\0\0\0\x02xx"sv)},
        {Type::kObject, bytes("\x04\0\0\0"sv)},
        {Type::kObject, bytes("\x05\0\0\0x"sv)},
        {Type::kDbPointer, bytes("\x01\0\0\0\0short"sv)},
        {Type::kCodeWithScope, bytes("\x0e\0\0\0\x01\0\0\0\0\x05\0\0\0x"sv)},
        {Type::kCodeWithScope, bytes("\x0f\0\0\0\x01\0\0\0\0\x05\0\0\0\0\0"sv)},
        // The length is one too large, so that the document's own terminator would be used.
        {Type::kString, bytes("\x03\0\0\0x\0"sv)},
        {Type::kBinary, bytes("\x02\0\0\0\0x"sv)},
        {Type::kObject, bytes("\x06\0\0\0\0"sv)},
        {Type::kCodeWithScope, bytes("\x0f\0\0\0\x01\0\0\0\0\x05\0\0\0\0"sv)},
        {Type::kRegex, bytes("a\0"sv)},
        {static_cast<Type>(0x14), ""},
        {static_cast<Type>(0x80), ""},
    };
    for (const auto& [type, value] : bad) {
        EXPECT_FALSE(parses(with(type, value)))
            << typeName(type) << " of " << value.size() << " bytes";
    }
    EXPECT_TRUE(parses(with(Type::kBinary, "\x05\0\0\0\x02\x01\0\0\0x"sv)));
    EXPECT_TRUE(parses(with(Type::kCodeWithScope, "\x0e\0\0\0\x01\0\0\0\0\x05\0\0\0\0"sv)));
}

TEST(Parse, BoundsNesting) {
    EXPECT_TRUE(parses(nested(kNestingMax)));
    EXPECT_FALSE(parses(nested(kNestingMax + 1)));
    EXPECT_FALSE(parses(nested(20'000)));
}

TEST(Parse, DamagedDocumentsAreRefusedOrSafeToRead) {
    Sampler sampler(testSeed());
    int refused = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string document = sampler.document(4, 3);
        for (uint64_t left = 1 + sampler.below(3); left != 0; --left) {
            size_t at = sampler.below(document.size());
            // Small values make lengths that are nearly right.
            document[at] =
                static_cast<char>(sampler.below(2) == 0 ? sampler.below(32) : sampler.below(256));
        }
        Exact exact(document);
        StatusOr<Document> parsed = Document::parse(exact.view());
        refused += static_cast<int>(!parsed.isOk());
        if (parsed.isOk()) {
            std::ignore = toJson(*parsed);
            std::ignore = toShellText(*parsed);
            for (const Element& element : *parsed) {
                std::ignore = element.toInt64();
                std::ignore = element.isTruthy();
            }
        }
    }
    EXPECT_GT(refused, 1000);
}

TEST(Element, ConvertsNumbers) {
    OwnedDocument numbers = *fromJson(R"({
        "int": 7, "long": {"$numberLong": "9223372036854775807"}, "half": 2.5, "whole": -3.0,
        "huge": 1e300, "nan": {"$numberDouble": "NaN"}, "dec": {"$numberDecimal": "12.75"},
        "decWhole": {"$numberDecimal": "4.00"}, "decHuge": {"$numberDecimal": "-1E6000"},
        "decNan": {"$numberDecimal": "NaN"}, "text": "7"})");
    auto field = [&](const char* name) { return numbers.view().find(name); };
    EXPECT_EQ(field("half").toInt64(), 2);
    EXPECT_EQ(field("huge").toInt64(), std::numeric_limits<int64_t>::max());
    EXPECT_EQ(field("nan").toInt64(), 0);
    EXPECT_EQ(field("dec").toInt64(), 12);
    EXPECT_EQ(field("dec").toDouble(), 12.75);
    EXPECT_EQ(field("decHuge").toInt64(), std::numeric_limits<int64_t>::min());
    EXPECT_EQ(field("decNan").toInt64(), 0);
    EXPECT_EQ(field("text").toInt64(), 0);
    int64_t exact = 0;
    for (const auto& [name, value] : {std::pair{"int", int64_t{7}},
                                      {"long", std::numeric_limits<int64_t>::max()},
                                      {"whole", -3},
                                      {"decWhole", 4}}) {
        EXPECT_TRUE(field(name).toExactInt64(&exact)) << name;
        EXPECT_EQ(exact, value);
    }
    for (const char* name : {"half", "huge", "nan", "dec", "decHuge", "decNan", "text", "none"}) {
        EXPECT_FALSE(field(name).toExactInt64(&exact)) << name;
    }
}

TEST(Element, TruthIsMongods) {
    OwnedDocument values = *fromJson(R"({"no": [0, 0.0, -0.0, false, null, {"$undefined": true},
        {"$numberLong": "0"}, {"$numberDecimal": "0.00"}],
        "yes": [1, -1, 0.1, true, "", [], {}, {"$numberDouble": "NaN"}, {"$numberDecimal": "1E-9"}]})");
    for (const Element& element : values.view().find("no").document()) {
        EXPECT_FALSE(element.isTruthy()) << toShellText(element);
    }
    for (const Element& element : values.view().find("yes").document()) {
        EXPECT_TRUE(element.isTruthy()) << toShellText(element);
    }
    EXPECT_FALSE(Element().isTruthy());
}

TEST(Document, FindsFieldsAndPaths) {
    OwnedDocument owned = *fromJson(R"({"a": {"b": [10, {"c": 20}]}, "a.b": 30, "x": 1, "x": 2})");
    Document document = owned.view();
    EXPECT_EQ(document.find("a.b").toInt64(), 30);
    EXPECT_EQ(document.find("x").toInt64(), 1) << "the first of two";
    EXPECT_EQ(document.findPath("a.b.0").toInt64(), 10);
    EXPECT_EQ(document.findPath("a.b.1.c").toInt64(), 20);
    for (const char* path : {"a.b.c", "a.b.2", "a.b.0.c", "a..b", "", ".", "y", "a.b."}) {
        EXPECT_TRUE(document.findPath(path).isMissing()) << path;
    }
    EXPECT_EQ(document.fieldCount(), 4);
}

TEST(TypeName, GoesBothWays) {
    for (int number = -1; number < 128; ++number) {
        Type type = typeFromNumber(number);
        if (type != Type::kEnd) {
            EXPECT_EQ(typeFromName(typeName(type)), type) << number;
        }
    }
    EXPECT_EQ(typeFromNumber(-1), Type::kMinKey);
    EXPECT_EQ(typeFromNumber(255), Type::kEnd);
    EXPECT_EQ(typeFromName("long"), Type::kInt64);
    EXPECT_EQ(typeFromName("missing"), Type::kEnd);
    EXPECT_EQ(typeName(Type::kEnd), "missing");
}

}  // namespace freshet::bson
