// SPDX-License-Identifier: Apache-2.0
/// A store without a journal: the same transactions, and a directory that cannot be opened again.
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/platform/thread.h"

#include <algorithm>
#include <vector>

namespace freshet::engine {
namespace {

StoreOptions unlogged(testing::MemoryFileSystem& disk) {
    StoreOptions options = storeOptions(disk);
    options.withoutJournal = true;
    return options;
}

Code codeOfOpen(const StoreOptions& options) {
    return Store::open(options).status().code();
}

class StoreUnlogged : public ::testing::Test {
protected:
    testing::MemoryFileSystem disk;
    std::unique_ptr<Store> store = openStore(unlogged(disk));
    TreeRef tree = store->tree(7);
};

TEST_F(StoreUnlogged, TransactionsAreAsEverAndNothingIsLogged) {
    put(*store, *tree, "k", "one");
    Txn before(*store);
    Txn first(*store);
    Txn second(*store, OnConflict::kFail);
    ASSERT_TRUE(first.put(*tree, "k", "two").isOk());
    EXPECT_EQ(second.put(*tree, "k", "three").code(), Code::kConflict);
    second.abort();
    ASSERT_TRUE(first.commit().isOk());
    EXPECT_TRUE(first.waitFor(Durability::kNoSync).isOk());
    EXPECT_EQ(first.waitFor(Durability::kWritten).code(), Code::kUnsupported);
    EXPECT_EQ(first.waitFor(Durability::kDurable).code(), Code::kUnsupported);
    EXPECT_EQ(valueOf(before, *tree, "k"), "one");
    Txn after(*store);
    EXPECT_EQ(valueOf(after, *tree, "k"), "two");
    {
        Txn dropped(*store);
        ASSERT_TRUE(dropped.put(*tree, "k", "never").isOk());
    }
    after.begin();
    EXPECT_EQ(valueOf(after, *tree, "k"), "two");
    EXPECT_EQ(store->stats().commits, 2u);
    EXPECT_EQ(store->stats().journal.records, 0u);
    const auto names = disk.list("/db");
    ASSERT_TRUE(names.isOk());
    EXPECT_EQ(std::count(names->begin(), names->end(), "journal"), 0);
}

TEST_F(StoreUnlogged, ATransactionHasItsLimit) {
    Txn txn(*store);
    const std::string value(16u << 20, 'x');
    Status status;
    int written = 0;
    for (; status.isOk() && written < 8; ++written) {
        status = txn.put(*tree, std::to_string(written), value);
    }
    EXPECT_EQ(status.code(), Code::kLimit) << written;
}

TEST_F(StoreUnlogged, LeavesComeAndGo) {
    const auto keyAt = [](uint64_t i) { return "k" + std::to_string(100'000 + i); };
    for (uint64_t round = 0; round < 3; ++round) {
        for (uint64_t i = 0; i < 2000; ++i) {
            put(*store, *tree, keyAt(i), std::to_string(i * round) + std::string(200, 'v'));
        }
        ASSERT_TRUE(store->checkpointNow().isOk());
        store->evictAll();
        EXPECT_GT(shapeOf(*store, tree).onDisk, 2u);
        Txn txn(*store);
        for (uint64_t i = 0; i < 2000; ++i) {
            ASSERT_EQ(valueOf(txn, *tree, keyAt(i)),
                      std::to_string(i * round) + std::string(200, 'v'));
        }
    }
    EXPECT_GE(store->stats().checkpoints, 3u);
}

TEST_F(StoreUnlogged, ManyThreadsAddUpBesideCheckpoints) {
    constexpr unsigned kThreads = 4;
    constexpr uint64_t kEach = 300;
    put(*store, *tree, "sum", "0");
    std::vector<platform::Thread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
        threads.emplace_back("adder", [this] {
            Txn txn(*store);
            for (uint64_t done = 0; done < kEach;) {
                txn.begin();
                const uint64_t sum = std::stoull(valueOf(txn, *tree, "sum"));
                const Status put =
                    waiting(txn, [&] { return txn.put(*tree, "sum", std::to_string(sum + 1)); });
                if (put.isOk() && txn.commit().isOk()) {
                    ++done;
                } else {
                    txn.abort();
                }
            }
        });
    }
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(store->checkpointNow().isOk());
    }
    threads.clear();
    Txn txn(*store);
    EXPECT_EQ(valueOf(txn, *tree, "sum"), std::to_string(kThreads * kEach));
}

TEST_F(StoreUnlogged, ItsDirectoryCannotBeOpenedAgain) {
    put(*store, *tree, "k", "v");
    ASSERT_TRUE(store->checkpointNow().isOk());
    tree.reset();
    store.reset();
    EXPECT_EQ(codeOfOpen(storeOptions(disk)), Code::kUnsupported);
    EXPECT_EQ(codeOfOpen(unlogged(disk)), Code::kUnsupported);
    StoreOptions repairs = storeOptions(disk);
    repairs.repair = true;
    EXPECT_EQ(codeOfOpen(repairs), Code::kUnsupported);
}

TEST(StoreUnloggedOpen, RefusesADirectoryWithData) {
    testing::MemoryFileSystem disk;
    {
        auto store = openStore(disk);
        put(*store, *store->tree(7), "k", "v");
    }
    EXPECT_EQ(codeOfOpen(unlogged(disk)), Code::kUnsupported);
    // It has left nothing behind: the owner of the data opens it as before.
    auto store = openStore(disk);
    Txn txn(*store);
    EXPECT_EQ(valueOf(txn, *store->tree(7), "k"), "v");
}

TEST(StoreUnloggedOpen, RefusesWhatItCannotDo) {
    testing::MemoryFileSystem disk;
    StoreOptions options = unlogged(disk);
    options.repair = true;
    EXPECT_EQ(codeOfOpen(options), Code::kInvalid);
    options.repair = false;
    options.holdCommitsUntilDurable = true;
    EXPECT_EQ(codeOfOpen(options), Code::kInvalid);
}

}  // namespace
}  // namespace freshet::engine
