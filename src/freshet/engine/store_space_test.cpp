// SPDX-License-Identifier: Apache-2.0
/// Space of deleted records: sparse leaves are merged, the data file becomes shorter, and nothing
/// that stays is lost, whatever other threads write and whenever the power fails.
#include "freshet/engine/read_ahead.h"
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/platform/thread.h"
#include "freshet/testing/sim/fault_plan.h"
#include "freshet/testing/sim/faulty_file_system.h"

#include <map>
#include <vector>

namespace freshet::engine {
namespace {

constexpr TreeId kTree = 7;

std::string keyAt(uint64_t i) {
    std::string text = std::to_string(i);
    return std::string(8 - text.size(), '0') + text;
}

class StoreSpace : public ::testing::Test {
protected:
    void fill(uint64_t keys) {
        for (uint64_t i = 0; i < keys; ++i) {
            model[keyAt(i)] = std::to_string(i) + std::string(300, 'v');
            put(*store, *tree, keyAt(i), model[keyAt(i)]);
        }
    }
    void remove(uint64_t i) {
        erase(*store, *tree, keyAt(i));
        model.erase(keyAt(i));
    }
    /// Makes as many checkpoints as the store needs to come to rest.
    void checkpoints(int count = 8) {
        for (int i = 0; i < count; ++i) {
            const Status status = store->checkpointNow();
            ASSERT_TRUE(status.isOk()) << status.toString();
        }
    }
    void crash() {
        tree.reset();
        disk.crash();
        store.reset();
        store = openStore(options());
        tree = store->tree(kTree);
    }
    StoreOptions options() {
        StoreOptions options = storeOptions(disk);
        options.files = &faulty;
        options.memoryBytes = memoryBytes;
        options.codec = codec;
        return options;
    }
    /// Writers delete and reinsert the first of the keys, each among keys of its own, while
    /// checkpoints are made.
    void writeBeside(uint64_t keys, const std::function<void()>& between) {
        constexpr unsigned kWriters = 3;
        const uint64_t seed = testSeed();
        sync::Atomic<unsigned> running{kWriters};
        std::vector<std::map<std::string, std::string>> own(kWriters);
        for (const auto& [key, value] : model) {
            own[std::stoull(key) % kWriters][key] = value;
        }
        std::vector<platform::Thread> threads;
        for (unsigned writer = 0; writer < kWriters; ++writer) {
            threads.emplace_back("writer", [&, writer] {
                std::mt19937_64 random(seed + writer);
                for (int round = 0; round < 12; ++round) {
                    // A range that loses most of its keys, or gets them back.
                    const uint64_t begin = random() % keys;
                    for (uint64_t i = begin; i < std::min(begin + 900, keys); ++i) {
                        const std::string key = keyAt(i);
                        if (i % kWriters != writer || random() % 8 == 0) {
                            continue;
                        }
                        if (own[writer].erase(key) != 0) {
                            erase(*store, *tree, key);
                        } else {
                            own[writer][key] = std::to_string(round) + std::string(200, 'w');
                            put(*store, *tree, key, own[writer][key]);
                        }
                    }
                }
                running.fetch_sub(1, sync::kRelaxed);
            });
        }
        while (running.load(sync::kRelaxed) != 0) {
            ASSERT_TRUE(store->checkpointNow().isOk());
            between();
        }
        for (platform::Thread& thread : threads) {
            thread.join();
        }
        model.clear();
        for (const auto& keys : own) {
            model.insert(keys.begin(), keys.end());
        }
    }
    void expectModel() {
        std::map<std::string, std::string> found;
        Txn txn(*store);
        Cursor cursor(txn, tree);
        Status status = waiting(txn, [&] { return cursor.first(); });
        while (status.isOk() && cursor.valid()) {
            found.emplace(cursor.key(), cursor.value());
            status = waiting(txn, [&] { return cursor.next(); });
        }
        ASSERT_TRUE(status.isOk());
        EXPECT_EQ(found, model);
        EXPECT_EQ(shapeOf(*store, tree).error, "");
        auto report = store->verifyFiles();
        ASSERT_TRUE(report.isOk()) << report.status().toString();
        EXPECT_EQ(report->errors, std::vector<std::string>{});
    }

    uint64_t memoryBytes = 0;
    Codec codec = Codec::kNone;
    testing::MemoryFileSystem disk;
    testing::FaultPlan plan{1};
    testing::FaultyFileSystem faulty{disk, plan};
    std::unique_ptr<Store> store = openStore(options());
    TreeRef tree = store->tree(kTree);
    std::map<std::string, std::string> model;
};

TEST_F(StoreSpace, WhatDeletesLeaveGoesIntoFewerLeavesAndAShorterFile) {
    constexpr uint64_t kKeys = 60'000;
    fill(kKeys);
    checkpoints();
    const size_t leaves = shapeOf(*store, tree).leaves;
    const uint64_t stored = store->storedBytes(kTree);
    const uint64_t file = store->stats().block.fileBytes;
    for (uint64_t i = 0; i < kKeys; ++i) {
        if (i % 20 != 0) {
            remove(i);
        }
    }
    checkpoints();
    EXPECT_LT(shapeOf(*store, tree).leaves, leaves / 4);
    EXPECT_LT(store->storedBytes(kTree), stored / 10);
    EXPECT_LT(store->stats().block.fileBytes, file / 2);
    expectModel();
    crash();
    EXPECT_LT(store->storedBytes(kTree), stored / 10);
    expectModel();
}

TEST_F(StoreSpace, LargeValuesDoNotKeepTheFile) {
    constexpr uint64_t kKeys = 40'000;
    fill(kKeys);
    checkpoints(1);
    for (int i = 0; i < 20; ++i) {
        const std::string key = "large" + std::to_string(i);
        model[key] = std::string(20'000, static_cast<char>('a' + i));
        put(*store, *tree, key, model[key]);
    }
    checkpoints();
    const uint64_t file = store->stats().block.fileBytes;
    store->evictAll();
    for (uint64_t i = 0; i < kKeys; ++i) {
        if (i % 10 != 0) {
            remove(i);
        }
    }
    checkpoints(12);
    EXPECT_LT(store->stats().block.fileBytes, file / 2);
    // Nothing more is moved or written.
    const uint64_t written = store->stats().block.bytesWritten;
    checkpoints(2);
    EXPECT_EQ(store->stats().block.bytesWritten, written);
    expectModel();
    crash();
    expectModel();
}

TEST_F(StoreSpace, EmptyLeavesGo) {
    constexpr uint64_t kKeys = 10'000;
    fill(kKeys);
    checkpoints();
    const size_t leaves = shapeOf(*store, tree).leaves;
    for (uint64_t i = 1000; i < 9000; ++i) {
        remove(i);
    }
    checkpoints();
    EXPECT_LT(shapeOf(*store, tree).leaves, leaves / 3);
    expectModel();
    crash();
    for (uint64_t i = 4000; i < 5000; ++i) {
        model[keyAt(i)] = "again";
        put(*store, *tree, keyAt(i), "again");
    }
    checkpoints(1);
    expectModel();
}

/// Leaves that appending and splits leave behind are not merged again.
TEST_F(StoreSpace, LeavesThatFillStay) {
    constexpr uint64_t kKeys = 20'000;
    constexpr uint64_t kOdd = 7919;  // visits all of them in no order
    for (const uint64_t step : {uint64_t{1}, kOdd}) {
        const std::string prefix = std::to_string(step) + "/";
        size_t joined = 0;
        for (uint64_t i = 0; i < kKeys; ++i) {
            const std::string key = prefix + keyAt(i * step % kKeys);
            model[key] = std::string(100 + i % 100, 'v');
            put(*store, *tree, key, model[key]);
            if (i % 100 == 0) {
                const size_t leaves = shapeOf(*store, tree).leaves;
                checkpoints(1);
                const size_t left = shapeOf(*store, tree).leaves;
                joined += left < leaves ? leaves - left : 0;
            }
        }
        EXPECT_LE(joined, shapeOf(*store, tree).leaves / 20);
    }
    expectModel();
}

/// A checkpoint that removes leaves stops at each of its writes in turn: for want of room, with
/// later ones that succeed, or for good.
TEST_F(StoreSpace, NothingIsLostWhereverThatStops) {
    constexpr uint64_t kKeys = 1500;
    constexpr uint64_t kWritesMax = 12;
    uint64_t stopped = 0;
    uint64_t resumed = 0;
    for (uint64_t nth = 1; nth <= kWritesMax; ++nth) {
        for (const Code code : {Code::kNoSpace, Code::kIo}) {
            fill(kKeys);
            for (uint64_t i = 0; i < kKeys; ++i) {
                if (i / 100 % 5 != nth % 5 && i % 50 != 0) {
                    remove(i);
                }
            }
            model["last"] = std::to_string(nth);
            putDurably(*store, *tree, "last", model["last"]);
            checkpoints(1);  // folds what it has written
            if (nth % 2 == 0) {
                store->evictAll();
            }
            const size_t leaves = shapeOf(*store, tree).leaves;
            const size_t rule =
                plan.add({.path = "*/data.freshet", .error = Status(code, "stop"), .nth = nth});
            const Status status = store->checkpointNow();
            plan.cancel(rule);
            EXPECT_LT(shapeOf(*store, tree).leaves, leaves);
            stopped += status.isOk() ? 0 : 1;
            // A full disk is not final: a later checkpoint may succeed.
            for (uint64_t i = 0; i < nth % 3 && code == Code::kNoSpace; ++i) {
                resumed += !status.isOk() && store->checkpointNow().isOk() ? 1 : 0;
            }
            crash();
            ASSERT_NO_FATAL_FAILURE(expectModel());
        }
    }
    EXPECT_GT(stopped, kWritesMax);
    EXPECT_GT(resumed, kWritesMax / 3);
}

/// Keys are added on the right and removed on the left.
class StoreQueue : public StoreSpace {
protected:
    void pass(uint64_t keys, uint64_t every = 1000) {
        for (uint64_t i = 0; i < keys; ++i, ++next) {
            put(*store, *tree, keyAt(next), std::string(300, 'v'));
            if (next >= kLength) {
                erase(*store, *tree, keyAt(next - kLength));
            }
            if (next % every == every - 1) {
                checkpoints(1);
            }
        }
    }
    /// With nothing left that could be evicted or freed. Memory retired by now waits until its
    /// threads run again, and is not much.
    uint64_t memoryAtRest() {
        checkpoints(4);
        store->evictAll();
        const StoreStats stats = store->stats();
        EXPECT_LT(stats.retiredBytes, 1u << 20);
        // Each thread's part of memoryBytes may be some KiB behind.
        return stats.memoryBytes - std::min(stats.memoryBytes, stats.retiredBytes);
    }

    static constexpr uint64_t kLength = 2000;
    uint64_t next = 0;
};

TEST_F(StoreQueue, WhatHasPassedTakesNoMemory) {
    pass(3 * kLength);
    const uint64_t before = memoryAtRest();
    const uint64_t splits = store->stats().splits;
    pass(100 * kLength);
    const uint64_t after = memoryAtRest();
    const uint64_t passed = store->stats().splits - splits;
    EXPECT_GT(passed, 2000u);
    // Of each parent two leaves stay, and its inner page.
    constexpr uint64_t kBytesForEach = 20;
    EXPECT_LT(after, before + passed * kBytesForEach + (32u << 10));
    for (uint64_t i = next - kLength; i < next; ++i) {
        model[keyAt(i)] = std::string(300, 'v');
    }
    expectModel();
    crash();
    expectModel();
}

/// Readers use hints, cursors and leaves on disk, while pages are removed and freed.
TEST_F(StoreQueue, ReadersMeetNothingThatIsFreed) {
    constexpr int kReaders = 3;
    const uint64_t seed = testSeed();
    pass(kLength);
    sync::Atomic<uint64_t> newest{next};
    sync::Atomic<bool> isOver{false};
    const std::string value(300, 'v');
    auto readByHint = [&](const std::string& key, LeafHint hint) {
        Txn txn(*store, OnConflict::kWait, Waits::kHere);
        for (;;) {
            {
                sync::Slice slice(store->epochs());
                ByteView found;
                const Status status = txn.getInPlace(*tree, key, &found, hint);
                if (!status.isWouldBlock()) {
                    EXPECT_TRUE(status.isOk() ? found == value : status.code() == Code::kNotFound);
                    return;
                }
            }
            txn.await();
        }
    };
    auto walk = [&] {
        Txn txn(*store);
        Cursor cursor(txn, tree);
        std::string last;
        Status status = waiting(txn, [&] { return cursor.first(); });
        uint64_t keys = 0;
        for (; status.isOk() && cursor.valid(); ++keys) {
            EXPECT_LT(last, cursor.key());
            EXPECT_EQ(cursor.value(), value);
            last = cursor.key();
            status = waiting(txn, [&] { return cursor.next(); });
        }
        EXPECT_TRUE(status.isOk());
        EXPECT_GE(keys, kLength);
        EXPECT_LE(keys, kLength + 1);
    };
    std::vector<platform::Thread> threads;
    for (int reader = 0; reader < kReaders; ++reader) {
        threads.emplace_back("reader", [&, reader] {
            std::mt19937_64 random(seed + static_cast<uint64_t>(reader));
            std::vector<std::pair<std::string, LeafHint>> hints;
            // Relaxed: the writer's progress and its end are hints.
            while (!isOver.load(sync::kRelaxed)) {
                const std::string key = keyAt(newest.load(sync::kRelaxed) - 1 - random() % kLength);
                {
                    sync::Slice slice(store->epochs());
                    Probe probe;
                    probe.begin(*tree, key);
                    while (probe.step()) {
                    }
                    hints.emplace_back(key, probe.leaf());
                }
                const auto& [known, hint] = hints[random() % hints.size()];
                readByHint(known, hint);
                if (random() % 64 == 0) {
                    walk();
                }
            }
        });
    }
    for (int round = 0; round < 40; ++round) {
        pass(kLength / 4, 250);
        newest.store(next, sync::kRelaxed);
        store->evictAll();
    }
    isOver.store(true, sync::kRelaxed);
    threads.clear();
    EXPECT_GT(tree->pages().hintGeneration(), 0u);
}

/// Plain threads have found leaves on disk, and come to read them when their pages have been
/// removed.
TEST_F(StoreSpace, AReaderOfARemovedLeafSearchesAgain) {
    constexpr uint64_t kKeys = 4000;
    fill(kKeys);
    checkpoints();
    for (uint64_t i = 0; i < kKeys; ++i) {
        if (i % 20 != 0) {
            remove(i);
        }
    }
    checkpoints(1);  // folds them, so that the next one could remove them
    store->evictAll();
    const TreeShape before = shapeOf(*store, tree);
    ASSERT_EQ(before.onDisk, before.leaves);
    std::vector<std::unique_ptr<Txn>> readers;
    for (const auto& [key, kept] : model) {
        readers.push_back(std::make_unique<Txn>(*store, OnConflict::kWait, Waits::kHere));
        std::string value;
        ASSERT_TRUE(readers.back()->get(*tree, key, &value).isWouldBlock());
    }
    expectModel();  // other readers bring them back
    checkpoints(4);
    ASSERT_LT(shapeOf(*store, tree).leaves, before.leaves / 2);
    store->evictAll();  // and frees the removed pages
    auto reader = readers.begin();
    for (const auto& [key, kept] : model) {
        std::string value;
        Status status = Status::wouldBlock();
        while (status.isWouldBlock()) {
            (*reader)->await();
            status = (*reader)->get(*tree, key, &value);
        }
        EXPECT_TRUE(status.isOk()) << status.toString();
        EXPECT_EQ(value, kept);
        ++reader;
    }
}

/// Writers delete and reinsert, while checkpoints are made.
TEST_F(StoreSpace, LeavesGoBesideWriters) {
    constexpr uint64_t kKeys = 4000;
    fill(kKeys);
    writeBeside(kKeys, [] {});
    expectModel();
    checkpoints(3);
    expectModel();
    crash();
    expectModel();
}

/// Leaves that are no longer used are on disk, and so are their neighbours.
class StoreSpaceAway : public StoreSpace {
protected:
    static constexpr uint64_t kKeys = 80'000;
    static constexpr uint64_t kMemoryBytes = 4u << 20;
    /// The most that a checkpoint may bring back: to move images, to merge leaves, and two leaves
    /// too many.
    static constexpr uint64_t kReadBytesMax = kMemoryBytes / 64 * 2 + 4 * (32u << 10);

    StoreSpaceAway() {
        memoryBytes = kMemoryBytes;
        crash();  // and open with that limit
        fill(kKeys);
        settle();
    }
    size_t leaves() { return shapeOf(*store, tree).leaves; }
    uint64_t liveBytes() const {
        uint64_t bytes = 0;
        for (const auto& [key, value] : model) {
            bytes += key.size() + value.size();
        }
        return bytes;
    }
    uint64_t usedBytes() const {
        const block::Stats stats = store->stats().block;
        return stats.fileBytes - stats.freeBytes - stats.pendingBytes;
    }
    /// Makes checkpoints, with all possible leaves on disk, until they neither write nor read.
    void settle() {
        constexpr int kCheckpointsMax = 3000;
        constexpr int kStillFor = 4;
        int still = 0;
        for (int i = 0; still < kStillFor; ++i) {
            ASSERT_LT(i, kCheckpointsMax) << "it comes to rest";
            store->evictAll();
            const StoreStats before = store->stats();
            checkpoints(1);
            const StoreStats after = store->stats();
            EXPECT_LE(after.leafBytesRead - before.leafBytesRead, kReadBytesMax);
            const bool isStill = after.block.bytesWritten == before.block.bytesWritten &&
                                 after.leavesRead == before.leavesRead;
            still = isStill ? still + 1 : 0;
        }
    }
    /// Deletes most of each leaf between these keys; the rest is on disk.
    void makeSparse(uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; ++i) {
            if (i % 30 != 0) {
                remove(i);
            }
        }
        checkpoints(1);
        store->evictAll();
    }
    template <typename Condition>
    static bool comesSoon(Condition condition) {
        constexpr int kMillisMax = 30'000;  // half of the interval
        bool came = condition();
        for (int waited = 0; waited < kMillisMax && !came; ++waited) {
            platform::sleepMillis(1);
            came = condition();
        }
        return came;
    }
    void expectSmall() {
        EXPECT_LT(store->storedBytes(kTree), liveBytes() * 3 / 2);
        EXPECT_LT(usedBytes(), liveBytes() * 3 / 2 + (256u << 10));
    }
};

TEST_F(StoreSpaceAway, WhatRandomDeletesLeaveGoes) {
    const size_t before = leaves();
    std::mt19937_64 random(testSeed());
    for (uint64_t i = 0; i < kKeys; ++i) {
        if (random() % 30 != 0) {
            remove(i);
        }
    }
    settle();
    EXPECT_LT(leaves(), before / 5);
    expectSmall();
    expectModel();
    crash();
    expectSmall();
    expectModel();
}

/// After an opening it is unknown how much a leaf holds.
TEST_F(StoreSpaceAway, AlsoWhatWasThereWhenTheStoreWasOpened) {
    const size_t before = leaves();
    memoryBytes = 1;  // so opening reads no more than needed
    crash();
    std::mt19937_64 random(testSeed());
    for (uint64_t i = 0; i < kKeys; ++i) {
        if (random() % 30 != 0) {
            remove(i);
        }
    }
    checkpoints(3);
    EXPECT_GT(leaves(), before / 2);
    memoryBytes = kMemoryBytes;
    crash();
    settle();
    EXPECT_LT(leaves(), before / 5);
    expectSmall();
    expectModel();
}

TEST_F(StoreSpaceAway, EmptyLeavesGo) {
    const size_t before = leaves();
    for (uint64_t i = kKeys / 10; i < kKeys; ++i) {
        remove(i);
    }
    settle();
    EXPECT_LT(leaves(), before / 8);
    expectSmall();
    expectModel();
    for (uint64_t i = 0; i < kKeys / 10; ++i) {
        remove(i);
    }
    settle();
    EXPECT_LT(leaves(), 10u);
    EXPECT_LT(usedBytes(), 256u << 10);
    expectModel();
    crash();
    fill(1000);
    expectModel();
}

/// Full leaves that take one block each look sparse, once.
TEST_F(StoreSpaceAway, WhatWasGuessedWrongIsKnownThen) {
    codec = Codec::kZstd;
    crash();
    fill(kKeys / 4);
    settle();
    crash();
    const size_t before = leaves();
    settle();
    EXPECT_GT(store->stats().leavesRead, before / 8);
    EXPECT_LT(store->stats().leavesRead, before);
    EXPECT_GT(leaves(), before - before / 50);  // some were not full
    expectModel();
}

/// While there is more to merge than one checkpoint may read, an idle store makes the next one
/// soon.
TEST_F(StoreSpaceAway, TheNextCheckpointComesSoon) {
    makeSparse(0, kKeys);
    checkpoints(1);
    const uint64_t before = store->stats().checkpoints;
    EXPECT_TRUE(comesSoon([&] { return store->stats().checkpoints != before; }));
}

/// Also for leaves that became sparse where the hand had passed.
TEST_F(StoreSpaceAway, AndOneThatBeginsAnew) {
    const uint64_t few = kKeys / 40;  // more than one checkpoint may read, fewer than two
    const size_t before = leaves();
    makeSparse(kKeys - few, kKeys);
    checkpoints(1);
    makeSparse(0, few);
    const size_t sparse = before / 20;
    EXPECT_TRUE(comesSoon([&] { return leaves() < before - sparse * 2 / 3; })) << leaves();
}

TEST_F(StoreSpaceAway, LeavesGoBesideWriters) {
    writeBeside(4000, [&] { store->evictAll(); });
    settle();
    expectModel();
    crash();
    expectModel();
}

}  // namespace
}  // namespace freshet::engine
