// SPDX-License-Identifier: Apache-2.0
/// Many threads in one store: snapshots stay consistent, commits are atomic over trees, uniqueness
/// has one winner, readers survive rebuilds and splits, nothing is lost.
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/atomic.h"

#include <functional>
#include <map>
#include <set>
#include <vector>

namespace freshet::engine {
namespace {

using sync::kRelaxed;

/// Runs body(thread number, its random numbers) in `count` threads and waits for all.
void inThreads(int count, uint64_t seed, const std::function<void(int, std::mt19937_64&)>& body) {
    std::vector<platform::Thread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back("test", [&body, i, seed] {
            std::mt19937_64 random(seed + static_cast<uint64_t>(i) * 7919);
            body(i, random);
        });
    }
}

std::string rowOf(uint64_t n) {
    std::string key;
    appendBe64(key, n);
    return key;
}

class StoreThreads : public ::testing::TestWithParam<int> {
protected:
    testing::MemoryFileSystem disk;
    std::unique_ptr<Store> store = openStore(disk);
    TreeRef tree = store->tree(2);
    TreeRef second = store->tree(3);
    const uint64_t seed = testSeed();

    int64_t balance(Txn& txn, Tree& from, uint64_t account) {
        return loadLe<int64_t>(valueOf(txn, from, rowOf(account)).data());
    }
    Status setBalance(Txn& txn, Tree& to, uint64_t account, int64_t amount) {
        std::string value;
        appendLe(value, amount);
        return waiting(txn, [&] { return txn.put(to, rowOf(account), value); });
    }
    int64_t total(Txn& txn, const TreeRef& of) {
        Cursor cursor(txn, of);
        int64_t sum = 0;
        Status status = waiting(txn, [&] { return cursor.first(); });
        while (status.isOk() && cursor.valid()) {
            sum += loadLe<int64_t>(cursor.value().data());
            status = waiting(txn, [&] { return cursor.next(); });
        }
        EXPECT_TRUE(status.isOk());
        return sum;
    }
    void expectSound() {
        for (const TreeRef& ref : {tree, second}) {
            EXPECT_EQ(shapeOf(*store, ref).error, "");
        }
    }
};

TEST_P(StoreThreads, ReadAndWriteWhileLeavesComeAndGo) {
    constexpr uint64_t kKeys = 3000;
    for (uint64_t i = 0; i < kKeys; ++i) {
        put(*store, *tree, rowOf(i), std::to_string(i) + "/" + std::string(300, 'a'));
    }
    ASSERT_TRUE(store->checkpointNow().isOk());
    store->evictAll();
    ASSERT_GT(shapeOf(*store, tree).onDisk, 10u);
    sync::Atomic<uint32_t> done{0};
    platform::Thread evictions("evictions", [&] {
        while (done.load(sync::kAcquire) == 0) {
            ASSERT_TRUE(store->checkpointNow().isOk());
            store->evictAll();
        }
    });
    std::vector<std::map<uint64_t, std::string>> written(static_cast<size_t>(GetParam()));
    const int rounds = 20'000 / GetParam();
    inThreads(GetParam(), seed, [&](int self, std::mt19937_64& random) {
        std::map<uint64_t, std::string>& mine = written[static_cast<size_t>(self)];
        const auto threads = static_cast<uint64_t>(GetParam());
        for (int i = 0; i < rounds; ++i) {
            const uint64_t key =
                random() % (kKeys / threads) * threads + static_cast<uint64_t>(self);
            const uint64_t other = random() % kKeys;
            Txn txn(*store);
            const std::string found = valueOf(txn, *tree, rowOf(key));
            ASSERT_EQ(found,
                      mine.count(key) != 0 ? mine[key]
                                           : std::to_string(key) + "/" + std::string(300, 'a'));
            ASSERT_TRUE(valueOf(txn, *tree, rowOf(other)).starts_with(std::to_string(other) + "/"));
            if (random() % 3 == 0) {
                mine[key] = std::to_string(key) + "/" + std::string(random() % 600, 'b');
                ASSERT_TRUE(
                    waiting(txn, [&] { return txn.put(*tree, rowOf(key), mine[key]); }).isOk());
            }
            ASSERT_TRUE(commitAndWait(txn).isOk());
        }
        Txn txn(*store);
        Cursor cursor(txn, tree);
        uint64_t seen = 0;
        for (Status status = waiting(txn, [&] { return cursor.last(); }); cursor.valid();
             status = waiting(txn, [&] { return cursor.prev(); })) {
            ASSERT_TRUE(status.isOk());
            ++seen;
        }
        ASSERT_EQ(seen, kKeys);
    });
    done.store(1, sync::kRelease);
    evictions.join();
    EXPECT_GT(store->stats().leavesEvicted, 10u);
    EXPECT_GT(store->stats().leavesRead, 10u);
    expectSound();
}

TEST_P(StoreThreads, TransfersBetweenAccountsKeepTheTotal) {
    constexpr uint64_t kAccounts = 40;
    constexpr int64_t kEach = 1000;
    {
        Txn txn(*store);
        for (uint64_t i = 0; i < kAccounts; ++i) {
            ASSERT_TRUE(setBalance(txn, *tree, i, kEach).isOk());
            ASSERT_TRUE(setBalance(txn, *second, i, kEach).isOk());
        }
        ASSERT_TRUE(commitAndWait(txn).isOk());
    }
    const int rounds = 3000 / GetParam();
    sync::Atomic<uint64_t> transfers{0};
    inThreads(GetParam(), seed, [&](int self, std::mt19937_64& random) {
        Txn txn(*store, self % 2 == 0 ? OnConflict::kFail : OnConflict::kWait);
        for (int i = 0; i < rounds; ++i) {
            txn.begin();
            if (random() % 8 == 0) {
                const int64_t sum = total(txn, tree) + total(txn, second);
                ASSERT_EQ(sum, static_cast<int64_t>(2 * kAccounts) * kEach);
                ASSERT_TRUE(txn.commit().isOk());
                continue;
            }
            // From one tree to the other; the smaller account first, so that waits form no circle.
            const uint64_t account = random() % kAccounts;
            const auto amount = static_cast<int64_t>(random() % 10);
            const int64_t from = balance(txn, *tree, account);
            const int64_t to = balance(txn, *second, account);
            Status status = setBalance(txn, *tree, account, from - amount);
            if (status.isOk()) {
                status = setBalance(txn, *second, account, to + amount);
            }
            if (status.isOk() && random() % 10 != 0) {
                ASSERT_TRUE(commitAndWait(txn).isOk());
                transfers.fetch_add(1, kRelaxed);
            } else {
                ASSERT_TRUE(status.isOk() || status.code() == Code::kConflict);
                txn.abort();
            }
        }
    });
    Txn txn(*store);
    EXPECT_EQ(total(txn, tree) + total(txn, second), static_cast<int64_t>(2 * kAccounts) * kEach);
    EXPECT_GT(transfers.load(kRelaxed), 0u);
    expectSound();
}

TEST_P(StoreThreads, EachIncrementCountsOnce) {
    put(*store, *tree, rowOf(1), std::string(8, '\0'));
    const int rounds = 600 / GetParam() + 1;
    inThreads(GetParam(), seed, [&](int, std::mt19937_64&) {
        for (int i = 0; i < rounds; ++i) {
            Status status;
            do {
                Txn txn(*store);
                status = setBalance(txn, *tree, 1, balance(txn, *tree, 1) + 1);
                if (status.isOk()) {
                    ASSERT_TRUE(commitAndWait(txn).isOk());
                }
            } while (status.code() == Code::kConflict);
            ASSERT_TRUE(status.isOk());
        }
    });
    Txn txn(*store);
    EXPECT_EQ(balance(txn, *tree, 1), rounds * GetParam());
}

TEST_P(StoreThreads, AUniqueKeyHasOneWinner) {
    const int keys = 1500 / GetParam() + 20;
    std::vector<sync::Atomic<uint32_t>> winners(static_cast<size_t>(keys));
    inThreads(GetParam(), seed, [&](int self, std::mt19937_64& random) {
        for (int i = 0; i < keys; ++i) {
            Txn txn(*store, random() % 2 == 0 ? OnConflict::kWait : OnConflict::kFail);
            const std::string value = std::to_string(self);
            const Status status = waiting(
                txn, [&] { return txn.insert(*tree, rowOf(static_cast<uint64_t>(i)), value); });
            if (!status.isOk()) {
                ASSERT_TRUE(status.code() == Code::kExists || status.code() == Code::kConflict);
                continue;
            }
            if (random() % 4 == 0) {
                continue;  // abort: another thread may win
            }
            ASSERT_TRUE(commitAndWait(txn).isOk());
            winners[static_cast<size_t>(i)].fetch_add(1, kRelaxed);
        }
    });
    Txn txn(*store);
    for (int i = 0; i < keys; ++i) {
        const uint32_t won = winners[static_cast<size_t>(i)].load(kRelaxed);
        ASSERT_LE(won, 1u);
        const std::string value = valueOf(txn, *tree, rowOf(static_cast<uint64_t>(i)));
        ASSERT_EQ(value == "<NotFound>", won == 0) << i;
    }
    expectSound();
}

TEST_P(StoreThreads, LongReadersSeeOneStateAcrossSplitsAndRebuilds) {
    const uint64_t keys = 400;
    {
        Txn txn(*store);
        for (uint64_t i = 0; i < keys; ++i) {
            ASSERT_TRUE(txn.put(*tree, rowOf(i * 1000), "0").isOk());
        }
        ASSERT_TRUE(commitAndWait(txn).isOk());
    }
    sync::Atomic<uint64_t> nextKey{0};
    inThreads(GetParam(), seed, [&](int self, std::mt19937_64& random) {
        if (self % 2 == 1) {
            // Writers: new keys in between, old ones updated or removed.
            for (int i = 0; i < 4000 / GetParam(); ++i) {
                Txn txn(*store);
                const uint64_t fresh = nextKey.fetch_add(1, kRelaxed);
                const std::string value(random() % 200, 'v');
                const std::string other = rowOf(random() % keys * 1000);
                Status status = waiting(txn, [&] {
                    return txn.put(*tree, rowOf(fresh % (keys * 999) * 7 + 1), value);
                });
                if (status.isOk()) {
                    status = waiting(txn, [&] {
                        return random() % 3 == 0 ? txn.erase(*tree, other)
                                                 : txn.put(*tree, other, value);
                    });
                }
                if (status.isOk()) {
                    ASSERT_TRUE(commitAndWait(txn).isOk());
                }
            }
            return;
        }
        for (int i = 0; i < 3; ++i) {
            Txn txn(*store);
            Cursor cursor(txn, tree);
            std::map<std::string, std::string> upward;
            Status status = waiting(txn, [&] { return cursor.first(); });
            while (status.isOk() && cursor.valid()) {
                ASSERT_TRUE(upward.empty() || upward.rbegin()->first < cursor.key());
                upward.emplace(cursor.key(), cursor.value());
                if (random() % 16 == 0) {
                    platform::yieldThread();
                }
                status = waiting(txn, [&] { return cursor.next(); });
            }
            auto expected = upward.rbegin();
            status = waiting(txn, [&] { return cursor.last(); });
            while (status.isOk() && cursor.valid()) {
                ASSERT_NE(expected, upward.rend());
                ASSERT_EQ(cursor.key(), expected->first);
                ASSERT_EQ(cursor.value(), expected->second);
                ASSERT_EQ(valueOf(txn, *tree, cursor.key()), expected->second);
                ++expected;
                status = waiting(txn, [&] { return cursor.prev(); });
            }
            ASSERT_EQ(expected, upward.rend());
        }
    });
    expectSound();
    EXPECT_GT(store->stats().rebuilds, 0u);
}

TEST_P(StoreThreads, EveryAppendedKeyIsThereAndAfterReopeningToo) {
    const uint64_t perThread = 6000 / static_cast<uint64_t>(GetParam());
    sync::Atomic<uint64_t> next{0};
    inThreads(GetParam(), seed, [&](int, std::mt19937_64& random) {
        for (uint64_t i = 0; i < perThread; ++i) {
            Txn txn(*store);
            const std::string value(20 + random() % 60, 'v');
            const std::string key = rowOf(next.fetch_add(1, kRelaxed));
            ASSERT_TRUE(txn.insert(*tree, key, value).isOk());
            ASSERT_TRUE(txn.insert(*second, value + key, key).isOk());
            ASSERT_TRUE(commitAndWait(txn).isOk());
        }
    });
    expectSound();
    EXPECT_GT(store->stats().splits, 0u);
    for (int pass = 0; pass < 2; ++pass) {
        Txn txn(*store);
        for (const TreeRef& ref : {tree, second}) {
            Cursor cursor(txn, ref);
            uint64_t found = 0;
            Status status = waiting(txn, [&] { return cursor.first(); });
            for (; status.isOk() && cursor.valid(); ++found) {
                status = waiting(txn, [&] { return cursor.next(); });
            }
            EXPECT_EQ(found, perThread * static_cast<uint64_t>(GetParam()));
        }
        ASSERT_TRUE(txn.commit().isOk());
        if (pass == 0) {
            tree.reset();
            second.reset();
            store.reset();
            store = openStore(disk);
            tree = store->tree(2);
            second = store->tree(3);
        }
    }
    expectSound();
}

INSTANTIATE_TEST_SUITE_P(Threads, StoreThreads, ::testing::Values(2, 8, 64));

}  // namespace
}  // namespace freshet::engine
