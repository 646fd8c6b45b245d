// SPDX-License-Identifier: Apache-2.0
/// What opening reads: inner pages, and those leaves that the journal needs. All other leaves exist
/// all the same, and are read when they are needed.
#include "freshet/block/block_file.h"
#include "freshet/engine/range_count.h"
#include "freshet/engine/recovery/identity.h"
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/platform/clock.h"
#include "freshet/testing/sim/passing_file_system.h"

#include <gtest/gtest.h>

#include <functional>

namespace freshet::engine {
namespace {

/// Counts the reads of the data file.
class CountingDisk final : public testing::PassingFileSystem {
public:
    using PassingFileSystem::PassingFileSystem;

    StatusOr<std::unique_ptr<platform::File>> open(const std::string& path,
                                                   platform::OpenMode mode) override {
        FRESHET_ASSIGN_OR_RETURN(auto file, PassingFileSystem::open(path, mode));
        if (!path.ends_with(kDataFile)) {
            return file;
        }
        return std::unique_ptr<platform::File>(
            std::make_unique<CountingFile>(std::move(file), &reads));
    }

    sync::Atomic<uint64_t> reads{0};

private:
    class CountingFile final : public testing::PassingFile {
    public:
        CountingFile(std::unique_ptr<platform::File> file, sync::Atomic<uint64_t>* reads)
            : PassingFile(std::move(file)), reads_(*reads) {}
        StatusOr<size_t> pread(char* out, size_t bytes, uint64_t offset) override {
            // [test.reads] relaxed: a sum.
            reads_.fetch_add(1, sync::kRelaxed);
            return PassingFile::pread(out, bytes, offset);
        }

    private:
        sync::Atomic<uint64_t>& reads_;
    };
};

class StoreOpen : public ::testing::Test {
protected:
    StoreOptions options() {
        StoreOptions options = storeOptions(disk);
        options.files = &counted;
        options.checkpointIntervalMs = 3'600'000;
        return options;
    }
    void close() {
        tree.reset();
        store.reset();
    }
    void open() {
        store.reset();
        const uint64_t before = counted.reads.load(sync::kRelaxed);
        store = openStore(options());
        ASSERT_NE(store, nullptr);
        readsAtOpen = counted.reads.load(sync::kRelaxed) - before;
        tree = store->tree(7);
    }
    /// Puts the keys from `begin` up to `end`, with values of 500 bytes.
    void fill(uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end;) {
            Txn txn(*store);
            for (const uint64_t last = std::min(end, i + 100); i < last; ++i) {
                ASSERT_TRUE(
                    waiting(txn, [&] { return txn.put(*tree, keyOf(i), valueFor(i)); }).isOk());
            }
            ASSERT_TRUE(commitAndWait(txn).isOk());
        }
    }
    uint64_t count(const std::string& low, const std::string& end) {
        Txn txn(*store);
        RangeCount range(txn, tree, low, end);
        EXPECT_TRUE(waiting(txn, [&] { return range.run(); }).isOk());
        return range.count();
    }
    void expectKeys(uint64_t end) {
        for (uint64_t i = 0; i < end; ++i) {
            Txn txn(*store);
            ASSERT_EQ(valueOf(txn, *tree, keyOf(i)), valueFor(i)) << i;
        }
    }
    void expectSound() {
        EXPECT_EQ(shapeOf(*store, tree).error, "");
        auto report = store->verifyFiles();
        ASSERT_TRUE(report.isOk()) << report.status().toString();
        EXPECT_EQ(report->errors, std::vector<std::string>{});
    }
    static std::string keyOf(uint64_t i) {
        std::string digits = std::to_string(i);
        return "key" + std::string(9 - digits.size(), '0') + digits;
    }
    static std::string valueFor(uint64_t i) { return std::string(500, 'a' + i % 26); }

    testing::MemoryFileSystem disk;
    CountingDisk counted{disk};
    std::unique_ptr<Store> store = openStore(options());
    TreeRef tree = store->tree(7);
    uint64_t readsAtOpen = 0;
};

TEST_F(StoreOpen, ReadsNoMoreWhenThereAreMoreLeaves) {
    fill(0, 2'000);
    close();
    open();
    const uint64_t few = readsAtOpen;
    EXPECT_EQ(store->stats().leavesRead, 0u);
    EXPECT_EQ(shapeOf(*store, tree).error, "");
    const size_t leavesBefore = shapeOf(*store, tree).onDisk;
    fill(2'000, 30'000);
    close();
    open();
    const TreeShape shape = shapeOf(*store, tree);
    EXPECT_GT(shape.onDisk, leavesBefore + 300);
    // Except for inner pages, each of which leads to hundreds of leaves.
    EXPECT_LE(readsAtOpen, few + shape.inners + 3);
    EXPECT_EQ(store->stats().leavesRead, 0u);
    expectKeys(30'000);
    EXPECT_GT(store->stats().leavesRead, 300u);
    expectSound();
}

TEST_F(StoreOpen, CountsAreRightBeforeAnyLeafWasRead) {
    fill(0, 5'000);
    Txn erasing(*store);
    for (uint64_t i = 0; i < 5'000; i += 7) {
        ASSERT_TRUE(waiting(erasing, [&] { return erasing.erase(*tree, keyOf(i)); }).isOk());
    }
    ASSERT_TRUE(commitAndWait(erasing).isOk());
    const uint64_t left = 5'000 - (5'000 + 6) / 7;
    close();
    open();
    EXPECT_EQ(count("", ""), left);
    EXPECT_EQ(store->stats().leavesRead, 0u);
    // A range that cuts leaves needs these, and no others.
    EXPECT_EQ(count(keyOf(700), keyOf(4'900)), 4'200 - 4'200 / 7);
    EXPECT_LE(store->stats().leavesRead, 2u);
}

TEST_F(StoreOpen, ALongWalkWaitsForSomeOfItsLeavesOnly) {
    fill(0, 6'000);
    close();
    open();
    const uint64_t leaves = shapeOf(*store, tree).onDisk;
    Txn txn(*store);
    Cursor cursor(txn, tree);
    uint64_t waits = 0;
    const auto go = [&](auto call) {
        Status status = call();
        for (; status.isWouldBlock(); status = call()) {
            // One by one at first, then with four more. Waits until all are read, or the walk could
            // arrive before one that is being read.
            const uint64_t wanted = ++waits <= 2 ? waits : std::min(leaves, 2 + 5 * (waits - 2));
            for (int left = 20'000; left > 0 && store->stats().leavesRead < wanted; --left) {
                platform::sleepMillis(1);
            }
            sync::blockOn(txn.token());
        }
        return status;
    };
    ASSERT_TRUE(go([&] { return cursor.first(); }).isOk());
    for (uint64_t i = 0; i < 6'000; ++i) {
        ASSERT_TRUE(cursor.valid());
        ASSERT_EQ(cursor.key(), keyOf(i));
        ASSERT_EQ(cursor.value(), valueFor(i));
        if (i == 9) {
            EXPECT_EQ(store->stats().leavesRead, 1u);
        }
        ASSERT_TRUE(go([&] { return cursor.next(); }).isOk());
    }
    EXPECT_FALSE(cursor.valid());
    EXPECT_EQ(waits, 2 + (leaves - 2 + 4) / 5);
    EXPECT_EQ(store->stats().leavesRead, leaves);
}

TEST_F(StoreOpen, ReplayReadsTheLeavesThatItNeeds) {
    fill(0, 20'000);
    ASSERT_TRUE(store->checkpointNow().isOk());
    putDurably(*store, *tree, keyOf(10), "new");
    putDurably(*store, *tree, keyOf(10'000), "new");
    tree.reset();
    disk.crash();
    open();
    EXPECT_GT(store->stats().recordsReplayed, 0u);
    EXPECT_LE(store->stats().leavesRead, 2u);
    EXPECT_EQ(count("", ""), 20'000u);
    Txn txn(*store);
    EXPECT_EQ(valueOf(txn, *tree, keyOf(10)), "new");
    EXPECT_EQ(valueOf(txn, *tree, keyOf(10'000)), "new");
    EXPECT_EQ(valueOf(txn, *tree, keyOf(10'001)), valueFor(10'001));
}

TEST_F(StoreOpen, ATreeWithoutInnerPagesIsNotReadEither) {
    put(*store, *tree, "a", "1");
    put(*store, *tree, "b", "2");
    close();
    open();
    EXPECT_EQ(count("", ""), 2u);
    EXPECT_EQ(store->stats().leavesRead, 0u);
    Txn txn(*store);
    EXPECT_EQ(valueOf(txn, *tree, "b"), "2");
    EXPECT_EQ(store->stats().leavesRead, 1u);
}

TEST_F(StoreOpen, LargeValuesAreNotReadAndNotTakenForGarbage) {
    const auto large = [](uint64_t i) { return std::string(100'000, 'a' + i % 26); };
    for (uint64_t i = 0; i < 50; ++i) {
        put(*store, *tree, keyOf(i), large(i));
    }
    close();
    open();
    EXPECT_LT(readsAtOpen, 40u);
    const uint64_t mapped = store->stats().block.mappedPages;
    EXPECT_GT(mapped, 50u);
    putDurably(*store, *store->tree(8), "x", "y");
    ASSERT_TRUE(store->checkpointNow().isOk());
    EXPECT_EQ(store->stats().block.mappedPages, mapped + 1);
    for (uint64_t i = 0; i < 50; ++i) {
        Txn txn(*store);
        ASSERT_EQ(valueOf(txn, *tree, keyOf(i)), large(i));
    }
    expectSound();
}

TEST_F(StoreOpen, ATreeThatWasNeverReadLeavesTheFileWhenItIsDropped) {
    fill(0, 3'000);
    put(*store, *tree, keyOf(3'000), std::string(50'000, 'l'));
    close();
    open();
    TreeRef other = store->tree(8);
    tree.reset();
    store->dropTree(7);
    const uint64_t deadline = platform::monotonicNanos() + 60'000'000'000;
    while (store->stats().block.mappedPages > 1 && platform::monotonicNanos() < deadline) {
        putDurably(*store, *other, "x", "y");
        store->epochs().tryAdvance();
        ASSERT_TRUE(store->checkpointNow().isOk());
    }
    EXPECT_EQ(store->stats().block.mappedPages, 1u);
}

/// Changes the notes of all pages in the map of the closed store's file.
void changeNotes(testing::MemoryFileSystem& disk, const std::function<uint64_t(uint64_t)>& change) {
    auto uuid = readOrMakeIdentity(disk, "/db");
    ASSERT_TRUE(uuid.isOk());
    block::Options options;
    options.files = &disk;
    options.path = std::string("/db") + kDataFile;
    options.dbUuid = *uuid;
    auto file = block::BlockFile::open(options);
    ASSERT_TRUE(file.isOk() && (*file)->start().isOk());
    std::vector<block::BlockFile::Change> changes;
    ASSERT_TRUE((*file)
                    ->forEachPage([&](PageId page, block::PagePlace place) {
                        place.note = change(place.note);
                        changes.push_back({page, place});
                        return Status::ok();
                    })
                    .isOk());
    const block::Root root = (*file)->root();
    ASSERT_TRUE((*file)->commit(root, changes).isOk());
    (*file)->settle();
}

TEST_F(StoreOpen, PagesWithoutNotesAreReadUntilACheckpointHasToldOfThem) {
    fill(0, 5'000);
    put(*store, *tree, keyOf(5'000), std::string(50'000, 'l'));
    close();
    changeNotes(disk, [](uint64_t) { return 0; });  // as in files older than notes
    open();
    const size_t leaves = shapeOf(*store, tree).onDisk;
    EXPECT_GT(leaves, 50u);
    EXPECT_GE(readsAtOpen, leaves);
    EXPECT_EQ(count("", ""), 5'001u);
    putDurably(*store, *tree, keyOf(5'001), "x");
    ASSERT_TRUE(store->checkpointNow().isOk());
    expectSound();
    close();
    open();
    EXPECT_LT(readsAtOpen, leaves / 2);
    EXPECT_EQ(count("", ""), 5'002u);
    expectKeys(5'000);
    expectSound();
}

TEST_F(StoreOpen, AMapThatSpeaksOfAnotherLeafIsNotBelieved) {
    fill(0, 2'000);
    close();
    changeNotes(disk, [](uint64_t note) {
        return note == 0 ? 0 : note + (uint64_t{1} << 32);  // one entry more
    });
    open();
    Txn txn(*store);
    std::string value;
    EXPECT_EQ(waiting(txn, [&] { return txn.get(*tree, keyOf(5), &value); }).code(),
              Code::kCorruption);
    EXPECT_FALSE(store->verifyFiles()->errors.empty());
    // The leaves themselves are sound.
    txn.abort();
    close();
    StoreOptions repairing = options();
    repairing.repair = true;
    store = openStore(repairing);
    ASSERT_TRUE(store->finishRepair().isOk());
    EXPECT_FALSE(store->losses().empty());
    close();
    open();
    EXPECT_EQ(count("", ""), 2'000u);
    expectKeys(2'000);
    expectSound();
}

}  // namespace
}  // namespace freshet::engine
