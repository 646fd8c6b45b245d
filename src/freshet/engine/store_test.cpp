// SPDX-License-Identifier: Apache-2.0
/// What a single user of a Store sees: snapshots, conflicts, uniqueness, reopening.
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/local_executor.h"

namespace freshet::engine {
namespace {

class StoreTest : public ::testing::Test {
protected:
    void reopen() {
        tree.reset();
        store.reset();
        store = openStore(disk);
        tree = store->tree(7);
    }
    testing::MemoryFileSystem disk;
    std::unique_ptr<Store> store = openStore(disk);
    TreeRef tree = store->tree(7);
};

TEST_F(StoreTest, ASnapshotDoesNotMove) {
    put(*store, *tree, "k", "one");
    Txn reader(*store);
    put(*store, *tree, "k", "two");
    put(*store, *tree, "new", "x");
    EXPECT_EQ(valueOf(reader, *tree, "k"), "one");
    EXPECT_EQ(valueOf(reader, *tree, "new"), "<NotFound>");
    ASSERT_TRUE(reader.commit().isOk());
    reader.begin();
    EXPECT_EQ(valueOf(reader, *tree, "k"), "two");
    EXPECT_EQ(valueOf(reader, *tree, "new"), "x");
}

TEST_F(StoreTest, ATransactionAloneSeesItsOwnWrites) {
    put(*store, *tree, "a", "old");
    Txn writer(*store);
    ASSERT_TRUE(writer.put(*tree, "a", "mine").isOk());
    ASSERT_TRUE(writer.put(*tree, "a", "mine2").isOk());
    ASSERT_TRUE(writer.insert(*tree, "b", "b").isOk());
    ASSERT_TRUE(writer.erase(*tree, "b").isOk());
    ASSERT_TRUE(writer.insert(*tree, "b", "again").isOk());
    EXPECT_EQ(valueOf(writer, *tree, "a"), "mine2");
    EXPECT_EQ(valueOf(writer, *tree, "b"), "again");
    Txn other(*store);
    EXPECT_EQ(valueOf(other, *tree, "a"), "old");
    EXPECT_EQ(valueOf(other, *tree, "b"), "<NotFound>");
    ASSERT_TRUE(commitAndWait(writer).isOk());
    EXPECT_EQ(valueOf(other, *tree, "a"), "old");
    Txn later(*store);
    EXPECT_EQ(valueOf(later, *tree, "a"), "mine2");
    EXPECT_EQ(valueOf(later, *tree, "b"), "again");
}

TEST_F(StoreTest, AValueReadInPlaceStaysWhileTheSliceDoes) {
    const std::string large(100'000, 'x');
    put(*store, *tree, "small", "one");
    put(*store, *tree, "large", large);
    sync::Slice slice(store->epochs());
    Txn reader(*store);
    ByteView one, two, none;
    ASSERT_TRUE(reader.getInPlace(*tree, "small", &one).isOk());
    ASSERT_TRUE(reader.getInPlace(*tree, "large", &two).isOk());
    EXPECT_EQ(reader.getInPlace(*tree, "none", &none).code(), Code::kNotFound);
    ASSERT_TRUE(reader.commit().isOk());
    platform::Thread("writer", [this] {
        for (int i = 0; i < 2'000; ++i) {  // leaves are rebuilt, chains are trimmed
            put(*store, *tree, "small", std::to_string(i));
            put(*store, *tree, "large", std::to_string(i));
        }
    }).join();
    EXPECT_EQ(one, "one");
    EXPECT_EQ(two, large);
}

TEST_F(StoreTest, AnAbortLeavesNothing) {
    put(*store, *tree, "a", "old");
    {
        Txn writer(*store);
        ASSERT_TRUE(writer.put(*tree, "a", "new").isOk());
        ASSERT_TRUE(writer.put(*tree, "b", "new").isOk());
        writer.abort();
        writer.begin();
        EXPECT_EQ(valueOf(writer, *tree, "a"), "old");
        EXPECT_EQ(valueOf(writer, *tree, "b"), "<NotFound>");
        ASSERT_TRUE(writer.put(*tree, "c", "dropped").isOk());
    }
    put(*store, *tree, "a", "newer");
    reopen();
    Txn reader(*store);
    EXPECT_EQ(valueOf(reader, *tree, "a"), "newer");
    EXPECT_EQ(valueOf(reader, *tree, "b"), "<NotFound>");
    EXPECT_EQ(valueOf(reader, *tree, "c"), "<NotFound>");
}

TEST_F(StoreTest, TheFirstUpdaterWins) {
    put(*store, *tree, "k", "0");
    Txn early(*store, OnConflict::kFail);
    Txn waiter(*store, OnConflict::kWait);
    Txn first(*store);
    ASSERT_TRUE(first.put(*tree, "k", "1").isOk());
    EXPECT_EQ(early.put(*tree, "k", "2").code(), Code::kConflict);
    ASSERT_TRUE(waiter.put(*tree, "k", "3").isWouldBlock());
    EXPECT_FALSE(waiter.token().isDone());
    ASSERT_TRUE(commitAndWait(first).isOk());
    EXPECT_TRUE(waiter.token().isDone());
    EXPECT_EQ(waiter.put(*tree, "k", "3").code(), Code::kConflict);
    EXPECT_EQ(waiter.erase(*tree, "k").code(), Code::kConflict);
    waiter.abort();
    waiter.begin();
    EXPECT_TRUE(waiter.put(*tree, "k", "3").isOk());
    waiter.abort();
    // An aborted version does not block the key.
    Txn next(*store);
    EXPECT_TRUE(next.put(*tree, "k", "4").isOk());
}

TEST_F(StoreTest, UniquenessIsJudgedOnTheNewestCommittedState) {
    Txn old(*store);
    put(*store, *tree, "k", "theirs");
    EXPECT_EQ(valueOf(old, *tree, "k"), "<NotFound>");
    EXPECT_EQ(old.insert(*tree, "k", "mine").code(), Code::kExists);
    erase(*store, *tree, "k");
    EXPECT_EQ(old.insert(*tree, "k", "mine").code(), Code::kConflict);
    Txn fresh(*store);
    ASSERT_TRUE(fresh.insert(*tree, "k", "mine").isOk());
    EXPECT_EQ(fresh.insert(*tree, "k", "twice").code(), Code::kExists);
    Txn rival(*store, OnConflict::kFail);
    EXPECT_EQ(rival.insert(*tree, "k", "x").code(), Code::kConflict);
}

TEST_F(StoreTest, EraseOfWhatTheSnapshotLacksIsNotFound) {
    Txn old(*store);
    put(*store, *tree, "k", "later");
    EXPECT_EQ(old.erase(*tree, "k").code(), Code::kNotFound);
    EXPECT_EQ(old.erase(*tree, "never").code(), Code::kNotFound);
    EXPECT_FALSE(old.hasWrites());
}

TEST_F(StoreTest, OneCommitCoversAllTreesAndSurvivesReopening) {
    TreeRef other = store->tree(8);
    {
        Txn txn(*store);
        ASSERT_TRUE(txn.put(*tree, "a", "1").isOk());
        ASSERT_TRUE(txn.put(*other, "a", std::string(100'000, 'x')).isOk());
        ASSERT_TRUE(commitAndWait(txn).isOk());
        ASSERT_TRUE(waiting(txn, [&] { return txn.waitFor(Durability::kDurable); }).isOk());
        EXPECT_GE(store->journal().durableLsn(), txn.commitLsn());
    }
    erase(*store, *tree, "a");
    other.reset();
    reopen();
    EXPECT_EQ(store->stats().recordsReplayed, 0u) << "the last checkpoint has everything";
    Txn reader(*store);
    EXPECT_EQ(valueOf(reader, *tree, "a"), "<NotFound>");
    EXPECT_EQ(valueOf(reader, *store->tree(8), "a"), std::string(100'000, 'x'));
}

TEST_F(StoreTest, TreeIdsAreNeverReused) {
    const TreeId id = store->newTreeId();
    put(*store, *store->tree(id), "k", "v");
    put(*store, *store->tree(id + 5), "k", "v");
    store->dropTree(id + 5);
    reopen();
    EXPECT_GT(store->newTreeId(), id + 5);
    store->reserveTreeIds(500);
    EXPECT_EQ(store->newTreeId(), 501u);
    EXPECT_EQ(store->treeIds().front(), kCatalogTree);
}

TEST_F(StoreTest, ADroppedTreeStaysReadableForItsHolders) {
    put(*store, *tree, "k", "v");
    store->dropTree(7);
    Txn reader(*store);
    EXPECT_EQ(valueOf(reader, *tree, "k"), "v");
    EXPECT_EQ(valueOf(reader, *store->tree(7), "k"), "<NotFound>");
}

TEST_F(StoreTest, TheDirectoryIsLocked) {
    StoreOptions options;
    options.files = &disk;
    options.directory = "/db";
    EXPECT_EQ(Store::open(options).status().code(), Code::kUnavailable);
}

TEST_F(StoreTest, AnUnsyncedCommitMayBeLostButNeverInPart) {
    put(*store, *tree, "durable", "yes");
    {
        Txn txn(*store);
        ASSERT_TRUE(txn.put(*tree, "d2", "yes").isOk());
        ASSERT_TRUE(commitAndWait(txn).isOk());
        ASSERT_TRUE(waiting(txn, [&] { return txn.waitFor(Durability::kDurable); }).isOk());
    }
    {
        Txn txn(*store);
        ASSERT_TRUE(txn.put(*tree, "x", "1").isOk());
        ASSERT_TRUE(txn.put(*store->tree(9), "x", "1").isOk());
        ASSERT_TRUE(commitAndWait(txn).isOk());
    }
    disk.crash();
    reopen();
    Txn reader(*store);
    EXPECT_EQ(valueOf(reader, *tree, "durable"), "yes");
    EXPECT_EQ(valueOf(reader, *tree, "d2"), "yes");
    EXPECT_EQ(valueOf(reader, *tree, "x"), valueOf(reader, *store->tree(9), "x"));
}

TEST_F(StoreTest, LimitsAreRefusedNotTripped) {
    Txn txn(*store);
    EXPECT_EQ(txn.put(*tree, std::string(kKeyBytesMax + 1, 'k'), "v").code(), Code::kLimit);
    EXPECT_EQ(txn.put(*tree, "k", std::string(kValueBytesMax + 1, 'v')).code(), Code::kLimit);
    EXPECT_TRUE(txn.put(*tree, std::string(kKeyBytesMax, 'k'), "v").isOk());
    EXPECT_TRUE(txn.put(*tree, "", "the empty key").isOk());
    const std::string large(16u << 20, 'v');
    Status status = Status::ok();
    for (int i = 0; i < 8 && status.isOk(); ++i) {
        status = txn.put(*tree, "large", large);
    }
    EXPECT_EQ(status.code(), Code::kLimit);
    txn.abort();
}

TEST_F(StoreTest, AFailedJournalCommitsNothing) {
    put(*store, *tree, "k", "before");
    Txn txn(*store);
    ASSERT_TRUE(txn.put(*tree, "k", "after").isOk());
    ASSERT_TRUE(store->close().isOk());
    EXPECT_EQ(commitAndWait(txn).code(), Code::kUnavailable);
    txn.begin();
    EXPECT_EQ(valueOf(txn, *tree, "k"), "before");
}

TEST_F(StoreTest, ACommitThatHasBegunIsFinishedThoughItsTxnIsGone) {
    const std::string large(16u << 20, 'x');
    HeldJournal held(disk, *store, *tree);
    {
        Txn txn(*store);
        ASSERT_TRUE(txn.put(*tree, "k", large).isOk());
        ASSERT_TRUE(txn.commit().isWouldBlock());
        EXPECT_EQ(store->stats().commits, 1u);
        held.release();
    }
    EXPECT_EQ(store->stats().commits, 2u);
    Txn reader(*store);
    EXPECT_EQ(valueOf(reader, *tree, "k").size(), large.size());
}

TEST_F(StoreTest, ACommitThatHasBegunIsFinishedByItsReactor) {
    HeldJournal held(disk, *store, *tree);
    sync::LocalExecutor executor;
    // Parameters, not captures: the lambda is gone when its coroutine resumes.
    auto client = [](Store* on,
                     Tree* in,
                     HeldJournal* hold,
                     sync::LocalExecutor* runner) -> sync::Task<void> {
        {
            Txn txn(*on);
            EXPECT_TRUE(txn.put(*in, "k", std::string(16u << 20, 'x')).isOk());
            EXPECT_TRUE(txn.commit().isWouldBlock());
        }
        EXPECT_EQ(on->stats().commits, 1u);
        hold->release();
        while (on->stats().commits == 1) {
            co_await sync::wait(runner->after(1));
        }
    };
    executor.run(client(store.get(), tree.get(), &held, &executor));
    Txn reader(*store);
    EXPECT_EQ(valueOf(reader, *tree, "k").size(), 16u << 20);
}

TEST_F(StoreTest, ACursorYieldsWhileItPassesManyDeletedKeys) {
    Txn old(*store);  // keeps the deleted keys' chains
    for (int round = 0; round < 2; ++round) {
        Txn txn(*store);
        for (int i = 0; i < 5000; ++i) {
            const std::string key = "k" + std::to_string(100'000 + i);
            ASSERT_TRUE((round == 0 ? txn.put(*tree, key, "v") : txn.erase(*tree, key)).isOk());
        }
        ASSERT_TRUE(commitAndWait(txn).isOk());
    }
    put(*store, *tree, "a", "first");
    put(*store, *tree, "z", "last");
    Txn txn(*store);
    Cursor cursor(txn, tree);
    for (bool up : {true, false}) {
        ASSERT_TRUE((up ? cursor.first() : cursor.last()).isOk());
        EXPECT_EQ(cursor.key(), up ? "a" : "z");
        int yields = 0;
        Status status = up ? cursor.next() : cursor.prev();
        for (; status.isWouldBlock(); ++yields) {
            ASSERT_TRUE(txn.token().isDone());
            status = up ? cursor.next() : cursor.prev();
        }
        EXPECT_GE(yields, 3);
        ASSERT_TRUE(cursor.valid());
        EXPECT_EQ(cursor.key(), up ? "z" : "a");
    }
}

TEST_F(StoreTest, ACursorSeesItsTxnsOwnWritesAsTheyCome) {
    for (const char* key : {"a", "c", "e", "g"}) {
        put(*store, *tree, key, key);
    }
    Txn txn(*store);
    Cursor cursor(txn, tree);
    ASSERT_TRUE(cursor.first().isOk());
    ASSERT_TRUE(cursor.next().isOk());
    EXPECT_EQ(cursor.key(), "c");
    ASSERT_TRUE(txn.put(*tree, "d", "new").isOk());
    ASSERT_TRUE(txn.erase(*tree, "e").isOk());
    ASSERT_TRUE(txn.put(*tree, "b", "behind").isOk());
    EXPECT_EQ(cursor.key(), "c");
    ASSERT_TRUE(cursor.next().isOk());
    EXPECT_EQ(cursor.key(), "d");
    ASSERT_TRUE(cursor.next().isOk());
    EXPECT_EQ(cursor.key(), "g");
    ASSERT_TRUE(cursor.next().isOk());
    EXPECT_FALSE(cursor.valid());
}

TEST_F(StoreTest, AnOutdatedDirectoryNameIsNoticed) {
    put(*store, *tree, "k", "v");
    tree.reset();
    store.reset();
    disk.damage("/db/freshet.id", 20);
    StoreOptions options;
    options.files = &disk;
    options.directory = "/db";
    EXPECT_EQ(Store::open(options).status().code(), Code::kCorruption);
}

}  // namespace
}  // namespace freshet::engine
