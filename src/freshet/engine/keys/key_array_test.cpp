// SPDX-License-Identifier: Apache-2.0
/// Keys of a page: a search finds the same place as a comparison of bytes.
#include "freshet/engine/keys/key_array.h"

#include "freshet/engine/keys/head_search.h"
#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace freshet::engine {
namespace {

/// Few different bytes, zero among them, and lengths around the head's: ties are frequent.
std::string anyKey(std::mt19937_64& random) {
    static constexpr char kBytes[] = {'\0', 'a', '\xff'};
    std::string key(random() % 13, '\0');
    for (char& byte : key) {
        byte = kBytes[random() % sizeof(kBytes)];
    }
    return key;
}

TEST(KeyArray, HeadsAreInTheOrderOfTheBytes) {
    std::mt19937_64 random(freshet::testing::testSeed());
    for (int i = 0; i < 20'000; ++i) {
        const std::string a = anyKey(random);
        const std::string b = anyKey(random);
        if (keyHeadOf(a) < keyHeadOf(b)) {
            EXPECT_LT(a, b);
        } else if (keyHeadOf(a) == keyHeadOf(b)) {
            EXPECT_EQ(compareSameHead(a, b) < 0, a < b);
            EXPECT_EQ(compareSameHead(a, b) == 0, a == b);
        }
    }
}

TEST(KeyArray, HeadsThatAreBelowAreCounted) {
    std::mt19937_64 random(freshet::testing::testSeed());
    for (uint32_t n = 0; n <= kScannedMax; ++n) {
        for (int round = 0; round < 200; ++round) {
            // Around the ends of signed and unsigned numbers, and equal ones.
            std::vector<uint64_t> heads(n + 1);
            for (uint64_t& head : heads) {
                head = (random() % 4 << 62) + random() % 5 - 2;
            }
            const uint64_t sought = heads.back();
            heads.pop_back();
            std::sort(heads.begin(), heads.end());
            const auto expected = static_cast<uint32_t>(
                std::lower_bound(heads.begin(), heads.end(), sought) - heads.begin());
            ASSERT_EQ(countBelow(heads.data(), n, sought), expected);
            ASSERT_EQ(countBelowPlain(heads.data(), n, sought), expected);
        }
    }
}

TEST(KeyArray, FindsThePlaceOfAnyKey) {
    std::mt19937_64 random(freshet::testing::testSeed());
    for (size_t size : {0u, 1u, 2u, 3u, 7u, 31u, 32u, 33u, 64u, 65u, 500u, 1025u, 3000u}) {
        std::set<std::string> keys;
        while (keys.size() < size) {
            keys.insert(anyKey(random));
        }
        const std::vector<ByteView> sorted(keys.begin(), keys.end());
        const KeyArray array(sorted);
        for (int i = 0; i < 2'000; ++i) {
            const std::string sought = anyKey(random);
            const auto expected = std::lower_bound(sorted.begin(), sorted.end(), sought);
            const KeyArray::Position place = array.lowerBound(PageKey(sought));
            ASSERT_EQ(place.pos, expected - sorted.begin());
            ASSERT_EQ(place.exact, expected != sorted.end() && *expected == sought);
            const auto anywhere = static_cast<uint32_t>(random() % (size + 1));
            for (const uint32_t at : {place.pos, anywhere}) {
                ASSERT_EQ(array.isAt(at, PageKey(sought)), place.exact && at == place.pos);
            }
        }
    }
}

TEST(KeyArray, KeysOfOneLengthAreFoundToo) {
    std::mt19937_64 random(freshet::testing::testSeed());
    for (const size_t length : {0u, 1u, 4u, 8u, 9u, 12u}) {
        std::set<std::string> keys;
        for (int i = 0; i < 300; ++i) {
            std::string key = anyKey(random);
            key.resize(length, 'a');
            keys.insert(key);
        }
        const std::vector<ByteView> sorted(keys.begin(), keys.end());
        const KeyArray array(sorted);
        for (uint32_t i = 0; i < array.size(); ++i) {
            EXPECT_EQ(array.tail(i), sorted[i]);
        }
        for (int i = 0; i < 1'000; ++i) {
            const std::string sought = anyKey(random);  // of any length
            const auto expected = std::lower_bound(sorted.begin(), sorted.end(), sought);
            const KeyArray::Position place = array.lowerBound(PageKey(sought));
            ASSERT_EQ(place.pos, expected - sorted.begin());
            ASSERT_EQ(place.exact, expected != sorted.end() && *expected == sought);
        }
    }
}

TEST(KeyArray, WithOneMoreKeyIsAsIfItHadBeenThere) {
    std::vector<std::string> all = {"", "a", "ab", "abcdefghi", "abcdefghij", "b", "zz"};
    while (all.size() < 2 * kScannedMax + 2) {
        all.push_back(all.back() + "z");
    }
    for (size_t added = 0; added < all.size(); ++added) {
        std::vector<ByteView> rest(all.begin(), all.end());
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(added));
        const KeyArray keys = KeyArray(rest).with(static_cast<uint32_t>(added), all[added]);
        ASSERT_EQ(keys.size(), all.size());
        for (uint32_t i = 0; i < keys.size(); ++i) {
            EXPECT_EQ(keys.tail(i), all[i]);
            const KeyArray::Position place = keys.lowerBound(PageKey(all[i]));
            EXPECT_TRUE(place.exact);
            EXPECT_EQ(place.pos, i);
        }
    }
    // Even keys stay even, or become uneven.
    const std::vector<ByteView> even = {"aa", "cc", "ee"};
    for (const char* added : {"bb", "b", "bbb"}) {
        const KeyArray keys = KeyArray(even).with(1, added);
        EXPECT_EQ(keys.tail(0), "aa");
        EXPECT_EQ(keys.tail(1), added);
        EXPECT_EQ(keys.tail(2), "cc");
        EXPECT_EQ(keys.tail(3), "ee");
    }
    EXPECT_EQ(KeyArray().with(0, "only").tail(0), "only");
}

}  // namespace
}  // namespace freshet::engine
