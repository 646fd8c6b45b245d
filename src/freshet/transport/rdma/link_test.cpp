// SPDX-License-Identifier: Apache-2.0
/// Two links joined by SimVerbs and driven by hand: everything sent arrives, for any mixture of
/// sizes, delays and rings; and a peer's misbehaviour ends its link and nothing else.
#include "freshet/transport/rdma/link.h"

#include "freshet/testing/net/sim_verbs.h"
#include "freshet/testing/sim/seed.h"
#include "freshet/transport/session/step_executor_for_test.h"
#include "freshet/transport/slabs/slab_value_for_test.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace freshet::transport::rdma {
namespace {

using testing::SimVerbs;
using testing::SimVerbsOptions;

constexpr size_t kSmallSlab = 1 << 20;

/// One side: its device, its queue, its link.
class End {
public:
    /// With slabs it sends from them, if the device can.
    End(SimVerbs& verbs, const LinkSizes& sizes, platform::Slabs* slabs = nullptr)
        : device_(std::move(verbs.open("127.0.0.1")).value()),
          queue_(std::move(device_->makeCompletionQueue(1'000)).value()),
          regions_(shareSlabs(slabs)),
          link_(makeLink(sizes, kTag)) {}
    Link& link() { return *link_; }
    void dropLink() { link_.reset(); }
    /// A second link of the same reactor: they share a domain, where there is one.
    std::unique_ptr<Link> makeLink(const LinkSizes& sizes, uint32_t tag) {
        return std::move(
                   Link::create({*device_, *queue_, blocks_, counters, regions_.get()}, tag, sizes))
            .value();
    }
    /// What a reactor does. True: there were completions.
    bool pollOnce() {
        std::array<verbs::Completion, 8> out;
        const size_t count = queue_->poll(out).value();
        for (size_t i = 0; i < count; ++i) {
            if (Link::tagOf(out[i].id) == kTag) {
                link_->onCompletion(out[i]);
            }
        }
        return count > 0;
    }
    /// Null: nothing is sent in place.
    SlabRegions* regions() { return regions_.get(); }
    LinkCounters counters;

private:
    static constexpr uint32_t kTag = 7;

    std::unique_ptr<SlabRegions> shareSlabs(platform::Slabs* slabs) {
        if (slabs == nullptr) {
            return nullptr;
        }
        auto shared = SlabRegions::create(*device_, *slabs);
        return shared.isOk() ? std::move(*shared) : nullptr;
    }

    std::shared_ptr<verbs::Device> device_;
    std::unique_ptr<verbs::CompletionQueue> queue_;
    BlockPool blocks_;
    std::unique_ptr<SlabRegions> regions_;
    std::unique_ptr<Link> link_;
};

class Pair {
public:
    explicit Pair(const SimVerbsOptions& options = {},
                  const LinkSizes& one = {},
                  const LinkSizes& other = {})
        : sim(options), a(sim, one, &slabs), b(sim, other, &slabs) {
        EXPECT_TRUE(a.link().connect(b.link().here()).isOk());
        EXPECT_TRUE(b.link().connect(a.link().here()).isOk());
    }
    void pollBoth(int times = 4) {
        for (int i = 0; i < times; ++i) {
            a.pollOnce();
            b.pollOnce();
        }
    }
    platform::Slabs slabs{kSmallSlab};
    SimVerbs sim;
    End a;
    End b;
};

Status sendWhole(Link& link, const std::string& bytes) {
    ReplyChain chain(bytes);
    ChainCursor unsent(chain);
    StatusOr<bool> sent = link.send(unsent);
    EXPECT_TRUE(!sent.isOk() || *sent) << "not all of it";
    return sent.isOk() ? Status::ok() : sent.status();
}

TEST(RdmaLink, ProbesIdentifyThePeer) {
    Pair pair;
    EXPECT_TRUE(pair.b.link().takeProbe().isWouldBlock());
    ASSERT_TRUE(pair.a.link().sendProbe().isOk());
    pair.pollBoth();
    EXPECT_TRUE(pair.b.link().takeProbe().isOk());
    Pair other;
    EndInfo wrong = other.b.link().here();
    wrong.nonce[3] ^= 1;
    End liar(other.sim, {});
    ASSERT_TRUE(liar.link().connect(wrong).isOk());
    End honest(other.sim, {});
    EndInfo info = honest.link().here();
    info.nonce[15] ^= 1;
    End third(other.sim, {});
    ASSERT_TRUE(third.link().connect(info).isOk());
    ASSERT_TRUE(honest.link().connect(third.link().here()).isOk());
    ASSERT_TRUE(third.link().sendProbe().isOk());
    honest.pollOnce();
    EXPECT_EQ(honest.link().takeProbe().code(), Code::kInvalid);
}

TEST(RdmaLink, SmallMessagesAreReadInPlaceAndSentInline) {
    Pair pair;
    pair.b.link().reader().setInPlace(true);
    const std::string message = messageForTest(1, "small");
    ASSERT_TRUE(sendWhole(pair.a.link(), message).isOk());
    pair.pollBoth();
    Message got;
    ASSERT_TRUE(pair.b.link().next(&got).value());
    EXPECT_EQ(got.view(), message);
    EXPECT_EQ(pair.b.counters.copiedInBytes.read(), 0u);
    EXPECT_EQ(pair.b.counters.inPlaceBytes.read(), message.size());
    EXPECT_EQ(pair.a.counters.stagedBytes.read(), 0u);
    EXPECT_EQ(pair.a.counters.inlineWrites.read(), 1u);
    // Messages of untrusted peers are copied because their bytes may change after they were
    // checked.
    got = Message();
    pair.b.link().reader().setMessageBytesMax(1'000);
    ASSERT_TRUE(sendWhole(pair.a.link(), message).isOk());
    pair.pollBoth();
    ASSERT_TRUE(pair.b.link().next(&got).value());
    EXPECT_EQ(pair.b.counters.copiedInBytes.read(), message.size());
}

TEST(RdmaLink, AMessageOutlivesItsLink) {
    Pair pair;
    pair.b.link().reader().setInPlace(true);
    ASSERT_TRUE(sendWhole(pair.a.link(), messageForTest(1, "late reader")).isOk());
    pair.pollBoth();
    Message got;
    ASSERT_TRUE(pair.b.link().next(&got).value());
    pair.b.dropLink();
    EXPECT_EQ(payloadForTest(got), "late reader");
}

/// Traffic both ways with slow readers.
class Traffic {
public:
    Traffic(Pair& pair, uint64_t seed, size_t largest)
        : random_(seed),
          sides_{Side{&pair.a.link(), {}, {}, {}, 0}, Side{&pair.b.link(), {}, {}, {}, 0}},
          pair_(pair),
          largest_(largest) {}

    void run(int messages) {
        int idle = 0;
        while (sides_[0].received < messages || sides_[1].received < messages) {
            bool moved = false;
            for (int i = 0; i < 2; ++i) {
                moved |= i == 0 ? pair_.a.pollOnce() : pair_.b.pollOnce();
                moved |= send(sides_[i], messages);
                if (random_() % 8 == 0 && mayHold_) {
                    pair_.sim.setHoldingWrites(random_() % 2 == 0);
                }
                moved |= random_() % 3 == 0 && receive(sides_[i], sides_[1 - i]);
                sides_[i].link->tellCredit();
                ASSERT_TRUE(sides_[i].link->failure().isOk())
                    << sides_[i].link->failure().toString();
            }
            idle = moved ? 0 : idle + 1;
            if (idle > 100) {
                pair_.sim.setHoldingWrites(false);
            }
            ASSERT_LT(idle, 1'000) << "both wait for each other";
        }
        pair_.sim.setHoldingWrites(false);
        EXPECT_EQ(pair_.sim.counts().missingReceives, 0u);
        EXPECT_EQ(pair_.sim.counts().changedTooSoon, 0u);
    }

private:
    struct Side {
        Link* link;
        std::deque<std::string> onTheWay;  // sent by it, not received yet
        std::unique_ptr<ReplyChain> chain;
        std::unique_ptr<ChainCursor> unsent;
        int received;
        int sent = 0;
    };
    bool send(Side& side, int messages) {
        if (side.unsent == nullptr) {
            if (side.sent == messages || random_() % 4 == 0) {
                return false;
            }
            const size_t scale = size_t{1} << random_() % 24;
            std::string bytes(random_() % std::min(scale, largest_), '\0');
            for (size_t i = 0; i < bytes.size(); i += 97) {
                bytes[i] = static_cast<char>(random_());
            }
            side.onTheWay.push_back(messageForTest(side.sent++, bytes));
            const std::string& whole = side.onTheWay.back();
            side.chain = std::make_unique<ReplyChain>(cutUp(whole));
            side.unsent = std::make_unique<ChainCursor>(*side.chain);
        }
        const size_t before = side.unsent->left();
        StatusOr<bool> sent = side.link->send(*side.unsent);
        EXPECT_TRUE(sent.isOk()) << sent.status().toString();
        const bool moved = side.unsent->left() != before;
        if (sent.isOk() && *sent) {
            side.unsent.reset();
            side.chain.reset();
        }
        return moved;
    }
    /// Into pieces, some of which are borrowed, some of these from slabs.
    ReplyChain cutUp(const std::string& whole) {
        ReplyChain out;
        for (size_t at = 0; at < whole.size();) {
            const bool isLast = out.segments() + 1 == ReplyChain::kSegmentsMax;
            const size_t most = random_() % 2 == 0 ? 1'000 : 200'000;
            const size_t bytes =
                isLast ? whole.size() - at : std::min(whole.size() - at, 1 + random_() % most);
            const ByteView piece = ByteView(whole).substr(at, bytes);
            if (random_() % 2 == 0) {
                SlabValue value = SlabValue::make(pair_.slabs, piece);
                out.append(value.bytes, std::move(value.holder));
            } else {
                out.append(std::string(piece.data(), piece.size()));
            }
            at += bytes;
        }
        return out;
    }
    bool receive(Side& side, Side& from) {
        Message message;
        StatusOr<bool> found = side.link->next(&message);
        EXPECT_TRUE(found.isOk()) << found.status().toString();
        if (!found.isOk() || !*found) {
            return false;
        }
        EXPECT_TRUE(message.view() == from.onTheWay.front());
        from.onTheWay.pop_front();
        ++side.received;
        return true;
    }

    std::mt19937_64 random_;
    Side sides_[2];
    Pair& pair_;
    const size_t largest_;
    const bool mayHold_ = random_() % 2 == 0;
};

TEST(RdmaLink, WhateverIsSentArrives) {
    const uint64_t seed = testing::testSeed();
    std::mt19937_64 random(seed);
    for (int round = 0; round < 24; ++round) {
        SimVerbsOptions options;
        options.seed = random();
        options.latenessMax = 1 + random() % 5;
        options.inlineBytesMax = round % 3 == 0 ? 64 : 220;
        options.hasWindows = random() % 4 != 0;
        const LinkSizes sizes[] = {{64 * 1024, 64 * 1024}, {256 * 1024, 128 * 1024}};
        // Slots smaller than the messages, so that these go through in parts; with the largest size
        // no message does.
        const LinkSizes slot{64 * 1024, 64 * 1024, Layout::kOneSlot};
        const bool isOneSlot = random() % 3 == 0;
        Pair pair(options,
                  isOneSlot ? slot : sizes[random() % 2],
                  isOneSlot ? slot : sizes[random() % 2]);
        pair.a.link().reader().setInPlace(random() % 2 == 0);
        pair.b.link().reader().setInPlace(random() % 2 == 0);
        Traffic(pair, random(), round % 2 == 0 ? 4'000 : 1'000'000).run(60);
        if (round % 2 == 1 && options.hasWindows && !isOneSlot) {
            EXPECT_GT(pair.a.counters.sentInPlaceBytes.read(), 0u);
        }
        EXPECT_EQ(options.hasWindows, pair.sim.counts().windows == 2);
        pair.a.dropLink();
        pair.b.dropLink();
        EXPECT_EQ(pair.slabs.bytesUsed(), 0u);
    }
}

TEST(RdmaLink, LargePiecesAreSentInPlace) {
    Pair pair;
    const std::string message = messageForTest(1, std::string(100'000, 'v') + "tail");
    const ReplyChain chain = chainWithValue(pair.slabs, message, 50, 99'000);
    ChainCursor unsent(chain);
    ASSERT_TRUE(pair.a.link().send(unsent).value());
    EXPECT_EQ(pair.a.counters.sentInPlaceBytes.read(), 99'000u);
    EXPECT_EQ(pair.a.counters.stagedBytes.read(), message.size() - 50 - 99'000);
    EXPECT_EQ(pair.a.counters.writes.read(), 4u) << "one before, two of it, one after";
    pair.pollBoth();
    Message got;
    ASSERT_TRUE(pair.b.link().next(&got).value());
    EXPECT_TRUE(got.view() == message);
}

TEST(RdmaLink, APieceIsHeldUntilTheAdapterHasFinished) {
    Pair pair;
    const std::string message = messageForTest(1, std::string(50'000, 'v'));
    pair.sim.setHoldingWrites(true);
    {
        const ReplyChain chain = chainWithValue(pair.slabs, message, 16, 50'000);
        ChainCursor unsent(chain);
        ASSERT_TRUE(pair.a.link().send(unsent).value());
    }
    EXPECT_GT(pair.slabs.bytesUsed(), 50'000u) << "the chain has gone, and the write not yet";
    pair.sim.setHoldingWrites(false);
    EXPECT_GT(pair.slabs.bytesUsed(), 50'000u) << "its completion has not come yet";
    pair.pollBoth();
    EXPECT_EQ(pair.slabs.bytesUsed(), 0u);
    EXPECT_EQ(pair.sim.counts().changedTooSoon, 0u);
    Message got;
    ASSERT_TRUE(pair.b.link().next(&got).value());
    EXPECT_TRUE(got.view() == message);
}

TEST(RdmaLink, APieceIsHeldByALinkThatFailed) {
    Pair pair;
    pair.sim.failWrite(1, verbs::CompletionStatus::kPeerGone);
    {
        const std::string message = messageForTest(1, std::string(50'000, 'v'));
        const ReplyChain chain = chainWithValue(pair.slabs, message, 16, 50'000);
        ChainCursor unsent(chain);
        (void)pair.a.link().send(unsent);
    }
    pair.pollBoth();
    ASSERT_FALSE(pair.a.link().failure().isOk());
    EXPECT_GT(pair.slabs.bytesUsed(), 50'000u) << "its queue pair is still there";
    pair.a.dropLink();
    EXPECT_EQ(pair.slabs.bytesUsed(), 0u);
}

TEST(RdmaLink, AFreedSlabIsForgotten) {
    Pair pair;
    const std::string message = messageForTest(1, std::string(2 * kSmallSlab, 'v'));
    for (int i = 0; i < 3; ++i) {
        const ReplyChain chain = chainWithValue(pair.slabs, message, 16, 2 * kSmallSlab);
        ChainCursor unsent(chain);
        Message got;
        while (!pair.b.link().next(&got).value()) {
            (void)pair.a.link().send(unsent).value();
            pair.pollBoth();
            pair.b.link().tellCredit();
        }
        EXPECT_TRUE(got.view() == message);
        EXPECT_EQ(pair.sim.counts().sharedRegions, 1u);
    }
    EXPECT_EQ(pair.a.counters.stagedBytes.read(), 0u);
    EXPECT_EQ(pair.sim.counts().sharedRegions, 0u);
    EXPECT_EQ(pair.slabs.bytesMapped(), 0u);
}

TEST(RdmaLink, ASlotTakesOneMessageAtATime) {
    Pair pair({}, LinkSizes::oneSlot(), LinkSizes::oneSlot());
    for (const bool isInPlace : {false, true, true}) {
        pair.b.link().reader().setInPlace(isInPlace);
        const std::string large(16 << 20, isInPlace ? 'i' : 'c');
        const uint64_t writes = pair.a.counters.writes.read();
        ASSERT_TRUE(sendWhole(pair.a.link(), messageForTest(1, large)).isOk());
        EXPECT_EQ(pair.a.counters.writes.read() - writes, 1u) << "as a whole";
        pair.pollBoth();
        const ReplyChain next(messageForTest(2, "small"));
        ChainCursor unsent(next);
        {
            Message got;
            ASSERT_TRUE(pair.b.link().next(&got).value());
            EXPECT_EQ(payloadForTest(got), large);
            EXPECT_FALSE(pair.a.link().send(unsent).value())
                << "the reader has not returned the slot yet";
        }
        pair.b.link().tellCredit();
        pair.pollBoth();
        ASSERT_TRUE(pair.a.link().send(unsent).value());
        pair.pollBoth();
        Message got;
        ASSERT_TRUE(pair.b.link().next(&got).value());
        EXPECT_EQ(payloadForTest(got), "small");
        got = Message();
        pair.b.link().tellCredit();
        pair.pollBoth();
    }
    EXPECT_EQ(pair.b.counters.creditWrites.read(), 6u);
    EXPECT_TRUE(pair.b.link().failure().isOk());
}

TEST(RdmaLink, GoodbyeComesAfterEverythingElse) {
    Pair pair;
    ASSERT_TRUE(sendWhole(pair.a.link(), messageForTest(1, "last words")).isOk());
    pair.a.link().sayGoodbye();
    EXPECT_FALSE(pair.a.link().isSettled());
    pair.pollBoth();
    EXPECT_TRUE(pair.a.link().isSettled());
    Message got;
    ASSERT_TRUE(pair.b.link().next(&got).value());
    EXPECT_EQ(payloadForTest(got), "last words");
    EXPECT_TRUE(pair.b.link().isPeerDone());
    EXPECT_TRUE(pair.b.link().failure().isOk());
}

TEST(RdmaLink, AFailedWriteEndsBothEndsOfThatLinkOnly) {
    for (auto status : {verbs::CompletionStatus::kPeerGone,
                        verbs::CompletionStatus::kOther,
                        verbs::CompletionStatus::kAccess}) {
        Pair pair;
        End c(pair.sim, {}), d(pair.sim, {});
        ASSERT_TRUE(c.link().connect(d.link().here()).isOk());
        ASSERT_TRUE(d.link().connect(c.link().here()).isOk());
        pair.sim.failWrite(0, status);
        (void)sendWhole(pair.a.link(), messageForTest(1, "x"));
        pair.pollBoth();
        EXPECT_EQ(pair.a.link().failure().code(), Code::kIo);
        Message none;
        EXPECT_EQ(pair.a.link().next(&none).status().code(), Code::kIo);
        ASSERT_TRUE(sendWhole(c.link(), messageForTest(1, "y")).isOk());
        d.pollOnce();
        Message got;
        EXPECT_TRUE(d.link().next(&got).value());
    }
}

TEST(RdmaLink, ADeadPeerIsFoundByTheNextWrite) {
    Pair pair;
    pair.b.dropLink();
    (void)sendWhole(pair.a.link(), messageForTest(1, "x"));
    pair.a.pollOnce();
    EXPECT_EQ(pair.a.link().failure().code(), Code::kIo);
}

/// A peer that has a queue pair and breaks the protocol.
class HostilePeer : public ::testing::Test {
protected:
    explicit HostilePeer(const LinkSizes& sizes = {})
        : victim(sim, sizes),
          device(std::move(sim.open("127.0.0.1")).value()),
          queue(std::move(device->makeCompletionQueue(1'000)).value()),
          pair(std::move(device->makeQueuePair(*queue, {}, nullptr)).value()) {
        EndInfo evil = victim.link().here();
        evil.address = pair->address();
        EXPECT_TRUE(victim.link().connect(evil).isOk());
        EXPECT_TRUE(pair->connect(victim.link().here().address).isOk());
        for (int i = 0; i < 32; ++i) {
            EXPECT_TRUE(pair->postReceive(1).isOk());
        }
    }
    void write(uint64_t offset,
               const std::string& bytes,
               uint32_t immediate,
               uint32_t keyBits = 0) {
        region.reset();
        memory = bytes;
        region = std::move(pair->registerMemory(memory.data(), memory.size(), false)).value();
        verbs::Write write;
        write.piece = {memory.data(), static_cast<uint32_t>(memory.size()), region->localKey()};
        write.remoteAddress = victim.link().here().ringAddress + offset;
        write.remoteKey = victim.link().here().ringKey ^ keyBits;
        write.immediate = immediate;
        write.isSignalled = true;
        EXPECT_TRUE(pair->postWrite(write).isOk());
        while (victim.pollOnce()) {
        }
    }
    verbs::CompletionStatus lastStatus() {
        std::array<verbs::Completion, 64> out;
        EXPECT_GT(queue->poll(out).value(), 0u);
        return out[0].status;
    }
    static uint32_t data() { return encodeImmediate({ImmediateKind::kData, 0, 0}); }

    SimVerbs sim;
    End victim;
    std::shared_ptr<verbs::Device> device;
    std::unique_ptr<verbs::CompletionQueue> queue;
    std::unique_ptr<verbs::QueuePair> pair;
    std::string memory;
    std::unique_ptr<verbs::Region> region;
};

TEST_F(HostilePeer, CannotWriteBesideItsRing) {
    const size_t ring = LinkSizes().ringBytes;
    write(ring - 3, "four", data());
    EXPECT_EQ(lastStatus(), verbs::CompletionStatus::kAccess);
    EXPECT_EQ(sim.counts().refusals, 1u);
    EXPECT_FALSE(victim.link().failure().isOk());
}

TEST_F(HostilePeer, CannotUseAnothersKey) {
    End other(sim, {});
    write(0, "x", data(), victim.link().here().ringKey ^ other.link().here().ringKey);
    EXPECT_EQ(lastStatus(), verbs::CompletionStatus::kAccess);
}

/// Two sessions of one reactor; the client of one knows the other's key and address.
class HostileNeighbour : public ::testing::TestWithParam<bool> {
protected:
    static SimVerbsOptions options() {
        SimVerbsOptions out;
        out.hasWindows = GetParam();
        return out;
    }
    platform::Slabs slabs{kSmallSlab};
    SimVerbs sim{options()};
};

TEST_P(HostileNeighbour, CannotWriteToAnothersRing) {
    End reactor(sim, {}, &slabs);
    const std::unique_ptr<Link> own = reactor.makeLink({}, 8);
    End client(sim, {});
    End attacker(sim, {});
    ASSERT_TRUE(reactor.link().connect(client.link().here()).isOk());
    ASSERT_TRUE(client.link().connect(reactor.link().here()).isOk());
    EndInfo stolen = own->here();
    stolen.ringAddress = reactor.link().here().ringAddress;
    stolen.ringKey = reactor.link().here().ringKey;
    ASSERT_TRUE(own->connect(attacker.link().here()).isOk());
    ASSERT_TRUE(attacker.link().connect(stolen).isOk());
    EXPECT_EQ(sim.counts().windows, GetParam() ? 2u : 0u);
    (void)sendWhole(attacker.link(), messageForTest(1, "into another's ring"));
    attacker.pollOnce();
    EXPECT_FALSE(attacker.link().failure().isOk());
    EXPECT_EQ(sim.counts().refusals, 1u);
    // The ring's owner notices nothing.
    ASSERT_TRUE(sendWhole(client.link(), messageForTest(1, "mine")).isOk());
    while (reactor.pollOnce()) {
    }
    Message got;
    ASSERT_TRUE(reactor.link().next(&got).value());
    EXPECT_EQ(payloadForTest(got), "mine");
}

/// Peers cannot write to memory that is registered for sending.
TEST_P(HostileNeighbour, CannotWriteToAValue) {
    End reactor(sim, {}, &slabs);
    End attacker(sim, {});
    const SlabValue value = SlabValue::make(slabs, std::string(20'000, 'v'));
    SlabRegions* regions = reactor.regions();
    ASSERT_EQ(regions != nullptr, GetParam());
    EndInfo stolen = reactor.link().here();
    stolen.ringAddress = reinterpret_cast<uint64_t>(value.bytes.data());
    stolen.ringKey = regions == nullptr ? 1 : regions->keyOf(value.bytes).value();
    ASSERT_TRUE(reactor.link().connect(attacker.link().here()).isOk());
    ASSERT_TRUE(attacker.link().connect(stolen).isOk());
    (void)sendWhole(attacker.link(), messageForTest(1, "into a value"));
    EXPECT_EQ(sim.counts().refusals, 1u);
    EXPECT_EQ(value.bytes, std::string(20'000, 'v'));
}

INSTANTIATE_TEST_SUITE_P(Windows, HostileNeighbour, ::testing::Bool());

TEST_F(HostilePeer, CannotSendMoreThanTheRingHolds) {
    for (int i = 0; i < 4; ++i) {
        write(0, std::string(64 * 1024, 'x'), data());
        ASSERT_TRUE(victim.link().failure().isOk());
    }
    write(0, "x", data());
    EXPECT_EQ(victim.link().failure().reason(), Reason::kProtocolError);
}

class HostilePeerWithASlot : public HostilePeer {
protected:
    HostilePeerWithASlot() : HostilePeer({64 * 1024, 64 * 1024, Layout::kOneSlot}) {}
};

TEST_F(HostilePeerWithASlot, CannotWriteThereBeforeItWasRead) {
    write(0, messageForTest(1, "first"), data());
    ASSERT_TRUE(victim.link().failure().isOk());
    write(0, messageForTest(2, "second"), data());
    EXPECT_EQ(victim.link().failure().reason(), Reason::kProtocolError);
}

TEST_F(HostilePeerWithASlot, CannotContinueBeforeItHasCredit) {
    write(0, messageForTest(1, "first"), data());
    Message got;
    ASSERT_TRUE(victim.link().next(&got).value());
    write(0, messageForTest(2, "second"), data());
    EXPECT_EQ(victim.link().failure().reason(), Reason::kProtocolError);
}

TEST_F(HostilePeer, CannotReturnUnusedCredit) {
    write(0, "x", encodeImmediate({ImmediateKind::kData, 1, 0}));
    EXPECT_EQ(victim.link().failure().reason(), Reason::kProtocolError);
}

TEST_F(HostilePeer, CannotReturnBytesThatWereNotSent) {
    write(0, "x", encodeImmediate({ImmediateKind::kData, 0, 1}));
    EXPECT_EQ(victim.link().failure().reason(), Reason::kProtocolError);
}

TEST_F(HostilePeer, CannotInventKinds) {
    write(0, "x", 0);
    EXPECT_EQ(victim.link().failure().reason(), Reason::kProtocolError);
}

TEST_F(HostilePeer, CreditBringsNoBytes) {
    write(0, "x", encodeImmediate({ImmediateKind::kCredit, 0, 0}));
    EXPECT_EQ(victim.link().failure().reason(), Reason::kProtocolError);
}

TEST_F(HostilePeer, AFalseLengthIsFoundBeforeAllocation) {
    std::string message = messageForTest(1, "x");
    storeLe(message.data(), int32_t{48'000'001});
    write(0, message, data());
    ASSERT_TRUE(victim.link().failure().isOk());
    Message got;
    EXPECT_EQ(victim.link().next(&got).status().reason(), Reason::kProtocolError);
}

TEST(RdmaLink, NothingIsLeftBehind) {
    SimVerbs sim;
    {
        End a(sim, {}), b(sim, {});
        ASSERT_TRUE(a.link().connect(b.link().here()).isOk());
        EXPECT_EQ(sim.counts().regions, 4u);
        sim.setOutOfMemory(true);
        BlockPool blocks;
        LinkCounters counters;
        auto device = std::move(sim.open("127.0.0.1")).value();
        auto queue = std::move(device->makeCompletionQueue(10)).value();
        EXPECT_EQ(Link::create({*device, *queue, blocks, counters}, 1, {}).status().code(),
                  Code::kIo);
        EXPECT_EQ(counters.links.read(), 0u);
    }
    EXPECT_EQ(sim.counts().queuePairs, 0u);
    EXPECT_EQ(sim.counts().regions, 0u);
    EXPECT_EQ(sim.counts().completionQueues, 0u);
}

TEST(RdmaImmediate, RoundTrips) {
    for (uint32_t kind = 1; kind <= 4; ++kind) {
        for (uint32_t receives : {0u, 1u, Immediate::kReceivesMax}) {
            for (uint32_t units : {0u, 1u, Immediate::kUnitsMax}) {
                const Immediate in{static_cast<ImmediateKind>(kind), receives, units};
                const Immediate out = decodeImmediate(encodeImmediate(in)).value();
                EXPECT_EQ(out.kind, in.kind);
                EXPECT_EQ(out.receives, receives);
                EXPECT_EQ(out.ringUnits, units);
            }
        }
    }
    EXPECT_EQ(decodeImmediate(5u << 28).status().reason(), Reason::kProtocolError);
}

}  // namespace
}  // namespace freshet::transport::rdma
