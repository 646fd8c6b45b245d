// SPDX-License-Identifier: Apache-2.0
/// Checkpoints and what they promise: a store is restored from its newest checkpoint and the
/// journal after it, whatever was going on when the power failed.
#include "freshet/base/sanitizer.h"
#include "freshet/block/block_file.h"
#include "freshet/block/page_format.h"
#include "freshet/engine/recovery/identity.h"
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/atomic.h"
#include "freshet/testing/sim/faulty_file_system.h"

#include <functional>
#include <map>
#include <vector>

namespace freshet::engine {
namespace {

std::string numbered(uint64_t n) {
    std::string key = "key";
    appendBe64(key, n);
    return key;
}

class StoreCheckpoint : public ::testing::Test {
protected:
    void reopen(const StoreOptions& options) {
        tree.reset();
        store.reset();
        store = openStore(options);
        ASSERT_NE(store, nullptr);
        tree = store->tree(7);
    }
    void crash() {
        disk.crash();
        reopen(storeOptions(disk));
    }
    void expectSound() {
        EXPECT_EQ(shapeOf(*store, tree).error, "");
        auto report = store->verifyFiles();
        ASSERT_TRUE(report.isOk()) << report.status().toString();
        EXPECT_EQ(report->errors, std::vector<std::string>{});
    }
    std::string get(ByteView key) {
        Txn txn(*store);
        return valueOf(txn, *tree, key);
    }
    /// Every leaf is evicted as soon as possible.
    StoreOptions shortOfMemory() {
        StoreOptions options = storeOptions(disk);
        options.memoryBytes = 1;
        options.codec = Codec::kZstd;
        return options;
    }
    /// Makes checkpoints until isSo(). Dropped objects are freed when no thread can hold them, and
    /// a thread that was preempted inside an epoch may hold them for as long as the machine is
    /// busy.
    bool checkpointUntil(const TreeRef& written, const std::function<bool()>& isSo) {
        const uint64_t deadline = platform::monotonicNanos() + 60'000'000'000;
        for (int i = 0; !isSo() && platform::monotonicNanos() < deadline; ++i) {
            putDurably(*store, *written, "x", std::to_string(i));
            store->epochs().tryAdvance();
            EXPECT_TRUE(store->checkpointNow().isOk());
        }
        return isSo();
    }
    std::function<bool()> mappedPagesAre(uint64_t pages) {
        return [this, pages] { return store->stats().block.mappedPages == pages; };
    }

    testing::MemoryFileSystem disk;
    std::unique_ptr<Store> store = openStore(disk);
    TreeRef tree = store->tree(7);
};

TEST_F(StoreCheckpoint, ReplayBeginsAtTheLastOne) {
    for (uint64_t i = 0; i < 2000; ++i) {
        put(*store, *tree, numbered(i), std::string(100, 'a'));
    }
    EXPECT_EQ(store->stats().checkpoints, 1u) << "a new store has one";
    // The next one may split leaves while it folds them.
    for (uint64_t made = 2; made <= 3; ++made) {
        ASSERT_TRUE(store->checkpointNow().isOk());
        EXPECT_EQ(store->stats().checkpoints, made);
    }
    EXPECT_EQ(store->stats().dirtyPages, 0u);
    EXPECT_GT(store->stats().splits, 0u);
    putDurably(*store, *tree, numbered(5), "after");
    putDurably(*store, *tree, numbered(3000), "after");
    crash();
    EXPECT_EQ(store->stats().recordsReplayed, 2u);
    EXPECT_EQ(get(numbered(4)), std::string(100, 'a'));
    EXPECT_EQ(get(numbered(5)), "after");
    EXPECT_EQ(get(numbered(3000)), "after");
    expectSound();
    crash();
    EXPECT_EQ(store->stats().recordsReplayed, 0u) << "opening took a checkpoint";
    EXPECT_EQ(get(numbered(3000)), "after");
}

TEST_F(StoreCheckpoint, AnIdleStoreMakesNone) {
    put(*store, *tree, "a", "1");
    ASSERT_TRUE(store->checkpointNow().isOk());
    const uint64_t made = store->stats().checkpoints;
    ASSERT_TRUE(store->checkpointNow().isOk());
    EXPECT_EQ(store->stats().checkpoints, made);
}

TEST_F(StoreCheckpoint, NoneIsMadeWhileTheyAreHeld) {
    ASSERT_TRUE(store->holdCheckpoints().isOk() && store->holdCheckpoints().isOk());
    const uint64_t made = store->stats().checkpoints;
    putDurably(*store, *tree, "b", "2");
    store->releaseCheckpoints();
    EXPECT_TRUE(store->checkpointNow().isOk());
    EXPECT_EQ(store->stats().checkpoints, made) << "held twice";
    store->releaseCheckpoints();
    EXPECT_TRUE(store->checkpointNow().isOk() && store->stats().checkpoints == made + 1);
}

TEST_F(StoreCheckpoint, LeavesNoChangesBesideLeavesThatRest) {
    for (uint64_t i = 0; i < 2000; ++i) {
        put(*store, *tree, numbered(i * 7 % 2000), std::string(100, 'a'));
    }
    ASSERT_TRUE(store->checkpointNow().isOk());
    EXPECT_EQ(shapeOf(*store, tree).changed, 0u);
    EXPECT_EQ(shapeOf(*store, tree).keys, 2000u);
    Txn reader(*store);
    put(*store, *tree, numbered(3), "new");
    erase(*store, *tree, numbered(4));
    ASSERT_TRUE(store->checkpointNow().isOk());
    EXPECT_EQ(shapeOf(*store, tree).changed, 2u) << "a snapshot still needs what was there";
    EXPECT_EQ(valueOf(reader, *tree, numbered(4)), std::string(100, 'a'));
    reader.abort();
    // The page is no longer due.
    ASSERT_TRUE(store->checkpointNow().isOk());
    EXPECT_EQ(shapeOf(*store, tree).changed, 0u);
    EXPECT_EQ(shapeOf(*store, tree).keys, 1999u);
    EXPECT_EQ(get(numbered(3)), "new");
    const uint64_t rebuilds = store->stats().rebuilds;
    ASSERT_TRUE(store->checkpointNow().isOk());
    EXPECT_EQ(store->stats().rebuilds, rebuilds) << "nothing is left to fold";
    crash();
    EXPECT_EQ(get(numbered(3)), "new");
    EXPECT_EQ(get(numbered(5)), std::string(100, 'a'));
    expectSound();
}

TEST_F(StoreCheckpoint, ALeafThatSplitsWhenFoldedIsWrittenByTheNextOne) {
    // Too little for a rebuild by a writer, too much for one page.
    put(*store, *tree, numbered(500), std::string(900, 'a'));
    for (uint64_t i = 0; i < 12; ++i) {
        put(*store, *tree, numbered(i), std::string(900, 'a'));
    }
    ASSERT_TRUE(store->checkpointNow().isOk());
    EXPECT_EQ(shapeOf(*store, tree).leaves, 1u);
    for (uint64_t i = 100; i < 116; ++i) {
        put(*store, *tree, numbered(i), std::string(900, 'b'));
    }
    EXPECT_EQ(shapeOf(*store, tree).leaves, 1u);
    ASSERT_TRUE(store->checkpointNow().isOk());
    EXPECT_EQ(shapeOf(*store, tree).leaves, 2u);
    EXPECT_EQ(shapeOf(*store, tree).changed, 0u);
    crash();
    EXPECT_EQ(get(numbered(115)), std::string(900, 'b'));
    put(*store, *tree, numbered(130), "c");
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(store->checkpointNow().isOk());
    }
    EXPECT_EQ(store->stats().dirtyPages, 0u);
    EXPECT_EQ(shapeOf(*store, tree).unposted, 0u);
    crash();
    EXPECT_EQ(get(numbered(115)), std::string(900, 'b'));
    EXPECT_EQ(get(numbered(130)), "c");
    expectSound();
}

TEST_F(StoreCheckpoint, TransactionsMayBeOpenAcrossIt) {
    putDurably(*store, *tree, "committed later", "old");
    putDurably(*store, *tree, "aborted later", "old");
    putDurably(*store, *tree, "never ended", "old");
    Txn commits(*store);
    Txn aborts(*store);
    Txn stays(*store);
    ASSERT_TRUE(commits.put(*tree, "committed later", "new").isOk());
    ASSERT_TRUE(aborts.put(*tree, "aborted later", "new").isOk());
    ASSERT_TRUE(stays.put(*tree, "never ended", "new").isOk());
    ASSERT_TRUE(store->checkpointNow().isOk());
    EXPECT_EQ(store->stats().dirtyPages, 1u) << "what was undecided remains to be written";
    ASSERT_TRUE(commitAndWait(commits).isOk());
    ASSERT_TRUE(waiting(commits, [&] { return commits.waitFor(Durability::kDurable); }).isOk());
    aborts.abort();
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(store->checkpointNow().isOk());
        putDurably(*store, *tree, "more", std::to_string(i));
    }
    stays.abort();
    crash();
    EXPECT_EQ(get("committed later"), "new");
    EXPECT_EQ(get("aborted later"), "old");
    EXPECT_EQ(get("never ended"), "old");
    EXPECT_EQ(get("more"), "1");
}

TEST_F(StoreCheckpoint, LargeValuesHavePagesOfTheirOwnAndAreNotWrittenTwice) {
    store->setCodec(7, Codec::kZstd);  // so that the largest of the small ones fits into the leaf
    put(*store, *tree, "small", "1");
    ASSERT_TRUE(store->checkpointNow().isOk());
    const uint64_t mapped = store->stats().block.mappedPages;
    for (size_t bytes : {kLargeValueBytesMin - 1, kLargeValueBytesMin, size_t{1} << 18}) {
        put(*store, *tree, "large" + std::to_string(bytes), std::string(bytes, 'x'));
    }
    ASSERT_TRUE(store->checkpointNow().isOk());
    EXPECT_EQ(store->stats().block.mappedPages, mapped + 2);
    const uint64_t written = store->stats().block.bytesWritten;
    put(*store, *tree, "small", "2");
    ASSERT_TRUE(store->checkpointNow().isOk());
    EXPECT_LT(store->stats().block.bytesWritten - written, 200'000u);
    crash();
    store->setCodec(7, Codec::kZstd);
    EXPECT_EQ(get("large16384"), std::string(kLargeValueBytesMin, 'x'));
    EXPECT_EQ(get("large16383"), std::string(kLargeValueBytesMin - 1, 'x'));
    EXPECT_EQ(get("large262144"), std::string(size_t{1} << 18, 'x'));
    // Their pages are freed when they are not used any more.
    erase(*store, *tree, "large262144");
    put(*store, *tree, "large16384", "small now");
    EXPECT_TRUE(checkpointUntil(tree, mappedPagesAre(mapped)));
    crash();
    EXPECT_EQ(get("large16384"), "small now");
    EXPECT_EQ(get("large262144"), "<NotFound>");
    expectSound();
}

TEST_F(StoreCheckpoint, ADroppedTreeLeavesTheFile) {
    put(*store, *tree, "stays", "1");
    TreeRef other = store->tree(8);
    for (uint64_t i = 0; i < 2000; ++i) {
        put(*store, *other, numbered(i), std::string(100, 'b'));
    }
    put(*store, *other, "large", std::string(100'000, 'b'));
    ASSERT_TRUE(store->checkpointNow().isOk());
    EXPECT_GT(store->stats().block.mappedPages, 3u);
    store->dropTree(8);
    ASSERT_TRUE(store->checkpointNow().isOk());
    crash();
    EXPECT_EQ(store->stats().block.mappedPages, 1u)
        << "pages that no tree needs are freed by the next open";
    EXPECT_EQ(store->treeIds(), (std::vector<TreeId>{kCatalogTree, 7}));
    EXPECT_EQ(get("stays"), "1");
}

TEST_F(StoreCheckpoint, AFullDiskPutsItOff) {
    // Only the data file's disk: a log block without room is a different case.
    testing::FaultPlan plan(1);
    testing::FaultyFileSystem faulty(disk, plan);
    StoreOptions options = storeOptions(disk);
    options.files = &faulty;
    for (uint64_t nth = 1; nth <= 6; ++nth) {
        reopen(options);
        for (uint64_t i = 0; i < 600; ++i) {
            put(*store, *tree, numbered(i * nth), std::string(100, static_cast<char>('a' + nth)));
        }
        putDurably(*store, *tree, "round", std::to_string(nth));
        const size_t rule = plan.add({.path = "*/data.freshet",
                                      .error = Status(Code::kNoSpace, "the disk is full"),
                                      .nth = nth});
        const Status full = store->checkpointNow();
        EXPECT_TRUE(full.isOk() || full.code() == Code::kNoSpace) << full.toString();
        plan.cancel(rule);
        ASSERT_TRUE(store->checkpointNow().isOk());
        crash();
        EXPECT_EQ(get("round"), std::to_string(nth));
        EXPECT_EQ(get(numbered(599 * nth)), std::string(100, static_cast<char>('a' + nth)));
        expectSound();
    }
}

/// The data file can grow to `filled` and no further; the log goes on.
class DataFileFull : public StoreCheckpoint {
protected:
    ~DataFileFull() override {
        tree.reset();
        store.reset();  // before the plan
    }
    void fill() {
        StoreOptions options = storeOptions(disk);
        options.files = &faulty;
        options.checkpointIntervalMs = 50;  // by itself, like all that follows
        reopen(options);
        rule = plan.add({.path = "*/data.freshet",
                         .error = Status(Code::kNoSpace, "the disk is full"),
                         .nth = 8,
                         .times = testing::kEver,
                         .growingOnly = true});
        do {
            acknowledged += 1;
            if (acknowledged % 100 == 0) {
                static_cast<void>(store->checkpointNow().isOk());  // so that little is due at the
                                                                   // end
            }
        } while (tryPut(numbered(acknowledged)).isOk());
        EXPECT_TRUE(store->stats().spaceShort);
    }
    Status tryPut(const std::string& key) {
        Txn txn(*store);
        EXPECT_TRUE(waiting(txn, [&] { return txn.put(*tree, key, kValue); }).isOk());
        Status status = commitAndWait(txn);
        if (status.isOk()) {
            return waiting(txn, [&] { return txn.waitFor(Durability::kDurable); });
        }
        EXPECT_EQ(status.code(), Code::kNoSpace) << status.toString();
        return status;
    }
    void awaitRoom() {
        while (!tryPut("after").isOk()) {
            platform::sleepMillis(5);  // until there is room, or the test never ends
        }
        EXPECT_FALSE(store->stats().spaceShort);
    }

    const std::string kValue = std::string(10'000, 'f');
    testing::FaultPlan plan{1};
    testing::FaultyFileSystem faulty{disk, plan};
    size_t rule = 0;
    uint64_t acknowledged = 0;  // keys below this one
};

TEST_F(DataFileFull, OnlyWhatAddsIsRefusedAndItHealsWhenSpaceReturns) {
    fill();
    ASSERT_GT(acknowledged, 100u);
    EXPECT_EQ(tryPut("more").code(), Code::kNoSpace);
    EXPECT_EQ(get(numbered(1)), kValue);
    erase(*store, *tree, numbered(1));
    put(*store, *store->tree(kCatalogTree), "a definition", "changed");
    EXPECT_EQ(tryPut("more").code(), Code::kNoSpace);
    plan.cancel(rule);
    awaitRoom();
    EXPECT_EQ(get("more"), "<NotFound>");
    EXPECT_GT(plan.fired(), 0u);
    crash();
    for (uint64_t i = 2; i < acknowledged; ++i) {
        ASSERT_EQ(get(numbered(i)), kValue) << i;
    }
    EXPECT_EQ(get("after"), kValue);
    expectSound();
}

TEST_F(DataFileFull, DeletingMakesRoom) {
    fill();
    for (uint64_t i = 1; i < acknowledged; ++i) {
        erase(*store, *tree, numbered(i));
    }
    awaitRoom();
    crash();
    EXPECT_EQ(get(numbered(1)), "<NotFound>");
    EXPECT_EQ(get("after"), kValue);
    expectSound();
}

TEST_F(DataFileFull, DroppingMakesRoom) {
    fill();
    store->dropTree(7);
    tree = store->tree(8);
    awaitRoom();
    EXPECT_EQ(get("after"), kValue);
}

/// Much more is due than there is room for.
class DataFileFullAndMuchDue : public DataFileFull {
protected:
    void fill(uint64_t due) {
        StoreOptions options = storeOptions(disk);
        options.files = &faulty;
        reopen(options);
        TreeRef other = store->tree(8);
        for (uint64_t i = 0; i < 1000; ++i) {
            put(*store, *other, numbered(i), kValue);
        }
        put(*store, *tree, "before", kValue);
        ASSERT_TRUE(store->checkpointNow().isOk());
        rule = plan.add({.path = "*/data.freshet",
                         .error = Status(Code::kNoSpace, "the disk is full"),
                         .times = testing::kEver,
                         .growingOnly = true});
        for (acknowledged = 1; acknowledged <= due; ++acknowledged) {
            put(*store, *treeOf(acknowledged), numbered(acknowledged), kValue);
        }
        ASSERT_EQ(store->checkpointNow().code(), Code::kNoSpace);
        ASSERT_FALSE(tryPut("more").isOk());
        other.reset();
        store->dropTree(8);
    }
    void expectAll() {
        EXPECT_EQ(get("before"), kValue);
        for (uint64_t i = 1; i < acknowledged; ++i) {
            Txn txn(*store);
            ASSERT_EQ(valueOf(txn, *treeOf(i), numbered(i)), kValue) << i;
        }
        expectSound();
    }
    /// The oldest keys are in the tree that is written first.
    TreeRef treeOf(uint64_t i) { return i <= 100 ? tree : store->tree(9); }
};

TEST_F(DataFileFullAndMuchDue, WhatADroppedTreeHadIsFreedForIt) {
    fill(800);
    ASSERT_TRUE(store->checkpointNow().isOk());
    EXPECT_EQ(store->stats().dirtyPages, 0u);
    crash();
    expectAll();
}

TEST_F(DataFileFullAndMuchDue, WhatADroppedTreeHadIsFreedEvenIfItDoesNotDo) {
    fill(3000);
    const uint64_t mapped = store->stats().block.mappedPages;
    ASSERT_EQ(store->checkpointNow().code(), Code::kNoSpace);
    EXPECT_LT(store->stats().block.mappedPages, mapped / 10);
    crash();
    expectAll();
    putDurably(*store, *tree, "after", "1");
    crash();
    EXPECT_EQ(get("after"), "1");
    expectAll();
}

TEST_F(DataFileFull, AStoreThatIsOpenedStillRefuses) {
    fill();
    StoreOptions options = storeOptions(disk);
    options.files = &faulty;
    reopen(options);
    EXPECT_EQ(get(numbered(1)), kValue);
    uint64_t more = 0;
    while (tryPut("again" + numbered(more)).isOk()) {
        ASSERT_TRUE(more < 1000);
        ++more;
        static_cast<void>(store->checkpointNow().isOk());
    }
    plan.cancel(rule);
    awaitRoom();
    expectSound();
}

TEST_F(StoreCheckpoint, AFailingDiskEndsTheStore) {
    StoreOptions options = storeOptions(disk);
    sync::Atomic<int> calls{0};
    options.onFatal = [&calls](const Status& why) {
        EXPECT_EQ(why.code(), Code::kIo);
        calls.fetch_add(1, sync::kRelaxed);
    };
    reopen(options);
    putDurably(*store, *tree, "a", "1");
    disk.faults().fail(testing::DiskFaults::Op::kSync, 1, Status(Code::kIo, "broken"));
    EXPECT_EQ(store->checkpointNow().code(), Code::kIo);
    EXPECT_EQ(store->checkpointNow().code(), Code::kIo);
    EXPECT_EQ(calls.load(sync::kRelaxed), 1);
    crash();
    EXPECT_EQ(get("a"), "1");
}

TEST_F(StoreCheckpoint, ComesByItselfAfterSoMuchJournal) {
    StoreOptions options = storeOptions(disk);
    options.checkpointJournalBytes = 100'000;
    reopen(options);
    const uint64_t before = store->stats().checkpoints;
    for (uint64_t i = 0; i < 20; ++i) {
        putDurably(*store, *tree, numbered(i), std::string(10'000, 'j'));
    }
    while (store->stats().checkpoints == before) {
        platform::sleepMillis(5);  // until it is made, or the test never ends
    }
    EXPECT_GT(store->stats().lastCheckpointWallMs, 0);
}

struct FilePage {
    PageId page;
    int level;
    block::PagePlace place;
};

TEST_F(StoreCheckpoint, ADroppedTreeStaysReadableWhileItIsHeld) {
    for (uint64_t i = 0; i < 2000; ++i) {
        put(*store, *tree, numbered(i), std::string(100, 'b'));
    }
    ASSERT_TRUE(store->checkpointNow().isOk());
    store->evictAll();
    store->evictAll();
    EXPECT_GT(shapeOf(*store, tree).onDisk, 2u);
    store->dropTree(7);
    TreeRef other = store->tree(8);
    for (int round = 0; round < 3; ++round) {
        for (uint64_t i = 0; i < 2000; ++i) {
            put(*store, *other, numbered(i), std::string(100, 'c'));
        }
        ASSERT_TRUE(store->checkpointNow().isOk());
    }
    for (uint64_t i = 0; i < 2000; ++i) {
        ASSERT_EQ(get(numbered(i)), std::string(100, 'b'));
    }
    tree.reset();
    const uint64_t pages = shapeOf(*store, other).leaves + shapeOf(*store, other).inners;
    EXPECT_TRUE(checkpointUntil(other, mappedPagesAre(pages)));
}

TEST_F(StoreCheckpoint, WhatIsNotUsedLeavesMemoryAndTheCeilingHolds) {
    // Under the sanitizer, memory is slow to be freed.
    constexpr uint64_t kLimit = (kIsAddressSanitized ? 4u : 16u) << 20;
    constexpr uint64_t kKeys = kLimit / 420;  // four times the limit
    StoreOptions options = storeOptions(disk);
    options.memoryBytes = kLimit;
    reopen(options);
    uint64_t most = 0;
    auto valueAt = [](uint64_t i) { return std::to_string(i) + std::string(1500, 'v'); };
    for (uint64_t i = 0; i < kKeys; ++i) {
        put(*store, *tree, numbered(i * 7919 % kKeys), valueAt(i * 7919 % kKeys));
        most = std::max(most, store->stats().memoryBytes);
    }
    EXPECT_LT(most, kLimit / 10 * 11);
    EXPECT_GT(store->stats().leavesEvicted, 100u);
    reopen(options);
    EXPECT_LT(store->stats().memoryBytes, kLimit);
    for (uint64_t i = 0; i < kKeys; ++i) {
        ASSERT_EQ(get(numbered(i)), valueAt(i));
        most = std::max(most, store->stats().memoryBytes);
    }
    EXPECT_LT(most, kLimit / 10 * 11);
    EXPECT_GT(store->stats().leavesRead, 100u);
    expectSound();
}

TEST_F(StoreCheckpoint, CompressedLeavesComeAndGoAndTheirSizesAreKnown) {
    constexpr uint64_t kKeys = 4000;
    reopen(shortOfMemory());
    TreeRef plain = store->tree(8);
    store->setCodec(8, Codec::kNone);
    const auto valueAt = [](uint64_t i) { return std::to_string(i) + std::string(100, 'a'); };
    for (uint64_t i = 0; i < kKeys; ++i) {
        put(*store, *tree, numbered(i), valueAt(i));
        put(*store, *plain, numbered(i), valueAt(i));
    }
    EXPECT_EQ(store->storedBytes(9), 0u);
    ASSERT_TRUE(store->checkpointNow().isOk());
    EXPECT_GT(store->storedBytes(8), kKeys * 100);
    EXPECT_LT(store->storedBytes(7), store->storedBytes(8) / 3);
    EXPECT_EQ(store->storedBytes(9), 0u);
    EXPECT_GT(store->stats().block.bytesSaved, kKeys * 60);
    const uint64_t leavesBefore = store->stats().leavesRead;
    store->evictAll();
    store->evictAll();
    for (uint64_t i = 0; i < kKeys; i += 7) {
        ASSERT_EQ(get(numbered(i)), valueAt(i));
    }
    EXPECT_GT(store->stats().leavesRead, leavesBefore);
    put(*store, *tree, "large", std::string(50'000, 'v'));
    ASSERT_TRUE(store->checkpointNow().isOk());
    EXPECT_GT(store->storedBytes(7), 50'000u);  // a large value is stored as it is
    plain.reset();
    // The sizes that were counted page by page equal those found by a new start. The default codec
    // may differ by then. The first start rewrites images that are older than a split and reach too
    // far.
    crash();
    const uint64_t stored = store->storedBytes(7);
    const uint64_t storedPlain = store->storedBytes(8);
    crash();
    EXPECT_EQ(store->storedBytes(7), stored);
    EXPECT_EQ(store->storedBytes(8), storedPlain);
    for (uint64_t i = 0; i < kKeys; i += 7) {
        ASSERT_EQ(get(numbered(i)), valueAt(i));
    }
    expectSound();
    store->setCodec(7, Codec::kZstd);
    erase(*store, *tree, "large");
    EXPECT_TRUE(checkpointUntil(tree, [&] { return store->storedBytes(7) + 45'000 < stored; }));
    store->dropTree(8);
    ASSERT_TRUE(store->checkpointNow().isOk());
    EXPECT_EQ(store->storedBytes(8), 0u);
}

TEST_F(StoreCheckpoint, LargeValuesComeAndGoWithTheirLeaves) {
    constexpr uint64_t kKeys = 200;
    std::map<std::string, std::string> model;
    auto change = [&](uint64_t i, size_t bytes) {
        const std::string key = numbered(i);
        model[key] = std::to_string(i) + std::string(bytes, 'L');
        put(*store, *tree, key, model[key]);
    };
    auto away = [&] {
        ASSERT_TRUE(store->checkpointNow().isOk());
        store->evictAll();
        ASSERT_TRUE(store->checkpointNow().isOk());
        store->evictAll();
    };
    for (uint64_t i = 0; i < kKeys; ++i) {
        change(i, i % 3 == 0 ? 50 : 16'000 + i * 700);
    }
    away();
    // None of them takes much memory to be brought back.
    EXPECT_GT(shapeOf(*store, tree).onDisk, 9u);
    EXPECT_LT(store->stats().memoryBytes, 4u << 20);
    for (uint64_t i = 0; i < kKeys; i += 2) {
        ASSERT_EQ(get(numbered(i)), model[numbered(i)]);
    }
    for (uint64_t i = 0; i < kKeys; i += 5) {
        if (i % 2 == 0) {
            change(i, 30'000);
        } else {
            erase(*store, *tree, numbered(i));
            model[numbered(i)] = "<NotFound>";
        }
    }
    away();
    auto expectAll = [&] {
        for (const auto& [key, value] : model) {
            ASSERT_EQ(get(key), value);
        }
    };
    expectAll();
    crash();
    ASSERT_NO_FATAL_FAILURE(expectAll());
    away();
    reopen(shortOfMemory());
    ASSERT_NO_FATAL_FAILURE(expectAll());
    expectSound();
    // Overwritten values have left the file, and the rest leaves it with the tree.
    away();
    const auto large = std::count_if(
        model.begin(), model.end(), [](const auto& one) { return one.second.size() > 16'384; });
    const TreeShape shape = shapeOf(*store, tree);
    const uint64_t own = shape.leaves + shape.inners + static_cast<uint64_t>(large);
    EXPECT_EQ(store->stats().block.mappedPages, own);
    store->dropTree(7);
    tree.reset();
    TreeRef other = store->tree(8);
    EXPECT_TRUE(checkpointUntil(other, mappedPagesAre(1)));
}

std::vector<FilePage> pagesOf(testing::MemoryFileSystem& disk) {
    std::vector<FilePage> pages;
    auto uuid = readOrMakeIdentity(disk, "/db");
    EXPECT_TRUE(uuid.isOk());
    block::Options options;
    options.files = &disk;
    options.path = "/db/data.freshet";
    options.dbUuid = *uuid;
    auto file = block::BlockFile::open(options);
    EXPECT_TRUE(file.isOk());
    const Status status = (*file)->forEachPage([&](PageId page, const block::PagePlace& place) {
        std::string image;
        FRESHET_RETURN_IF_ERROR((*file)->readPage(page, place, &image));
        pages.push_back({page, loadLe<block::PageHeader>(image.data()).level, place});
        return Status::ok();
    });
    EXPECT_TRUE(status.isOk()) << status.toString();
    return pages;
}

class Damage : public StoreCheckpoint {
protected:
    static constexpr uint64_t kKeys = 3000;

    void fill(Codec codec = Codec::kZstd) {
        store->setCodec(7, codec);
        for (uint64_t i = 0; i < kKeys; ++i) {
            put(*store, *tree, numbered(i), std::string(100, 'd'));
        }
    }
    /// Fills the tree, closes the store and damages a page of that level.
    void damage(int level) {
        fill();
        tree.reset();
        store.reset();
        spoil(level);
    }
    /// The second page of that level, or the only one.
    void spoil(int level) {
        std::vector<block::PagePlace> places;
        for (const FilePage& page : pagesOf(disk)) {
            if (page.level == level) {
                places.push_back(page.place);
            }
        }
        ASSERT_FALSE(places.empty());
        const uint64_t block = places[places.size() > 1 ? 1 : 0].extent.firstBlock;
        disk.damage("/db/data.freshet", block * block::kBlockBytes + 110);
    }
    void expectRefused() {
        auto refused = Store::open(storeOptions(disk));
        ASSERT_FALSE(refused.isOk());
        EXPECT_EQ(refused.status().code(), Code::kCorruption);
        EXPECT_NE(refused.status().text().find("data.freshet"), std::string_view::npos)
            << refused.status().toString();
    }
    void repair() {
        StoreOptions options = storeOptions(disk);
        options.repair = true;
        reopen(options);
    }
    uint64_t keysFound() {
        uint64_t found = 0;
        for (uint64_t i = 0; i < kKeys; ++i) {
            found += get(numbered(i)) == std::string(100, 'd') ? 1 : 0;
        }
        return found;
    }
    void expectWholeAgain() {
        EXPECT_TRUE(store->mayHaveLost(7));
        EXPECT_FALSE(store->mayHaveLost(kCatalogTree));
        expectSound();
        ASSERT_TRUE(store->finishRepair().isOk());
        put(*store, *tree, numbered(0), "again");
        reopen(storeOptions(disk));
        EXPECT_TRUE(store->losses().empty());
        EXPECT_EQ(get(numbered(0)), "again");
        expectSound();
    }
};

TEST_F(Damage, OfALeafIsFoundWhenItIsReadAndTheLeafCanBeGivenUp) {
    damage(0);
    reopen(storeOptions(disk));
    const uint64_t found = keysFound();
    EXPECT_LT(found, kKeys);
    EXPECT_GT(found, kKeys / 2);
    for (uint64_t i = 0; i < kKeys; ++i) {
        Txn txn(*store);
        std::string value;
        const Status status = waiting(txn, [&] { return txn.get(*tree, numbered(i), &value); });
        if (!status.isOk()) {
            EXPECT_EQ(status.code(), Code::kCorruption) << i;  // and not kNotFound
            EXPECT_NE(status.text().find("data.freshet"), std::string_view::npos);
        }
    }
    auto report = store->verifyFiles();
    ASSERT_TRUE(report.isOk()) << report.status().toString();
    EXPECT_FALSE(report->errors.empty());
    repair();
    EXPECT_EQ(store->losses().size(), 1u);
    EXPECT_LT(keysFound(), kKeys);
    EXPECT_GT(keysFound(), kKeys / 2);
    expectWholeAgain();
}

TEST_F(Damage, OfALeafThatReplayNeedsIsRefused) {
    fill();
    ASSERT_TRUE(store->checkpointNow().isOk());
    for (uint64_t i = 0; i < kKeys; i += 10) {
        putDurably(*store, *tree, numbered(i), "behind the checkpoint");
    }
    tree.reset();
    disk.crash();
    store.reset();
    spoil(0);
    expectRefused();
    repair();
    EXPECT_EQ(store->losses().size(), 1u);
    ASSERT_TRUE(store->finishRepair().isOk());
}

TEST_F(Damage, OfALeafWithLargeValuesIsRefusedAndOfOneValueIsFoundWhenItIsRead) {
    for (uint64_t i = 0; i < 10; ++i) {
        put(*store, *tree, numbered(i), std::string(40'000, 'a' + static_cast<char>(i)));
    }
    tree.reset();
    store.reset();
    const std::vector<FilePage> pages = pagesOf(disk);
    const auto value = std::find_if(pages.begin(), pages.end(), [](const FilePage& page) {
        return page.place.extent.blocks == 10;
    });
    ASSERT_NE(value, pages.end());
    disk.damage("/db/data.freshet", value->place.extent.firstBlock * block::kBlockBytes + 5000);
    reopen(storeOptions(disk));
    EXPECT_EQ(get(numbered(0)), "<Corruption>");  // it is in the same leaf
    tree.reset();
    store.reset();
    disk.damage("/db/data.freshet", pages[0].place.extent.firstBlock * block::kBlockBytes + 110);
    ASSERT_EQ(pages[0].page, 7u);
    expectRefused();
}

TEST_F(Damage, OfALeafThatIsNotInMemoryFailsItsReadersOnly) {
    fill(Codec::kNone);  // so that the number of a leaf's blocks is known
    ASSERT_TRUE(store->checkpointNow().isOk());
    store->evictAll();
    store->evictAll();
    const size_t away = shapeOf(*store, tree).onDisk;
    ASSERT_GT(away, 3u);
    // In the middle of all pages.
    const uint64_t middle = store->stats().block.mappedPages / 2 * 9;
    for (uint64_t block = middle; block < middle + 9; ++block) {
        disk.damage("/db/data.freshet", block * block::kBlockBytes + 110);
    }
    uint64_t found = 0;
    Status why;
    for (uint64_t i = 0; i < kKeys; ++i) {
        Txn txn(*store);
        std::string value;
        const Status status = waiting(txn, [&] { return txn.get(*tree, numbered(i), &value); });
        if (status.isOk()) {
            ++found;
            EXPECT_EQ(value, std::string(100, 'd'));
        } else {
            why = status;
            const Status written = waiting(txn, [&] { return txn.put(*tree, numbered(i), "new"); });
            EXPECT_EQ(written.code(), Code::kCorruption);
        }
    }
    EXPECT_EQ(why.code(), Code::kCorruption);
    EXPECT_NE(why.text().find("data.freshet"), std::string_view::npos) << why.toString();
    EXPECT_LT(found, kKeys);
    EXPECT_GT(found, kKeys / 2);
    EXPECT_GT(store->stats().leavesUnreadable, 0u);
    EXPECT_LT(store->stats().leavesUnreadable, 3u);
}

TEST_F(Damage, OfAnInnerPageLosesNoKey) {
    damage(1);
    expectRefused();
    repair();
    EXPECT_EQ(store->losses().size(), 1u);
    EXPECT_EQ(keysFound(), kKeys);
    expectWholeAgain();
}

TEST_F(Damage, OfTheDirectorysNameIsMendedFromTheDataFile) {
    fill();
    for (const bool isMissing : {false, true}) {
        tree.reset();
        store.reset();
        if (isMissing) {
            ASSERT_TRUE(disk.remove("/db/freshet.id").isOk());
        } else {
            disk.damage("/db/freshet.id", 20);
        }
        for (int turn = 0; turn < 2; ++turn) {
            auto refused = Store::open(storeOptions(disk));
            ASSERT_FALSE(refused.isOk());
            EXPECT_EQ(refused.status().code(), Code::kCorruption);
            EXPECT_NE(refused.status().text().find("freshet.id"), std::string_view::npos);
        }
        repair();
        EXPECT_EQ(store->losses().size(), 1u);
        EXPECT_EQ(keysFound(), kKeys);
        ASSERT_TRUE(store->finishRepair().isOk());
        reopen(storeOptions(disk));
        EXPECT_EQ(keysFound(), kKeys);
    }
}

TEST_F(Damage, ARepairThatWasCutShortIsDoneAgain) {
    damage(0);
    repair();
    disk.crash();
    tree.reset();
    store.reset();
    auto refused = Store::open(storeOptions(disk));
    ASSERT_FALSE(refused.isOk());
    EXPECT_NE(refused.status().text().find("a repair"), std::string_view::npos);
    repair();
    EXPECT_TRUE(store->losses().empty()) << "the leaf was given up for good";
    EXPECT_TRUE(store->mayHaveLost(kCatalogTree)) << "what was lost is no longer known";
    ASSERT_TRUE(store->finishRepair().isOk());
    reopen(storeOptions(disk));
    EXPECT_FALSE(store->mayHaveLost(7));
    EXPECT_GT(keysFound(), kKeys / 2);
}

TEST_F(StoreCheckpoint, DamageIsFoundBesideARunningStore) {
    put(*store, *tree, "k", std::string(10'000, 'v'));
    ASSERT_TRUE(store->checkpointNow().isOk());
    expectSound();
    auto file = disk.open("/db/data.freshet", platform::OpenMode::kRead);
    ASSERT_TRUE(file.isOk());
    auto size = (*file)->size();
    ASSERT_TRUE(size.isOk());
    // All but the superblocks.
    for (uint64_t at = 2 * block::kBlockBytes + 200; at < *size; at += block::kBlockBytes) {
        disk.damage("/db/data.freshet", at);
    }
    auto report = store->verifyFiles();
    ASSERT_TRUE(report.isOk());
    EXPECT_FALSE(report->errors.empty());
    EXPECT_EQ(get("k"), std::string(10'000, 'v'));
}

/// Writers with keys of their own, checkpoints all the time, power cuts. Everything acknowledged as
/// durable exists afterwards, and nothing that was not written does.
class PowerCuts : public StoreCheckpoint, public ::testing::WithParamInterface<int> {
protected:
    static constexpr uint64_t kKeys = 400;
    struct Key {
        std::string durable = "<NotFound>";  // the last one that was acknowledged
        std::vector<std::string> later;      // written since, in order
    };
    using Keys = std::map<std::string, Key>;

    /// False: the power has failed.
    bool write(Keys* keys, std::mt19937_64& random, int self, uint64_t serial) {
        const std::string key = std::to_string(self) + numbered(random() % kKeys);
        const std::string name = std::to_string(serial) + "/";
        const size_t bytes = random() % 40 == 0 ? 20'000 + random() % 30'000 : random() % 400;
        const std::string value = name + std::string(bytes, 'v');
        Txn txn(*store);
        Key& state = (*keys)[key];
        if (random() % 8 == 0) {
            const Status erased = waiting(txn, [&] { return txn.erase(*tree, key); });
            if (!erased.isOk()) {
                return erased.code() == Code::kNotFound;
            }
            state.later.push_back("<NotFound>");
        } else {
            if (!waiting(txn, [&] { return txn.put(*tree, key, value); }).isOk()) {
                return false;  // its leaf could not be read
            }
            if (random() % 10 == 0) {
                return true;  // aborted
            }
            state.later.push_back(value);
        }
        if (!commitAndWait(txn).isOk()) {
            return false;
        }
        if (random() % 4 == 0) {
            if (!waiting(txn, [&] { return txn.waitFor(Durability::kDurable); }).isOk()) {
                return false;
            }
            state.durable = state.later.back();
            state.later.clear();
        }
        return true;
    }
    void expectAllThere(std::vector<Keys>& all) {
        Txn txn(*store);
        for (Keys& keys : all) {
            for (auto& [key, state] : keys) {
                const std::string value = valueOf(txn, *tree, key);
                bool known = value == state.durable;
                for (const std::string& later : state.later) {
                    known |= value == later;
                }
                ASSERT_TRUE(known) << key << " has " << value.substr(0, 20) << ", durable was "
                                   << state.durable.substr(0, 20);
                state.durable = value;
                state.later.clear();
            }
        }
    }
};

TEST_P(PowerCuts, LoseNothingThatWasAcknowledged) {
    const int writers = GetParam();
    const uint64_t seed = testSeed();
    std::mt19937_64 random(seed);
    std::vector<Keys> keys(static_cast<size_t>(writers));
    uint64_t serial = 0;
    for (int round = 0; round < 6; ++round) {
        const uint64_t rounds = 100 + random() % 400;
        const bool cutInTheMidst = round % 3 == 0;
        const uint64_t cutSeed = random();
        sync::Atomic<bool> done{false};
        platform::Thread checkpoints("checkpoints", [&] {
            while (!done.load(sync::kAcquire) && store->checkpointNow().isOk()) {
                store->evictAll();
            }
        });
        {
            std::vector<platform::Thread> threads;
            for (int self = 0; self < writers; ++self) {
                threads.emplace_back("writer", [&, self] {
                    std::mt19937_64 own(seed + static_cast<uint64_t>(round * 100 + self));
                    uint64_t i = 0;
                    while (i < rounds &&
                           write(&keys[static_cast<size_t>(self)], own, self, serial + i)) {
                        ++i;
                    }
                    EXPECT_TRUE(i == rounds || cutInTheMidst);
                    if (self == 0 && cutInTheMidst) {
                        disk.crashKeepingSome(cutSeed);
                    }
                });
            }
        }
        done.store(true, sync::kRelease);
        checkpoints.join();
        serial += rounds;
        if (round % 3 == 2) {
            reopen(shortOfMemory());
            ASSERT_EQ(store->stats().recordsReplayed, 0u);
        } else {
            disk.crashKeepingSome(cutSeed);
            reopen(shortOfMemory());
        }
        ASSERT_NO_FATAL_FAILURE(expectAllThere(keys));
        expectSound();
    }
}

INSTANTIATE_TEST_SUITE_P(Writers, PowerCuts, ::testing::Values(1, 4, 8));

}  // namespace
}  // namespace freshet::engine
