// SPDX-License-Identifier: Apache-2.0
/// The memory ceiling under load: threads that read pages themselves, and that write faster than
/// pages can be written to disk.
#include "freshet/engine/range_count.h"
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/atomic.h"

#include <future>
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

/// As waiting(), for a plain thread that reads missing leaves itself.
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
                    // A maximum of several threads; relaxed: nothing else depends on it.
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

/// Rebuilt leaves need memory beside the old ones until those are freed, and a thread that the
/// system has stopped in a slice keeps the old ones.
TEST_F(StoreMemory, CeilingHoldsWhileAStoppedThreadKeepsWhatWasRebuilt) {
    for (uint64_t n = 0; store_->stats().memoryBytes < kCeiling / 100 * 75; ++n) {
        ASSERT_TRUE(write(n, std::string(300, 'v')).isOk());
    }
    std::promise<void> isStopped;
    std::promise<void> goesOn;
    platform::Thread thread("test", [&] {
        sync::Slice slice(store_->epochs());
        isStopped.set_value();
        goesOn.get_future().wait();
    });
    isStopped.get_future().wait();
    EXPECT_TRUE(store_->checkpointNow().isOk());
    EXPECT_LT(store_->stats().memoryBytes, kCeiling);
    store_->evictAll();
    EXPECT_LT(store_->stats().memoryBytes, kCeiling);
    goesOn.set_value();
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
    /// Overwrites the few keys: older snapshots need the values from before.
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
    EXPECT_TRUE(write(kFew, "another's").isOk()) << "the writer no longer blocks the key";

    // It goes on from a new snapshot, like others; on a busy machine that may be ended as well.
    for (status = get(old, *tree_, kFew, &value); !status.isOk();
         status = get(old, *tree_, kFew, &value)) {
        expectEnded(status);
        old.begin();
    }
    EXPECT_EQ(value, "another's");
}

TEST_F(StoreSnapshotAge, OldOnesEndAlsoWhileAHistoryIsKept) {
    reopenWith(20);
    store_->keepHistory(300, true);
    Snapshot now;
    while (store_->findSnapshot(0, &now).isWouldBlock()) {
        platform::sleepMillis(1);
    }
    Txn old(*store_, OnConflict::kWait, Waits::kHere);
    Status status;
    std::vector<std::unique_ptr<Txn>> others;
    for (uint64_t rounds = 0; status.isOk() && rounds < kRoundsMax; ++rounds) {
        others.push_back(std::make_unique<Txn>(*store_, OnConflict::kWait, Waits::kHere));
        overwriteAll(rounds);
        std::string value;
        status = get(old, *tree_, rounds % kFew, &value);
    }
    expectEnded(status);
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

/// Transactions that have written much and are idle then.
class StoreLargeWriters : public StoreMemory {
protected:
    StoreLargeWriters() {
        tree_.reset();
        EXPECT_TRUE(store_->close().isOk());
        store_.reset();
        StoreOptions options = storeOptions(disk_);
        options.memoryBytes = kRoom;
        store_ = openStore(options);
        tree_ = store_->tree(2);
    }
    struct Sleeper {
        explicit Sleeper(Store& store) : txn(store, OnConflict::kFail, Waits::kHere) {}
        Txn txn;
        bool hasEnded = false;
    };
    static std::string keyOf(size_t sleeper, uint64_t n) {
        return "sleeper" + std::to_string(sleeper) + "/" + std::to_string(n);
    }
    static void expectEnded(const Status& status) {
        EXPECT_EQ(status.code(), Code::kConflict) << status.toString();
        EXPECT_EQ(status.reason(), Reason::kTransactionEnded) << status.toString();
    }
    /// On a busy machine it may count as idle already.
    void fallAsleep(size_t number, Sleeper* sleeper) {
        for (uint64_t n = 0; n < kKeysEach; ++n) {
            const Status status = here(sleeper->txn, [&] {
                return sleeper->txn.put(*tree_, keyOf(number, n), std::string(1024, 's'));
            });
            if (!status.isOk()) {
                expectEnded(status);
                return;
            }
        }
    }
    /// Its first call since then.
    void wake(size_t number, Sleeper* sleeper) {
        std::string value;
        Txn& txn = sleeper->txn;
        const auto get = [&] { return txn.get(*tree_, keyOf(number, 1), &value); };
        const Status status = here(txn, get);
        sleeper->hasEnded = !status.isOk();
        if (!sleeper->hasEnded) {
            EXPECT_EQ(value, std::string(1024, 's'));
            EXPECT_TRUE(here(txn, [&] { return txn.commit(); }).isOk());
            return;
        }
        expectEnded(status);
        expectEnded(here(txn, [&] { return txn.put(*tree_, keyOf(number, 2), "x"); }));
        Cursor cursor(txn, tree_);
        expectEnded(here(txn, [&] { return cursor.first(); }));
        RangeCount range(txn, tree_, "", "");
        expectEnded(here(txn, [&] { return range.run(UINT64_MAX); }));
        expectEnded(here(txn, [&] { return txn.commit(); }));
    }
    Status get(size_t sleeper, uint64_t n) {
        Txn txn(*store_, OnConflict::kFail, Waits::kHere);
        std::string value;
        return here(txn, [&] { return txn.get(*tree_, keyOf(sleeper, n), &value); });
    }

    static constexpr uint64_t kRoom = 16u << 20;
    static constexpr uint64_t kKeysEach = 2'500;
    static constexpr size_t kSleepers = 6;  // nearly all of the room, and twice that in records
    static constexpr uint64_t kNanosMax = 600'000'000'000;
    static constexpr uint64_t kMuchTooMuch = 64 * kRoom;
};

TEST_F(StoreLargeWriters, EndWhileTheySleepAndOthersGoOn) {
    std::vector<std::unique_ptr<Sleeper>> sleepers;
    for (size_t i = 0; i < kSleepers; ++i) {
        sleepers.push_back(std::make_unique<Sleeper>(*store_));
        fallAsleep(i, sleepers.back().get());
    }
    // Another transaction writes until there is room; the idle ones make no call.
    const uint64_t began = platform::monotonicNanos();
    uint64_t writes = 0;
    for (bool isShort = true; isShort; ++writes) {
        ASSERT_TRUE(write(writes % kKeys, std::string(100, 'w')).isOk());
        const uint64_t used = store_->stats().memoryBytes;
        isShort = used > kRoom;
        ASSERT_LT(used, kMuchTooMuch) << "after " << writes << " writes";
        ASSERT_LT(platform::monotonicNanos() - began, kNanosMax) << used << " bytes";
    }
    size_t ended = 0;
    for (size_t i = 0; i < kSleepers; ++i) {
        wake(i, sleepers[i].get());
        ended += sleepers[i]->hasEnded ? 1 : 0;
        for (uint64_t n = 0; n < kKeysEach; n += 50) {
            const Code expected = sleepers[i]->hasEnded ? Code::kNotFound : Code::kOk;
            EXPECT_EQ(get(i, n).code(), expected) << keyOf(i, n);
        }
    }
    EXPECT_GT(ended, 0u);
    std::cout << ended << " ended, " << writes << " writes beside them\n";
    Txn& again = sleepers[0]->txn;
    again.begin();
    const auto put = [&] { return again.put(*tree_, keyOf(0, 1), "again"); };
    ASSERT_TRUE(here(again, put).isOk());
    ASSERT_TRUE(here(again, [&] { return again.commit(); }).isOk());
    EXPECT_TRUE(get(0, 1).isOk());
    // A transaction that knows of its end does not need the store for it.
    tree_.reset();
    ASSERT_TRUE(store_->close().isOk());
    store_.reset();
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

/// Large values have pages of their own. Nothing of them is in memory when their leaf is not,
/// except what is known of the pages.
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
    // A leaf that was used lately is evicted in the second round, and freed some time later.
    for (int i = 0; i < 1000 && MemoryCount::bytes() > before + kValues * 1000; ++i) {
        ASSERT_TRUE(store->checkpointNow().isOk());
        store->evictAll();
        store->epochs().tryAdvance();
    }
    // A place in the leaf's list, and the value's tree. The block file's map stays on disk.
    const uint64_t each = (store->stats().memoryBytes - before) / kValues;
    EXPECT_GE(each, sizeof(block::PagePlace) + 56);
    EXPECT_LE(each, 400u);
}

}  // namespace
}  // namespace freshet::engine
