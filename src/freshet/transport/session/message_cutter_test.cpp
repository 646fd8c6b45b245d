// SPDX-License-Identifier: Apache-2.0
/// However the bytes arrive, the same messages come out, and memory follows the bytes.
#include "freshet/transport/session/message_cutter.h"

#include "freshet/testing/sim/seed.h"
#include "freshet/transport/session/step_executor_for_test.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace freshet::transport {
namespace {

constexpr size_t kScratch = 64 * 1024;

struct Rig {
    BlockPool pool;
    MessageCutter cutter{pool};
    std::vector<char> scratch = std::vector<char>(kScratch);

    /// As a session reads: at most `most` bytes and at most what the target holds.
    size_t feed(std::string_view bytes, size_t most) {
        std::span<char> room = cutter.target(scratch);
        const size_t count = std::min({bytes.size(), most, room.size()});
        std::memcpy(room.data(), bytes.data(), count);
        cutter.arrived(room.data(), count);
        return count;
    }
    std::vector<std::string> drain() {
        std::vector<std::string> out;
        for (;;) {
            Message message;
            StatusOr<bool> found = cutter.next(&message);
            EXPECT_TRUE(found.isOk());
            if (!found.isOk() || !*found) {
                return out;
            }
            out.emplace_back(message.view());
        }
    }
};

TEST(MessageCutter, SplitAtEveryByte) {
    const std::string one = messageForTest(1, "first"), two = messageForTest(2, "second one");
    const std::string stream = one + two;
    for (size_t cut = 0; cut <= stream.size(); ++cut) {
        Rig rig;
        std::vector<std::string> got;
        for (std::string_view part :
             {std::string_view(stream).substr(0, cut), std::string_view(stream).substr(cut)}) {
            while (!part.empty()) {
                part.remove_prefix(rig.feed(part, part.size()));
                for (std::string& message : rig.drain()) {
                    got.push_back(std::move(message));
                }
            }
        }
        EXPECT_EQ(got, (std::vector<std::string>{one, two})) << "cut at " << cut;
        EXPECT_FALSE(rig.cutter.isMidMessage());
        EXPECT_FALSE(rig.cutter.ownsBuffer()) << "idle sessions own no buffer";
    }
}

TEST(MessageCutter, FalseLengthsAreRefusedBeforeAllocation) {
    for (int32_t lie : {0, 15, -1, INT32_MIN, 48'000'001, INT32_MAX}) {
        Rig rig;
        std::string bytes = messageForTest(1, "x");
        storeLe(bytes.data(), lie);
        rig.feed(bytes, bytes.size());
        Message message;
        StatusOr<bool> found = rig.cutter.next(&message);
        ASSERT_FALSE(found.isOk()) << lie;
        EXPECT_EQ(found.status().reason(), Reason::kProtocolError);
        EXPECT_LE(rig.cutter.capacity(), BlockPool::kSmallBytes);
    }
}

TEST(MessageCutter, MemoryFollowsWhatArrived) {
    Rig rig;
    const std::string big = messageForTest(1, std::string(47'000'000, 'b'));
    std::string_view left = big;
    size_t arrived = 0;
    std::vector<std::string> got;
    while (!left.empty()) {
        const size_t count = rig.feed(left, arrived < 1000 ? 100 : 60'000);
        left.remove_prefix(count);
        arrived += count;
        EXPECT_LE(rig.cutter.capacity(), std::max(BlockPool::kSmallBytes, 4 * arrived));
        got = rig.drain();
    }
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0], big);
    EXPECT_FALSE(rig.cutter.ownsBuffer());
}

TEST(MessageCutter, AnAdmittedMessageGetsAllItsMemoryAtOnce) {
    Rig rig;
    rig.pool.freeBytesMax = kScratch;
    sync::MemoryPool memory(uint64_t{64} << 20);
    const std::string small = messageForTest(1, std::string(kScratch - wire::kHeaderBytes, 's'));
    const std::string big = messageForTest(2, std::string(5'000'000, 'b'));
    std::string_view left = big;
    rig.feed(small, small.size());
    EXPECT_EQ(rig.drain().size(), 1u) << "up to the bound no admission is needed";
    EXPECT_EQ(rig.cutter.wantsRoom(), 0u);
    left.remove_prefix(rig.feed(left, 100));
    EXPECT_TRUE(rig.drain().empty());
    EXPECT_EQ(rig.cutter.wantsRoom(), big.size());
    sync::MemoryHold hold(&memory);
    ASSERT_TRUE(hold.tryResize(big.size()));
    rig.cutter.admit(std::move(hold));
    EXPECT_EQ(rig.cutter.capacity(), big.size());
    const char* const there = rig.cutter.pending().data();
    while (left.size() > 1) {
        left.remove_prefix(rig.feed(left, std::min<size_t>(left.size() - 1, 60'000)));
        EXPECT_TRUE(rig.drain().empty());
        EXPECT_EQ(rig.cutter.wantsRoom(), 0u);
        EXPECT_EQ(rig.cutter.pending().data(), there) << "nothing is moved again";
    }
    rig.feed(left, 1);
    {
        Message whole;
        ASSERT_TRUE(*rig.cutter.next(&whole));
        EXPECT_EQ(whole.view(), big);
        EXPECT_FALSE(rig.cutter.ownsBuffer());
        EXPECT_GT(memory.used(), 4'900'000u) << "as long as the message lives";
    }
    EXPECT_EQ(memory.used(), 0u);
}

TEST(MessageCutter, MessagesOutliveTheNextRead) {
    Rig rig;
    const std::string first = messageForTest(1, "keep me"), cut = messageForTest(2, "cut");
    const std::string bytes = first + cut.substr(0, 5);
    rig.feed(bytes, bytes.size());
    Message kept;
    ASSERT_TRUE(*rig.cutter.next(&kept));
    Message none;
    ASSERT_FALSE(*rig.cutter.next(&none));
    std::memset(rig.scratch.data(), 'x', rig.scratch.size());
    rig.feed(cut.substr(5), 100);
    EXPECT_EQ(rig.drain(), std::vector<std::string>{cut});
    EXPECT_EQ(kept.view(), first);
}

TEST(MessageCutter, RandomStreamsAndPieces) {
    const uint64_t seed = freshet::testing::testSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    Rig rig;
    for (int round = 0; round < 200; ++round) {
        std::vector<std::string> sent, got;
        std::string stream;
        for (uint64_t count = 1 + random() % 20; count > 0; --count) {
            const size_t bytes = random() % 8 == 0 ? random() % 300'000 : random() % 300;
            sent.push_back(messageForTest(1, std::string(bytes, static_cast<char>(random()))));
            stream += sent.back();
        }
        std::string_view left = stream;
        while (!left.empty()) {
            left.remove_prefix(rig.feed(left, 1 + random() % (random() % 2 == 0 ? 50 : 80'000)));
            for (std::string& message : rig.drain()) {
                got.push_back(std::move(message));
            }
        }
        ASSERT_EQ(got, sent);
        ASSERT_FALSE(rig.cutter.ownsBuffer());
    }
}

}  // namespace
}  // namespace freshet::transport
