// SPDX-License-Identifier: Apache-2.0
/// Transactions that are chains of records: all or nothing, wherever the log ends and wherever a
/// checkpoint comes.
#include "freshet/base/sanitizer.h"
#include "freshet/engine/recovery/chain_joiner.h"
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/atomic.h"

#include <vector>

namespace freshet::engine {
namespace {

constexpr uint64_t kChainMiB = 1u << 20;

std::string chainKey(uint64_t n) {
    std::string key = "chain";
    appendBe64(key, n);
    return key;
}

class StoreChains : public ::testing::Test {
protected:
    void open(const StoreOptions& options) {
        tree_.reset();
        store_.reset();
        store_ = openStore(options);
        ASSERT_NE(store_, nullptr);
        tree_ = store_->tree(2);
    }
    StoreOptions smallRecords() {
        StoreOptions options = storeOptions(disk_);
        options.journalSegmentBytesMax = 2 * kChainMiB;
        options.recordBytesMax = 64 << 10;
        options.memoryBytes = 8 * kChainMiB;
        return options;
    }
    /// Sets `keys` keys to values of `bytes` bytes that say the generation.
    void put(Txn& txn, uint64_t keys, size_t bytes, uint64_t generation) {
        for (uint64_t n = 0; n < keys; ++n) {
            std::string value;
            appendBe64(value, generation);
            value.resize(bytes, static_cast<char>('a' + n % 26));
            const Status status = waiting(txn, [&] { return txn.put(*tree_, chainKey(n), value); });
            ASSERT_TRUE(status.isOk()) << n << ": " << status.toString();
        }
    }
    /// The generation that all keys have; 0: there are none.
    uint64_t generation(uint64_t keys, size_t bytes) {
        Txn txn(*store_);
        std::vector<uint64_t> found;
        for (uint64_t n = 0; n < keys; ++n) {
            const std::string value = valueOf(txn, *tree_, chainKey(n));
            if (value == "<NotFound>") {
                found.push_back(0);
                continue;
            }
            EXPECT_EQ(value.size(), bytes);
            EXPECT_EQ(value.back(), static_cast<char>('a' + n % 26));
            found.push_back(loadBe64(value.data()));
        }
        EXPECT_EQ(std::count(found.begin(), found.end(), found[0]), found.size())
            << "parts of a transaction";
        return found[0];
    }

    testing::MemoryFileSystem disk_;
    std::unique_ptr<Store> store_;
    TreeRef tree_;
};

TEST_F(StoreChains, ATransactionOf200MegabytesIsReadBackAfterAPowerCut) {
    constexpr uint64_t kKeys = kIsAddressSanitized ? 90 : 200;
    StoreOptions options = storeOptions(disk_);
    options.memoryBytes = 1024 * kChainMiB;
    open(options);
    {
        Txn aborted(*store_, OnConflict::kFail);
        ASSERT_NO_FATAL_FAILURE(put(aborted, kKeys, kChainMiB, 1));
        aborted.abort();
    }
    EXPECT_EQ(generation(kKeys, kChainMiB), 0u);
    {
        Txn txn(*store_, OnConflict::kFail);
        ASSERT_NO_FATAL_FAILURE(put(txn, kKeys, kChainMiB, 2));
        EXPECT_EQ(generation(kKeys, kChainMiB), 0u) << "nothing is visible before the commit";
        ASSERT_TRUE(commitAndWait(txn).isOk());
        ASSERT_TRUE(waiting(txn, [&] { return txn.waitFor(Durability::kDurable); }).isOk());
    }
    EXPECT_EQ(generation(kKeys, kChainMiB), 2u);
    disk_.crash();
    open(options);
    EXPECT_EQ(store_->stats().recordsReplayed, 1u);
    EXPECT_EQ(generation(kKeys, kChainMiB), 2u);
    EXPECT_TRUE(store_->close().isOk());
}

TEST_F(StoreChains, OneThatIsCutOffLeavesNothing) {
    constexpr uint64_t kKeys = 200;
    constexpr size_t kBytes = 100'000;
    StoreOptions options = smallRecords();
    options.memoryBytes = 0;
    open(options);
    {
        HeldJournal held(disk_, *store_, *tree_);
        Txn txn(*store_, OnConflict::kFail);
        ASSERT_NO_FATAL_FAILURE(put(txn, kKeys, kBytes, 1));
        ASSERT_TRUE(txn.commit().isWouldBlock()) << "the journal has no room for all records";
        disk_.crash();
        held.release();
        (void)waiting(txn, [&] { return txn.commit(); });
    }
    open(options);
    EXPECT_EQ(generation(kKeys, kBytes), 0u);
    {
        Txn txn(*store_, OnConflict::kFail);
        ASSERT_NO_FATAL_FAILURE(put(txn, kKeys, kBytes, 2));
        ASSERT_TRUE(commitAndWait(txn).isOk());
        ASSERT_TRUE(waiting(txn, [&] { return txn.waitFor(Durability::kDurable); }).isOk());
    }
    disk_.crash();
    open(options);
    EXPECT_EQ(generation(kKeys, kBytes), 2u);
}

TEST_F(StoreChains, OneWhoseTxnIsGoneIsFinished) {
    constexpr uint64_t kKeys = 100;
    constexpr size_t kBytes = 100'000;
    StoreOptions options = smallRecords();
    options.memoryBytes = 0;
    open(options);
    {
        HeldJournal held(disk_, *store_, *tree_);
        Txn txn(*store_, OnConflict::kFail);
        ASSERT_NO_FATAL_FAILURE(put(txn, kKeys, kBytes, 1));
        ASSERT_TRUE(txn.commit().isWouldBlock());
        held.release();
    }
    EXPECT_EQ(generation(kKeys, kBytes), 1u);
    EXPECT_TRUE(store_->close().isOk());
    open(options);
    EXPECT_EQ(generation(kKeys, kBytes), 1u);
}

TEST_F(StoreChains, PowerCutsBesideCheckpoints) {
    constexpr uint64_t kKeys = 150;
    constexpr size_t kBytes = 12'000;  // small enough to be in leaves; 28 records, 7 blocks
    const uint64_t seed = testSeed();
    std::mt19937_64 random(seed);
    uint64_t dropped = 0;
    uint64_t last = 0;
    open(smallRecords());
    for (uint64_t round = 0; round < 12; ++round) {
        sync::Atomic<uint32_t> done{0};
        uint64_t durable = last;
        {
            platform::Thread checkpoints("checkpoints", [&] {
                while (done.load(sync::kAcquire) == 0) {
                    ASSERT_TRUE(store_->checkpointNow().isOk());
                    store_->evictAll();
                }
            });
            platform::Thread single("single", [&] {
                for (uint64_t i = 0; done.load(sync::kAcquire) == 0; ++i) {
                    engine::put(*store_, *tree_, "single" + std::to_string(i % 20), "v");
                }
            });
            const CountsAtEnd end(done);
            for (int i = 0; i < 6; ++i) {
                Txn txn(*store_, OnConflict::kFail);
                ASSERT_NO_FATAL_FAILURE(put(txn, kKeys, kBytes, ++last));
                if (i == 3) {
                    txn.abort();
                    --last;
                    continue;
                }
                ASSERT_TRUE(commitAndWait(txn).isOk());
                if (i % 2 == 0) {
                    ASSERT_TRUE(
                        waiting(txn, [&] { return txn.waitFor(Durability::kDurable); }).isOk());
                    durable = last;
                }
            }
        }
        {
            // The power fails somewhere in the middle of the last one.
            Txn txn(*store_, OnConflict::kFail);
            ASSERT_NO_FATAL_FAILURE(put(txn, kKeys, kBytes, ++last));
            const uint64_t bytes = store_->stats().journal.bytes + random() % (kKeys * kBytes);
            sync::Atomic<uint32_t> over{0};
            platform::Thread cut("cut", [&] {
                while (over.load(sync::kAcquire) == 0 && store_->stats().journal.bytes < bytes) {
                    platform::yieldThread();
                }
                disk_.crashKeepingSome(seed + round, 256 << 10);  // whole blocks
            });
            const CountsAtEnd end(over);
            Status status = waiting(txn, [&] { return txn.commit(); });
            if (status.isOk()) {
                status = waiting(txn, [&] { return txn.waitFor(Durability::kDurable); });
                durable = status.isOk() ? last : durable;
            }
        }
        open(smallRecords());
        dropped += store_->stats().chainsDropped;
        const uint64_t found = generation(kKeys, kBytes);
        EXPECT_GE(found, durable) << "FRESHET_SEED=" << seed;
        EXPECT_LE(found, last);
        last = found;
    }
    EXPECT_EQ(shapeOf(*store_, tree_).error, "");
    std::cout << dropped << " chains were cut\n";
}

TEST_F(StoreChains, TheLimitIsTheOptionOrAShareOfTheMemory) {
    const auto written = [&](uint64_t ofLimit, uint64_t memory) {
        StoreOptions options = storeOptions(disk_);
        options.transactionBytesMax = ofLimit;
        options.memoryBytes = memory;
        open(options);
        Txn txn(*store_, OnConflict::kFail);
        const std::string value(8 * kChainMiB, 'x');
        Status status;
        uint64_t n = 0;
        while (status.isOk()) {
            status = waiting(txn, [&] { return txn.put(*tree_, "k" + std::to_string(n), value); });
            n += status.isOk() ? 1 : 0;
        }
        EXPECT_EQ(status.code(), Code::kLimit);
        EXPECT_EQ(valueOf(txn, *tree_, "k0").size(), value.size()) << "it is usable";
        txn.abort();
        return n * value.size();
    };
    EXPECT_EQ(written(16 * kChainMiB, 0), 16 * kChainMiB);
    EXPECT_EQ(written(0, 0), 64 * kChainMiB);
    EXPECT_EQ(written(0, 320 * kChainMiB), 80 * kChainMiB);
}

TEST(ChainJoiner, GivesAWholeChainOnceAndNoPartOfOne) {
    ChainJoiner chains(100);
    std::vector<std::string> earlier;
    EXPECT_FALSE(*chains.add(100, {0, 0, false}, "a0", &earlier));
    EXPECT_FALSE(*chains.add(120, {0, 0, false}, "b0", &earlier));
    EXPECT_FALSE(*chains.add(130, {100, 1, false}, "a1", &earlier));
    EXPECT_EQ(chains.open(), 2u);
    EXPECT_TRUE(*chains.add(140, {100, 2, true}, "a2", &earlier));
    EXPECT_EQ(earlier, (std::vector<std::string>{"a0", "a1"}));
    EXPECT_EQ(chains.open(), 1u) << "the other one's end is missing";
}

TEST(ChainJoiner, IgnoresChainsThatBeganBeforeReplay) {
    ChainJoiner chains(100);
    std::vector<std::string> earlier;
    EXPECT_FALSE(*chains.add(110, {99, 1, false}, "x", &earlier));
    EXPECT_FALSE(*chains.add(120, {99, 2, true}, "x", &earlier));
    EXPECT_EQ(chains.open(), 0u);
}

TEST(ChainJoiner, ARecordThatIsMissingIsDamage) {
    ChainJoiner chains(100);
    std::vector<std::string> earlier;
    EXPECT_EQ(chains.add(120, {110, 1, true}, "x", &earlier).status().code(), Code::kCorruption);
    EXPECT_FALSE(*chains.add(130, {0, 0, false}, "a0", &earlier));
    EXPECT_EQ(chains.add(140, {130, 2, true}, "a2", &earlier).status().code(), Code::kCorruption);
}

}  // namespace
}  // namespace freshet::engine
