// SPDX-License-Identifier: Apache-2.0
/// Slabs against a model, and the notifications of their users.
#include "freshet/platform/slabs.h"

#include "freshet/base/sanitizer.h"
#include "freshet/platform/thread.h"
#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <vector>

namespace freshet::platform {
namespace {

constexpr size_t kSmallSlab = 256 * 1024;

class Listener final : public SlabUser {
public:
    explicit Listener(Slabs& slabs) : slabs_(slabs) { slabs_.add(this); }
    ~Listener() { slabs_.remove(this); }
    void onSlabGoes(const Slab& slab) override {
        std::lock_guard<std::mutex> lock(mutex);
        gone.push_back(slab);
        EXPECT_EQ(::msync(slab.begin, slab.bytes, MS_ASYNC), 0) << "it is still mapped";
    }
    std::mutex mutex;
    std::vector<Slab> gone;

private:
    Slabs& slabs_;
};

TEST(Slabs, FindKnowsWhatIsInWhichSlab) {
    Slabs slabs(kSmallSlab);
    int elsewhere = 0;
    EXPECT_EQ(slabs.find(&elsewhere).number, 0u);
    auto* one = static_cast<char*>(slabs.allocate(20'000));
    auto* other = static_cast<char*>(slabs.allocate(20'000));
    auto* large = static_cast<char*>(slabs.allocate(3 * kSmallSlab));
    const Slab slab = slabs.find(one);
    EXPECT_NE(slab.number, 0u);
    EXPECT_EQ(slabs.find(one + 19'999).number, slab.number);
    EXPECT_EQ(slabs.find(other).number, slab.number);
    EXPECT_LE(slab.begin, one);
    EXPECT_GE(slab.begin + slab.bytes, one + 20'000);
    EXPECT_NE(slabs.find(large).number, slab.number);
    EXPECT_EQ(slabs.find(large + 3 * kSmallSlab - 1).number, slabs.find(large).number);
    EXPECT_EQ(slabs.find(&elsewhere).number, 0u);
    slabs.release(one, 20'000);
    slabs.release(other, 20'000);
    slabs.release(large, 3 * kSmallSlab);
}

TEST(Slabs, OneThatIsFreeIsSpareAndFurtherOnesGo) {
    Slabs slabs(kSmallSlab);
    Listener listener(slabs);
    void* one = slabs.allocate(kSmallSlab);
    void* other = slabs.allocate(kSmallSlab);
    void* large = slabs.allocate(kSmallSlab + 1);
    const uint64_t numbers[] = {slabs.find(other).number, slabs.find(large).number};
    EXPECT_GT(slabs.bytesMapped(), 3 * kSmallSlab);
    slabs.release(one, kSmallSlab);
    EXPECT_TRUE(listener.gone.empty());
    slabs.release(other, kSmallSlab);
    slabs.release(large, kSmallSlab + 1);
    ASSERT_EQ(listener.gone.size(), 2u);
    EXPECT_EQ(listener.gone[0].number, numbers[0]);
    EXPECT_EQ(listener.gone[1].number, numbers[1]);
    EXPECT_EQ(slabs.bytesMapped(), kSmallSlab);
    void* again = slabs.allocate(17'000);
    EXPECT_EQ(again, one) << "the spare one is used";
    EXPECT_EQ(slabs.bytesMapped(), kSmallSlab);
    slabs.release(again, 17'000);
    EXPECT_EQ(listener.gone.size(), 2u);
}

/// Every byte belongs to its owner until it is released, and space is reused.
TEST(Slabs, WhateverIsAllocatedIsItsOwners) {
    std::mt19937_64 random(testing::testSeed());
    Slabs slabs(kSmallSlab);
    Listener listener(slabs);
    struct Piece {
        size_t bytes;
        char mark;
    };
    std::map<char*, Piece> pieces;
    size_t used = 0;
    const auto checkAndRelease = [&](std::map<char*, Piece>::iterator it) {
        const auto& [place, piece] = *it;
        ASSERT_EQ(std::count(place, place + piece.bytes, piece.mark),
                  static_cast<std::ptrdiff_t>(piece.bytes));
        used -= piece.bytes;
        slabs.release(place, piece.bytes);
        pieces.erase(it);
    };
    for (int i = 0; i < 4'000; ++i) {
        const bool grows = (i / 500) % 2 == 0;
        if (pieces.empty() || random() % 8 < (grows ? 5 : 3)) {
            const size_t bytes = 1 + random() % (random() % 16 == 0 ? 2 * kSmallSlab : 40'000);
            auto* place = static_cast<char*>(slabs.allocate(bytes));
            const auto next = pieces.lower_bound(place);
            ASSERT_TRUE(next == pieces.end() || place + bytes <= next->first);
            ASSERT_TRUE(next == pieces.begin() ||
                        std::prev(next)->first + std::prev(next)->second.bytes <= place);
            const Slab slab = slabs.find(place);
            ASSERT_TRUE(slab.begin <= place && place + bytes <= slab.begin + slab.bytes);
            const char mark = static_cast<char>(random());
            std::memset(place, mark, bytes);
            pieces[place] = {bytes, mark};
            used += bytes;
        } else {
            checkAndRelease(
                std::next(pieces.begin(), static_cast<std::ptrdiff_t>(random() % pieces.size())));
        }
        ASSERT_LE(slabs.bytesUsed(), used + pieces.size() * Slabs::kUnitBytes);
        ASSERT_GE(slabs.bytesUsed(), used);
        ASSERT_EQ(slabs.bytesMapped() - slabs.bytesUsed(), slabs.bytesFree());
    }
    while (!pieces.empty()) {
        checkAndRelease(pieces.begin());
    }
    EXPECT_EQ(slabs.bytesUsed(), 0u);
    EXPECT_EQ(slabs.bytesMapped(), kSmallSlab);
    EXPECT_GT(listener.gone.size(), 10u);
}

TEST(Slabs, ThreadsShareThem) {
    const uint64_t seed = testing::testSeed();
    Slabs slabs(kSmallSlab);
    Listener listener(slabs);
    {
        std::vector<Thread> threads;
        for (uint64_t t = 0; t < 4; ++t) {
            threads.emplace_back("slabs", [&slabs, seed, t] {
                std::mt19937_64 random(seed + t);
                for (int i = 0; i < 1'000; ++i) {
                    const size_t bytes = 1 + random() % kSmallSlab;
                    auto* place = static_cast<char*>(slabs.allocate(bytes));
                    std::memset(place, static_cast<int>(t), bytes);
                    const Slab slab = slabs.find(place + bytes / 2);
                    EXPECT_TRUE(slab.begin <= place && place < slab.begin + slab.bytes);
                    EXPECT_EQ(place[bytes - 1], static_cast<char>(t));
                    slabs.release(place, bytes);
                }
            });
        }
    }
    EXPECT_EQ(slabs.bytesUsed(), 0u);
    EXPECT_LE(slabs.bytesMapped(), kSmallSlab);
}

TEST(SlabsDeathTest, UseAfterReleaseIsFound) {
    if (!kIsAddressSanitized) {
        GTEST_SKIP() << "only AddressSanitizer knows";
    }
    Slabs slabs(kSmallSlab);
    auto* place = static_cast<char*>(slabs.allocate(20'000));
    auto* other = static_cast<char*>(slabs.allocate(20'000));
    slabs.release(place, 20'000);
    EXPECT_DEATH(place[100] = 1, "poison");
    EXPECT_DEATH(other[20'000] = 1, "poison");
    slabs.release(other, 20'000);
}

}  // namespace
}  // namespace freshet::platform
