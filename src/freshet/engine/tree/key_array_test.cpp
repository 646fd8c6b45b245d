// SPDX-License-Identifier: Apache-2.0
/// Keys of a page: is the place that a search finds the one that comparing bytes would find?
#include "freshet/engine/tree/key_array.h"

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

TEST(KeyArray, FindsThePlaceOfAnyKey) {
    std::mt19937_64 random(freshet::testing::testSeed());
    for (size_t size : {0u, 1u, 2u, 3u, 7u, 64u, 500u}) {
        std::set<std::string> keys;
        while (keys.size() < size) {
            keys.insert(anyKey(random));
        }
        const std::vector<ByteView> sorted(keys.begin(), keys.end());
        const KeyArray array(sorted);
        for (int i = 0; i < 2'000; ++i) {
            const std::string sought = anyKey(random);
            const auto expected = std::lower_bound(sorted.begin(), sorted.end(), sought);
            const KeyArray::Place place = array.lowerBound(PageKey(sought));
            ASSERT_EQ(place.pos, expected - sorted.begin());
            ASSERT_EQ(place.exact, expected != sorted.end() && *expected == sought);
        }
    }
}

TEST(KeyArray, WithOneMoreKeyIsAsIfItHadBeenThere) {
    const std::vector<std::string> all = {"", "a", "ab", "abcdefghi", "abcdefghij", "b", "zz"};
    for (size_t added = 0; added < all.size(); ++added) {
        std::vector<ByteView> rest(all.begin(), all.end());
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(added));
        const KeyArray keys = KeyArray(rest).with(static_cast<uint32_t>(added), all[added]);
        ASSERT_EQ(keys.size(), all.size());
        for (uint32_t i = 0; i < keys.size(); ++i) {
            EXPECT_EQ(keys.tail(i), all[i]);
            const KeyArray::Place place = keys.lowerBound(PageKey(all[i]));
            EXPECT_TRUE(place.exact);
            EXPECT_EQ(place.pos, i);
        }
    }
    EXPECT_EQ(KeyArray().with(0, "only").tail(0), "only");
}

}  // namespace
}  // namespace freshet::engine
