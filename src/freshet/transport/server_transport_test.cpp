// SPDX-License-Identifier: Apache-2.0
/// The server's side over real sockets, with an echo in the database's place: what a client, good,
/// bad or gone, gets, and how it all ends.
#include "freshet/transport/server_transport.h"

#include "freshet/platform/thread.h"
#include "freshet/transport/connector.h"
#include "freshet/transport/session/step_executor_for_test.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <mutex>

namespace freshet::transport {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

/// Counters that a test reads while the server runs.
struct Seen {
    sync::Atomic<uint32_t> handlers{0};
    sync::Atomic<uint32_t> handling{0};
    sync::Atomic<uint64_t> passes{0};
    sync::Atomic<uint64_t> openPasses{0};
    sync::Atomic<uint32_t> threads{0};
    std::mutex mutex;
    std::map<sync::Executor*, int> sessionsOn;  // guarded by mutex
    sync::WaitToken gate = sync::WaitToken::create();
};

/// Echo; "big" answers with many bytes, "stuck" waits for the gate, "timer" for a timer.
class EchoHandler final : public MessageHandler {
public:
    explicit EchoHandler(Seen* seen) : seen_(seen) { seen_->handlers.fetch_add(1, sync::kRelaxed); }
    ~EchoHandler() override { seen_->handlers.fetch_sub(1, sync::kRelaxed); }
    sync::Task<HandlerResult> handle(Message message) override {
        EXPECT_EQ(seen_->openPasses.load(sync::kRelaxed) > 0, true) << "outside of a pass";
        const std::string_view text = payloadForTest(message);
        HandlerResult result;
        seen_->handling.fetch_add(1, sync::kRelease);
        if (text == "stuck") {
            co_await sync::wait(seen_->gate);
        } else if (text == "timer") {
            co_await sync::wait(sync::Executor::current()->after(3'600'000));
        }
        result.reply = ReplyChain(text == "big" ? messageForTest(1, std::string(8'000'000, 'B'))
                                                : std::string(message.view()));
        co_return result;
    }
    sync::Task<HandlerResult> handleExhaust() override { co_return HandlerResult(); }

private:
    Seen* seen_;
};

class EchoFactory final : public MessageHandlerFactory {
public:
    explicit EchoFactory(Seen* seen) : seen_(seen) {}
    std::unique_ptr<MessageHandler> create(const PeerInfo&) override {
        std::lock_guard<std::mutex> lock(seen_->mutex);
        ++seen_->sessionsOn[sync::Executor::current()];
        return std::make_unique<EchoHandler>(seen_);
    }

private:
    Seen* seen_;
};

class Server : public ::testing::Test {
protected:
    void SetUp() override { start({}); }
    void start(ServerTransportOptions options) {
        options.port = 0;
        options.reactors = options.reactors == 0 ? 2 : options.reactors;
        options.passBegin = [this] {
            seen.passes.fetch_add(1, sync::kRelaxed);
            seen.openPasses.fetch_add(1, sync::kRelaxed);
        };
        options.passEnd = [this] { seen.openPasses.fetch_sub(1, sync::kRelaxed); };
        options.threadBegin = [this] { seen.threads.fetch_add(1, sync::kRelaxed); };
        options.threadEnd = [this] { seen.threads.fetch_sub(1, sync::kRelaxed); };
        auto started = ServerTransport::start(options, std::make_shared<EchoFactory>(&seen));
        ASSERT_TRUE(started.isOk()) << started.status().toString();
        server = std::move(started).value();
    }
    std::unique_ptr<Session> client() {
        ConnectOptions options;
        options.port = server->port();
        return std::move(connect(options)).value();
    }
    tcp::socket rawClient() {
        tcp::socket socket(context);
        socket.connect({asio::ip::address_v4::loopback(), server->port()});
        socket.set_option(tcp::no_delay(true));
        return socket;
    }
    static std::string readMessage(tcp::socket& socket, size_t bytes) {
        std::string out(bytes, '\0');
        asio::read(socket, asio::buffer(out));
        return out;
    }
    /// True when the server ends the connection without another byte.
    static bool isEnded(tcp::socket& socket) {
        char byte;
        boost::system::error_code error;
        return asio::read(socket, asio::buffer(&byte, 1), error) == 0 && error;
    }
    static void roundTrip(Session& session, const std::string& payload) {
        const std::string message = messageForTest(7, payload);
        ASSERT_TRUE(session.sinkMessage(ReplyChain(message)).isOk());
        StatusOr<Message> reply = session.sourceMessage();
        ASSERT_TRUE(reply.isOk()) << reply.status().toString();
        EXPECT_EQ(reply->view(), message);
    }
    /// Until the server has noticed; bounded by the test runner.
    template <typename F>
    static void waitUntil(F condition) {
        while (!condition()) {
            platform::yieldThread();
        }
    }

    Seen seen;  // outlives the server
    asio::io_context context;
    std::unique_ptr<ServerTransport> server;
};

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

TEST_F(Server, LengthLiesEndTheConnectionOnly) {
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
    waitUntil([&] { return seen.handlers.load(sync::kRelaxed) == kCount; });
    EXPECT_EQ(server->stats().current, kCount);
    {
        std::lock_guard<std::mutex> lock(seen.mutex);
        ASSERT_EQ(seen.sessionsOn.size(), 2u);
        for (const auto& [executor, count] : seen.sessionsOn) {
            EXPECT_EQ(count, static_cast<int>(kCount / 2)) << "dealt out evenly";
        }
    }
    for (size_t i = 0; i < kCount; i += 100) {
        roundTrip(*sessions[i], "awake");
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

TEST_F(Server, ExecutorsRunWhatOthersPost) {
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

TEST(Connect, SaysWhyItCannot) {
    ConnectOptions nobody;
    nobody.port = 1;
    EXPECT_EQ(connect(nobody).status().code(), Code::kUnavailable);
    ConnectOptions unknown;
    unknown.host = "no-such-host.invalid";
    EXPECT_EQ(connect(unknown).status().code(), Code::kUnavailable);
    ServerTransportOptions options;
    options.bindAddresses = {"localhost"};
    EXPECT_EQ(ServerTransport::start(options, nullptr).status().reason(), Reason::kBadValue);
}

}  // namespace
}  // namespace freshet::transport
