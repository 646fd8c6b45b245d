// SPDX-License-Identifier: Apache-2.0
/// The memory ceiling under load: threads that read pages by themselves, and that write faster than
/// pages can be written.
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/atomic.h"

#include <vector>

namespace freshet::engine {
namespace {

constexpr uint64_t kCeiling = 2u << 20;
constexpr uint64_t kKeys = 8'000;  // of 1 KiB: four times the ceiling
constexpr int kThreads = 8;

std::string keyOf(uint64_t n) {
    std::string key;
    appendBe64(key, n * 0x9E3779B97F4A7C15u);
    return key;
}

/// As waiting(), by a plain thread that reads what is missing itself.
template <typename Call>
Status here(Txn& txn, Call call) {
    Status status = call();
    while (status.isWouldBlock()) {
        txn.await();
        status = call();
    }
    return status;
}

class StoreMemory : public ::testing::Test {
protected:
    StoreMemory() {
        StoreOptions options = storeOptions(disk_);
        options.memoryBytes = kCeiling;
        store_ = openStore(options);
        tree_ = store_->tree(2);
    }
    Status write(uint64_t n, ByteView value) {
        Txn txn(*store_, OnConflict::kWait, Waits::kHere);
        for (;;) {
            const Status status = here(txn, [&] { return txn.put(*tree_, keyOf(n), value); });
            if (status.code() != Code::kConflict) {
                return status.isOk() ? here(txn, [&] { return txn.commit(); }) : status;
            }
            txn.abort();
            txn.begin();
        }
    }

    testing::MemoryFileSystem disk_;
    std::unique_ptr<Store> store_;
    TreeRef tree_;
};

TEST_F(StoreMemory, CeilingHoldsWhileAllThreadsWrite) {
    const uint64_t seed = testSeed();
    sync::Atomic<uint64_t> most{0};
    {
        std::vector<platform::Thread> threads;
        for (int t = 0; t < kThreads; ++t) {
            threads.emplace_back("test", [&, t] {
                std::mt19937_64 random(seed + static_cast<uint64_t>(t));
                for (uint64_t i = 0; i < 2 * kKeys / kThreads; ++i) {
                    const bool fills = i < kKeys / kThreads;
                    const uint64_t n = fills ? i * kThreads + t : random() % kKeys;
                    ASSERT_TRUE(
                        write(n, std::string(1024, static_cast<char>('a' + n % 26))).isOk());
                    const uint64_t used = store_->stats().memoryBytes;
                    // A maximum of several threads; relaxed: nothing else hangs on it.
                    for (uint64_t seen = most.load(sync::kRelaxed);
                         used > seen &&
                         !most.compare_exchange_weak(seen, used, sync::kRelaxed, sync::kRelaxed);) {
                    }
                }
            });
        }
    }
    EXPECT_LT(most.load(sync::kRelaxed), 2 * kCeiling);
    EXPECT_GT(store_->stats().leavesRead, 0u);
    for (uint64_t n = 0; n < kKeys; n += 97) {
        Txn txn(*store_, OnConflict::kWait, Waits::kHere);
        std::string value;
        ASSERT_TRUE(here(txn, [&] { return txn.get(*tree_, keyOf(n), &value); }).isOk());
        EXPECT_EQ(value, std::string(1024, static_cast<char>('a' + n % 26)));
    }
}

/// With a limit on the age of snapshots.
class StoreSnapshotAge : public StoreMemory {
protected:
    void reopenWith(uint64_t snapshotMillisMax) {
        tree_.reset();
        ASSERT_TRUE(store_->close().isOk());
        store_.reset();
        StoreOptions options = storeOptions(disk_);
        options.memoryBytes = kCeiling;
        options.snapshotMillisMax = snapshotMillisMax;
        store_ = openStore(options);
        tree_ = store_->tree(2);
        for (uint64_t n = 0; n < kFew; ++n) {
            ASSERT_TRUE(write(n, "old").isOk());
        }
    }
    /// Overwrites all few keys: whoever has a snapshot needs what was there before.
    void overwriteAll(uint64_t round) {
        for (uint64_t n = 0; n < kFew; ++n) {
            ASSERT_TRUE(write(n, std::string(1024, static_cast<char>('a' + round % 26))).isOk());
        }
    }
    static Status get(Txn& txn, Tree& tree, uint64_t n, std::string* value) {
        return here(txn, [&] { return txn.get(tree, keyOf(n), value); });
    }
    void expectEnded(const Status& status) {
        EXPECT_EQ(status.code(), Code::kConflict) << status.toString();
        EXPECT_EQ(status.reason(), Reason::kSnapshotTooOld) << status.toString();
    }

    static constexpr uint64_t kFew = 200;
    static constexpr uint64_t kRoundsMax = 2'000;  // 400 MB of versions
};

TEST_F(StoreSnapshotAge, OldOnesEndWhenMemoryIsShortOfWhatTheyNeed) {
    reopenWith(20);
    Txn old(*store_, OnConflict::kWait, Waits::kHere);
    Txn writer(*store_, OnConflict::kWait, Waits::kHere);
    ASSERT_TRUE(here(writer, [&] { return writer.put(*tree_, keyOf(kFew), "mine"); }).isOk());
    Cursor cursor(old, tree_);
    Status status;
    std::string value;
    uint64_t rounds = 0;
    // A snapshot for each round, none of which ends by itself: all versions are needed.
    std::vector<std::unique_ptr<Txn>> others;
    for (; status.isOk() && rounds < kRoundsMax; ++rounds) {
        others.push_back(std::make_unique<Txn>(*store_, OnConflict::kWait, Waits::kHere));
        overwriteAll(rounds);
        status = get(old, *tree_, rounds % kFew, &value);
        EXPECT_TRUE(!status.isOk() || value == "old") << value.substr(0, 10);
    }
    others.clear();
    expectEnded(status);
    expectEnded(get(old, *tree_, 1, &value));
    expectEnded(here(old, [&] { return old.put(*tree_, keyOf(1), "x"); }));
    expectEnded(here(old, [&] { return cursor.first(); }));
    expectEnded(here(writer, [&] { return writer.commit(); }));
    EXPECT_TRUE(write(kFew, "another's").isOk()) << "the writer is out of the way";

    // It goes on from a new snapshot, as others do; on a busy machine that may end as well.
    for (status = get(old, *tree_, kFew, &value); !status.isOk();
         status = get(old, *tree_, kFew, &value)) {
        expectEnded(status);
        old.begin();
    }
    EXPECT_EQ(value, "another's");
}

TEST_F(StoreSnapshotAge, WithoutALimitOrWithRoomTheyStay) {
    for (const auto& [limit, rounds] : {std::pair<uint64_t, uint64_t>{0, 30}, {1, 3}}) {
        reopenWith(limit);
        Txn old(*store_, OnConflict::kWait, Waits::kHere);
        std::vector<std::unique_ptr<Txn>> others;
        for (uint64_t round = 0; round < rounds; ++round) {
            others.push_back(std::make_unique<Txn>(*store_, OnConflict::kWait, Waits::kHere));
            overwriteAll(round);
            platform::sleepMillis(2);
        }
        for (uint64_t n = 0; n < kFew; ++n) {
            std::string value;
            ASSERT_TRUE(get(old, *tree_, n, &value).isOk());
            EXPECT_EQ(value, "old");
        }
    }
}

TEST_F(StoreMemory, ThreadsThatMissTheSamePageAllGoOn) {
    for (uint64_t n = 0; n < 2000; ++n) {
        ASSERT_TRUE(write(n, std::string(1024, 'x')).isOk());
    }
    ASSERT_TRUE(store_->checkpointNow().isOk());
    for (int round = 0; round < 20; ++round) {
        store_->evictAll();
        std::vector<platform::Thread> threads;
        for (int t = 0; t < kThreads; ++t) {
            // Half of them wait as a reactor does: for one of the store's threads.
            threads.emplace_back("test", [&, t] {
                const bool plain = t % 2 == 0;
                Txn txn(*store_, OnConflict::kWait, plain ? Waits::kHere : Waits::kForToken);
                std::string value;
                const auto get = [&] { return txn.get(*tree_, keyOf(round), &value); };
                EXPECT_TRUE((plain ? here(txn, get) : waiting(txn, get)).isOk());
                EXPECT_EQ(value, std::string(1024, 'x'));
            });
        }
    }
}

/// Large values have pages of their own, of which nothing is in memory when their leaf is not, but
/// for what is known of the pages.
TEST(StoreMemoryOnDisk, PagesThatAreOnDiskCount) {
    constexpr uint64_t kValues = 4000;
    const uint64_t before = MemoryCount::bytes();
    testing::MemoryFileSystem disk;
    StoreOptions options = storeOptions(disk);
    options.journalSegmentBytesMax = 16u << 20;
    std::unique_ptr<Store> store = openStore(options);
    const TreeRef tree = store->tree(2);
    for (uint64_t n = 0; n < kValues; ++n) {
        put(*store, *tree, keyOf(n), std::string(16u << 10, 'v'));
    }
    // A leaf that was used lately goes in the second round, and what went is freed some time later.
    for (int i = 0; i < 1000 && MemoryCount::bytes() > before + kValues * 1000; ++i) {
        ASSERT_TRUE(store->checkpointNow().isOk());
        store->evictAll();
        store->epochs().tryAdvance();
    }
    // A place in the leaf's list, the value's tree. The block file's map is on the disk.
    const uint64_t each = (store->stats().memoryBytes - before) / kValues;
    EXPECT_GE(each, sizeof(block::PagePlace) + 56);
    EXPECT_LE(each, 400u);
}

}  // namespace
}  // namespace freshet::engine
