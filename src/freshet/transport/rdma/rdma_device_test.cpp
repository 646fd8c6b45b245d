// SPDX-License-Identifier: Apache-2.0
/// A server and its clients over a real RDMA device, whose address is in FRESHET_RDMA_ADDRESS;
/// without one it is skipped. buildscripts/rdma_lab runs it in a guest with Soft-RoCE.
#include "freshet/testing/sim/seed.h"
#include "freshet/transport/tcp/echo_for_test.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace freshet::transport {
namespace {

class RdmaDevice : public Server {
protected:
    void SetUp() override {
        const char* address = std::getenv("FRESHET_RDMA_ADDRESS");
        if (address == nullptr) {
            GTEST_SKIP() << "FRESHET_RDMA_ADDRESS names no device";
        }
        address_ = address;
        verbs_ = std::move(verbs::systemVerbs()).value();
        ServerTransportOptions options;
        options.bindAddresses = {address_};
        options.rdma.verbs = verbs_;
        options.rdma.slabs = seen.slabs = &slabs_;
        options.rdma.spinMicrosMax = 0;
        options.rdma.callPort = kCallPort;
        start(std::move(options));
    }
    void TearDown() override {
        server.reset();
        EXPECT_EQ(slabs_.bytesUsed(), 0u);
    }
    std::unique_ptr<Session> rdmaClient() { return clientOf(false); }
    std::unique_ptr<Session> caller() { return clientOf(true); }
    std::unique_ptr<Session> clientOf(bool byCall) {
        ConnectOptions options;
        options.host = address_;
        options.port = byCall ? kCallPort : server->port();
        options.byCall = byCall;
        options.rdma.verbs = verbs_;
        options.rdma.spinMicrosMax = 0;
        auto session = std::move(connect(options)).value();
        EXPECT_EQ(session->peer().kind, "rdma");
        return session;
    }
    void expectNoSession() {
        waitUntil([this] { return server->stats().current == 0; });
        waitUntil([this] { return server->stats().rdma.sessions == 0; });
    }

    /// After `connects` connections, one after the other, nothing is left.
    void expectNoLeak(int connects, bool byCall) {
        for (int i = 0; i < 10; ++i) {
            roundTrip(*clientOf(byCall), "warm up");
        }
        expectNoSession();
        const size_t before = openDescriptors();
        for (int i = 0; i < connects; ++i) {
            roundTrip(*clientOf(byCall), "once");
        }
        expectNoSession();
        // The last sockets are closed just after their sessions are counted out.
        waitUntil([&] { return openDescriptors() <= before; });
    }
    /// An emulated guest needs half a second for one: FRESHET_RDMA_CONNECTS says how many to make.
    static int connectsWanted() {
        const char* wanted = std::getenv("FRESHET_RDMA_CONNECTS");
        return wanted == nullptr ? 1'000 : std::atoi(wanted);
    }

    static constexpr uint16_t kCallPort = 4'422;
    platform::Slabs slabs_;
    std::string address_;
    std::shared_ptr<verbs::Verbs> verbs_;
};

class RdmaDeviceSizes : public RdmaDevice, public ::testing::WithParamInterface<size_t> {};

TEST_P(RdmaDeviceSizes, ComeBackByteForByte) {
    std::mt19937_64 random(testing::testSeed());
    std::string payload(GetParam(), '\0');
    for (size_t i = 0; i < payload.size(); i += 61) {
        payload[i] = static_cast<char>(random());
    }
    roundTrip(*rdmaClient(), payload);
    roundTrip(*caller(), payload);
    // Soft-RoCE has memory windows, so large values leave without a copy.
    EXPECT_GE(server->stats().rdma.sentInPlaceBytes,
              GetParam() > 17'000 ? 2 * (GetParam() - 100) : 0);
}

INSTANTIATE_TEST_SUITE_P(Sizes,
                         RdmaDeviceSizes,
                         ::testing::Values(0, 1'024, 16'384, 262'144, 1'048'576, 16'777'216));

TEST_F(RdmaDevice, SixtyFourSessionsWhoseClientsDie) {
    std::mt19937_64 random(testing::testSeed());
    std::vector<std::unique_ptr<Session>> sessions(64);
    for (auto& session : sessions) {
        session = rdmaClient();
    }
    EXPECT_EQ(server->stats().rdma.sessions, 64u);
    for (int i = 0; i < 200; ++i) {
        auto& session = sessions[random() % sessions.size()];
        if (random() % 4 == 0) {
            session->close();
            session = rdmaClient();
        }
        roundTrip(*session, std::string(random() % 5'000, 'p'));
    }
    sessions.clear();
    expectNoSession();
}

TEST_F(RdmaDevice, NothingLeaksInManyConnects) {
    expectNoLeak(connectsWanted(), false);
}

TEST_F(RdmaDevice, NothingLeaksInManyCalls) {
    expectNoLeak(connectsWanted(), true);
}

}  // namespace
}  // namespace freshet::transport
