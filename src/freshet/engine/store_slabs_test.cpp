// SPDX-License-Identifier: Apache-2.0
/// Large values in slabs: they are allocated there and nowhere else, whatever happens to their
/// pages, and leave nothing behind.
#include "freshet/engine/txn/store_test_support.h"
#include "freshet/platform/slabs.h"
#include "freshet/platform/thread.h"

#include <map>
#include <vector>

namespace freshet::engine {
namespace {

constexpr size_t kSmallSlab = 1u << 20;
constexpr size_t kLarge = 16 * 1024;

class StoreSlabs : public ::testing::Test {
protected:
    StoreSlabs() { open(); }
    ~StoreSlabs() override {
        close();
        EXPECT_EQ(slabs_.bytesUsed(), 0u);
    }
    void open() {
        StoreOptions options = storeOptions(disk_);
        options.slabs = &slabs_;
        store_ = openStore(options);
        tree_ = store_->tree(2);
    }
    void close() {
        tree_.reset();
        ASSERT_TRUE(store_->close().isOk());
        store_.reset();
    }
    std::string read(ByteView key) {
        Txn txn(*store_);
        return valueOf(txn, *tree_, key);
    }

    platform::Slabs slabs_{kSmallSlab};  // outlives the store
    testing::MemoryFileSystem disk_;
    std::unique_ptr<Store> store_;
    TreeRef tree_;
};

TEST_F(StoreSlabs, OnlyLargeValuesLieThere) {
    put(*store_, *tree_, "small", std::string(kLarge - 1, 's'));
    EXPECT_EQ(slabs_.bytesUsed(), 0u);
    put(*store_, *tree_, "large", std::string(kLarge, 'l'));
    EXPECT_GE(slabs_.bytesUsed(), kLarge);
    EXPECT_LT(slabs_.bytesUsed(), kLarge + 2 * platform::Slabs::kUnitBytes) << "once";
    EXPECT_EQ(read("large"), std::string(kLarge, 'l'));
}

TEST_F(StoreSlabs, WhatIsReadFromDiskComesBackThere) {
    constexpr int kValues = 400;
    const auto keyOf = [](int i) { return "key" + std::to_string(1'000 + i); };
    const auto valueOf = [](int i) { return std::string(kLarge + i * 100, static_cast<char>(i)); };
    for (int i = 0; i < kValues; ++i) {
        put(*store_, *tree_, keyOf(i), valueOf(i));
    }
    const size_t used = slabs_.bytesUsed();
    // The second round finds what the first has written; memory is freed when no thread can see it.
    for (int round = 0; round < 10 && slabs_.bytesUsed() > 0; ++round) {
        ASSERT_TRUE(store_->checkpointNow().isOk());
        store_->evictAll();
        put(*store_, *store_->tree(3), "anything", "so that time goes on");
    }
    EXPECT_LT(slabs_.bytesUsed(), used / 2);
    const auto readAll = [&] {
        for (int i = 0; i < kValues; ++i) {
            ASSERT_TRUE(read(keyOf(i)) == valueOf(i)) << i;
        }
    };
    readAll();
    EXPECT_EQ(slabs_.bytesUsed(), used);
    close();
    EXPECT_EQ(slabs_.bytesUsed(), 0u);
    open();
    readAll();
    EXPECT_EQ(slabs_.bytesUsed(), used);
}

TEST_F(StoreSlabs, AgreesWithAModel) {
    std::mt19937_64 random(testSeed());
    std::map<std::string, std::string> model;
    for (int i = 0; i < 300; ++i) {
        const std::string key = "key" + std::to_string(random() % 24);
        switch (random() % 64) {
            case 0:
                store_->evictAll();
                break;
            case 1:
                EXPECT_TRUE(store_->checkpointNow().isOk());
                break;
            case 2:
                close();
                open();
                break;
            default:
                if (random() % 4 == 0 && model.erase(key) > 0) {
                    erase(*store_, *tree_, key);
                    break;
                }
                const size_t sizes[] = {100, 5'000, kLarge, 100'000, 2 * kSmallSlab};
                std::string value(sizes[random() % std::size(sizes)] + random() % 50,
                                  static_cast<char>(random()));
                put(*store_, *tree_, key, value);
                model[key] = std::move(value);
        }
        const std::string asked = "key" + std::to_string(random() % 24);
        const auto known = model.find(asked);
        ASSERT_TRUE(read(asked) == (known == model.end() ? "<NotFound>" : known->second)) << asked;
    }
}

TEST_F(StoreSlabs, WritersOfOneKeyLeaveNothing) {
    {
        std::vector<platform::Thread> writers;
        for (int t = 0; t < 4; ++t) {
            writers.emplace_back("test", [this, t] {
                for (int i = 0; i < 100; ++i) {
                    Txn txn(*store_);
                    const std::string value(kLarge + static_cast<size_t>(i),
                                            static_cast<char>('a' + t));
                    const Status status =
                        waiting(txn, [&] { return txn.put(*tree_, "the one", value); });
                    if (status.isOk()) {
                        EXPECT_TRUE(commitAndWait(txn).isOk());
                    } else {
                        EXPECT_EQ(status.code(), Code::kConflict);
                    }
                }
            });
        }
    }
    const std::string last = read("the one");
    EXPECT_EQ(last, std::string(last.size(), last.front()));
}

}  // namespace
}  // namespace freshet::engine
