// SPDX-License-Identifier: Apache-2.0
/// Probes find what a page had when it was built, and stop where there is nothing to prefetch.
#include "freshet/engine/read_ahead.h"

#include "freshet/engine/txn/store_test_support.h"

namespace freshet::engine {
namespace {

class ReadAheadTest : public ::testing::Test {
protected:
    static constexpr uint64_t kKeys = 3'000;
    static std::string key(uint64_t i) { return "key" + std::to_string(100'000 + i); }
    static std::string value(uint64_t i) { return std::to_string(i) + std::string(300, 'v'); }

    ReadAheadTest() {
        for (uint64_t i = 0; i < kKeys; ++i) {
            put(*store, *tree, key(i), value(i));
        }
    }
    std::string probed(ByteView key) {
        sync::Slice slice(store->epochs());
        Probe probe;
        probe.begin(*tree, key);
        int steps = 0;
        while (probe.step()) {
            EXPECT_LT(++steps, 40);
        }
        EXPECT_FALSE(probe.step()) << "it stays over";
        return std::string(probe.value());
    }

    LeafHint hintFor(Tree& where, const std::string& sought) {
        sync::Slice slice(store->epochs());
        Probe probe;
        probe.begin(where, sought);
        while (probe.step()) {
        }
        return probe.leaf();
    }
    std::string valueByHint(Tree& where, uint64_t i, const LeafHint& hint) {
        Txn txn(*store);
        for (;;) {
            {
                sync::Slice slice(store->epochs());
                ByteView found;
                const Status status = txn.getInPlace(where, key(i), &found, hint);
                if (!status.isWouldBlock()) {
                    EXPECT_TRUE(status.isOk()) << i << ": " << status.toString();
                    return std::string(found);
                }
            }
            sync::blockOn(txn.token());
        }
    }

    testing::MemoryFileSystem disk;
    std::unique_ptr<Store> store = openStore(disk);
    TreeRef tree = store->tree(7);
};

TEST_F(ReadAheadTest, AllThatIsInAPageIsFound) {
    ASSERT_GT(shapeOf(*store, tree).leaves, 10u);
    ASSERT_TRUE(store->checkpointNow().isOk());  // folds the changes into pages
    uint64_t found = 0;
    for (uint64_t i = 0; i < kKeys; ++i) {
        const std::string seen = probed(key(i));
        EXPECT_TRUE(seen.empty() || seen == value(i)) << i;
        found += !seen.empty();
    }
    EXPECT_GT(found, kKeys / 2) << "newer changes lie beside the page and are not looked at";
    EXPECT_EQ(probed("key2"), "");
    EXPECT_EQ(probed(""), "");
}

TEST_F(ReadAheadTest, SeveralDoNotDisturbEachOther) {
    ASSERT_TRUE(store->checkpointNow().isOk());
    sync::Slice slice(store->epochs());
    std::array<Probe, 8> probes;
    std::array<std::string, 8> keys;
    for (size_t i = 0; i < probes.size(); ++i) {
        keys[i] = key(i * 300 + 7);
        probes[i].begin(*tree, keys[i]);
    }
    for (bool isOver = false; !isOver;) {
        isOver = true;
        for (Probe& probe : probes) {
            isOver &= !probe.step();
        }
    }
    for (size_t i = 0; i < probes.size(); ++i) {
        EXPECT_TRUE(probes[i].value().empty() || probes[i].value() == value(i * 300 + 7));
    }
}

TEST_F(ReadAheadTest, AHintThatIsWrongDoesNoHarm) {
    constexpr uint64_t kStride = 250;
    const auto expectAllRight = [&](TreeRef where, const std::vector<LeafHint>& hints) {
        for (uint64_t i = 0; i < kKeys; i += 37) {
            for (const LeafHint hint : hints) {
                EXPECT_EQ(valueByHint(*where, i, hint), value(i));
            }
        }
    };
    TreeRef other = store->tree(8);
    std::vector<LeafHint> fromOneLeaf{hintFor(*other, key(0))};
    std::vector<LeafHint> hints;
    for (uint64_t i = 0; i < kKeys; i += kStride) {
        hints.push_back(hintFor(*tree, key(i)));
    }
    expectAllRight(tree, hints);
    for (uint64_t i = 0; i < kKeys; ++i) {
        put(*store, *other, key(i), value(i));  // it was one leaf, and is many now
    }
    expectAllRight(other, fromOneLeaf);
    ASSERT_TRUE(store->checkpointNow().isOk());
    store->evictAll();
    expectAllRight(tree, hints);
}

/// The pages that the hints name are freed: nearly all keys of their leaves are deleted.
TEST_F(ReadAheadTest, HintsToPagesThatHaveGoneDoNoHarm) {
    ASSERT_TRUE(store->checkpointNow().isOk());
    std::vector<LeafHint> hints;
    for (uint64_t i = 0; i < kKeys; i += 20) {
        hints.push_back(hintFor(*tree, key(i)));
    }
    const size_t leaves = shapeOf(*store, tree).leaves;
    for (uint64_t i = 0; i < kKeys; ++i) {
        if (i % 20 != 0) {
            erase(*store, *tree, key(i));
        }
    }
    for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(store->checkpointNow().isOk());
    }
    ASSERT_LT(shapeOf(*store, tree).leaves, leaves / 2);
    store->evictAll();  // frees them, too
    const uint64_t generation = tree->pages().hintGeneration();
    EXPECT_GT(generation, 0u);
    for (uint64_t i = 0; i < kKeys; i += 20) {
        EXPECT_EQ(valueByHint(*tree, i, hints[i / 20]), value(i));
    }
    EXPECT_EQ(hintFor(*tree, key(0)).generation, generation) << "a new one is good";
}

TEST_F(ReadAheadTest, ALeafOnDiskIsLeftThere) {
    ASSERT_TRUE(store->checkpointNow().isOk());
    store->evictAll();
    ASSERT_TRUE(store->checkpointNow().isOk());
    ASSERT_GT(shapeOf(*store, tree).onDisk, 5u);
    const uint64_t before = store->stats().leavesRead;
    for (uint64_t i = 0; i < kKeys; i += 100) {
        probed(key(i));
    }
    EXPECT_EQ(store->stats().leavesRead, before);
}

}  // namespace
}  // namespace freshet::engine
