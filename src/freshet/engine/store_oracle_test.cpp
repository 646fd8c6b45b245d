// SPDX-License-Identifier: Apache-2.0
/// The store against std::map: random operations in one writer, with open snapshots, aborts, full
/// scans both ways, and reopening. FRESHET_ORACLE_OPERATIONS asks for a long run.
#include "freshet/base/sanitizer.h"
#include "freshet/engine/range_count.h"
#include "freshet/engine/txn/store_test_support.h"

#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

namespace freshet::engine {
namespace {

using Oracle = std::map<std::string, std::string>;

struct Snapshot {
    std::unique_ptr<Txn> txn;
    Oracle state;
};

enum class Keys { kMixed, kShort, kAppended };

class OracleRun {
public:
    OracleRun(uint64_t seed, Keys keys, bool evicts = false)
        : random_(seed), keys_(keys), evicts_(evicts) {}

    /// `rarity`: divides the frequency of full comparisons, whose cost grows with the data.
    void run(int rounds, size_t rarity = 1) {
        rarity_ = rarity;
        for (int i = 0; i < rounds && !::testing::Test::HasFailure(); ++i) {
            transaction();
            if (pick(40 * rarity) == 0) {
                snapshots_.push_back({std::make_unique<Txn>(*store_), state_});
            }
            if (!snapshots_.empty() && pick(50 * rarity) == 0) {
                const size_t which = pick(snapshots_.size());
                compare(*snapshots_[which].txn, snapshots_[which].state);
                if (pick(2) == 0) {
                    snapshots_.erase(snapshots_.begin() + static_cast<std::ptrdiff_t>(which));
                }
            }
            if (pick(rounds / 4) == 0) {
                reopen();
            }
            if (evicts_ && i % (100 * static_cast<int>(rarity)) == 99) {
                endSnapshots();  // they keep leaves in memory
                ASSERT_TRUE(store_->checkpointNow().isOk());
                evict();
            } else if (evicts_ && pick(20 * rarity) == 0) {
                evict();
            }
        }
        reopen();
    }
    const Store& store() const { return *store_; }

private:
    std::unique_ptr<Store> open() {
        StoreOptions options = storeOptions(disk_);
        options.codec = static_cast<Codec>(pick(3));  // several codecs side by side
        if (evicts_) {
            options.memoryBytes = 1;  // leaves read by open() do not stay
        }
        return openStore(options);
    }
    size_t pick(size_t below) { return random_() % below; }

    std::string randomKey() {
        if (keys_ == Keys::kAppended) {
            return appendedKey();
        }
        if (keys_ == Keys::kShort) {
            std::string key(pick(4), '\0');
            for (char& c : key) {
                c = static_cast<char>("\0a\xff"[pick(3)]);
            }
            return key;
        }
        // Long common prefixes, heads that tie, and a rising edge.
        const size_t family = pick(4);
        const std::string number = std::to_string(1'000'000 + (family == 3 ? edge_++ : pick(3000)));
        return family == 0 ? "common-prefix-of-many-keys/" + number + std::string(pick(3), '\0')
                           : std::string(1, static_cast<char>('a' + family)) + number;
    }
    /// Mostly the next record id or one of the last; also keys that only look like ids.
    std::string appendedKey() {
        const uint64_t id = pick(3) != 0 ? edge_++ : edge_ - pick(std::min<size_t>(edge_ + 1, 400));
        std::string key(8, '\0');
        storeBe64(key.data(), 1'000 + id);
        const size_t kind = pick(60);
        return kind == 0   ? key.substr(0, 7)
               : kind == 1 ? key + std::string(1 + pick(2), '\0')
                           : key;
    }
    std::string randomValue() {
        const size_t size = pick(50) == 0 ? 900 + pick(4000) : pick(120);
        return std::string(size, static_cast<char>('a' + pick(26)));
    }

    void transaction() {
        Txn txn(*store_);
        const size_t count = pick(10) == 0 ? pick(200) : 1 + pick(6);
        for (size_t i = 0; i < count; ++i) {
            operation(txn);
        }
        operations += count;
        if (pick(10 * rarity_) == 0) {
            this->count(txn, state_);
        }
        if (pick(100 * rarity_) == 0) {
            compare(txn, state_);
        }
        if (pick(5) == 0) {
            txn.abort();
            undo();
        } else {
            ASSERT_TRUE(commitAndWait(txn).isOk());
        }
        undo_.clear();
    }

    void operation(Txn& txn) {
        const std::string key = randomKey();
        const std::string value = randomValue();
        const auto it = state_.find(key);
        const bool there = it != state_.end();
        switch (pick(5)) {
            case 0:
                ASSERT_EQ(valueOf(txn, *tree_, key), there ? it->second : "<NotFound>");
                break;
            case 1:
                ASSERT_EQ(waiting(txn, [&] { return txn.erase(*tree_, key); }).code(),
                          there ? Code::kOk : Code::kNotFound);
                change(key, std::nullopt);
                break;
            case 2:
                ASSERT_EQ(waiting(txn, [&] { return txn.insert(*tree_, key, value); }).code(),
                          there ? Code::kExists : Code::kOk);
                if (!there) {
                    change(key, value);
                }
                break;
            default:
                ASSERT_TRUE(waiting(txn, [&] { return txn.put(*tree_, key, value); }).isOk());
                change(key, value);
        }
    }

    void change(const std::string& key, const std::optional<std::string>& value) {
        const auto it = state_.find(key);
        undo_.emplace_back(key, it == state_.end() ? std::nullopt : std::optional(it->second));
        assign(key, value);
    }
    void assign(const std::string& key, const std::optional<std::string>& value) {
        if (value.has_value()) {
            state_[key] = *value;
        } else {
            state_.erase(key);
        }
    }
    void undo() {
        for (; !undo_.empty(); undo_.pop_back()) {
            assign(undo_.back().first, undo_.back().second);
        }
    }

    void evict() {
        if (pick(3) != 0) {
            ASSERT_TRUE(store_->checkpointNow().isOk());
        }
        for (int i = 0; i < 3; ++i) {  // recently used leaves are evicted the second time, changed
                                       // ones too
            store_->evictAll();
        }
        evicted = std::max(evicted, shapeOf(*store_, tree_).onDisk);
    }

    uint64_t counted(Txn& txn, const std::string& low, const std::string& end) {
        RangeCount range(txn, tree_, low, end);
        EXPECT_TRUE(waiting(txn, [&] { return range.run(); }).isOk());
        return range.count();
    }

    void count(Txn& txn, const Oracle& state) {
        ASSERT_EQ(counted(txn, "", ""), state.size());
        const std::string low = randomKey();
        ASSERT_EQ(counted(txn, low, ""), std::distance(state.lower_bound(low), state.end()));
        const std::string end = randomKey() + "x";
        const auto wanted =
            low < end ? std::distance(state.lower_bound(low), state.lower_bound(end)) : 0;
        ASSERT_EQ(counted(txn, low, end), wanted);
    }

    void compare(Txn& txn, const Oracle& state) {
        count(txn, state);
        Cursor cursor(txn, tree_);
        ASSERT_TRUE(waiting(txn, [&] { return cursor.first(); }).isOk());
        for (const auto& [key, value] : state) {
            ASSERT_TRUE(cursor.valid());
            ASSERT_EQ(cursor.key(), key);
            ASSERT_EQ(cursor.value(), value);
            ASSERT_TRUE(waiting(txn, [&] { return cursor.next(); }).isOk());
        }
        ASSERT_FALSE(cursor.valid());
        ASSERT_TRUE(waiting(txn, [&] { return cursor.last(); }).isOk());
        for (auto it = state.rbegin(); it != state.rend(); ++it) {
            ASSERT_TRUE(cursor.valid());
            ASSERT_EQ(cursor.key(), it->first);
            ASSERT_EQ(cursor.value(), it->second);
            ASSERT_TRUE(waiting(txn, [&] { return cursor.prev(); }).isOk());
        }
        ASSERT_FALSE(cursor.valid());
        for (int i = 0; i < 10; ++i) {
            wander(txn, cursor, state);
        }
    }

    /// Seeks and steps in both directions.
    void wander(Txn& txn, Cursor& cursor, const Oracle& state) {
        const std::string key = randomKey();
        auto it = state.lower_bound(key);
        if (pick(2) == 0) {
            ASSERT_TRUE(waiting(txn, [&] { return cursor.seek(key); }).isOk());
        } else {
            ASSERT_TRUE(waiting(txn, [&] { return cursor.seekBefore(key); }).isOk());
            it = state.upper_bound(key);
            it = it == state.begin() ? state.end() : std::prev(it);
        }
        while (it != state.end() && pick(12) != 0) {
            ASSERT_TRUE(cursor.valid());
            ASSERT_EQ(cursor.key(), it->first);
            ASSERT_EQ(cursor.value(), it->second);
            if (pick(3) != 0) {
                ASSERT_TRUE(waiting(txn, [&] { return cursor.next(); }).isOk());
                ++it;
            } else {
                ASSERT_TRUE(waiting(txn, [&] { return cursor.prev(); }).isOk());
                it = it == state.begin() ? state.end() : std::prev(it);
            }
        }
        if (it == state.end()) {
            ASSERT_FALSE(cursor.valid());
        }
    }

    void endSnapshots() {
        for (Snapshot& snapshot : snapshots_) {
            compare(*snapshot.txn, snapshot.state);
        }
        snapshots_.clear();
    }

    void reopen() {
        endSnapshots();
        const TreeShape shape = shapeOf(*store_, tree_);
        ASSERT_EQ(shape.error, "");
        splits += store_->stats().splits;
        tree_.reset();
        store_.reset();
        store_ = open();
        tree_ = store_->tree(7);
        Txn txn(*store_);
        compare(txn, state_);
    }

public:
    uint64_t operations = 0;
    uint64_t splits = 0;
    size_t evicted = 0;  // largest number of leaves on disk at one time

private:
    std::mt19937_64 random_;
    const Keys keys_;
    const bool evicts_;
    testing::MemoryFileSystem disk_;
    std::unique_ptr<Store> store_ = open();
    TreeRef tree_ = store_->tree(7);
    Oracle state_;  // as committed, or as the open transaction sees it
    std::vector<std::pair<std::string, std::optional<std::string>>> undo_;  // of that transaction
    std::vector<Snapshot> snapshots_;
    size_t rarity_ = 1;
    uint64_t edge_ = 0;
};

TEST(StoreOracle, AgreesWithAMapOnManyKeys) {
    OracleRun run(testSeed(), Keys::kMixed);
    run.run(1500);
    EXPECT_GT(run.splits, 0u);
}

TEST(StoreOracle, AgreesWithAMapWhileLeavesComeAndGo) {
    constexpr int kTurns = kIsAddressSanitized ? 500 : 1500;
    OracleRun run(testSeed(), Keys::kMixed, true);
    run.run(kTurns);
    EXPECT_GT(run.splits, 0u);
    EXPECT_GT(run.evicted, size_t{kTurns} / 300);
    OracleRun few(testSeed(), Keys::kShort, true);
    few.run(kTurns);
    EXPECT_GT(few.evicted, 0u);
}

TEST(StoreOracle, AgreesWithAMapOnFewHotKeys) {
    OracleRun run(testSeed(), Keys::kShort);
    run.run(1500);
}

TEST(StoreOracle, AgreesWithAMapOnAppendedRecords) {
    OracleRun run(testSeed(), Keys::kAppended);
    run.run(1500);
    EXPECT_GT(run.splits, 0u);
    OracleRun evicting(testSeed() + 1, Keys::kAppended, true);
    evicting.run(kIsAddressSanitized ? 300 : 800);
    EXPECT_GT(evicting.evicted, 0u);
}

/// Store after store, of all kinds, until that many operations were made.
TEST(StoreOracle, AgreesWithAMapForAsLongAsAsked) {
    const char* text = std::getenv("FRESHET_ORACLE_OPERATIONS");
    const uint64_t wanted = text == nullptr ? 20'000 : std::strtoull(text, nullptr, 10);
    constexpr std::array kKinds{Keys::kMixed, Keys::kAppended, Keys::kShort};
    const uint64_t seed = testSeed();
    uint64_t done = 0;
    for (uint64_t turn = 0; done < wanted && !HasFailure(); ++turn) {
        SCOPED_TRACE("turn " + std::to_string(turn));
        OracleRun run(seed + turn, kKinds[turn % kKinds.size()], turn % 2 == 0);
        run.run(text == nullptr ? 500 : 30'000, 10);
        done += run.operations;
    }
    EXPECT_GE(done, wanted);
}

}  // namespace
}  // namespace freshet::engine
