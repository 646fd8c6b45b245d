// SPDX-License-Identifier: Apache-2.0
/// Transactions whose calls run on changing threads, beside writers, checkpoints and eviction.
#include "freshet/engine/range_count.h"
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/worker.h"

#include <map>
#include <optional>
#include <vector>

namespace freshet::engine {
namespace {

constexpr int kHands = 3;
constexpr int kCarriers = 3;
constexpr uint64_t kRecords = 2'000;

std::string recordKey(uint64_t n) {
    std::string key;
    appendBe64(key, n);
    return key;
}

/// Threads that take turns: each call of run() is another one's.
class Hands {
public:
    explicit Hands(uint64_t seed) : random_(seed) {
        for (int i = 0; i < kHands; ++i) {
            workers_.push_back(std::make_unique<sync::Worker>("hand"));
        }
    }
    template <typename Call>
    void run(Call call) {
        last_ = (last_ + 1 + random_() % (kHands - 1)) % kHands;
        sync::blockOn(*workers_[last_]->run(call));
    }
    /// Repeats the call on other threads while it would block.
    template <typename Call>
    Status finish(Txn& txn, Call call) {
        Status status;
        run([&] { status = call(); });
        while (status.isWouldBlock()) {
            run([&] { sync::blockOn(txn.token()); });
            run([&] { status = call(); });
        }
        return status;
    }

private:
    std::mt19937_64 random_;
    std::vector<std::unique_ptr<sync::Worker>> workers_;
    size_t last_ = 0;
};

class StoreHandover : public ::testing::Test {
protected:
    StoreHandover() {
        StoreOptions options = storeOptions(disk_);
        options.memoryBytes = 3u << 19;  // less than the data, which has leaves on disk therefore
        store_ = openStore(options);
        tree_ = store_->tree(2);
        for (uint64_t n = 0; n < kRecords; ++n) {
            put(*store_, *tree_, recordKey(n), valueFor(n, 0));
        }
        EXPECT_TRUE(store_->checkpointNow().isOk());
        store_->evictAll();
    }
    static std::string valueFor(uint64_t n, uint64_t version) {
        return std::to_string(n) + "/" + std::to_string(version) + std::string(700, 'v');
    }
    /// A transaction, each call of it on another thread: reads, writes, a cursor and a count, all
    /// by one snapshot with its own writes on top. `mine`: the keys that nobody else writes.
    void carry(Hands& hands, int self, int round, std::map<uint64_t, std::string>* mine);

    testing::MemoryFileSystem disk_;
    std::unique_ptr<Store> store_;
    TreeRef tree_;
    const uint64_t seed_ = testSeed();
};

void StoreHandover::carry(Hands& hands,
                          int self,
                          int round,
                          std::map<uint64_t, std::string>* mine) {
    const OnConflict onConflict = round % 2 == 0 ? OnConflict::kFail : OnConflict::kWait;
    std::optional<Txn> txn;
    hands.run([&] { txn.emplace(*store_, onConflict); });
    const uint64_t first = static_cast<uint64_t>(self);
    // All over the tree: most of these leaves are on disk.
    constexpr uint64_t kStride = 17;
    const uint64_t key =
        first + kCarriers * (static_cast<uint64_t>(round) * kStride % (kRecords / kCarriers));
    std::map<uint64_t, std::string> next = *mine;
    const auto expectValue = [&](uint64_t n) {
        std::string value;
        ASSERT_TRUE(
            hands.finish(*txn, [&] { return txn->get(*tree_, recordKey(n), &value); }).isOk());
        ASSERT_EQ(value, next.count(n) != 0 ? next[n] : valueFor(n, 0)) << n;
    };
    expectValue(key);
    if (round % 5 != 0) {
        next[key] = valueFor(key, static_cast<uint64_t>(round) + 1);
        ASSERT_TRUE(
            hands.finish(*txn, [&] { return txn->put(*tree_, recordKey(key), next[key]); }).isOk());
        std::string added;
        ASSERT_EQ(
            hands.finish(*txn, [&] { return txn->insert(*tree_, recordKey(key), "x"); }).code(),
            Code::kExists);
    }
    expectValue(key);
    std::optional<Cursor> cursor;
    hands.run([&] { cursor.emplace(*txn, tree_); });
    Status status = hands.finish(*txn, [&] { return cursor->seek(recordKey(key)); });
    for (uint64_t n = key; n < std::min(key + 6, kRecords); ++n) {
        ASSERT_TRUE(status.isOk()) << status.toString();
        ASSERT_EQ(cursor->key(), recordKey(n));
        if (n % kCarriers == first) {
            ASSERT_EQ(cursor->value(), next.count(n) != 0 ? next[n] : valueFor(n, 0));
        }
        status = hands.finish(*txn, [&] { return cursor->next(); });
    }
    hands.run([&] { cursor.reset(); });
    RangeCount count(*txn, tree_, "", "");
    ASSERT_TRUE(hands.finish(*txn, [&] { return count.run(UINT64_MAX); }).isOk());
    ASSERT_EQ(count.count(), kRecords) << "records are only overwritten";
    if (round % 3 == 0) {
        hands.run([&] { txn->abort(); });
    } else if (round % 3 == 1) {
        ASSERT_TRUE(hands.finish(*txn, [&] { return txn->commit(); }).isOk());
        ASSERT_TRUE(hands.finish(*txn, [&] { return txn->waitFor(Durability::kWritten); }).isOk());
        *mine = next;
    }
    hands.run([&] { txn.reset(); });
}

TEST_F(StoreHandover, EveryCallOnAnotherThread) {
    sync::Atomic<uint32_t> done{0};
    const auto isDone = [&] { return done.load(sync::kAcquire) == kCarriers; };
    std::vector<std::map<uint64_t, std::string>> mine(kCarriers);
    {
        std::vector<platform::Thread> threads;
        for (int self = 0; self < kCarriers; ++self) {
            threads.emplace_back("carrier", [&, self] {
                const CountsAtEnd end(done);
                Hands hands(seed_ + static_cast<uint64_t>(self));
                for (int round = 0; round < 40 && !HasFatalFailure(); ++round) {
                    carry(hands, self, round, &mine[static_cast<size_t>(self)]);
                }
            });
        }
        threads.emplace_back("evictions", [&] {
            while (!isDone()) {
                ASSERT_TRUE(store_->checkpointNow().isOk());
                store_->evictAll();
            }
        });
        // Keys of their own, so that every version that a carrier's snapshot needs is theirs.
        threads.emplace_back("writer", [&] {
            const TreeRef other = store_->tree(3);
            for (uint64_t i = 0; !isDone(); ++i) {
                put(*store_, *other, recordKey(i % 50), valueFor(i, i));
            }
        });
    }
    for (int self = 0; self < kCarriers; ++self) {
        for (const auto& [n, value] : mine[static_cast<size_t>(self)]) {
            Txn txn(*store_);
            EXPECT_EQ(valueOf(txn, *tree_, recordKey(n)), value);
        }
    }
    EXPECT_GT(store_->stats().leavesRead, 10u);
    EXPECT_EQ(shapeOf(*store_, tree_).error, "");
    EXPECT_TRUE(store_->close().isOk());
}

TEST_F(StoreHandover, ASnapshotOutlivesTheThreadThatTookIt) {
    // Each thread ends; the next one gets its place, with the snapshot that is still in use.
    std::vector<std::unique_ptr<Txn>> txns;
    for (uint64_t version = 1; version <= 12; ++version) {
        platform::Thread("begins", [&] { txns.push_back(std::make_unique<Txn>(*store_)); }).join();
        platform::Thread("writes", [&] {
            put(*store_, *tree_, recordKey(7), valueFor(7, version));
        }).join();
    }
    ASSERT_TRUE(store_->checkpointNow().isOk());
    store_->evictAll();
    for (uint64_t version = 0; version < txns.size(); ++version) {
        platform::Thread("reads", [&] {
            EXPECT_EQ(valueOf(*txns[version], *tree_, recordKey(7)), valueFor(7, version));
            txns[version].reset();
        }).join();
    }
    EXPECT_EQ(store_->epochs().minReadTs(), store_->stats().clock);
}

TEST_F(StoreHandover, ACommitIsCarriedThroughByOtherThreads) {
    const std::string large(8u << 20, 'x');
    HeldJournal held(disk_, *store_, *tree_);
    const auto commitBegunOn = [&](uint64_t n) {
        auto txn = std::make_unique<Txn>(*store_);
        platform::Thread("begins", [&] {
            EXPECT_TRUE(
                waiting(*txn, [&] { return txn->put(*tree_, recordKey(n), large); }).isOk());
            EXPECT_TRUE(txn->commit().isWouldBlock()) << "the journal has no room";
        }).join();
        return txn;
    };
    // A part of this one is in the journal; there may be no room for any of the others.
    std::unique_ptr<Txn> dropped = commitBegunOn(3);
    std::unique_ptr<Txn> first = commitBegunOn(1);
    std::unique_ptr<Txn> second = commitBegunOn(2);
    held.release();
    platform::Thread("drops", [&] { dropped.reset(); }).join();
    platform::Thread("ends", [&] { EXPECT_TRUE(commitAndWait(*second).isOk()); }).join();
    ASSERT_TRUE(store_->checkpointNow().isOk());
    platform::Thread("ends", [&] {
        EXPECT_TRUE(commitAndWait(*first).isOk());
        EXPECT_TRUE(waiting(*first, [&] { return first->waitFor(Durability::kDurable); }).isOk());
    }).join();
    first.reset();
    second.reset();
    tree_.reset();
    store_.reset();
    disk_.crash();
    store_ = openStore(disk_);
    tree_ = store_->tree(2);
    Txn txn(*store_);
    for (uint64_t n = 1; n <= 3; ++n) {
        EXPECT_EQ(valueOf(txn, *tree_, recordKey(n)).size(), large.size());
    }
}

}  // namespace
}  // namespace freshet::engine
