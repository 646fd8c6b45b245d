// SPDX-License-Identifier: Apache-2.0
/// What every kind of Session must do. One end is served by a reactor (the async pair of calls),
/// the other blocks on the test's thread.
#include "freshet/testing/net/sim_verbs.h"
#include "freshet/transport/connector.h"
#include "freshet/transport/loopback/loopback.h"
#include "freshet/transport/rdma/client_session.h"
#include "freshet/transport/rdma/server_session.h"
#include "freshet/transport/session/step_executor_for_test.h"
#include "freshet/transport/session/tls_for_test.h"
#include "freshet/transport/slabs/slab_value_for_test.h"
#include "freshet/transport/tcp/tcp_session.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <functional>
#include <future>
#include <tuple>

namespace freshet::transport {
namespace {

using boost::asio::ip::tcp;

struct Ends {
    std::unique_ptr<Session> async;  // lives on the reactor
    std::unique_ptr<Session> blocking;
};

/// The address of an RDMA device of this machine, or null. buildscripts/rdma_lab makes one.
const char* deviceAddress() {
    return std::getenv("FRESHET_RDMA_ADDRESS");
}

/// Two connected descriptors.
std::pair<int, int> socketsOn(const char* address) {
    boost::asio::io_context context;
    tcp::acceptor acceptor(context, {boost::asio::ip::make_address(address), 0});
    tcp::socket one(context), other(context);
    one.connect(acceptor.local_endpoint());
    acceptor.accept(other);
    return {one.release(), other.release()};
}

std::pair<int, int> connectedSockets() {
    return socketsOn("127.0.0.1");
}
std::pair<int, int> deviceSockets() {
    return socketsOn(deviceAddress());
}

std::pair<int, int> connectedUnixSockets() {
    int both[2];
    invariant(::socketpair(AF_UNIX, SOCK_STREAM, 0, both) == 0);
    return {both[0], both[1]};
}

std::shared_ptr<verbs::Verbs> simVerbs() {
    return std::make_shared<testing::SimVerbs>();
}
std::shared_ptr<verbs::Verbs> deviceVerbs() {
    return std::move(verbs::systemVerbs()).value();
}

struct Kind {
    const char* name;
    const char* peerKind;
    std::pair<int, int> (*sockets)();  // null: loopback
    bool isTls;
    std::shared_ptr<verbs::Verbs> (*verbs)() = nullptr;  // of RDMA
    bool isCall = false;                                 // without sockets
    bool isOneSlot = false;                              // in place of a ring
};

const TlsPolicy& policy() {
    static const TlsPolicy kBoth{TlsMode::kAllow, CertificateForTest::get().server(), 30'000, 8};
    return kBoth;
}

class SessionContract : public ::testing::TestWithParam<Kind> {
protected:
    void SetUp() override {
        if (isOnDevice() && deviceAddress() == nullptr) {
            GTEST_SKIP() << "FRESHET_RDMA_ADDRESS names no device";
        }
        reactor_ = std::move(Reactor::create(0, {})).value();
        reactor_->blocks().freeBytesMax = Admission::kFreeBytesMax;
        reactor_->memory().use(&admission_, 1);
        reactor_->start();
        if (GetParam().isCall) {
            call();
            return;
        }
        if (GetParam().sockets == nullptr) {
            std::tie(ends_.async, ends_.blocking) = makeLoopbackPair();
            return;
        }
        const auto [one, other] = GetParam().sockets();
        run([this, socket = one]() -> sync::Task<void> {
            ends_.async =
                std::move(makeReactorSession(*reactor_, socket, nextConnectionId(), policy()))
                    .value();
            co_return;
        });
        if (GetParam().verbs != nullptr) {
            moveToRdma(other);
            return;
        }
        if (!GetParam().isTls) {
            ends_.blocking = std::move(makeBlockingSession(other, nextConnectionId())).value();
            return;
        }
        // The served end makes the TLS handshake when it is first asked for a message.
        auto echo = startEcho(1);
        auto blocking = makeBlockingSession(
            other, nextConnectionId(), CertificateForTest::get().client(), "localhost", 30'000);
        ASSERT_TRUE(blocking.isOk()) << blocking.status().toString();
        ends_.blocking = std::move(*blocking);
        ASSERT_TRUE(this->blocking().sinkMessage(ReplyChain(messageForTest(1, "first"))).isOk());
        ASSERT_TRUE(this->blocking().sourceMessage().isOk());
        echo.wait();
    }
    static bool isOnDevice() { return GetParam().verbs == deviceVerbs; }
    void TearDown() override {
        if (reactor_ == nullptr) {
            return;  // skipped
        }
        run([this]() -> sync::Task<void> {
            ends_.async.reset();
            co_return;
        });
        if (hub_ != nullptr) {
            sync::WaitToken emptied;
            run([&]() -> sync::Task<void> {
                emptied = hub_->emptied();
                co_return;
            });
            reactor_->endTimers();
            sync::blockOn(emptied);
        } else {
            reactor_->endTimers();
        }
        reactor_->stop();
        reactor_->join();
        hub_.reset();
        EXPECT_EQ(pool_->used(), 0u);
    }

    RdmaOptions useHub() {
        RdmaOptions options;
        options.verbs = GetParam().verbs();
        options.oneSlot = GetParam().isOneSlot;
        options.slabs = &slabs_;
        options.spinMicrosMax = 0;  // there may be fewer cores than threads
        hub_ = std::make_unique<rdma::Hub>(*reactor_, options.verbs, rdma::hubOptions(options, 1));
        return options;
    }
    void call() {
        constexpr uint16_t kPort = 4'421;
        const std::string address = isOnDevice() ? deviceAddress() : "127.0.0.1";
        ConnectOptions asClient;
        asClient.rdma = useHub();
        asClient.byCall = true;
        asClient.host = address;
        asClient.port = kPort;
        auto listener = std::move(asClient.rdma.verbs->listen(address, kPort)).value();
        auto calling = std::async(std::launch::async, [&] { return connect(asClient); });
        pollfd rings{listener->fd(), POLLIN, 0};
        ASSERT_EQ(::poll(&rings, 1, -1), 1);
        run([&]() -> sync::Task<void> {
            auto taken = rdma::takeCall(*hub_, std::move(*listener->next()), nextConnectionId());
            ends_.async = std::move(taken).value();
            co_return;
        });
        ends_.blocking = std::move(calling.get()).value();
    }
    /// Both ends move to RDMA over adapters in memory. The first message shows that they have.
    void moveToRdma(int socket) {
        ends_.blocking.reset();
        const RdmaOptions options = useHub();
        run([this]() -> sync::Task<void> {
            ends_.async = rdma::makeServerSession(*hub_, std::move(ends_.async));
            co_return;
        });
        auto echo = startEcho(1);
        const int duplicate = ::dup(socket);
        auto tcp = std::move(makeBlockingSession(socket, nextConnectionId())).value();
        ConnectOptions asClient;
        asClient.rdma = options;
        auto moved = rdma::moveClientSession(std::move(tcp), duplicate, asClient);
        ASSERT_TRUE(moved.isOk()) << moved.status().toString();
        ends_.blocking = std::move(*moved);
        ASSERT_TRUE(blocking().sinkMessage(ReplyChain(messageForTest(1, "first"))).isOk());
        ASSERT_TRUE(blocking().sourceMessage().isOk());
        echo.wait();
    }

    /// Starts the coroutine on the reactor. The future is ready when it has ended.
    std::future<void> start(std::function<sync::Task<void>()> body) {
        auto done = std::make_shared<std::promise<void>>();
        std::future<void> future = done->get_future();
        sync::spawn(*reactor_, runBody(std::move(body), done));
        return future;
    }
    void run(std::function<sync::Task<void>()> body) { start(std::move(body)).wait(); }
    static sync::Task<void> runBody(std::function<sync::Task<void>()> body,
                                    std::shared_ptr<std::promise<void>> done) {
        co_await body();
        done->set_value();
    }

    /// The same; most of a large one lies in a slab.
    ReplyChain answerTo(const std::string& message) {
        constexpr size_t kLittle = 50;
        return message.size() < 20'000
                   ? ReplyChain(message)
                   : chainWithValue(slabs_, message, kLittle, message.size() - 2 * kLittle);
    }
    /// Receives `count` messages and sends each back.
    std::future<void> startEcho(int count) {
        return start([this, count]() -> sync::Task<void> {
            for (int i = 0; i < count; ++i) {
                StatusOr<Message> message = co_await async().asyncSourceMessage();
                EXPECT_TRUE(message.isOk()) << message.status().toString();
                if (!message.isOk()) {
                    co_return;
                }
                Status sent =
                    co_await async().asyncSinkMessage(answerTo(std::string(message->view())));
                EXPECT_TRUE(sent.isOk()) << sent.toString();
            }
        });
    }
    std::future<void> startReceiving(Status* out) {
        return start([this, out]() -> sync::Task<void> {
            StatusOr<Message> message = co_await async().asyncSourceMessage();
            *out = message.isOk() ? Status::ok() : message.status();
        });
    }

    Session& async() { return *ends_.async; }
    Session& blocking() { return *ends_.blocking; }

    platform::Slabs slabs_;
    const std::shared_ptr<sync::MemoryPool> pool_ =
        std::make_shared<sync::MemoryPool>(uint64_t{128} << 20);
    Admission admission_{pool_, 3'600'000};
    std::unique_ptr<Reactor> reactor_;
    std::unique_ptr<rdma::Hub> hub_;  // of the RDMA kind
    Ends ends_;
};

TEST_P(SessionContract, MessagesOfAllSizesComeBackWhole) {
    const std::vector<size_t> sizes = {0, 1, 100, 4079, 4080, 4081, 65'520, 65'521, 1'000'000};
    auto echo = startEcho(static_cast<int>(sizes.size()));
    for (size_t size : sizes) {
        const std::string message = messageForTest(1, std::string(size, 's'));
        ASSERT_TRUE(blocking().sinkMessage(ReplyChain(message)).isOk());
        StatusOr<Message> reply = blocking().sourceMessage();
        ASSERT_TRUE(reply.isOk()) << reply.status().toString();
        EXPECT_EQ(reply->view(), message);
    }
    echo.wait();
}

TEST_P(SessionContract, LargestMessage) {
    auto echo = startEcho(1);
    const std::string message =
        messageForTest(1, std::string(wire::kMessageBytesMax - wire::kHeaderBytes, 'L'));
    ASSERT_TRUE(blocking().sinkMessage(ReplyChain(message)).isOk());
    StatusOr<Message> reply = blocking().sourceMessage();
    ASSERT_TRUE(reply.isOk()) << reply.status().toString();
    EXPECT_TRUE(reply->view() == message);
    echo.wait();
}

TEST_P(SessionContract, ChainsAreSentInOrder) {
    const std::string message = messageForTest(1, std::string(500'000, 'c') + "end");
    ReplyChain chain;
    const size_t piece = message.size() / (ReplyChain::kSegmentsMax - 1);
    for (size_t at = 0; at < message.size(); at += piece) {
        chain.append(message.substr(at, piece));
    }
    EXPECT_EQ(chain.segments(), ReplyChain::kSegmentsMax);
    auto echo = startEcho(1);
    ASSERT_TRUE(blocking().sinkMessage(std::move(chain)).isOk());
    StatusOr<Message> reply = blocking().sourceMessage();
    ASSERT_TRUE(reply.isOk());
    EXPECT_EQ(reply->view(), message);
    echo.wait();
}

TEST_P(SessionContract, SeveralMessagesAtOnceKeepTheirOrder) {
    auto echo = startEcho(50);
    const auto writeAll = [this] {
        for (int i = 0; i < 50; ++i) {
            EXPECT_TRUE(blocking().sinkMessage(ReplyChain(messageForTest(i, "pipelined"))).isOk());
        }
    };
    // TLS ties the two directions together, so a blocking session with TLS is for one thread. A
    // loopback holds few messages, so its writer must have a thread of its own.
    std::future<void> writer =
        std::async(GetParam().isTls ? std::launch::deferred : std::launch::async, writeAll);
    if (GetParam().isTls) {
        writer.wait();
    }
    for (int i = 0; i < 50; ++i) {
        StatusOr<Message> reply = blocking().sourceMessage();
        ASSERT_TRUE(reply.isOk());
        EXPECT_EQ(loadLe<int32_t>(reply->view().data() + 4), i);
    }
    writer.wait();
    echo.wait();
}

TEST_P(SessionContract, ASlowReaderHoldsTheWriterBack) {
    constexpr int kCount = 40;
    const std::string message = messageForTest(1, std::string(1'000'000, 'b'));
    sync::Atomic<int> sent{0};
    auto sender = start([&]() -> sync::Task<void> {
        for (int i = 0; i < kCount; ++i) {
            EXPECT_TRUE((co_await async().asyncSinkMessage(ReplyChain(message))).isOk());
            sent.fetch_add(1, sync::kRelaxed);
        }
    });
    for (int i = 0; i < kCount; ++i) {
        StatusOr<Message> received = blocking().sourceMessage();
        ASSERT_TRUE(received.isOk());
        ASSERT_EQ(received->view().size(), message.size());
        // What the system or the pipe may hold is far less than all.
        EXPECT_LE(sent.load(sync::kRelaxed), i + 20);
    }
    sender.wait();
}

TEST_P(SessionContract, LengthsOutsideTheLimitsAreProtocolErrors) {
    for (int32_t lie : {0, 15, -1, INT32_MIN, 48'000'001, INT32_MAX}) {
        TearDown();
        SetUp();
        std::string message = messageForTest(1, "x");
        storeLe(message.data(), lie);
        ASSERT_TRUE(blocking().sinkMessage(ReplyChain(message)).isOk());
        Status received;
        startReceiving(&received).wait();
        EXPECT_EQ(received.code(), Code::kInvalid) << lie;
        EXPECT_EQ(received.reason(), Reason::kProtocolError) << lie;
    }
}

TEST_P(SessionContract, PeerThatLeavesBetweenMessagesIsCancelled) {
    Status received;
    auto receiving = startReceiving(&received);
    ends_.blocking.reset();
    receiving.wait();
    EXPECT_EQ(received.code(), Code::kCancelled);
}

TEST_P(SessionContract, TheBlockingEndSeesThePeerLeave) {
    run([this]() -> sync::Task<void> {
        async().close();
        co_return;
    });
    EXPECT_EQ(blocking().sourceMessage().status().code(), Code::kCancelled);
}

TEST_P(SessionContract, CloseFromAnotherThreadCancelsReceiving) {
    Status received;
    auto receiving = startReceiving(&received);
    async().close();
    async().close();
    receiving.wait();
    EXPECT_EQ(received.code(), Code::kCancelled);
    startReceiving(&received).wait();
    EXPECT_EQ(received.code(), Code::kCancelled) << "and what comes after it";
}

TEST_P(SessionContract, CloseFromAnotherThreadCancelsSending) {
    const std::string message = messageForTest(1, std::string(1'000'000, 'b'));
    Status last;
    auto sending = start([&]() -> sync::Task<void> {
        while (last.isOk()) {
            last = co_await async().asyncSinkMessage(ReplyChain(message));
        }
    });
    ASSERT_TRUE(blocking().sourceMessage().isOk());
    async().close();
    sending.wait();
    EXPECT_EQ(last.code(), Code::kCancelled);
}

TEST_P(SessionContract, CloseWakesTheBlockedEnd) {
    auto receiving = std::async(std::launch::async, [this] { return blocking().sourceMessage(); });
    blocking().close();
    EXPECT_EQ(receiving.get().status().code(), Code::kCancelled);
    EXPECT_EQ(blocking().sinkMessage(ReplyChain(messageForTest(1, "x"))).code(), Code::kCancelled);
}

/// The server may be slow: what was sent before the end arrives before the end.
TEST_P(SessionContract, WhatWasSentBeforeTheEndArrives) {
    const int kMessages = GetParam().isOneSlot ? 1 : 3;  // so many need no reader to be sent
    const std::string payload(20'000, 'w');
    for (int i = 0; i < kMessages; ++i) {
        ASSERT_TRUE(blocking().sinkMessage(ReplyChain(messageForTest(i, payload))).isOk());
    }
    blocking().close();
    Status last;
    int came = 0;
    run([&]() -> sync::Task<void> {
        while (last.isOk()) {
            StatusOr<Message> message = co_await async().asyncSourceMessage();
            last = message.isOk() ? Status::ok() : message.status();
            came += last.isOk() ? 1 : 0;
        }
    });
    EXPECT_EQ(came, kMessages);
    EXPECT_EQ(last.code(), Code::kCancelled);
}

TEST_P(SessionContract, OneThreadMaySourceWhileAnotherSinks) {
    if (GetParam().isTls) {
        GTEST_SKIP() << "not with TLS";
    }
    constexpr int kMessages = 40;
    const std::string payload(100'000, 'd');  // more than rings and buffers hold
    auto echo = startEcho(kMessages);
    auto received = std::async(std::launch::async, [&] {
        for (int i = 0; i < kMessages; ++i) {
            StatusOr<Message> message = blocking().sourceMessage();
            if (!message.isOk() || payloadForTest(*message) != payload) {
                return i;
            }
        }
        return kMessages;
    });
    for (int i = 0; i < kMessages; ++i) {
        ASSERT_TRUE(blocking().sinkMessage(ReplyChain(messageForTest(i, payload))).isOk());
    }
    EXPECT_EQ(received.get(), kMessages);
    echo.wait();
}

TEST_P(SessionContract, ReportsItsPeerAndStats) {
    const SessionStats before = blocking().stats();
    auto echo = startEcho(2);
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(blocking().sinkMessage(ReplyChain(messageForTest(1, "12345678"))).isOk());
        ASSERT_TRUE(blocking().sourceMessage().isOk());
    }
    echo.wait();
    const SessionStats stats = blocking().stats();
    EXPECT_EQ(stats.messagesIn - before.messagesIn, 2u);
    EXPECT_EQ(stats.messagesOut - before.messagesOut, 2u);
    if (GetParam().isTls) {  // what went over the wire
        EXPECT_GT(stats.bytesIn - before.bytesIn, 48u);
        EXPECT_GT(stats.bytesOut - before.bytesOut, 48u);
    } else {
        EXPECT_EQ(stats.bytesIn - before.bytesIn, 48u);
        EXPECT_EQ(stats.bytesOut - before.bytesOut, 48u);
    }
    EXPECT_EQ(async().peer().kind, GetParam().peerKind);
    EXPECT_EQ(async().peer().isTls, GetParam().isTls);
    EXPECT_TRUE(async().peer().isLocal || GetParam().sockets == nullptr || isOnDevice());
    EXPECT_NE(async().peer().connectionId, blocking().peer().connectionId);
    EXPECT_EQ(async().peer().remote, blocking().peer().local);
}

TEST_P(SessionContract, MessagesOverTheLimitAreRefused) {
    run([this]() -> sync::Task<void> {
        async().setMessageBytesMax(1'000);
        co_return;
    });
    auto echo = startEcho(1);
    ASSERT_TRUE(
        blocking().sinkMessage(ReplyChain(messageForTest(1, std::string(984, 'a')))).isOk());
    ASSERT_TRUE(blocking().sourceMessage().isOk());
    echo.wait();
    Status received;
    auto receiving = startReceiving(&received);
    ASSERT_TRUE(
        blocking().sinkMessage(ReplyChain(messageForTest(1, std::string(985, 'b')))).isOk());
    receiving.wait();
    EXPECT_EQ(received.reason(), Reason::kProtocolError);
}

TEST_P(SessionContract, ALongMessageWaitsForRoomAndHoldsIt) {
    if (GetParam().sockets == nullptr && !GetParam().isCall) {
        GTEST_SKIP() << "loopback moves what is in memory already";
    }
    sync::MemoryHold all(pool_.get());
    all.resize(pool_->bytesMax());
    const std::string message = messageForTest(1, std::string(3'000'000, 'r'));
    auto sending =
        std::async(std::launch::async, [&] { return blocking().sinkMessage(ReplyChain(message)); });
    uint64_t heldMeanwhile = 0;
    bool isWhole = false;
    auto receiving = start([&]() -> sync::Task<void> {
        StatusOr<Message> came = co_await async().asyncSourceMessage();
        isWhole = came.isOk() && came->view() == message;
        heldMeanwhile = pool_->used();
    });
    EXPECT_EQ(receiving.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    all.release();
    receiving.wait();
    EXPECT_TRUE(sending.get().isOk());
    EXPECT_TRUE(isWhole);
    EXPECT_EQ(heldMeanwhile,
              message.size() / sync::MemoryHold::kUnitBytes * sync::MemoryHold::kUnitBytes);
}

TEST_P(SessionContract, TheEndOfTheSessionEndsTheWaitForRoom) {
    if (GetParam().sockets == nullptr && !GetParam().isCall) {
        GTEST_SKIP() << "loopback moves what is in memory already";
    }
    sync::MemoryHold all(pool_.get());
    all.resize(pool_->bytesMax());
    const std::string message = messageForTest(1, std::string(3'000'000, 'e'));
    auto sending =
        std::async(std::launch::async, [&] { return blocking().sinkMessage(ReplyChain(message)); });
    Status received;
    auto receiving = startReceiving(&received);
    EXPECT_EQ(receiving.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    async().close();
    receiving.wait();
    EXPECT_EQ(received.code(), Code::kCancelled);
    blocking().close();
    (void)sending.get();
}

INSTANTIATE_TEST_SUITE_P(
    Kinds,
    SessionContract,
    ::testing::Values(Kind{"tcp", "tcp", connectedSockets, false},
                      Kind{"unix", "unix", connectedUnixSockets, false},
                      Kind{"tls", "tcp", connectedSockets, true},
                      Kind{"unixtls", "unix", connectedUnixSockets, true},
                      Kind{"loopback", "loopback", nullptr, false},
                      Kind{"rdma", "rdma", connectedSockets, false, simVerbs},
                      Kind{"call", "rdma", nullptr, false, simVerbs, true},
                      Kind{"oneslot", "rdma", connectedSockets, false, simVerbs, false, true},
                      Kind{"oneslotcall", "rdma", nullptr, false, simVerbs, true, true},
                      Kind{"device", "rdma", deviceSockets, false, deviceVerbs},
                      Kind{"deviceoneslot", "rdma", deviceSockets, false, deviceVerbs, false, true},
                      Kind{"devicecall", "rdma", nullptr, false, deviceVerbs, true}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace freshet::transport
