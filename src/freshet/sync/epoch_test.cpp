// SPDX-License-Identifier: Apache-2.0
/// Epochs with real threads, for what the explorer's models are too small for. Run under asan (a
/// use after free) and tsan (a missing edge).
#include "freshet/sync/epoch.h"

#include "freshet/platform/thread.h"
#include "freshet/sync/wait_token.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

namespace freshet::sync {
namespace {

struct Node {
    explicit Node(Atomic<int>* liveNodes) : live(liveNodes) { live->fetch_add(1, kRelaxed); }
    ~Node() {
        check = 0;
        live->fetch_sub(1, kRelaxed);
    }
    Atomic<int>* live;
    uint64_t check = 0x5eed;
};

void advanceUntilNothingIsLeft(EpochDomain& domain) {
    for (int i = 0; i < 8; ++i) {
        domain.tryAdvance();
    }
}

class Epochs : public ::testing::Test {
protected:
    Atomic<uint64_t> clock_{10};
    Atomic<int> live_{0};
    std::optional<EpochDomain> domain_{std::in_place, &clock_};

    void retireOne(Slice& slice) { slice.participant().retire(new Node(&live_)); }
    int live() const { return live_.load(kRelaxed); }
};

TEST_F(Epochs, NothingIsFreedWhileASliceFromBeforeIsOpen) {
    WaitToken entered = WaitToken::create();
    WaitToken leave = WaitToken::create();
    platform::Thread reader("reader", [&] {
        Slice slice(*domain_);
        entered.complete();
        blockOn(leave);
    });
    blockOn(entered);
    {
        Slice slice(*domain_);
        retireOne(slice);
    }
    advanceUntilNothingIsLeft(*domain_);
    EXPECT_EQ(live(), 1);
    EXPECT_EQ(domain_->retiredBytes(), sizeof(Node));
    leave.complete();
    reader.join();
    advanceUntilNothingIsLeft(*domain_);
    EXPECT_EQ(live(), 0);
    EXPECT_EQ(domain_->retiredBytes(), 0u);
}

TEST_F(Epochs, SlicesNest) {
    Participant& me = domain_->here();
    EXPECT_FALSE(me.inSlice());
    {
        Slice outer(*domain_);
        clock_.store(20, kRelease);
        { Slice inner(me); }
        EXPECT_TRUE(me.inSlice());
        EXPECT_EQ(domain_->minReadTs(), 10u);
    }
    EXPECT_FALSE(me.inSlice());
    EXPECT_EQ(domain_->minReadTs(), 20u);
    EXPECT_EQ(&me.domain(), &*domain_);
}

TEST_F(Epochs, PinsHoldBackMinReadTsUntilTheLastIsGone) {
    SnapshotPin a{.ts = 10};
    SnapshotPin b{.ts = 30};
    SnapshotPin copyOfA{.ts = 10};
    Participant& me = domain_->here();
    {
        Slice slice(me);
        me.pin(&a);
        me.pin(&copyOfA);
    }
    clock_.store(30, kRelease);
    {
        Slice slice(me);
        me.pin(&b);
    }
    clock_.store(40, kRelease);
    EXPECT_EQ(domain_->minReadTs(), 10u);
    Participant::unpin(&a);
    EXPECT_EQ(domain_->minReadTs(), 10u);
    Participant::unpin(&copyOfA);
    EXPECT_EQ(domain_->minReadTs(), 30u);
    Participant::unpin(&b);
    EXPECT_EQ(domain_->minReadTs(), 40u);
    EXPECT_FALSE(a.isPinned() || b.isPinned() || copyOfA.isPinned());
}

TEST_F(Epochs, EndedPinsHoldNothingBackOnceEverySliceHasSeenThem) {
    WaitToken entered = WaitToken::create();
    WaitToken leave = WaitToken::create();
    SnapshotPin old;
    SnapshotPin young;
    {
        Slice slice(*domain_);
        old.ts = 10;
        slice.participant().pin(&old);
        clock_.store(20, kRelease);
        young.ts = 20;
        slice.participant().pin(&young);
        EXPECT_FALSE(domain_->hasEnded(10));
    }
    clock_.store(30, kRelease);
    platform::Thread other("reader", [&] {
        Slice slice(*domain_);
        EXPECT_FALSE(domain_->hasEnded(10));
        entered.complete();
        blockOn(leave);
    });
    blockOn(entered);
    for (int i = 0; i < 5; ++i) {
        EXPECT_FALSE(domain_->endSnapshotsBelow(15)) << "it may be read by in the open slice";
        EXPECT_EQ(domain_->minReadTs(), 10u);
    }
    {
        Slice slice(*domain_);
        EXPECT_TRUE(domain_->hasEnded(10));
        EXPECT_FALSE(domain_->hasEnded(15));
        EXPECT_FALSE(domain_->hasEnded(20));
    }
    EXPECT_FALSE(domain_->endSnapshotsBelow(25)) << "one after the other";
    leave.complete();
    other.join();
    EXPECT_TRUE(domain_->endSnapshotsBelow(15));
    EXPECT_EQ(domain_->minReadTs(), 15u);
    EXPECT_TRUE(domain_->endSnapshotsBelow(5)) << "has been for long";
    Participant::unpin(&old);
    EXPECT_EQ(domain_->minReadTs(), 20u);
    EXPECT_TRUE(domain_->endSnapshotsBelow(25));
    EXPECT_EQ(domain_->minReadTs(), 25u);
    Participant::unpin(&young);
    EXPECT_EQ(domain_->minReadTs(), 30u);
}

TEST_F(Epochs, ADeadThreadLeavesItsGarbageToTheOthersAndItsIndexToTheNext) {
    uint16_t first = 0xffff;
    platform::Thread("one", [&] {
        Slice slice(*domain_);
        retireOne(slice);
        first = slice.participant().index();
    }).join();
    EXPECT_EQ(domain_->participantCount(), 0u);
    EXPECT_EQ(domain_->retiredBytes(), sizeof(Node));
    EXPECT_EQ(live(), 1);
    uint16_t second = 0xfffe;
    platform::Thread("two", [&] {
        second = domain_->here().index();
        EXPECT_EQ(domain_->participantCount(), 1u);
        advanceUntilNothingIsLeft(*domain_);
    }).join();
    EXPECT_EQ(first, second);
    EXPECT_EQ(live(), 0);
    EXPECT_EQ(domain_->retiredBytes(), 0u);
}

TEST_F(Epochs, ADomainMayEndBeforeItsThreadsAndFreesAll) {
    {
        Slice slice(*domain_);
        retireOne(slice);
    }
    EpochDomain other(&clock_);
    {
        Slice slice(other);
        retireOne(slice);
    }
    domain_.reset();
    EXPECT_EQ(live(), 1);
    // The thread continues with another domain, perhaps at the same address.
    domain_.emplace(&clock_);
    {
        Slice slice(*domain_);
        retireOne(slice);
    }
    EXPECT_EQ(domain_->retiredBytes(), sizeof(Node));
    EXPECT_EQ(other.retiredBytes(), sizeof(Node));
    domain_.reset();
    EXPECT_EQ(live(), 1);
}

TEST_F(Epochs, RetiringMuchAdvancesByItself) {
    size_t most = 0;
    for (int i = 0; i < 20'000; ++i) {
        Slice slice(*domain_);
        retireOne(slice);
        most = std::max(most, domain_->retiredBytes());
    }
    EXPECT_LE(most, 6 * 1024 * sizeof(Node));
}

TEST_F(Epochs, ReadersNeverMeetAFreedNodeWhileWritersReplaceIt) {
    constexpr int kThreads = 6;
    constexpr int kRounds = 2'000;
    Atomic<Node*> head{new Node(&live_)};
    std::vector<platform::Thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back("epoch", [&, t] {
            for (int i = 0; i < kRounds; ++i) {
                Slice slice(*domain_);
                if (t % 2 == 0) {
                    Node* node = head.load(kAcquire);
                    ASSERT_EQ(node->check, 0x5eedu);
                    platform::yieldThread();
                    ASSERT_EQ(node->check, 0x5eedu);
                } else {
                    Node* old = head.exchange(new Node(&live_), kAcqRel);
                    slice.participant().retire(old);
                    if (i % 64 == 0) {
                        domain_->tryAdvance();
                    }
                }
            }
        });
    }
    threads.clear();
    advanceUntilNothingIsLeft(*domain_);
    EXPECT_EQ(domain_->retiredBytes(), 0u);
    EXPECT_EQ(live(), 1);
    delete head.load(kRelaxed);
}

/// E1 from outside: a folder overwrites everything older than minReadTs(); readers look for their
/// snapshot's version.
TEST_F(Epochs, NoReaderMissesTheVersionOfItsSnapshot) {
    constexpr uint64_t kCommits = 3'000;
    constexpr uint64_t kReaders = 3;
    Atomic<uint64_t> folded{0};
    Atomic<bool> stop{false};
    std::vector<platform::Thread> threads;
    for (uint64_t r = 0; r < kReaders; ++r) {
        threads.emplace_back("reader", [&] {
            Participant& me = domain_->here();
            while (!stop.load(kAcquire)) {
                SnapshotPin pin;
                {
                    Slice slice(me);
                    pin.ts = clock_.load(kAcquire);
                    ASSERT_GE(pin.ts, folded.load(kAcquire));
                    me.pin(&pin);
                }
                platform::yieldThread();
                ASSERT_GE(pin.ts, folded.load(kAcquire));
                Slice slice(me);
                Participant::unpin(&pin);
            }
        });
    }
    for (uint64_t i = 0; i < kCommits; ++i) {
        clock_.fetch_add(1, kRelease);
        folded.store(domain_->minReadTs(), kRelease);
    }
    stop.store(true, kRelease);
    threads.clear();
    EXPECT_EQ(domain_->minReadTs(), 10 + kCommits);
}

}  // namespace
}  // namespace freshet::sync
