// SPDX-License-Identifier: Apache-2.0
/// A disk without room even for the checkpoint's superblock: the store refuses additions, reads go
/// on, and it recovers by itself when there is room. And a disk without room for some page of a
/// checkpoint: the next checkpoint has all of them.
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/platform/thread.h"
#include "freshet/testing/sim/faulty_file_system.h"

namespace freshet::engine {
namespace {

using testing::FaultKind;

std::string numbered(int n) {
    return "key " + std::to_string(1000 + n);
}

class StoreRefusal : public ::testing::TestWithParam<FaultKind> {
protected:
    ~StoreRefusal() override {
        tree_.reset();
        store_.reset();  // before the plan
    }
    void reopen(platform::FileSystem& files) {
        tree_.reset();
        store_.reset();
        isOff_.store(false, sync::kRelaxed);  // [off.end] relaxed: before the next store's threads
        StoreOptions options = storeOptions(memory_);
        options.files = &files;
        options.checkpointIntervalMs = 20;  // by itself, like all that follows
        options.memoryBytes = 1;            // leaves are evicted as soon as possible
        // A power cut is kIo. Relaxed: see [off.set].
        options.onFatal = [this](const Status& why) {
            EXPECT_TRUE(isOff_.load(sync::kRelaxed) || why.code() == Code::kIo) << why.toString();
        };
        store_ = openStore(options);
        ASSERT_NE(store_, nullptr);
        tree_ = store_->tree(7);
    }
    /// The machine is about to crash: what the old store, which outlives that, still finds in its
    /// files does not matter.
    void turnOff() {
        isOff_.store(true, sync::kRelaxed);  // [off.set] relaxed: the crash orders it
    }
    Status tryPut(const std::string& key, const std::string& value) {
        Txn txn(*store_);
        EXPECT_TRUE(waiting(txn, [&] { return txn.put(*tree_, key, value); }).isOk());
        const Status status = commitAndWait(txn);
        return status.isOk() ? waiting(txn, [&] { return txn.waitFor(Durability::kDurable); })
                             : status;
    }
    std::string get(const std::string& key) {
        Txn txn(*store_);
        return valueOf(txn, *tree_, key);
    }
    /// Takes the disk's room away. Puts until one is refused; returns how many were not.
    int fill(const std::string& value) {
        EXPECT_TRUE(tryPut(numbered(0), value).isOk());
        EXPECT_TRUE(store_->checkpointNow().isOk());
        rule_ = plan_.add({.path = "*/data.freshet",
                           .kind = GetParam(),
                           .error = Status(Code::kNoSpace, "the disk is full"),
                           .times = testing::kEver,
                           .below = 8192});
        for (int i = 1;; ++i) {
            const Status status = tryPut(numbered(i), value);
            if (!status.isOk()) {
                EXPECT_EQ(status.code(), Code::kNoSpace) << status.toString();
                return i;
            }
            platform::sleepMillis(1);  // until a put is refused, or the test never ends
        }
    }
    void awaitRoom() {
        while (!tryPut("after", "1").isOk()) {
            platform::sleepMillis(5);  // as above
        }
        EXPECT_FALSE(store_->stats().spaceShort);
    }
    void expectAll(int written, const std::string& value) {
        EXPECT_EQ(get(numbered(0)), "<NotFound>");
        for (int i = 1; i < written; ++i) {
            ASSERT_EQ(get(numbered(i)), value) << i;
        }
        auto report = store_->verifyFiles();
        ASSERT_TRUE(report.isOk()) << report.status().toString();
        EXPECT_EQ(report->errors, std::vector<std::string>{});
    }

    testing::MemoryFileSystem memory_;
    testing::FaultPlan plan_{testSeed()};
    testing::FaultyFileSystem disk_{memory_, plan_};
    std::unique_ptr<Store> store_;
    TreeRef tree_;
    size_t rule_ = 0;
    sync::Atomic<bool> isOff_{false};
};

/// How much of a refused superblock reaches the disk: nothing, a part, all.
INSTANTIATE_TEST_SUITE_P(Kinds,
                         StoreRefusal,
                         ::testing::Values(FaultKind::kError,
                                           FaultKind::kShortWrite,
                                           FaultKind::kLateError));

TEST_P(StoreRefusal, OnlyWhatAddsIsRefusedAndItHealsWhenSpaceReturns) {
    const std::string value(2000, 'v');
    reopen(disk_);
    const int written = fill(value);
    EXPECT_TRUE(store_->stats().spaceShort);
    const uint64_t checkpoints = store_->stats().checkpoints;
    erase(*store_, *tree_, numbered(0));
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(store_->checkpointNow().code(), Code::kNoSpace);
    }
    expectAll(written, value);
    EXPECT_EQ(tryPut("more", value).code(), Code::kNoSpace);
    EXPECT_EQ(store_->stats().checkpoints, checkpoints);
    plan_.cancel(rule_);
    awaitRoom();
    EXPECT_GT(store_->stats().checkpoints, checkpoints);
    expectAll(written, value);
    turnOff();
    memory_.crash();
    reopen(memory_);
    EXPECT_EQ(get("after"), "1");
    EXPECT_EQ(get("more"), "<NotFound>");
    expectAll(written, value);
}

TEST_P(StoreRefusal, WhatGrowsDespiteShortageIsCommittedAndSurvives) {
    const std::string value(2000, 'v');
    reopen(disk_);
    const int written = fill(value);
    erase(*store_, *tree_, numbered(0));
    ASSERT_EQ(tryPut("more", value).code(), Code::kNoSpace);
    Txn txn(*store_);
    ASSERT_TRUE(txn.growDespiteShortage().isOk());
    ASSERT_TRUE(waiting(txn, [&] { return txn.put(*tree_, "small", "1"); }).isOk());
    const Status committed = commitAndWait(txn);
    ASSERT_TRUE(committed.isOk()) << committed.toString();
    ASSERT_TRUE(waiting(txn, [&] { return txn.waitFor(Durability::kDurable); }).isOk());
    EXPECT_EQ(tryPut("more", value).code(), Code::kNoSpace) << "only that one";
    turnOff();
    memory_.crash();
    reopen(memory_);
    EXPECT_EQ(get("small"), "1");
    expectAll(written, value);
}

TEST_P(StoreRefusal, ACrashMeanwhileLosesNothing) {
    const std::string value(2000, 'v');
    reopen(disk_);
    const int written = fill(value);
    Txn txn(*store_);
    ASSERT_TRUE(waiting(txn, [&] { return txn.erase(*tree_, numbered(0)); }).isOk());
    ASSERT_TRUE(commitAndWait(txn).isOk());
    ASSERT_TRUE(waiting(txn, [&] { return txn.waitFor(Durability::kDurable); }).isOk());
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(store_->checkpointNow().code(), Code::kNoSpace);
    }
    turnOff();
    memory_.crashKeepingSome(testSeed());
    reopen(memory_);
    expectAll(written, value);
}

/// Long enough that a few keys fill a leaf, and a few separators an inner page.
std::string longKey(int n) {
    constexpr int kOfOneKind = 50;
    const std::string kind = std::to_string(100 + n / kOfOneKind);
    return kind + std::string(2000, '-') + std::to_string(100 + n % kOfOneKind);
}

std::string longValue(int n) {
    return std::string(2000, 'v') + std::to_string(n);
}

/// A tree of some levels is written for the first time, and there is no room for the n-th page.
TEST(StoreRefused, AnyPageIsInTheNextCheckpoint) {
    constexpr int kKeys = 300;
    uint64_t fired = 1;
    for (uint64_t nth = 1; fired != 0; ++nth) {
        testing::MemoryFileSystem memory;
        testing::FaultPlan plan(nth);
        testing::FaultyFileSystem faulty(memory, plan);
        StoreOptions options = storeOptions(memory);
        options.files = &faulty;
        options.checkpointIntervalMs = 1'000'000;  // none by itself
        std::unique_ptr<Store> store = openStore(options);
        TreeRef tree = store->tree(7);
        for (int i = 0; i < kKeys; ++i) {
            put(*store, *tree, longKey(i), longValue(i));
        }
        ASSERT_GE(shapeOf(*store, tree).levels, 3u);
        const size_t rule = plan.add({.path = "*/data.freshet",
                                      .error = Status(Code::kNoSpace, "the disk is full"),
                                      .nth = nth});
        const Status full = store->checkpointNow();
        fired = plan.fired(rule);
        plan.cancel(rule);
        ASSERT_TRUE(full.isOk() || full.code() == Code::kNoSpace) << full.toString();
        ASSERT_TRUE(store->checkpointNow().isOk());
        memory.crash();
        tree.reset();
        store.reset();
        store = openStore(options);
        ASSERT_NE(store, nullptr) << "after page " << nth;
        tree = store->tree(7);
        Txn txn(*store);
        for (int i = 0; i < kKeys; ++i) {
            ASSERT_EQ(valueOf(txn, *tree, longKey(i)), longValue(i)) << "page " << nth;
        }
        txn.abort();
        tree.reset();
        store.reset();
    }
}

}  // namespace
}  // namespace freshet::engine
