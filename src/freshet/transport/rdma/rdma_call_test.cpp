// SPDX-License-Identifier: Apache-2.0
/// A server and its clients by calls over adapters in memory: without TCP, so that only the call
/// shows the end of a peer.
#include "freshet/testing/net/sim_verbs.h"
#include "freshet/testing/sim/seed.h"
#include "freshet/transport/rdma/bootstrap.h"
#include "freshet/transport/rdma/client_end.h"
#include "freshet/transport/session/tls_for_test.h"
#include "freshet/transport/tcp/echo_for_test.h"

#include <gtest/gtest.h>

#include <random>

namespace freshet::transport {
namespace {

using Kind = verbs::CallEvent::Kind;

constexpr uint16_t kPort = 4420;

class RdmaCall : public Server {
protected:
    void SetUp() override { startWith(options()); }
    void TearDown() override {
        server.reset();
        EXPECT_EQ(sim->counts().queuePairs, 0u);
        EXPECT_EQ(sim->counts().regions, 0u);
        EXPECT_EQ(sim->counts().calls, 0u);
        EXPECT_EQ(sim->counts().missingReceives, 0u);
    }
    ServerTransportOptions options() {
        ServerTransportOptions out;
        out.rdma.verbs = sim;
        out.rdma.callPort = kPort;
        out.rdma.spinMicrosMax = 5;
        return out;
    }
    void startWith(ServerTransportOptions options) {
        server.reset();  // its port for calls is free again
        start(std::move(options));
    }
    ConnectOptions clientOptions() {
        ConnectOptions out;
        out.port = kPort;
        out.byCall = true;
        out.rdma.verbs = sim;
        out.rdma.spinMicrosMax = 0;
        return out;
    }
    std::unique_ptr<Session> caller() { return std::move(connect(clientOptions())).value(); }
    void expectNothingLeft() {
        waitUntil([&] {
            const testing::SimVerbsCounts now = sim->counts();
            return now.queuePairs == 0 && now.regions == 0 && now.calls == 0;
        });
    }

    /// A client's end without a session, driven by the test.
    struct Raw {
        std::unique_ptr<verbs::Call> call;
        BlockPool blocks;
        rdma::LinkCounters counters;
        std::shared_ptr<verbs::Device> device;
        std::unique_ptr<verbs::CompletionQueue> queue;
        std::unique_ptr<rdma::Link> link;

        rdma::Proposal offer() const {
            rdma::Proposal out;
            out.end = link->here();
            return out;
        }
        verbs::CallEvent event() {
            while (true) {
                StatusOr<verbs::CallEvent> next = call->nextEvent();
                if (!next.status().isWouldBlock()) {
                    return std::move(next).value();
                }
                platform::yieldThread();
            }
        }
        Status sendMessage(const std::string& payload) {
            const ReplyChain chain(messageForTest(1, payload));
            rdma::ChainCursor unsent(chain);
            return link->send(unsent).status();
        }
    };
    std::unique_ptr<Raw> dialled() {
        auto raw = std::make_unique<Raw>();
        raw->call = std::move(sim->dial("127.0.0.1", kPort, 0)).value();
        raw->device = std::move(sim->open("127.0.0.1")).value();
        raw->queue = std::move(raw->device->makeCompletionQueue(100)).value();
        raw->link = std::move(rdma::Link::create(
                                  {*raw->device, *raw->queue, raw->blocks, raw->counters}, 1, {}))
                        .value();
        return raw;
    }
    std::unique_ptr<Raw> answered() {
        auto raw = dialled();
        EXPECT_TRUE(raw->call->ask(raw->link->pair(), rdma::encodeCallData(raw->offer())).isOk());
        const verbs::CallEvent event = raw->event();
        EXPECT_EQ(event.kind, Kind::kAnswered);
        const auto answer = rdma::decodeCallData(event.data);
        raw->link->meet(answer->end);
        return raw;
    }
    rdma::Verdict verdictOn(const std::string& said) {
        auto raw = dialled();
        EXPECT_TRUE(raw->call->ask(raw->link->pair(), said).isOk());
        const verbs::CallEvent event = raw->event();
        EXPECT_EQ(event.kind, Kind::kRefused);
        return rdma::decodeCallData(event.data)->verdict;
    }

    const std::shared_ptr<testing::SimVerbs> sim = std::make_shared<testing::SimVerbs>();
};

TEST_F(RdmaCall, ClientsWithoutTcpAreServed) {
    {
        auto session = caller();
        EXPECT_EQ(session->peer().kind, "rdma");
        EXPECT_EQ(session->peer().remote, "127.0.0.1:4420");
        roundTrip(*session, "small");
        roundTrip(*session, std::string(3'000'000, 'l'));
        const ServerTransportStats stats = server->stats();
        EXPECT_EQ(stats.current, 1u);
        EXPECT_EQ(stats.rdma.sessions, 1u);
        EXPECT_EQ(stats.rdma.callsTaken, 1u);
        EXPECT_EQ(stats.rdma.fallbacksInAll(), 0u);
        EXPECT_EQ(stats.messagesIn, 2u);
        std::lock_guard<std::mutex> lock(seen.mutex);
        EXPECT_EQ(seen.lastPeer.kind, "rdma");
        EXPECT_EQ(seen.lastPeer.local, "127.0.0.1:4420");
        EXPECT_FALSE(seen.lastPeer.isLocal) << "it must not look like a Unix socket";
    }
    expectNothingLeft();
    waitUntil([&] { return server->stats().current == 0; });
    EXPECT_EQ(server->addresses().back(), "127.0.0.1:4420 (RDMA)");
}

/// The peer's queue pair stays and no request of the server fails: an adapter reports no more than
/// this of a peer's end.
TEST_F(RdmaCall, AnEndThatIsOnlyAnEventEndsTheSession) {
    auto raw = answered();
    ASSERT_TRUE(raw->sendMessage("alone").isOk());
    waitUntil([&] { return seen.handling.load(sync::kAcquire) == 1; });
    EXPECT_EQ(sim->counts().queuePairs, 2u);
    raw->call->hangUp();
    waitUntil([&] { return seen.peersGone.load(sync::kRelaxed) == 1; });
    waitUntil([&] { return sim->counts().queuePairs == 1 && sim->counts().regions == 2; });
    waitUntil([&] { return server->stats().current == 0; });
    waitUntil([&] { return server->stats().rdma.sessions == 0; });
    EXPECT_EQ(sim->counts().calls, 1u) << "but ours";
    roundTrip(*caller(), "others go on");
}

TEST_F(RdmaCall, AnIdleSessionToo) {
    auto raw = answered();
    raw->call->hangUp();
    waitUntil([&] { return sim->counts().queuePairs == 1 && sim->counts().calls == 1; });
}

/// Such a host does not even cause an event.
TEST_F(RdmaCall, AHostWithoutPowerIsNoticedOnAnIdleSession) {
    ServerTransportOptions impatient = options();
    impatient.rdma.signMillis = 10;
    startWith(impatient);
    ConnectOptions elsewhere = clientOptions();
    const auto host = sim->anotherProcess();
    elsewhere.rdma.verbs = host;
    auto gone = std::move(connect(elsewhere)).value();
    auto other = caller();
    roundTrip(*gone, "there");
    const uint64_t writes = sim->counts().writes;
    waitUntil(
        [&] { return sim->counts().writes >= writes + 100; });  // more than there are receives
    roundTrip(*gone, "still there");
    host->die();
    waitUntil([&] { return server->stats().current == 1; });
    waitUntil([&] { return server->stats().rdma.sessions == 1; });
    roundTrip(*other, "others go on");
}

TEST_F(RdmaCall, MessagesSentBeforeTheEndAreReceived) {
    auto session = caller();
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

TEST_F(RdmaCall, AServerThatEndsTellsItsCallers) {
    auto session = caller();
    roundTrip(*session, "last");
    server->shutdown();
    EXPECT_EQ(session->sourceMessage().status().code(), Code::kCancelled);
    session.reset();
    EXPECT_EQ(connect(clientOptions()).status().code(), Code::kUnavailable);
}

TEST_F(RdmaCall, InvalidRequestsAreRefused) {
    rdma::Proposal offer = dialled()->offer();
    offer.version = 99;
    EXPECT_EQ(verdictOn(rdma::encodeCallData(offer)), rdma::Verdict::kVersion);
    EXPECT_EQ(verdictOn("?"), rdma::Verdict::kVersion);
    offer.version = rdma::kVersion;
    offer.end.receives = 0;
    EXPECT_EQ(verdictOn(rdma::encodeCallData(offer)), rdma::Verdict::kFailed);
    EXPECT_EQ(server->stats().rdma.callsRefused, 3u);
    EXPECT_EQ(server->stats().rdma.callsTaken, 0u);
    roundTrip(*caller(), "others are served");
    expectNothingLeft();
}

TEST_F(RdmaCall, TooManyAreRefusedWithTheReason) {
    ServerTransportOptions few = options();
    few.rdma.sessionsMax = 1;
    few.reactors = 1;
    startWith(few);
    auto first = caller();
    const Status second = connect(clientOptions()).status();
    EXPECT_EQ(second.code(), Code::kUnavailable);
    EXPECT_NE(second.toString().find("too many RDMA sessions"), std::string::npos)
        << second.toString();
    roundTrip(*first, "stays");
    first.reset();
    expectNothingLeft();
    roundTrip(*caller(), "and there is room again");
}

TEST_F(RdmaCall, OneSlotNeedsTheServersConsent) {
    ConnectOptions wanting = clientOptions();
    wanting.rdma.oneSlot = true;
    const Status refused = connect(wanting).status();
    EXPECT_EQ(refused.code(), Code::kUnavailable);
    EXPECT_NE(refused.toString().find("one slot"), std::string::npos) << refused.toString();
}

TEST_F(RdmaCall, ACallerThatTakesNoAnswerTimesOut) {
    ServerTransportOptions hasty = options();
    hasty.rdma.bootstrapMillisMax = 10;
    startWith(hasty);
    auto raw = dialled();
    ASSERT_TRUE(raw->call->ask(raw->link->pair(), rdma::encodeCallData(raw->offer())).isOk());
    waitUntil([&] { return server->stats().rdma.callsTaken == 1; });
    waitUntil([&] { return sim->counts().queuePairs == 1 && sim->counts().calls == 1; });
    // A client that hangs up before the answer has come.
    auto other = dialled();
    ASSERT_TRUE(other->call->ask(other->link->pair(), rdma::encodeCallData(other->offer())).isOk());
    other.reset();
    waitUntil([&] { return sim->counts().queuePairs == 1 && sim->counts().calls == 1; });
}

TEST_F(RdmaCall, UnansweredCallsTimeOut) {
    sim->setLosingRequests(true);
    ConnectOptions options = clientOptions();
    options.timeoutMs = 20;
    EXPECT_EQ(connect(options).status().code(), Code::kTimeout);
    sim->setLosingRequests(false);
    options.port = kPort + 1;
    EXPECT_EQ(connect(options).status().code(), Code::kUnavailable);
    options.host = "10.1.2.3";
    EXPECT_EQ(connect(options).status().code(), Code::kNotFound);
    options.rdma.verbs = nullptr;
    EXPECT_EQ(connect(options).status().code(), Code::kUnsupported);
}

TEST_F(RdmaCall, WithoutADeviceTheServerStillStarts) {
    testing::SimVerbsOptions elsewhere;
    elsewhere.addresses = {"10.1.2.3"};
    ServerTransportOptions none = options();
    none.rdma.verbs = std::make_shared<testing::SimVerbs>(elsewhere);
    startWith(none);
    EXPECT_EQ(server->addresses().size(), 1u);
    roundTrip(*client(), "over TCP");
}

TEST_F(RdmaCall, APortInUseIsAnError) {
    ServerTransportOptions same = options();
    same.port = 0;
    same.reactors = 1;
    const auto second = ServerTransport::start(same, std::make_shared<EchoFactory>(&seen));
    EXPECT_EQ(second.status().code(), Code::kUnavailable) << second.status().toString();
    ServerTransportOptions encrypted = same;
    encrypted.rdma.callPort = kPort + 1;
    encrypted.tlsMode = TlsMode::kRequire;
    encrypted.tls = CertificateForTest::get().server();
    EXPECT_EQ(
        ServerTransport::start(encrypted, std::make_shared<EchoFactory>(&seen)).status().code(),
        Code::kInvalid);
}

TEST_F(RdmaCall, ADeviceThatFailsEndsItsSessionsAndNoOther) {
    auto plain = client();
    auto one = caller();
    roundTrip(*one, "before");
    sim->takePortsDown();
    EXPECT_FALSE(one->sourceMessage().isOk());
    one.reset();
    roundTrip(*plain, "after");
    expectNothingLeft();
    roundTrip(*caller(), "a new one");
}

TEST_F(RdmaCall, ManyCallsComeAndGo) {
    std::mt19937_64 random(testing::testSeed());
    std::vector<std::unique_ptr<Session>> sessions(32);
    for (int i = 0; i < 300; ++i) {
        auto& session = sessions[random() % sessions.size()];
        if (session == nullptr) {
            session = caller();
        }
        const std::string payload(random() % 2'000, 'p');
        if (random() % 3 == 0) {
            ASSERT_TRUE(session->sinkMessage(ReplyChain(messageForTest(1, payload))).isOk());
            session.reset();  // leaves without its reply
        } else {
            roundTrip(*session, payload);
        }
    }
    sessions.clear();
    expectNothingLeft();
    waitUntil([&] { return server->stats().current == 0; });
}

}  // namespace
}  // namespace freshet::transport
