// SPDX-License-Identifier: Apache-2.0
/// Codecs alone: what is packed comes back, and arbitrary bytes cause a refusal at most.
#include "freshet/block/codec/codec.h"

#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <random>

namespace freshet::block {
namespace {

class CodecTest : public ::testing::TestWithParam<Codec> {
protected:
    std::string packed(ByteView plain, size_t room = 1u << 21) {
        std::string out;
        EXPECT_TRUE(packBody(GetParam(), plain, room, &out));
        return out;
    }
    bool unpacks(ByteView bytes, ByteView plain) {
        std::string out(plain.size(), '?');
        return unpackBody(GetParam(), bytes, out.data(), out.size()) && out == plain;
    }
};

std::string textOf(size_t bytes) {
    std::string text;
    for (int i = 0; text.size() < bytes; ++i) {
        text += "{name: \"package " + std::to_string(i * 7919) + "\", section: \"libs\"}";
    }
    return text.substr(0, bytes);
}

TEST_P(CodecTest, WhatIsPackedComesBack) {
    for (const size_t bytes : {0, 1, 100, 4096, 32'768, 1'000'000}) {
        const std::string plain = textOf(bytes);
        const std::string small = packed(plain);
        EXPECT_TRUE(unpacks(small, plain)) << bytes;
        EXPECT_TRUE(bytes < 1000 || small.size() < bytes / 2) << small.size();
    }
}

TEST_P(CodecTest, WhatDoesNotFitLeavesNoTrace) {
    const std::string plain = textOf(20'000);
    const size_t needed = packed(plain).size();
    std::string out = "before";
    EXPECT_FALSE(packBody(GetParam(), plain, needed / 2, &out));
    EXPECT_EQ(out, "before");
    EXPECT_TRUE(packBody(GetParam(), plain, plain.size(), &out));
    EXPECT_EQ(out.substr(0, 6), "before");
    EXPECT_TRUE(unpacks(ByteView(out).substr(6), plain));
}

TEST_P(CodecTest, AnotherLengthThanTheTrueOneIsRefused) {
    const std::string plain = textOf(10'000);
    const std::string small = packed(plain);
    for (const size_t claim : {size_t{0}, size_t{1}, plain.size() - 1, plain.size() + 1}) {
        std::string out(claim, '?');
        EXPECT_FALSE(unpackBody(GetParam(), small, out.data(), claim)) << claim;
    }
    for (size_t cut = 0; cut < small.size(); cut += 7) {
        EXPECT_FALSE(unpacks(ByteView(small).substr(0, cut), plain)) << cut;
    }
}

TEST_P(CodecTest, ChangedBytesNeverReachBeyondTheRoom) {
    std::mt19937_64 random(testing::testSeed());
    const std::string plain = textOf(9'000);
    const std::string small = packed(plain);
    for (int round = 0; round < 3'000; ++round) {
        std::string bytes = small;
        for (int change = 0; change < 1 + round % 5; ++change) {
            bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
        }
        // Its own allocation, so that the sanitizer sees every access beyond it.
        std::string out(1 + random() % 20'000, '?');
        (void)unpackBody(GetParam(), bytes, out.data(), out.size());
    }
}

TEST(Codec, NumbersBeyondTheKnownAreNot) {
    EXPECT_TRUE(isKnownCodec(0));
    EXPECT_TRUE(isKnownCodec(2));
    EXPECT_FALSE(isKnownCodec(3));
    EXPECT_FALSE(isKnownCodec(255));
}

INSTANTIATE_TEST_SUITE_P(Codecs, CodecTest, ::testing::Values(Codec::kZstd, Codec::kSnappy));

}  // namespace
}  // namespace freshet::block
