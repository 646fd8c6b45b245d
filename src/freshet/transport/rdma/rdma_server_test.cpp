// SPDX-License-Identifier: Apache-2.0
/// A whole server and its clients over adapters in memory: how connections move to RDMA or do not,
/// and that after any failure nothing is left behind and all others go on.
#include "freshet/testing/net/sim_verbs.h"
#include "freshet/testing/sim/seed.h"
#include "freshet/transport/rdma/bootstrap.h"
#include "freshet/transport/tcp/echo_for_test.h"

#include <gtest/gtest.h>

#include <fstream>
#include <latch>
#include <random>

namespace freshet::transport {
namespace {

class RdmaServer : public Server {
protected:
    void SetUp() override { startWith(sim); }
    void TearDown() override {
        server.reset();
        EXPECT_EQ(sim->counts().queuePairs, 0u);
        EXPECT_EQ(sim->counts().regions, 0u);
        EXPECT_EQ(sim->counts().windows, 0u);
        EXPECT_EQ(sim->counts().sharedRegions, 0u);
        EXPECT_EQ(sim->counts().domains, 0u);
        EXPECT_EQ(sim->counts().changedTooSoon, 0u);
        EXPECT_EQ(slabs.bytesUsed(), 0u);
        EXPECT_EQ(sim->counts().missingReceives, 0u);
    }
    void startWith(std::shared_ptr<verbs::Verbs> verbs, bool readsInPlace = false) {
        ServerTransportOptions options;
        options.rdma.verbs = std::move(verbs);
        options.rdma.slabs = seen.slabs = &slabs;
        options.rdma.readsInPlace = readsInPlace;
        options.rdma.oneSlot = grantsOneSlot;
        options.rdma.spinMicrosMax = 5;
        start(std::move(options));
    }
    std::unique_ptr<Session> rdmaClient(std::shared_ptr<verbs::Verbs> verbs) {
        ConnectOptions options;
        options.port = server->port();
        options.rdma.verbs = std::move(verbs);
        options.rdma.spinMicrosMax = 0;
        options.rdma.probeMillisMax = probeMillisMax;
        options.rdma.oneSlot = wantsOneSlot;
        return std::move(connect(options)).value();
    }
    std::unique_ptr<Session> rdmaClient() { return rdmaClient(sim); }
    uint64_t fallbacks(RdmaFallback why) { return server->stats().rdma.fallbacksBy(why); }
    void expectNothingLeft() {
        waitUntil([&] { return sim->counts().queuePairs == 0 && sim->counts().regions == 0; });
    }
    static Status call(Session& session, const std::string& payload) {
        FRESHET_RETURN_IF_ERROR(session.sinkMessage(ReplyChain(messageForTest(7, payload))));
        FRESHET_ASSIGN_OR_RETURN(Message reply, session.sourceMessage());
        EXPECT_EQ(payloadForTest(reply), payload);
        return Status::ok();
    }
    /// What a client that knows only the wire protocol can send for the bootstrap.
    std::string ask(tcp::socket& socket, const rdma::Proposal& proposal) {
        const std::string question = rdma::encodeProposal(proposal, 5, 0);
        asio::write(socket, asio::buffer(question));
        const std::string header = readMessage(socket, wire::kHeaderBytes);
        const auto bytes = static_cast<size_t>(loadLe<int32_t>(header.data()));
        return header + readMessage(socket, bytes - header.size());
    }
    static rdma::Proposal goodOffer() {
        rdma::Proposal offer;
        offer.end.ringBytes = 256 * 1024;
        offer.end.receives = 32;
        return offer;
    }

    platform::Slabs slabs{1 << 20};
    std::shared_ptr<testing::SimVerbs> sim = std::make_shared<testing::SimVerbs>();
    uint32_t probeMillisMax = 5'000;  // the machine may be busy
    bool wantsOneSlot = false;
    bool grantsOneSlot = false;
};

TEST_F(RdmaServer, ClientsMoveAndNothingAboveNotices) {
    {
        auto session = rdmaClient();
        EXPECT_EQ(session->peer().kind, "rdma");
        roundTrip(*session, "small");
        roundTrip(*session, std::string(3'000'000, 'l'));
        EXPECT_EQ(server->stats().rdma.sessions, 1u);
        EXPECT_GT(server->stats().rdma.copiedBytes, 3'000'000u);
        EXPECT_EQ(server->stats().rdma.inPlaceBytes, 0u) << "no client was declared trusted";
        EXPECT_LT(server->stats().rdma.writes, 3'000'000u / 8'192) << "in large pieces";
        EXPECT_EQ(server->stats().rdma.fallbacksInAll(), 0u);
        std::lock_guard<std::mutex> lock(seen.mutex);
        EXPECT_EQ(seen.lastPeer.kind, "rdma");
    }
    expectNothingLeft();
}

TEST_F(RdmaServer, TrustedRequestsAreReadInPlace) {
    startWith(sim, true);
    {
        auto session = rdmaClient();
        roundTrip(*session, "small");
        EXPECT_EQ(server->stats().rdma.inPlaceBytes, messageForTest(7, "small").size());
        EXPECT_EQ(server->stats().rdma.copiedBytes, 0u);
    }
    expectNothingLeft();
}

TEST_F(RdmaServer, LargeValuesAreSentInPlace) {
    {
        auto session = rdmaClient();
        roundTrip(*session, std::string(17'000, 'v'));
        const uint64_t little = server->stats().rdma.stagedBytes;
        EXPECT_GT(server->stats().rdma.sentInPlaceBytes, 16'384u);
        EXPECT_LT(little, 200u);
        for (const size_t bytes : {100'000, 262'144, 3'000'000}) {
            const uint64_t before = server->stats().rdma.sentInPlaceBytes;
            roundTrip(*session, std::string(bytes, 'w'));
            EXPECT_EQ(server->stats().rdma.sentInPlaceBytes - before, bytes - 100);
        }
        EXPECT_LT(server->stats().rdma.stagedBytes, 1'000u);
        EXPECT_GE(sim->counts().sharedRegions, 1u);
        const uint64_t before = server->stats().rdma.sentInPlaceBytes;
        roundTrip(*session, std::string(16'000, 's'));
        EXPECT_EQ(server->stats().rdma.sentInPlaceBytes, before) << "not worth a write of its own";
    }
    expectNothingLeft();
}

TEST_F(RdmaServer, WithoutMemoryWindowsRepliesAreCopied) {
    server.reset();
    testing::SimVerbsOptions old;
    old.hasWindows = false;
    sim = std::make_shared<testing::SimVerbs>(old);
    startWith(sim);
    {
        auto session = rdmaClient();
        EXPECT_EQ(session->peer().kind, "rdma");
        roundTrip(*session, std::string(100'000, 'v'));
        EXPECT_EQ(server->stats().rdma.sentInPlaceBytes, 0u);
        EXPECT_GE(server->stats().rdma.stagedBytes, 100'000u);
        EXPECT_EQ(sim->counts().windows, 0u);
    }
    expectNothingLeft();
}

TEST_F(RdmaServer, UnregistrableSlabsAreCopied) {
    {
        auto session = rdmaClient();
        sim->setOutOfMemory(true);
        roundTrip(*session, std::string(100'000, 'v'));
        EXPECT_EQ(server->stats().rdma.sentInPlaceBytes, 0u);
        EXPECT_GE(server->stats().rdma.stagedBytes, 100'000u);
        sim->setOutOfMemory(false);
        // The same slab stays refused; another one is tried.
        roundTrip(*session, std::string(2'000'000, 'v'));
        EXPECT_GT(server->stats().rdma.sentInPlaceBytes, 1'900'000u);
    }
    expectNothingLeft();
}

TEST_F(RdmaServer, PlainClientsNeverNotice) {
    auto session = client();
    roundTrip(*session, "plain");
    EXPECT_EQ(session->peer().kind, "tcp");
    EXPECT_EQ(server->stats().rdma.sessionsMade, 0u);
}

TEST_F(RdmaServer, AServerWithoutRdmaIsUsedOverTcp) {
    startWith(nullptr);
    auto session = rdmaClient();
    EXPECT_EQ(session->peer().kind, "tcp");
    roundTrip(*session, "still");
}

TEST_F(RdmaServer, WithoutADeviceBothStayOnTcp) {
    testing::SimVerbsOptions elsewhere;
    elsewhere.addresses = {"10.1.2.3"};
    const auto none = std::make_shared<testing::SimVerbs>(elsewhere);
    auto withoutOwn = rdmaClient(none);
    EXPECT_EQ(withoutOwn->peer().kind, "tcp");
    roundTrip(*withoutOwn, "a");
    withoutOwn.reset();
    startWith(none);
    auto session = rdmaClient();
    EXPECT_EQ(session->peer().kind, "tcp");
    roundTrip(*session, "b");
    EXPECT_EQ(fallbacks(RdmaFallback::kNoDevice), 1u);
}

TEST_F(RdmaServer, AMoveNeedsAProbeOverRdma) {
    sim->setHoldingWrites(true);
    probeMillisMax = 20;
    auto session = rdmaClient();
    EXPECT_EQ(session->peer().kind, "tcp");
    roundTrip(*session, "over TCP");
    EXPECT_EQ(fallbacks(RdmaFallback::kNoProbe), 1u);
    sim->setHoldingWrites(false);
    expectNothingLeft();
}

TEST_F(RdmaServer, OneSlotNeedsTheServersConsent) {
    wantsOneSlot = true;
    auto refused = rdmaClient();
    EXPECT_EQ(refused->peer().kind, "tcp");
    roundTrip(*refused, "over TCP");
    EXPECT_EQ(fallbacks(RdmaFallback::kBadOffer), 1u);
    refused.reset();
    grantsOneSlot = true;
    startWith(sim);
    for (const bool wants : {true, false}) {
        wantsOneSlot = wants;
        auto session = rdmaClient();
        EXPECT_EQ(session->peer().kind, "rdma");
        const uint64_t before = server->stats().rdma.writes;
        roundTrip(*session, std::string(3'000'000, 'l'));
        const uint64_t writes = server->stats().rdma.writes - before;
        EXPECT_EQ(writes == 1, wants) << writes;
    }
    expectNothingLeft();
}

TEST_F(RdmaServer, OutOfMemoryMeansTcp) {
    sim->setOutOfMemory(true);
    auto session = rdmaClient();
    EXPECT_EQ(session->peer().kind, "tcp");
    roundTrip(*session, "x");
    EXPECT_EQ(server->stats().rdma.fallbacksInAll(), 0u) << "the client had none either";
    EXPECT_EQ(rdmaClient(std::make_shared<testing::SimVerbs>())->peer().kind, "tcp");
    EXPECT_EQ(fallbacks(RdmaFallback::kDevice), 1u);
    sim->setOutOfMemory(false);
    EXPECT_EQ(rdmaClient()->peer().kind, "rdma");
}

TEST_F(RdmaServer, UnknownVersionsAndInvalidEndsAreRefused) {
    rdma::Proposal strange = goodOffer();
    strange.version = 99;
    rdma::Proposal silly = goodOffer();
    silly.end.ringBytes = 1;
    const rdma::Verdict wanted[] = {rdma::Verdict::kVersion, rdma::Verdict::kFailed};
    int i = 0;
    for (const rdma::Proposal& offer : {strange, silly}) {
        tcp::socket socket = rawClient();
        const auto answer = rdma::decodeProposal(ask(socket, offer));
        ASSERT_TRUE(answer.has_value());
        EXPECT_EQ(answer->step, rdma::Step::kAnswer);
        EXPECT_EQ(answer->verdict, wanted[i++]);
        const std::string message = messageForTest(1, "goes on");
        asio::write(socket, asio::buffer(message));
        EXPECT_EQ(readMessage(socket, message.size()), message);
    }
    EXPECT_EQ(fallbacks(RdmaFallback::kVersion), 1u);
    EXPECT_EQ(fallbacks(RdmaFallback::kBadOffer), 1u);
    EXPECT_EQ(server->stats().rdma.fallbacksInAll(), 2u);
}

TEST_F(RdmaServer, HalfOpenBootstrapsLeaveNothing) {
    {
        tcp::socket silent = rawClient();
        ASSERT_TRUE(rdma::decodeProposal(ask(silent, goodOffer())).has_value());
        EXPECT_EQ(sim->counts().queuePairs, 1u);
    }
    expectNothingLeft();
    tcp::socket changedItsMind = rawClient();
    ask(changedItsMind, goodOffer());
    const std::string message = messageForTest(1, "rather not");
    asio::write(changedItsMind, asio::buffer(message));
    EXPECT_EQ(readMessage(changedItsMind, message.size()), message);
    EXPECT_EQ(fallbacks(RdmaFallback::kAbandoned), 1u);
    expectNothingLeft();
    // Confirms although it has seen no probe.
    tcp::socket liar = rawClient();
    ask(liar, goodOffer());
    rdma::Proposal confirm = goodOffer();
    confirm.step = rdma::Step::kConfirm;
    EXPECT_EQ(rdma::decodeProposal(ask(liar, confirm))->verdict, rdma::Verdict::kNoProbe);
    asio::write(liar, asio::buffer(message));
    EXPECT_EQ(readMessage(liar, message.size()), message);
    expectNothingLeft();
}

TEST_F(RdmaServer, OnlyTheFirstMessageIsAnOffer) {
    tcp::socket socket = rawClient();
    const std::string message = messageForTest(1, "hello");
    asio::write(socket, asio::buffer(message));
    readMessage(socket, message.size());
    const std::string echoed = ask(socket, goodOffer());
    EXPECT_EQ(rdma::decodeProposal(echoed)->step, rdma::Step::kOffer);
    EXPECT_EQ(sim->counts().queuePairs, 0u);
}

TEST_F(RdmaServer, MessagesInTransitArriveAfterAClientCloses) {
    auto session = rdmaClient();
    roundTrip(*session, "before");
    const uint32_t handled = seen.handling.load(sync::kAcquire);
    sim->setHoldingWrites(true);
    ASSERT_TRUE(session->sinkMessage(ReplyChain(messageForTest(1, "last words"))).isOk());
    session->close();
    sim->setHoldingWrites(false);
    session.reset();
    waitUntil([&] { return seen.handling.load(sync::kAcquire) == handled + 1; });
    expectNothingLeft();
}

/// A server that accepts connections and never answers.
TEST_F(RdmaServer, AnUnansweredMoveTimesOut) {
    tcp::acceptor silent(context, {asio::ip::address_v4::loopback(), 0});
    ConnectOptions options;
    options.port = silent.local_endpoint().port();
    options.timeoutMs = 20;
    options.rdma.verbs = sim;
    EXPECT_EQ(connect(options).status().code(), Code::kTimeout);
}

TEST_F(RdmaServer, TheReasonForStayingOnTcpIsReported) {
    startWith(nullptr);
    std::string why;
    ConnectOptions options;
    options.port = server->port();
    options.rdma.verbs = sim;
    options.onFallback = [&](const std::string& text) { why = text; };
    auto session = std::move(connect(options)).value();
    EXPECT_NE(why.find("stays on TCP: the server knows no RDMA"), std::string::npos) << why;
    roundTrip(*session, "and goes on");
}

TEST_F(RdmaServer, AFailedSessionDoesNotAffectOthers) {
    auto good = rdmaClient();
    roundTrip(*good, "before");
    auto bad = rdmaClient();
    roundTrip(*bad, "before");
    sim->failWrite(0, verbs::CompletionStatus::kPeerGone);
    EXPECT_FALSE(call(*bad, "lost").isOk());
    bad.reset();
    roundTrip(*good, "after");
    waitUntil([&] { return sim->counts().queuePairs == 2; });
}

TEST_F(RdmaServer, ADeviceThatFailsEndsItsSessionsAndNoOther) {
    auto plain = client();
    roundTrip(*plain, "before");
    auto one = rdmaClient(), other = rdmaClient();
    roundTrip(*one, "before");
    roundTrip(*other, "before");
    sim->takePortsDown();
    EXPECT_FALSE(call(*one, "lost").isOk());
    EXPECT_FALSE(other->sourceMessage().isOk());
    one.reset();
    other.reset();
    roundTrip(*plain, "after");
    expectNothingLeft();
    roundTrip(*rdmaClient(), "a new one");
}

TEST_F(RdmaServer, HandlersLearnThatTheirPeerHasGone) {
    auto session = rdmaClient();
    ASSERT_TRUE(session->sinkMessage(ReplyChain(messageForTest(1, "alone"))).isOk());
    waitUntil([&] { return seen.handling.load(sync::kAcquire) > 0; });
    session.reset();
    waitUntil([&] { return seen.peersGone.load(sync::kRelaxed) > 0; });
    expectNothingLeft();
}

TEST_F(RdmaServer, ShutdownEndsLiveSessions) {
    auto session = rdmaClient();
    roundTrip(*session, "last");
    server->shutdown();
    EXPECT_EQ(session->sourceMessage().status().code(), Code::kCancelled);
}

TEST_F(RdmaServer, AnIdleSessionCostsNothing) {
    auto session = rdmaClient();
    roundTrip(*session, "then nothing");
    const auto quiet = [&] {
        const RdmaStats before = server->stats().rdma;
        for (int i = 0; i < 1'000; ++i) {
            platform::yieldThread();
        }
        const RdmaStats after = server->stats().rdma;
        return before.emptyPolls == after.emptyPolls && before.sleeps == after.sleeps;
    };
    waitUntil(quiet);
    // Other traffic of its reactors does not make them poll for it.
    auto one = client(), other = client();
    const RdmaStats before = server->stats().rdma;
    for (int i = 0; i < 50; ++i) {
        roundTrip(*one, "busy");
        roundTrip(*other, "busy");
    }
    EXPECT_EQ(server->stats().rdma.emptyPolls, before.emptyPolls);
    roundTrip(*session, "and is there again");
}

TEST_F(RdmaServer, ManySessionsComeAndGo) {
    std::mt19937_64 random(testing::testSeed());
    std::vector<std::unique_ptr<Session>> sessions(64);
    for (int i = 0; i < 600; ++i) {
        auto& session = sessions[random() % sessions.size()];
        if (session == nullptr) {
            session = rdmaClient();
        }
        const std::string payload(random() % 2'000, 'p');
        switch (random() % 4) {
            case 0:
                ASSERT_TRUE(session->sinkMessage(ReplyChain(messageForTest(1, payload))).isOk());
                session.reset();  // leaves without its reply
                break;
            case 1:
                session->close();
                session.reset();
                break;
            default:
                roundTrip(*session, payload);
        }
    }
    sessions.clear();
    expectNothingLeft();
}

/// Clients that are other processes, each of which may die at any of its writes: during the move to
/// RDMA, within a message, or between messages.
class KilledClients : public RdmaServer {
protected:
    static constexpr int kConnects = 1'000;
    static constexpr uint32_t kClients = 64;
    static constexpr uint16_t kCallPort = 4'422;
    static constexpr uint64_t kNever = UINT64_MAX;
    static constexpr uint32_t kBootstrapMillis = 60'000;  // the machine may be busy

    void SetUp() override {
        ServerTransportOptions options;
        options.rdma.verbs = sim;
        options.rdma.slabs = seen.slabs = &slabs;
        options.rdma.ringBytes = 64 * 1024;
        options.rdma.spinMicrosMax = 0;
        options.rdma.callPort = kCallPort;
        options.rdma.bootstrapMillisMax = kBootstrapMillis;
        start(std::move(options));
    }
    /// Null when it died before there was a session over RDMA.
    std::unique_ptr<Session> connectFrom(std::shared_ptr<verbs::Verbs> process, bool byCall) {
        ConnectOptions options;
        options.port = byCall ? kCallPort : server->port();
        options.byCall = byCall;
        options.timeoutMs = 0;
        options.rdma.verbs = std::move(process);
        options.rdma.ringBytes = 64 * 1024;
        options.rdma.spinMicrosMax = 0;
        options.rdma.probeMillisMax = kBootstrapMillis;
        options.onFallback = [](const std::string&) {};
        auto session = connect(options);
        return session.isOk() && (*session)->peer().kind == "rdma" ? std::move(*session) : nullptr;
    }
    /// Some round trips, then the end; a client that is not killed leaves normally.
    void liveOn(std::mt19937_64& random, testing::SimVerbs& process, Session& session) {
        for (uint64_t trips = random() % 5; trips > 0; --trips) {
            if (!call(session, std::string(random() % 150'000, 'p')).isOk()) {
                died.fetch_add(1, sync::kRelaxed);
                return;
            }
        }
        if (random() % 2 == 0) {
            process.die();
        }
    }
    void live(std::mt19937_64& random) {
        const uint64_t atWrites[] = {kNever, 0, random() % 20, random() % 20};
        const auto process = sim->anotherProcess(atWrites[random() % std::size(atWrites)]);
        if (const auto session = connectFrom(process, random() % 2 == 0)) {
            liveOn(random, *process, *session);
        } else {
            diedEarly.fetch_add(1, sync::kRelaxed);
        }
    }
    /// Its first session waits until all clients have theirs.
    void run(uint64_t seed) {
        std::mt19937_64 random(seed);
        const auto process = sim->anotherProcess();
        const auto session = connectFrom(process, random() % 2 == 0);
        EXPECT_NE(session, nullptr);
        connected.count_down();
        mayGoOn.wait();
        if (session != nullptr) {
            liveOn(random, *process, *session);
        }
        while (connects.fetch_add(1, sync::kRelaxed) < kConnects) {
            live(random);
        }
    }
    void expectNoSession() {
        waitUntil([this] { return server->stats().current == 0; });
        waitUntil([this] { return server->stats().rdma.sessions == 0; });
        expectNothingLeft();
    }
    /// Of this process, registered or not.
    static size_t mappedRings() {
        std::ifstream maps("/proc/self/maps");
        size_t rings = 0;
        for (std::string line; std::getline(maps, line);) {
            rings += line.find("freshet-ring") != std::string::npos ? 1 : 0;
        }
        return rings;
    }

    sync::Atomic<int> connects{kClients};
    sync::Atomic<uint32_t> died{0};
    sync::Atomic<uint32_t> diedEarly{0};
    std::latch connected{kClients};
    std::latch mayGoOn{1};
};

TEST_F(KilledClients, NothingLeaksInAThousandConnects) {
    for (const bool byCall : {false, true}) {
        roundTrip(*connectFrom(sim, byCall), "warm up");
    }
    expectNoSession();
    const size_t descriptors = openDescriptors();
    const uint64_t queues = sim->counts().completionQueues;
    const uint64_t seed = testing::testSeed();
    std::vector<platform::Thread> clients;
    for (uint32_t i = 0; i < kClients; ++i) {
        clients.emplace_back("client", [this, seed, i] { run(seed + i); });
    }
    connected.wait();
    EXPECT_EQ(server->stats().rdma.sessions, kClients);
    mayGoOn.count_down();
    clients.clear();
    expectNoSession();
    // The last ring is freed just after its session is counted out.
    waitUntil([&] { return openDescriptors() <= descriptors && mappedRings() == 0; });
    EXPECT_EQ(sim->counts().completionQueues, queues);
    EXPECT_EQ(sim->counts().calls, 0u);
    waitUntil([&] { return slabs.bytesUsed() == 0; });
    EXPECT_GT(server->stats().rdma.sentInPlaceBytes, 1'000'000u);
    EXPECT_GT(died.load(sync::kRelaxed), 100u);
    EXPECT_GT(diedEarly.load(sync::kRelaxed), 50u);
    roundTrip(*connectFrom(sim, false), "and the next one is served");
}

}  // namespace
}  // namespace freshet::transport
