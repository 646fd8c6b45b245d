// SPDX-License-Identifier: Apache-2.0
/// Packing and unpacking, and what senders of false claims get.
#include "freshet/wire/compress.h"

#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <random>

namespace freshet::wire {
namespace {

constexpr size_t kClaimAt = kHeaderBytes + 4;
constexpr size_t kCompressorAt = kHeaderBytes + 8;

std::string messageOf(std::string_view payload) {
    std::string out(kHeaderBytes, '\0');
    out += payload;
    storeHeader(out.data(), {static_cast<int32_t>(out.size()), 7, 9, 2013});
    return out;
}

std::string packed(std::string_view payload, Compressor compressor) {
    StatusOr<std::string> out = packMessage(messageOf(payload), compressor);
    EXPECT_TRUE(out.isOk());
    return *out;
}

/// With the outer length corrected.
std::string resized(std::string message, size_t bytes) {
    message.resize(bytes, 'x');
    storeLe(message.data(), static_cast<int32_t>(bytes));
    return message;
}

void expectRefused(const std::string& message) {
    StatusOr<Unpacked> out = unpackMessage(message);
    ASSERT_FALSE(out.isOk());
    EXPECT_EQ(out.status().reason(), Reason::kProtocolError);
}

class Compress : public ::testing::TestWithParam<Compressor> {};

TEST_P(Compress, RoundTrip) {
    std::mt19937_64 random(1);
    for (size_t size : {0u, 1u, 5u, 100u, 4096u, 1'000'000u}) {
        std::string text(size, 'r'), noise(size, '\0');
        for (char& c : noise) {
            c = static_cast<char>(random());
        }
        for (const std::string& payload : {text, noise}) {
            const std::string message = packed(payload, GetParam());
            EXPECT_TRUE(isCompressed(message));
            EXPECT_EQ(parseHeader(message)->messageBytes, static_cast<int32_t>(message.size()));
            StatusOr<Unpacked> out = unpackMessage(message);
            ASSERT_TRUE(out.isOk()) << out.status().toString();
            EXPECT_EQ(out->message, messageOf(payload));
            EXPECT_EQ(out->compressor, GetParam());
        }
    }
}

TEST_P(Compress, AFalseClaimIsRefused) {
    const std::string payload = "what was really sent, and not a byte of anybody's memory more";
    const std::string good = packed(payload, GetParam());
    const auto real = static_cast<int32_t>(payload.size());
    for (int32_t lie : {real + 1, real - 1, real + 1000, 0, -1, INT32_MIN, INT32_MAX, 47'999'984}) {
        std::string bad = good;
        storeLe(bad.data() + kClaimAt, lie);
        expectRefused(bad);
    }
}

TEST_P(Compress, TruncatedAndExtendedDataIsRefused) {
    const std::string good = packed("some text that some other text follows", GetParam());
    for (size_t bytes = kHeaderBytes; bytes < good.size(); ++bytes) {
        expectRefused(resized(good, bytes));
    }
    expectRefused(resized(good, good.size() + 1));
    expectRefused(good + "x");
}

TEST_P(Compress, TheLimitAppliesToTheResult) {
    const std::string message = packed(std::string(1000, 'z'), GetParam());
    EXPECT_EQ(*unpackedBytes(message), 1016u) << "known from the header alone";
    EXPECT_EQ(unpackedBytes(message, 1015).status().reason(), Reason::kProtocolError);
    EXPECT_TRUE(unpackMessage(message, 1016).isOk());
    EXPECT_EQ(unpackMessage(message, 1015).status().reason(), Reason::kProtocolError);
}

TEST_P(Compress, DamageIsRefusedOrHarmless) {
    const uint64_t seed = freshet::testing::testSeed();
    std::mt19937_64 random(seed);
    const std::string good =
        packed("the quick brown fox and the lazy dog, again: the quick brown", GetParam());
    for (int round = 0; round < 3'000; ++round) {
        std::string bad = good;
        for (uint64_t i = 0; i <= random() % 3; ++i) {
            bad[kHeaderBytes + random() % (bad.size() - kHeaderBytes)] =
                static_cast<char>(random());
        }
        StatusOr<Unpacked> out = unpackMessage(bad);
        if (out.isOk()) {
            EXPECT_EQ(parseHeader(out->message)->messageBytes,
                      static_cast<int32_t>(out->message.size()))
                << "seed " << seed;
        } else {
            EXPECT_EQ(out.status().reason(), Reason::kProtocolError) << "seed " << seed;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    All,
    Compress,
    ::testing::Values(Compressor::kNoop, Compressor::kSnappy, Compressor::kZlib, Compressor::kZstd),
    [](const auto& info) { return std::string(compressorName(info.param)); });

TEST(CompressFrame, NestedAndUnknownAreRefused) {
    std::string message = packed("x", Compressor::kNoop);
    StatusOr<std::string> twice = packMessage(message, Compressor::kZstd);
    ASSERT_TRUE(twice.isOk());
    expectRefused(*twice);
    for (int number : {4, 5, 127, 255}) {
        message[kCompressorAt] = static_cast<char>(number);
        expectRefused(message);
    }
    expectRefused(messageOf("not compressed at all"));
}

TEST(CompressFrame, ABombIsRefusedByItsClaim) {
    // 47 MB of one letter are some KiB of zstd: allowed because it fits into a message; one byte
    // more does not.
    const std::string most(kMessageBytesMax - kHeaderBytes, 'b');
    const std::string message = packed(most, Compressor::kZstd);
    EXPECT_LT(message.size(), 100'000u);
    EXPECT_TRUE(unpackMessage(message).isOk());
    std::string over = message;
    storeLe(over.data() + kClaimAt, static_cast<int32_t>(most.size() + 1));
    expectRefused(over);
}

TEST(CompressNames, Negotiation) {
    using Names = std::vector<std::string>;
    const Names ours = {"snappy", "zstd", "zlib"};
    EXPECT_EQ(commonCompressors(ours, {"zlib", "snappy"}), (Names{"snappy", "zlib"}));
    EXPECT_EQ(commonCompressors(ours, {"brotli", "noop"}), Names{});
    EXPECT_EQ(commonCompressors({"brotli"}, {"brotli"}), Names{});
    EXPECT_FALSE(compressorNamed("ZLIB").isOk());
    for (const char* name : {"noop", "snappy", "zlib", "zstd"}) {
        EXPECT_EQ(compressorName(*compressorNamed(name)), name);
    }
}

TEST(CompressNames, SecretsAndHandshakesAreNeverPacked) {
    for (const char* name : {"hello", "ismaster", "saslStart", "saslContinue", "createUser"}) {
        EXPECT_FALSE(mayPack(name)) << name;
    }
    EXPECT_TRUE(mayPack("find"));
}

}  // namespace
}  // namespace freshet::wire
