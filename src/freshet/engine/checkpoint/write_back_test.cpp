// SPDX-License-Identifier: Apache-2.0
/// While memory is short leaves get images so that they can be evicted, and one checkpoint names
/// the images of several such rounds (decision 0048). A power cut in between loses nothing.
#include "freshet/engine/txn/store_test_support.h"

#include <vector>

namespace freshet::engine {
namespace {

constexpr uint64_t kSmallMemory = 2u << 20;
constexpr uint64_t kRecords = 12'000;  // of 1 KiB: six times the memory
constexpr uint64_t kOverwrites = 2'000;
constexpr int kCuts = 3;

std::string recordKey(uint64_t n) {
    std::string key;
    appendBe64(key, n * 0x9E3779B97F4A7C15u);
    return key;
}

std::string recordText(uint64_t serial) {
    std::string text = std::to_string(serial);
    text.resize(1024, '.');
    return text;
}

class WriteBack : public ::testing::Test {
protected:
    void open() {
        StoreOptions options = storeOptions(disk_);
        options.memoryBytes = kSmallMemory;
        options.checkpointIntervalMs = 3'600'000;
        store_ = openStore(options);
        ASSERT_NE(store_, nullptr);
        tree_ = store_->tree(2);
    }
    void putNext(uint64_t n) {
        put(*store_, *tree_, recordKey(n), recordText(++serial_));
        last_[n] = serial_;
    }
    void cutPower() {
        disk_.crashKeepingSome(random_());
        tree_.reset();
        store_.reset();
        ASSERT_NO_FATAL_FAILURE(open());
    }
    void expectAll() {
        Txn txn(*store_);
        for (uint64_t n = 0; n < kRecords; ++n) {
            ASSERT_EQ(valueOf(txn, *tree_, recordKey(n)), recordText(last_[n])) << n;
        }
    }

    std::mt19937_64 random_{testSeed()};
    testing::MemoryFileSystem disk_;
    std::unique_ptr<Store> store_;
    TreeRef tree_;
    uint64_t serial_ = 0;
    std::vector<uint64_t> last_ = std::vector<uint64_t>(kRecords);
};

TEST_F(WriteBack, SeveralRoundsHaveOneCheckpointAndPowerCutsLoseNothing) {
    ASSERT_NO_FATAL_FAILURE(open());
    for (uint64_t n = 0; n < kRecords; ++n) {
        putNext(n);
    }
    ASSERT_TRUE(store_->checkpointNow().isOk());
    for (int cut = 0; cut < kCuts; ++cut) {
        const StoreStats before = store_->stats();
        ASSERT_GE(before.block.fileBytes, 8 * kSmallMemory) << "or fewer images wait";
        for (uint64_t i = 0; i < kOverwrites; ++i) {
            putNext(random_() % kRecords);
        }
        putDurably(*store_, *tree_, "end", "and all before it");
        const StoreStats after = store_->stats();
        EXPECT_GT(after.leavesEvicted - before.leavesEvicted, kOverwrites / 4);
        // A round has images of half as many bytes. Some may have waited before.
        EXPECT_GE(after.block.bytesWritten - before.block.bytesWritten + kSmallMemory,
                  (after.checkpoints - before.checkpoints) * kSmallMemory);
        EXPECT_LT(after.block.fileBytes, before.block.fileBytes + 4 * kSmallMemory);
        ASSERT_NO_FATAL_FAILURE(cutPower());
        ASSERT_NO_FATAL_FAILURE(expectAll());
    }
}

}  // namespace
}  // namespace freshet::engine
