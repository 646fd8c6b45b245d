// SPDX-License-Identifier: Apache-2.0
/// What messages and replies may hold together, over real sockets: which sessions wait, which are
/// ended, and that all memory is released.
#include "freshet/transport/session/tls_for_test.h"
#include "freshet/transport/tcp/echo_for_test.h"

#include <gtest/gtest.h>

#include <future>

namespace freshet::transport {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint32_t kNever = 3'600'000;

class ServerMemory : public Server {
protected:
    ~ServerMemory() override {
        server.reset();
        EXPECT_EQ(pool->used(), 0u);
    }
    void SetUp() override {}
    void open(uint64_t poolBytes, uint32_t patienceMillis, ServerTransportOptions options = {}) {
        pool = std::make_shared<sync::MemoryPool>(poolBytes);
        seen.memory = pool.get();
        options.memory = pool;
        options.memoryPatienceMillis = patienceMillis;
        start(options);
    }
    /// A peer that has sent a part of a message of so many bytes: no more than the system takes
    /// while the server does not read.
    tcp::socket halfSent(size_t bytes) {
        constexpr size_t kSentMax = 150'000;
        tcp::socket socket = rawClient();
        std::string half = messageForTest(1, std::string(std::min(bytes / 2, kSentMax), 'h'));
        storeLe(half.data(), static_cast<int32_t>(bytes));
        asio::write(socket, asio::buffer(half));
        return socket;
    }
    std::shared_ptr<sync::MemoryPool> pool = std::make_shared<sync::MemoryPool>();
};

TEST_F(ServerMemory, LongMessagesWaitForEachOther) {
    open(16 * kMiB, kNever);
    constexpr int kClients = 12;
    std::vector<std::future<void>> clients;
    for (int i = 0; i < kClients; ++i) {
        clients.push_back(std::async(std::launch::async, [&] {
            auto session = client();
            for (int round = 0; round < 3; ++round) {
                roundTrip(*session, std::string(3'000'000, 'c'));
            }
        }));
    }
    auto bystander = client();
    for (auto& one : clients) {
        while (one.wait_for(std::chrono::milliseconds(1)) == std::future_status::timeout) {
            roundTrip(*bystander, "small ones never wait");
            EXPECT_LE(pool->used(), 16 * kMiB);
        }
    }
}

TEST_F(ServerMemory, ASilentPeerIsEndedWhileOthersWait) {
    open(16 * kMiB, 50);
    std::vector<tcp::socket> silent;
    for (int i = 0; i < 4; ++i) {
        silent.push_back(halfSent(6'000'000));
    }
    auto good = client();
    roundTrip(*good, std::string(6'000'000, 'g'));
    EXPECT_LE(pool->used(), 16 * kMiB);
    waitUntil([&] { return server->stats().current < 5; });
}

TEST_F(ServerMemory, NoPeerIsEndedWhileNoneWaits) {
    open(16 * kMiB, 20);
    tcp::socket slow = halfSent(6'000'000);
    auto other = client();
    // Long enough for many looks; a shorter time would only weaken the test.
    platform::sleepMillis(300);
    roundTrip(*other, "x");
    EXPECT_EQ(server->stats().current, 2u);
}

TEST_F(ServerMemory, APeerThatLeavesWhileItWaitsIsNoticed) {
    open(16 * kMiB, 400);
    sync::MemoryHold all(pool.get());
    all.resize(16 * kMiB);
    auto first = std::make_unique<tcp::socket>(halfSent(6'000'000));
    waitUntil([&] { return server->stats().bytesIn > 0; });
    first.reset();
    waitUntil([&] { return server->stats().current == 0; });
    all.release();
}

TEST_F(ServerMemory, ShutdownEndsWaitingSessions) {
    open(16 * kMiB, kNever);
    tcp::socket holds = halfSent(6'000'000), waits = halfSent(6'000'000);
    waitUntil([&] { return pool->used() >= 5 * kMiB; });
    server->shutdown();
    EXPECT_TRUE(isEnded(holds));
    EXPECT_TRUE(isEnded(waits));
}

TEST_F(ServerMemory, AnUnreadReplyEndsItsSessionWhileThePoolIsFull) {
    open(8 * kMiB, 50);
    tcp::socket deaf = rawClient();
    asio::write(deaf, asio::buffer(messageForTest(1, "big")));
    waitUntil([&] { return seen.handling.load(sync::kAcquire) >= 1; });
    auto other = client();
    roundTrip(*other, "small ones never wait");
    waitUntil([&] { return pool->used() == 0 && server->stats().current == 1; });
    roundTrip(*other, "it was the other one");
}

TEST_F(ServerMemory, CutMessagesAndUnreadRepliesShareABound) {
    ServerTransportOptions options;
    options.reactors = 1;
    open(4 * kMiB, kNever, options);  // so 512 KiB of cut messages
    std::vector<tcp::socket> sockets;
    for (int i = 0; i < 24; ++i) {
        sockets.push_back(halfSent(60'000));
    }
    waitUntil([&] { return server->stats().bytesIn >= 24u * 30'000; });
    // From then on they have stood still long enough to be ended.
    platform::sleepMillis(1'100);
    tcp::socket slow = rawClient();
    const std::string message = messageForTest(1, std::string(50'000, 's'));
    asio::write(slow, asio::buffer(message.data(), message.size() / 2));
    waitUntil([&] { return server->stats().current < 20; });
    asio::write(
        slow,
        asio::buffer(message.data() + message.size() / 2, message.size() - message.size() / 2));
    EXPECT_EQ(readMessage(slow, message.size()), message) << "a peer that moves is not ended";
}

TEST_F(ServerMemory, WithTlsToo) {
    ServerTransportOptions options;
    options.tlsMode = TlsMode::kAllow;
    options.tls = CertificateForTest::get().server();
    open(16 * kMiB, 50, options);
    ConnectOptions asClient;
    asClient.port = server->port();
    asClient.host = "localhost";
    asClient.tls = CertificateForTest::get().client();
    tcp::socket silent = halfSent(6'000'000);
    auto session = connect(asClient);
    ASSERT_TRUE(session.isOk()) << session.status().toString();
    roundTrip(**session, std::string(6'000'000, 't'));
    roundTrip(**session, "small");
}

TEST_F(ServerMemory, ALongPassIsCountedAndReported) {
    sync::Atomic<uint64_t> reported{0};
    ServerTransportOptions options;
    options.longPass = [&](uint64_t nanos) { reported.fetch_add(nanos, sync::kRelaxed); };
    open(16 * kMiB, kNever, options);
    auto session = client();
    roundTrip(*session, "hold");
    waitUntil([&] { return server->stats().longPasses >= 1; });
    EXPECT_GE(server->stats().longestPassMicros, 50'000u);
    EXPECT_GE(reported.load(sync::kRelaxed), 50'000'000u);
    server.reset();
}

}  // namespace
}  // namespace freshet::transport
