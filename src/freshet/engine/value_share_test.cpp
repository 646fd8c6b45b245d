// SPDX-License-Identifier: Apache-2.0
/// ValueShare: what happens to the bytes, their page and their memory while a record changes below
/// a share, and afterwards.
#include "freshet/engine/value_share.h"

#include "freshet/engine/txn/store_test_support.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/atomic.h"

#include <array>
#include <mutex>
#include <vector>

namespace freshet::engine {
namespace {

constexpr size_t kShareMin = 16 * 1024;
constexpr size_t kLargeBytes = 1u << 20;
constexpr TreeId kSharingTree = 2;
/// Enough rounds for everything that an epoch still holds to be freed.
constexpr int kRoundsMax = 1'000;

class ValueShareTest : public ::testing::Test {
protected:
    ValueShareTest() { open(); }

    void open() {
        store_ = openStore(disk_);
        tree_ = store_->tree(kSharingTree);
    }
    void close() {
        tree_.reset();
        store_.reset();
    }
    void checkpoint() { ASSERT_TRUE(store_->checkpointNow().isOk()); }

    ValueShare take(ByteView key, size_t bytesMin = kShareMin) {
        sync::Slice slice(store_->epochs());
        Txn txn(*store_, OnConflict::kWait, Waits::kHere);
        SharedRead read{bytesMin};
        Status status = txn.getShared(*tree_, key, &read);
        EXPECT_TRUE(status.isOk()) << status.toString();
        EXPECT_TRUE(read.share.isEmpty() || read.share.view().data() == read.bytes.data());
        return std::move(read.share);
    }
    /// Makes checkpoints until the file has no more than `bytes` of the tree.
    bool comesDownTo(uint64_t bytes) {
        for (int i = 0; i < kRoundsMax && store_->storedBytes(kSharingTree) > bytes; ++i) {
            put(*store_, *tree_, "other", std::to_string(i));
            checkpoint();
        }
        return store_->storedBytes(kSharingTree) <= bytes;
    }
    void expectSoundFiles() {
        checkpoint();
        auto report = store_->verifyFiles();
        ASSERT_TRUE(report.isOk());
        EXPECT_TRUE(report->errors.empty()) << report->errors[0];
    }

    testing::MemoryFileSystem disk_;
    std::unique_ptr<Store> store_;
    TreeRef tree_;
    const std::string large_ = std::string(kLargeBytes, 'L');
};

TEST_F(ValueShareTest, OnlyOfValuesThatAreLargeEnough) {
    put(*store_, *tree_, "below", std::string(kShareMin - 1, 'b'));
    put(*store_, *tree_, "at", std::string(kShareMin, 'a'));
    put(*store_, *tree_, "tiny", "t");
    EXPECT_TRUE(take("below").isEmpty());
    EXPECT_EQ(take("at").view(), std::string(kShareMin, 'a'));
    EXPECT_TRUE(take("tiny", 1).isEmpty());  // has no buffer of its own
    EXPECT_TRUE(take("at").another().view() == std::string(kShareMin, 'a'));
    EXPECT_TRUE(ValueShare().another().isEmpty());

    Txn txn(*store_);
    Cursor cursor(txn, tree_);
    ASSERT_TRUE(waiting(txn, [&] { return cursor.seek("at"); }).isOk());
    ValueShare shared = cursor.share(kShareMin);
    EXPECT_TRUE(cursor.share(kShareMin + 1).isEmpty());
    EXPECT_EQ(shared.view().data(), cursor.value().data());
    ASSERT_TRUE(waiting(txn, [&] { return cursor.next(); }).isOk());
    EXPECT_EQ(cursor.key(), "below");
    EXPECT_TRUE(cursor.share(kShareMin).isEmpty());
    EXPECT_EQ(shared.view(), std::string(kShareMin, 'a'));
}

TEST_F(ValueShareTest, TheBytesStayWhateverBecomesOfTheRecord) {
    put(*store_, *tree_, "k", large_);
    ValueShare ofVersion = take("k");
    checkpoint();
    store_->evictAll();
    EXPECT_EQ(valueOf(*std::make_unique<Txn>(*store_), *tree_, "k"), large_);  // brought back
    ValueShare ofImage = take("k");
    put(*store_, *tree_, "k", "small");
    checkpoint();
    erase(*store_, *tree_, "k");
    checkpoint();
    store_->evictAll();
    EXPECT_TRUE(comesDownTo(kLargeBytes + kLargeBytes / 2));  // one page, of ofImage
    EXPECT_EQ(ofVersion.view(), large_);
    EXPECT_EQ(ofImage.view(), large_);
    ValueShare moved = std::move(ofImage);
    EXPECT_TRUE(ofImage.isEmpty());  // NOLINT: that is what is tested
    ofVersion = std::move(moved);
    EXPECT_EQ(ofVersion.view(), large_);
}

TEST_F(ValueShareTest, APageGoesWithTheLastShare) {
    put(*store_, *tree_, "k", large_);
    checkpoint();
    ValueShare share = take("k");
    erase(*store_, *tree_, "k");
    for (int i = 0; i < 10; ++i) {
        put(*store_, *tree_, "other", std::to_string(i));
        checkpoint();
    }
    EXPECT_GE(store_->storedBytes(kSharingTree), kLargeBytes);
    share = ValueShare();
    EXPECT_TRUE(comesDownTo(kLargeBytes / 2));
    expectSoundFiles();
}

TEST_F(ValueShareTest, AnEvictedLeafKeepsThePage) {
    put(*store_, *tree_, "k", large_);
    checkpoint();
    ValueShare share = take("k");
    store_->evictAll();
    share = ValueShare();
    expectSoundFiles();
    Txn txn(*store_);
    EXPECT_EQ(valueOf(txn, *tree_, "k"), large_);
}

TEST_F(ValueShareTest, ATreeIsDroppedBelowAShare) {
    put(*store_, *tree_, "k", large_);
    checkpoint();
    ValueShare share = take("k");
    tree_.reset();
    store_->dropTree(kSharingTree);
    checkpoint();
    checkpoint();
    EXPECT_EQ(share.view(), large_);
    share = ValueShare();
    expectSoundFiles();
    close();
    open();
    expectSoundFiles();
    EXPECT_LT(store_->storedBytes(kSharingTree), kLargeBytes);
}

TEST_F(ValueShareTest, APowerCutLeavesNothingOfAShare) {
    putDurably(*store_, *tree_, "k", large_);
    checkpoint();
    ValueShare share = take("k");
    erase(*store_, *tree_, "k");
    checkpoint();
    disk_.crash();
    share = ValueShare();
    close();
    open();
    EXPECT_EQ(valueOf(*std::make_unique<Txn>(*store_), *tree_, "k"), "<NotFound>");
    EXPECT_TRUE(comesDownTo(kLargeBytes / 2));
    expectSoundFiles();
}

TEST_F(ValueShareTest, ItsMemoryCountsAsLongAsItLives) {
    constexpr size_t kMany = 16 * kLargeBytes;
    const uint64_t before = store_->stats().memoryBytes;
    put(*store_, *tree_, "k", std::string(kMany, 'm'));
    ValueShare share = take("k");
    erase(*store_, *tree_, "k");
    for (int i = 0; i < 10; ++i) {
        put(*store_, *tree_, "other", std::to_string(i));
        checkpoint();
    }
    EXPECT_GE(store_->stats().memoryBytes, before + kMany / 2);
    share = ValueShare();
    for (int i = 0; i < kRoundsMax && store_->stats().memoryBytes >= before + kMany / 2; ++i) {
        put(*store_, *tree_, "other", std::to_string(i));
        checkpoint();
    }
    EXPECT_LT(store_->stats().memoryBytes, before + kMany / 2);
}

/// Passes shares from readers to the thread that checks and drops them.
class Handover {
public:
    void give(ValueShare share) {
        std::lock_guard guard(mutex_);
        shares_.push_back(std::move(share));
    }
    std::vector<ValueShare> take() {
        std::lock_guard guard(mutex_);
        return std::exchange(shares_, {});
    }

private:
    std::mutex mutex_;
    std::vector<ValueShare> shares_;
};

bool isOneLetter(ByteView bytes) {
    return bytes.size() >= kShareMin && bytes.substr(1) == bytes.substr(0, bytes.size() - 1);
}

TEST_F(ValueShareTest, ReadersHandOverWhatAWriterChanges) {
    constexpr int kWrites = 300;  // at least, and until there were this many shares:
    constexpr int kSharesMin = 100;
    constexpr std::array<const char*, 3> kKeys{"a", "b", "c"};
    Handover handover;
    sync::Atomic<bool> isOver{false};
    sync::Atomic<int> given{0};
    const auto letters = [](int i) {
        return std::string(kShareMin + static_cast<size_t>(i % kWrites) * 64,
                           static_cast<char>('a' + i % 26));
    };
    for (const char* key : kKeys) {
        put(*store_, *tree_, key, letters(0));
    }
    platform::Thread writer("writer", [&] {
        for (int i = 1; i <= kWrites || given.load(sync::kRelaxed) < kSharesMin; ++i) {
            const char* key = kKeys[static_cast<size_t>(i) % kKeys.size()];
            if (i % 7 == 0) {
                erase(*store_, *tree_, key);
            }
            put(*store_, *tree_, key, letters(i));
            if (i % 50 == 0) {
                checkpoint();
                store_->evictAll();
            }
        }
        isOver.store(true, sync::kRelease);  // [over.set]
    });
    const auto read = [&] {
        for (size_t i = 0; !isOver.load(sync::kAcquire); ++i) {  // [over.get]
            Txn txn(*store_, OnConflict::kWait, Waits::kHere);
            SharedRead found{kShareMin};
            Status status = Status::wouldBlock();
            while (status.isWouldBlock()) {
                {
                    sync::Slice slice(store_->epochs());
                    status = txn.getShared(*tree_, kKeys[i % kKeys.size()], &found);
                }
                if (status.isWouldBlock()) {
                    txn.await();
                }
            }
            if (status.isOk()) {
                ASSERT_FALSE(found.share.isEmpty());
                handover.give(std::move(found.share));
                given.fetch_add(1, sync::kRelaxed);
            }
        }
    };
    platform::Thread one("one", read);
    platform::Thread two("two", read);
    size_t seen = 0;
    const auto look = [&] {
        for (const ValueShare& share : handover.take()) {
            ASSERT_TRUE(isOneLetter(share.view()));
            ++seen;
        }
    };
    while (!isOver.load(sync::kAcquire)) {  // [over.get]
        look();
    }
    writer.join();
    one.join();
    two.join();
    look();
    EXPECT_GE(seen, static_cast<size_t>(kSharesMin));
    expectSoundFiles();
}

}  // namespace
}  // namespace freshet::engine
