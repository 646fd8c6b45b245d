// SPDX-License-Identifier: Apache-2.0
/// LeafDelta by itself: which keys have cells, and the order in which lists and cells are visited.
#include "freshet/engine/delta/leaf_delta.h"

#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace freshet::engine {
namespace {

std::string idKey(uint64_t id) {
    std::string key(kRecordIdBytes, '\0');
    storeBe64(key.data(), id);
    return key;
}

struct Delta {
    explicit Delta(CellRange range) : delta(LeafDelta::create(0, 8, range)) {}
    ~Delta() {
        for (Version* version : versions) {
            Version::destroy(version);
        }
        LeafDelta::destroy(delta);
    }
    Delta(const Delta&) = delete;
    Delta& operator=(const Delta&) = delete;

    void add(const std::string& key) {
        versions.push_back(Version::create(VersionOp::kPut, ValueRef{key}, false, 1));
        delta->insertPrivate(key, {0, false}, versions.back());
    }
    std::vector<std::string> from(const std::string* bound) {
        std::vector<std::string> keys;
        const PageKey at(bound == nullptr ? ByteView() : ByteView(*bound));
        delta->visitBucket(0, bound == nullptr ? nullptr : &at, [&](const LeafChange& change) {
            EXPECT_EQ(change.head, keyHeadOf(change.tail));
            const auto* version = pointerOf<Version>(change.chain->load(sync::kAcquire));
            EXPECT_EQ(version->value().bytes, change.tail);
            keys.emplace_back(change.tail);
            return true;
        });
        return keys;
    }

    LeafDelta* const delta;
    std::vector<Version*> versions;
};

TEST(LeafDelta, ACellIsForItsRecordIdAlone) {
    Delta world({10, 3});
    EXPECT_EQ(world.delta->cellOf(PageKey(idKey(9))), nullptr);
    EXPECT_EQ(world.delta->cellOf(PageKey(idKey(10))), &world.delta->cell(0));
    EXPECT_EQ(world.delta->cellOf(PageKey(idKey(12))), &world.delta->cell(2));
    EXPECT_EQ(world.delta->cellOf(PageKey(idKey(13))), nullptr);
    const std::string longer = idKey(11) + '\0';
    EXPECT_EQ(world.delta->cellOf(PageKey(longer)), nullptr);
    const std::string shorter = idKey(11 << 8).substr(0, 7);
    EXPECT_EQ(world.delta->cellOf(PageKey(shorter)), nullptr);
}

TEST(LeafDelta, CellsEndWithTheNumbers) {
    EXPECT_EQ(CellRange::behind(UINT64_MAX, 256).count, 0u);
    Delta world(CellRange::behind(UINT64_MAX - 3, 256));
    EXPECT_EQ(world.delta->cells(), 3u);
    EXPECT_EQ(world.delta->cellOf(PageKey(idKey(UINT64_MAX))), &world.delta->cell(2));
    EXPECT_EQ(world.delta->cellOf(PageKey(idKey(0))), nullptr);
}

TEST(LeafDelta, RecordIdsInARowAreKnownFromOthers) {
    EXPECT_TRUE(areAppended(idKey(255), idKey(270), 16));
    EXPECT_TRUE(areAppended(idKey(0), idKey(255), 16));
    EXPECT_FALSE(areAppended(idKey(0), idKey(256), 16));
    EXPECT_FALSE(areAppended(idKey(1).substr(1), idKey(5), 16));
    EXPECT_FALSE(areAppended(idKey(1), idKey(5) + "x", 16));
}

TEST(LeafDelta, ListsAndCellsAreMetAsOneSequence) {
    std::mt19937_64 random(testing::testSeed());
    for (int round = 0; round < 200; ++round) {
        const uint64_t first = random() % 3 == 0 ? UINT64_MAX - 20 : 250;
        Delta world(CellRange::behind(first - 1, static_cast<uint32_t>(1 + random() % 16)));
        std::map<std::string, int> all;
        for (int i = 0; i < 24; ++i) {
            std::string key = idKey(first - 4 + random() % 24);
            if (random() % 4 == 0) {
                key = random() % 2 == 0 ? key.substr(0, random() % 9)
                                        : key + std::string(1 + random() % 2, '\0');
            }
            if (all.emplace(key, 0).second) {
                world.add(key);
            }
        }
        std::vector<std::string> wanted;
        for (const auto& [key, unused] : all) {
            wanted.push_back(key);
        }
        ASSERT_EQ(world.from(nullptr), wanted);
        for (const auto& [key, unused] : all) {
            for (const std::string& bound : {key, key + '\0', key.substr(0, key.size() / 2)}) {
                auto from = all.lower_bound(bound);
                wanted.clear();
                for (; from != all.end(); ++from) {
                    wanted.push_back(from->first);
                }
                ASSERT_EQ(world.from(&bound), wanted);
            }
        }
    }
}

TEST(LeafDelta, AWalkEndsWhereItsVisitorEnds) {
    Delta world({10, 4});
    for (const std::string& key : {idKey(9), idKey(11), idKey(11) + "x", idKey(12)}) {
        world.add(key);
    }
    for (int wanted = 1; wanted <= 4; ++wanted) {
        int met = 0;
        EXPECT_FALSE(world.delta->visitBucket(
            0, nullptr, [&](const LeafChange&) { return ++met < wanted; }));
        EXPECT_EQ(met, wanted);
    }
}

}  // namespace
}  // namespace freshet::engine
