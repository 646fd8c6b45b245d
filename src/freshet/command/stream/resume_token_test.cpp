// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/stream/resume_token.h"

#include "freshet/bson/json.h"
#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

namespace freshet::command {
namespace {

std::string digitsOf(const ResumeToken& token) {
    return std::string(toDocument(token).view().find("_data").stringValue());
}

/// In the order of places. An event is seen behind its high-water mark, and its invalidation
/// behind itself.
auto placeOf(const ResumeToken& token) {
    const int kind = token.isHighWaterMark ? 0 : token.isInvalidate ? 2 : 1;
    return std::tuple(token.timestamp, token.lsn, token.number, kind, token.part);
}

Status parsed(std::string_view json) {
    auto document = bson::fromJson(json);
    EXPECT_TRUE(document.isOk()) << json;
    return parseResumeToken(document->view()).status();
}

ResumeToken randomToken(std::mt19937_64* random) {
    const auto small = [&](uint64_t below) { return (*random)() % below; };
    const auto someOf = [&](uint64_t largest) { return small(2) == 0 ? small(3) : largest; };
    ResumeToken token;
    token.timestamp = someOf(UINT64_MAX);
    token.lsn = someOf(uint64_t{1} << 40);
    token.number = static_cast<uint32_t>(someOf(UINT32_MAX));
    token.isHighWaterMark = small(3) == 0;
    if (!token.isHighWaterMark) {
        token.part = static_cast<int32_t>(small(4)) - 1;
        token.isInvalidate = small(4) == 0;
    }
    return token;
}

TEST(ResumeToken, DigitsSayThePlaceAndAreInItsOrder) {
    const uint64_t seed = testing::testSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::vector<ResumeToken> tokens;
    for (int i = 0; i < 2000; ++i) {
        tokens.push_back(randomToken(&random));
        const auto again = parseResumeToken(toDocument(tokens.back()).view());
        ASSERT_TRUE(again.isOk()) << again.status().toString();
        ASSERT_EQ(placeOf(*again), placeOf(tokens.back()));
    }
    for (size_t i = 1; i < tokens.size(); ++i) {
        const ResumeToken& a = tokens[i - 1];
        const ResumeToken& b = tokens[i];
        ASSERT_EQ(placeOf(a) < placeOf(b), digitsOf(a) < digitsOf(b))
            << digitsOf(a) << " " << digitsOf(b);
    }
}

TEST(ResumeToken, IsUpperCaseAndReadInEitherCase) {
    const ResumeToken token{.timestamp = 0xABCDEFu, .lsn = 7};
    std::string digits = digitsOf(token);
    EXPECT_EQ(digits.substr(0, 34), "010000000000ABCDEF0000000000000007");
    std::transform(digits.begin(), digits.end(), digits.begin(), [](char c) {
        return static_cast<char>(std::tolower(c));
    });
    bson::Builder lower;
    lower.add("_data", digits);
    EXPECT_TRUE(parseResumeToken(bson::OwnedDocument(lower.finish()).view()).isOk());
}

TEST(ResumeToken, WhatIsNoTokenIsRefused) {
    const struct {
        std::string_view json;
        Reason reason;
        std::string_view text;
    } kCases[] = {
        {R"({})",
         location(40647),
         "Bad resume token: _data of missing or of wrong type. Expected string, got {}"},
        {R"({"_data": 5})",
         location(40647),
         "Bad resume token: _data of missing or of wrong type. Expected string, got { _data: 5 }"},
        {R"({"_data": "82", "_typeBits": 1})",
         location(40648),
         "Bad resume token: _typeBits of wrong type { _data: \"82\", _typeBits: 1 }"},
        {R"({"_data": "82X0"})",
         Reason::kFailedToParse,
         "resume token string was not a valid hex string"},
        {R"({"_data": "820"})",
         Reason::kFailedToParse,
         "resume token string was not a valid hex string"},
        {R"({"_data": ""})", location(40649), "invalid empty resume token"},
        {R"({"_data": "8263B8D2F3000000012B0229296E04"})",
         Reason::kChangeStreamFatalError,
         "cannot resume stream; the resume token was not found. "
         "{ _data: \"8263B8D2F3000000012B0229296E04\" }"},
    };
    for (const auto& test : kCases) {
        const Status status = parsed(test.json);
        EXPECT_EQ(status.reason(), test.reason) << test.json;
        EXPECT_EQ(status.text(), test.text);
    }
}

TEST(ResumeToken, ADamagedOneIsAnothersOrNone) {
    const uint64_t seed = testing::testSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int i = 0; i < 20'000; ++i) {
        std::string digits = digitsOf(randomToken(&random));
        const std::string whole = digits;
        for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
            const size_t at = random() % digits.size();
            switch (random() % 3) {
                case 0:
                    digits[at] = static_cast<char>(random());
                    break;
                case 1:
                    digits.erase(at, 1 + random() % 4);
                    break;
                default:
                    digits.insert(at, 1 + random() % 4, "0123456789ABCDEF"[random() % 16]);
            }
            if (digits.empty()) {
                break;
            }
        }
        bson::Builder document;
        document.add("_data", digits);
        // Whatever is accepted says one place only.
        const auto token = parseResumeToken(bson::OwnedDocument(document.finish()).view());
        if (token.isOk()) {
            std::transform(digits.begin(), digits.end(), digits.begin(), [](char c) {
                return static_cast<char>(std::toupper(c));
            });
            ASSERT_EQ(digitsOf(*token), digits);
        }
    }
}

}  // namespace
}  // namespace freshet::command
