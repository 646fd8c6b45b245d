// SPDX-License-Identifier: Apache-2.0
/// The server's side over real sockets, with an echo in place of the database: what well-behaved,
/// broken and vanished clients get, and how sessions end.
#include "freshet/telemetry/log.h"
#include "freshet/transport/tcp/echo_for_test.h"

#include <gtest/gtest.h>

#include <future>

namespace freshet::transport {
namespace {

TEST_F(Server, BytesThatComeOneByOne) {
    tcp::socket socket = rawClient();
    const std::string message = messageForTest(3, "drop by drop");
    for (char byte : message) {
        asio::write(socket, asio::buffer(&byte, 1));
    }
    EXPECT_EQ(readMessage(socket, message.size()), message);
}

TEST_F(Server, TwoPiecesCutAtEveryByte) {
    tcp::socket socket = rawClient();
    const std::string message = messageForTest(3, "cut"), both = message + message;
    for (size_t cut = 1; cut < both.size(); ++cut) {
        asio::write(socket, asio::buffer(both.data(), cut));
        asio::write(socket, asio::buffer(both.data() + cut, both.size() - cut));
        ASSERT_EQ(readMessage(socket, both.size()), both) << cut;
    }
}

TEST_F(Server, PipelinedRequestsAreAnsweredInOrder) {
    tcp::socket socket = rawClient();
    std::string stream;
    for (int i = 0; i < 5'000; ++i) {
        stream += messageForTest(i, std::string(static_cast<size_t>(i % 97), 'p'));
    }
    auto writer =
        std::async(std::launch::async, [&] { asio::write(socket, asio::buffer(stream)); });
    EXPECT_EQ(readMessage(socket, stream.size()), stream);
    writer.wait();
}

TEST_F(Server, FalseLengthsEndTheConnectionOnly) {
    auto good = client();
    for (int32_t lie : {0, 15, -1, INT32_MIN, 48'000'001, INT32_MAX}) {
        tcp::socket socket = rawClient();
        std::string message = messageForTest(1, "lie");
        storeLe(message.data(), lie);
        asio::write(socket, asio::buffer(message));
        EXPECT_TRUE(isEnded(socket)) << lie;
        roundTrip(*good, "still here");
    }
}

TEST_F(Server, PeersThatDieInsideAMessageLeaveNothingBehind) {
    const std::string message = messageForTest(1, "never to be completed");
    for (size_t bytes : {1u, 15u, 16u, 20u}) {
        tcp::socket socket = rawClient();
        asio::write(socket, asio::buffer(message.data(), bytes));
        socket.set_option(asio::socket_base::linger(true, bytes % 2 == 0 ? 0 : 1));  // RST or FIN
    }
    waitUntil([&] { return server->stats().totalCreated == 4 && server->stats().current == 0; });
    EXPECT_EQ(seen.handlers.load(sync::kRelaxed), 0u);
}

TEST_F(Server, PeersThatDoNotReadAreWaitedForAndCanStillBeDropped) {
    {
        tcp::socket socket = rawClient();
        const std::string request = messageForTest(1, "big");
        for (int i = 0; i < 4; ++i) {
            asio::write(socket, asio::buffer(request));
        }
        waitUntil([&] { return seen.handling.load(sync::kAcquire) >= 1; });
        EXPECT_LT(server->stats().messagesOut, 4u) << "no read while a reply is unsent";
        auto other = client();
        roundTrip(*other, "others are not held up");
    }
    waitUntil([&] { return server->stats().current <= 1; });
}

TEST_F(Server, OneThousandIdleConnectionsCostNoPasses) {
    constexpr size_t kCount = 1'000;
    std::vector<std::unique_ptr<Session>> sessions;
    for (size_t i = 0; i < kCount; ++i) {
        sessions.push_back(client());
    }
    waitUntil([&] { return server->stats().current == kCount; });
    EXPECT_EQ(seen.handlers.load(sync::kRelaxed), 0u) << "they have sent nothing";
    for (auto& session : sessions) {
        roundTrip(*session, "awake");
    }
    {
        std::lock_guard<std::mutex> lock(seen.mutex);
        ASSERT_EQ(seen.sessionsOn.size(), 2u);
        for (const auto& [executor, count] : seen.sessionsOn) {
            EXPECT_EQ(count, static_cast<int>(kCount / 2)) << "distributed evenly";
        }
    }
    const uint64_t before = seen.passes.load(sync::kRelaxed);
    for (int i = 0; i < 10; ++i) {
        roundTrip(*sessions[0], "awake");
    }
    EXPECT_LE(seen.passes.load(sync::kRelaxed) - before, 30u) << "only the busy session is run";
    sessions.clear();
    waitUntil([&] { return server->stats().current == 0; });
}

TEST_F(Server, ConnectionsOverTheLimitAreClosed) {
    server.reset();
    ServerTransportOptions options;
    options.connectionsMax = 2;
    start(options);
    auto one = client(), two = client();
    roundTrip(*one, "1");
    roundTrip(*two, "2");
    tcp::socket third = rawClient();
    EXPECT_TRUE(isEnded(third));
    EXPECT_EQ(server->stats().rejected, 1u);
    EXPECT_EQ(server->stats().available, 0u);
    const std::string line = telemetry::recentLog().back();
    EXPECT_NE(line.find("\"id\":22942,"), std::string::npos) << line;
    EXPECT_NE(line.find("\"remote\":\"127.0.0.1:"), std::string::npos) << line;
    EXPECT_NE(line.find("\"connectionCount\":2,"), std::string::npos) << line;
    one.reset();
    waitUntil([&] { return server->stats().current == 1; });
    auto again = client();
    roundTrip(*again, "4");
}

TEST_F(Server, CountsBytesAndMessages) {
    auto session = client();
    roundTrip(*session, "12345678");
    roundTrip(*session, "12345678");
    waitUntil([&] { return server->stats().messagesOut == 2; });
    const ServerTransportStats stats = server->stats();
    EXPECT_EQ(stats.messagesIn, 2u);
    EXPECT_EQ(stats.bytesIn, 48u);
    EXPECT_EQ(stats.bytesOut, 48u);
    EXPECT_EQ(stats.current, 1u);
    EXPECT_EQ(stats.totalCreated, 1u);
}

TEST_F(Server, ShutdownEndsIdleBusyAndWaitingSessions) {
    auto idle = client(), stuck = client(), timed = client();
    roundTrip(*idle, "x");
    ASSERT_TRUE(stuck->sinkMessage(ReplyChain(messageForTest(1, "stuck"))).isOk());
    ASSERT_TRUE(timed->sinkMessage(ReplyChain(messageForTest(1, "timer"))).isOk());
    tcp::socket cut = rawClient(), deaf = rawClient();
    asio::write(cut, asio::buffer(messageForTest(1, "cut").data(), 10));
    asio::write(deaf, asio::buffer(messageForTest(1, "big")));
    waitUntil([&] { return seen.handling.load(sync::kAcquire) == 4; });
    auto down = std::async(std::launch::async, [&] { server->shutdown(); });
    EXPECT_EQ(idle->sourceMessage().status().code(), Code::kCancelled);
    EXPECT_EQ(timed->sourceMessage().status().code(), Code::kCancelled);
    EXPECT_EQ(seen.threads.load(sync::kRelaxed), 2u) << "a handler is still at work";
    seen.gate.complete();
    down.wait();
    EXPECT_EQ(server->stats().current, 0u);
    EXPECT_EQ(seen.handlers.load(sync::kRelaxed), 0u);
    EXPECT_EQ(seen.threads.load(sync::kRelaxed), 0u);
    EXPECT_EQ(seen.openPasses.load(sync::kRelaxed), 0u);
    ConnectOptions options;
    options.port = server->port();
    EXPECT_EQ(connect(options).status().code(), Code::kUnavailable);
    server->shutdown();
}

TEST_F(Server, AnAddressInUseIsUnavailableAndNamed) {
    ServerTransportOptions options;
    options.port = server->port();
    auto second = ServerTransport::start(options, std::make_shared<EchoFactory>(&seen));
    ASSERT_FALSE(second.isOk());
    EXPECT_EQ(second.status().code(), Code::kUnavailable);
    EXPECT_NE(second.status().text().find("127.0.0.1:" + std::to_string(server->port())),
              std::string_view::npos);
}

TEST_F(Server, ExecutorsRunPostedWork) {
    constexpr int kPosters = 4, kEach = 2'000;
    struct Item : sync::WorkItem {
        int poster = 0, number = 0;
        std::vector<int>* last = nullptr;
        sync::Atomic<int>* ran = nullptr;
    };
    for (sync::Executor* executor : server->executors()) {
        std::vector<Item> items(kPosters * kEach);
        std::vector<int> last(kPosters, -1);
        sync::Atomic<int> ran{0};
        std::vector<std::future<void>> posters;
        for (int poster = 0; poster < kPosters; ++poster) {
            posters.push_back(std::async(std::launch::async, [&, poster] {
                for (int i = 0; i < kEach; ++i) {
                    Item& item = items[static_cast<size_t>(poster * kEach + i)];
                    item.poster = poster;
                    item.number = i;
                    item.last = &last;
                    item.ran = &ran;
                    item.run = [](sync::WorkItem* self) {
                        auto* it = static_cast<Item*>(self);
                        EXPECT_EQ(++(*it->last)[static_cast<size_t>(it->poster)], it->number);
                        it->ran->fetch_add(1, sync::kRelease);
                    };
                    executor->post(&item);
                }
            }));
        }
        posters.clear();
        waitUntil([&] { return ran.load(sync::kAcquire) == kPosters * kEach; });
    }
}

sync::Task<void> timeOrder(std::vector<int>* order, sync::Atomic<int>* left, int id, uint64_t ms) {
    co_await sync::wait(sync::Executor::current()->after(ms));
    order->push_back(id);
    left->fetch_sub(1, sync::kRelease);
}

TEST_F(Server, TimersComeInTheirOrder) {
    sync::Executor& executor = *server->executors()[0];
    std::vector<int> order;
    sync::Atomic<int> left{4};
    sync::spawn(executor, timeOrder(&order, &left, 4, 60));
    sync::spawn(executor, timeOrder(&order, &left, 2, 20));
    sync::spawn(executor, timeOrder(&order, &left, 3, 40));
    sync::spawn(executor, timeOrder(&order, &left, 1, 0));
    waitUntil([&] { return left.load(sync::kAcquire) == 0; });
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
}

TEST(Connect, ReportsTheReasonOfAFailure) {
    ConnectOptions nobody;
    nobody.port = 1;
    EXPECT_EQ(connect(nobody).status().code(), Code::kUnavailable);
    ConnectOptions unknown;
    unknown.host = "no-such-host.invalid";
    EXPECT_EQ(connect(unknown).status().code(), Code::kUnavailable);
    ServerTransportOptions options;
    options.bindAddresses = {"no-such-host.invalid"};
    EXPECT_EQ(ServerTransport::start(options, nullptr).status().reason(), Reason::kBadValue);
}

}  // namespace
}  // namespace freshet::transport
