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

}  // namespace
}  // namespace freshet::engine
