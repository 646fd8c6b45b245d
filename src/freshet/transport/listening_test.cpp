// SPDX-License-Identifier: Apache-2.0
/// Where the server listens and what it requires of clients: addresses, Unix sockets, TLS and plain
/// on one port, budgets before login, peers that leave, slow shutdowns.
#include "freshet/platform/folder_for_test.h"
#include "freshet/transport/session/first_bytes.h"
#include "freshet/transport/session/tls_for_test.h"
#include "freshet/transport/tcp/echo_for_test.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <future>

namespace freshet::transport {
namespace {

class Listening : public Server {
protected:
    ~Listening() override { server.reset(); }
    std::string socketPath() const {
        return folder_.path("mongodb-" + std::to_string(server->port()) + ".sock");
    }
    StatusOr<std::unique_ptr<Session>> dial(const std::string& host, bool withTls = false) {
        ConnectOptions options;
        options.host = host;
        options.port = server->port();
        options.tls = withTls ? CertificateForTest::get().client() : nullptr;
        return connect(options);
    }
    static ServerTransportOptions tlsOptions(TlsMode mode) {
        ServerTransportOptions options;
        options.tlsMode = mode;
        options.tls = CertificateForTest::get().server();
        return options;
    }
    PeerInfo lastPeer() {
        std::lock_guard<std::mutex> lock(seen.mutex);
        return seen.lastPeer;
    }

    const platform::FolderForTest folder_;
};

bool hasIpv6() {
    asio::io_context context;
    boost::system::error_code error;
    tcp::acceptor probe(context);
    probe.open(tcp::v6(), error);
    probe.bind({asio::ip::address_v6::loopback(), 0}, error);
    return !error;
}

TEST_F(Listening, UnixSocket) {
    ServerTransportOptions options;
    options.unixSocketPrefix = folder_.path();
    start(options);
    const std::string path = socketPath();
    struct stat found {};
    ASSERT_EQ(::lstat(path.c_str(), &found), 0);
    EXPECT_TRUE(S_ISSOCK(found.st_mode));
    EXPECT_EQ(found.st_mode & 0777, 0700u);
    EXPECT_EQ(server->addresses().back(), path);
    auto session = dial(path);
    ASSERT_TRUE(session.isOk()) << session.status().toString();
    roundTrip(**session, "by file");
    EXPECT_EQ(lastPeer().kind, "unix");
    EXPECT_TRUE(lastPeer().isLocal);
    EXPECT_EQ(lastPeer().remote, "anonymous unix socket");
    EXPECT_EQ(lastPeer().local, path);
    server->shutdown();
    EXPECT_NE(::lstat(path.c_str(), &found), 0) << "removed at the end";
}

TEST_F(Listening, AStaleSocketFileIsReplacedALiveOneIsNot) {
    const std::string path = folder_.path("given.sock");
    const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    ASSERT_EQ(::bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ::close(dead);  // its file stays
    ServerTransportOptions options;
    options.bindAddresses = {"127.0.0.1", path};
    start(options);
    auto session = dial(path);
    ASSERT_TRUE(session.isOk()) << session.status().toString();
    roundTrip(**session, "alive");
    options.port = 0;
    auto second = ServerTransport::start(options, std::make_shared<EchoFactory>(&seen));
    ASSERT_FALSE(second.isOk());
    EXPECT_EQ(second.status().code(), Code::kUnavailable);
    roundTrip(**session, "still alive");
}

TEST_F(Listening, AnotherFileAtTheSocketsPathIsKept) {
    const std::string path = folder_.path("precious");
    std::ofstream(path) << "data";
    ServerTransportOptions options;
    options.port = 0;
    options.bindAddresses = {"127.0.0.1", path};
    EXPECT_EQ(ServerTransport::start(options, nullptr).status().code(), Code::kIo);
    struct stat found {};
    EXPECT_EQ(::lstat(path.c_str(), &found), 0);
    ::unlink(path.c_str());
    options.bindAddresses = {"/tmp/" + std::string(200, 'l')};
    EXPECT_EQ(ServerTransport::start(options, nullptr).status().reason(), Reason::kBadValue);
}

TEST_F(Listening, NamesAreResolvedAndTheSameAddressIsTakenOnce) {
    ServerTransportOptions options;
    options.bindAddresses = {"localhost", "127.0.0.1"};
    start(options);
    EXPECT_EQ(server->addresses(),
              std::vector<std::string>{"127.0.0.1:" + std::to_string(server->port())});
    auto session = dial("127.0.0.1");
    ASSERT_TRUE(session.isOk());
    roundTrip(**session, "by name");
}

TEST_F(Listening, Ipv6) {
    if (!hasIpv6()) {
        GTEST_SKIP() << "this machine has no IPv6";
    }
    ServerTransportOptions options;
    options.bindAddresses = {"127.0.0.1", "::1"};
    start(options);
    for (const char* host : {"127.0.0.1", "::1"}) {
        auto session = dial(host);
        ASSERT_TRUE(session.isOk()) << host << session.status().toString();
        roundTrip(**session, "six");
        EXPECT_TRUE(lastPeer().isLocal);
    }
    EXPECT_EQ(lastPeer().remote.substr(0, 6), "[::1]:");
    options.bindAll = options.ipv6 = true;
    start(options);
    for (const char* host : {"127.0.0.1", "::1"}) {
        auto session = dial(host);
        ASSERT_TRUE(session.isOk()) << host << session.status().toString();
        roundTrip(**session, "all");
    }
}

TEST_F(Listening, TheFileLimitIsRaisedToTheHardLimit) {
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_EQ(limit.rlim_cur, limit.rlim_max);
}

TEST_F(Listening, TlsAndPlainOnOnePort) {
    for (TlsMode mode : {TlsMode::kAllow, TlsMode::kPrefer}) {
        start(tlsOptions(mode));
        auto plain = dial("127.0.0.1"), tls = dial("127.0.0.1", true);
        ASSERT_TRUE(plain.isOk() && tls.isOk()) << tls.status().toString();
        roundTrip(**tls, "secret");
        EXPECT_TRUE(lastPeer().isTls);
        roundTrip(**plain, "open");
        EXPECT_FALSE(lastPeer().isTls);
        roundTrip(**tls, std::string(3'000'000, 's'));
    }
}

TEST_F(Listening, RequiredTlsEndsPlainConnections) {
    start(tlsOptions(TlsMode::kRequire));
    tcp::socket plain = rawClient();
    asio::write(plain, asio::buffer(messageForTest(1, "hello")));
    EXPECT_TRUE(isEnded(plain));
    auto tls = dial("127.0.0.1", true);
    ASSERT_TRUE(tls.isOk()) << tls.status().toString();
    roundTrip(**tls, "secret");
    EXPECT_EQ(seen.handlers.load(sync::kRelaxed), 1u) << "the plain one never had a handler";
}

TEST_F(Listening, DisabledTlsEndsConnectionsThatBeginIt) {
    auto tls = dial("127.0.0.1", true);
    EXPECT_FALSE(tls.isOk());
    auto plain = dial("127.0.0.1");
    roundTrip(**plain, "others go on");
}

TEST_F(Listening, AMessageThatLooksLikeTlsAtFirstIsAMessage) {
    start(tlsOptions(TlsMode::kAllow));
    tcp::socket socket = rawClient();
    const std::string message = messageForTest(0x0116, std::string(0x0316 - 16, 'x'));
    ASSERT_EQ(message.substr(0, 2), "\x16\x03");
    for (char byte : message.substr(0, 20)) {
        asio::write(socket, asio::buffer(&byte, 1));
    }
    asio::write(socket, asio::buffer(message.substr(20)));
    EXPECT_EQ(readMessage(socket, message.size()), message);
}

TEST_F(Listening, BrokenTlsEndsTheConnectionOnly) {
    start(tlsOptions(TlsMode::kAllow));
    auto good = dial("127.0.0.1", true);
    ASSERT_TRUE(good.isOk());
    const std::string hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
    for (const std::string& garbage :
         {hello + std::string(600, '\0'),
          hello + std::string(600, '\xff'),
          std::string("\x16\x03\x03\xff\xff\x01", 6) + std::string(70'000, 'z')}) {
        tcp::socket socket = rawClient();
        boost::system::error_code ignored;
        asio::write(socket, asio::buffer(garbage), ignored);
        std::string alert(100'000, '\0');
        asio::read(socket, asio::buffer(alert), ignored);
        EXPECT_TRUE(ignored) << "ended";
        roundTrip(**good, "still here");
    }
}

TEST_F(Listening, HalfOpenHandshakesAreLimitedInTimeAndNumber) {
    ServerTransportOptions options = tlsOptions(TlsMode::kAllow);
    options.reactors = 1;
    options.tlsHandshakesMax = 2;
    options.tlsHandshakeMillisMax = 100;
    start(options);
    const std::string half("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 and no more", 23);
    std::vector<tcp::socket> sockets;
    for (int i = 0; i < 3; ++i) {
        sockets.push_back(rawClient());
        asio::write(sockets.back(), asio::buffer(half));
    }
    for (tcp::socket& socket : sockets) {
        EXPECT_TRUE(isEnded(socket));
    }
    auto later = dial("127.0.0.1", true);
    ASSERT_TRUE(later.isOk()) << "the places are free again: " << later.status().toString();
    roundTrip(**later, "x");
}

TEST_F(Listening, TlsIsReplacedForNewConnections) {
    start(tlsOptions(TlsMode::kAllow));
    auto before = dial("127.0.0.1", true);
    ASSERT_TRUE(before.isOk());
    security::TlsOptions options;
    options.certificateKeyFile = CertificateForTest::get().path();
    options.disabledProtocols = {"TLS1_3"};
    auto context = security::TlsContext::make(security::TlsSide::kServer, options);
    ASSERT_TRUE(context.isOk());
    server->replaceTls(*context);
    auto after = dial("127.0.0.1", true);
    ASSERT_TRUE(after.isOk());
    roundTrip(**before, "old");
    roundTrip(**after, "new");
}

TEST_F(Listening, MessagesBeforeLoginAreShort) {
    seen.bytesMax.store(4'096, sync::kRelaxed);
    start({});
    auto session = dial("127.0.0.1");
    roundTrip(**session, std::string(4'080, 'a'));
    tcp::socket socket = rawClient();
    std::string header = messageForTest(1, "");
    storeLe(header.data(), int32_t{4'097});
    asio::write(socket, asio::buffer(header));
    EXPECT_TRUE(isEnded(socket)) << "before anything is set aside for it";
    roundTrip(**session, "others go on");
    seen.bytesMax.store(wire::kMessageBytesMax, sync::kRelaxed);
    roundTrip(**session, "the limit of the round before");
    roundTrip(**session, std::string(100'000, 'b'));
}

TEST_F(Listening, ConnectionsBeforeLoginShareABudget) {
    seen.bytesMax.store(64 * 1024, sync::kRelaxed);
    ServerTransportOptions options;
    options.reactors = 1;
    options.limitedBytesMax = 200 * 1024;
    start(options);
    auto good = dial("127.0.0.1");
    const std::string message = messageForTest(1, std::string(64 * 1024 - 16, 'c'));
    std::vector<tcp::socket> sockets;
    for (int i = 0; i < 50; ++i) {
        sockets.push_back(rawClient());
        boost::system::error_code ignored;
        asio::write(sockets.back(), asio::buffer(message.data(), message.size() - 1), ignored);
        roundTrip(**good, "whole messages are always served");
    }
    // 50 times 64 KiB do not fit: most have been ended.
    waitUntil([&] { return server->stats().current < 20; });
    sockets.clear();
    waitUntil([&] { return server->stats().current == 1; });
    tcp::socket socket = rawClient();
    asio::write(socket, asio::buffer(message));
    EXPECT_EQ(readMessage(socket, message.size()), message) << "and the budget is free again";
}

TEST_F(Listening, AHandlerHearsThatItsPeerHasLeft) {
    for (const std::string more : {"", "pipelined"}) {
        const uint32_t before = seen.peersGone.load(sync::kRelaxed);
        auto session = dial("127.0.0.1");
        ASSERT_TRUE((*session)->sinkMessage(ReplyChain(messageForTest(1, "alone"))).isOk());
        if (!more.empty()) {
            ASSERT_TRUE((*session)->sinkMessage(ReplyChain(messageForTest(2, more))).isOk());
        }
        session->reset();
        waitUntil([&] { return seen.peersGone.load(sync::kRelaxed) == before + 1; });
        waitUntil([&] { return server->stats().current == 0; });
    }
}

TEST_F(Listening, AWatchedHandlerGoesOnServing) {
    auto session = dial("127.0.0.1");
    ASSERT_TRUE((*session)->sinkMessage(ReplyChain(messageForTest(1, "stuck"))).isOk());
    // Long enough for the second look; a shorter time would only weaken the test.
    platform::sleepMillis(1'300);
    seen.gate.complete();
    ASSERT_TRUE((*session)->sourceMessage().isOk());
    for (int i = 0; i < 3; ++i) {
        roundTrip(**session, "the wait for input is taken over");
    }
    EXPECT_EQ(seen.peersGone.load(sync::kRelaxed), 0u);
    ASSERT_TRUE((*session)->sinkMessage(ReplyChain(messageForTest(1, "alone"))).isOk());
    session->reset();
    waitUntil([&] { return seen.peersGone.load(sync::kRelaxed) == 1; });
}

TEST_F(Listening, ShutdownHurriesHandlers) {
    auto session = dial("127.0.0.1");
    ASSERT_TRUE((*session)->sinkMessage(ReplyChain(messageForTest(1, "alone"))).isOk());
    waitUntil([&] { return seen.handling.load(sync::kAcquire) == 1; });
    server->shutdown();
    EXPECT_EQ(seen.peersGone.load(sync::kRelaxed), 1u);
}

TEST_F(Listening, ShutdownReportsHandlersThatTakeTooLong) {
    ServerTransportOptions options;
    options.shutdownMillisMax = 10;
    sync::Atomic<uint64_t> overdue{0};
    options.shutdownOverdue = [&](uint64_t sessions) {
        overdue.store(sessions, sync::kRelaxed);
        seen.gate.complete();
    };
    start(options);
    auto session = dial("127.0.0.1");
    ASSERT_TRUE((*session)->sinkMessage(ReplyChain(messageForTest(1, "stuck"))).isOk());
    waitUntil([&] { return seen.handling.load(sync::kAcquire) == 1; });
    server->shutdown();
    EXPECT_EQ(overdue.load(sync::kRelaxed), 1u);
}

TEST(FirstBytes, AreJudgedByAsFewAsPossible) {
    const std::string record("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 random", 18);
    EXPECT_EQ(judgeFirstBytes(""), FirstBytes::kTooFew);
    EXPECT_EQ(judgeFirstBytes("\x17"), FirstBytes::kPlain);
    EXPECT_EQ(judgeFirstBytes("\x16\x02"), FirstBytes::kPlain);
    for (size_t bytes = 1; bytes < 16; ++bytes) {
        EXPECT_EQ(judgeFirstBytes(record.substr(0, bytes)), FirstBytes::kTooFew) << bytes;
    }
    EXPECT_EQ(judgeFirstBytes(record), FirstBytes::kTls);
    for (int32_t opCode : {2013, 2004, 2012}) {
        std::string message = record;
        storeLe(message.data() + 12, opCode);
        EXPECT_EQ(judgeFirstBytes(message), FirstBytes::kPlain);
    }
}

}  // namespace
}  // namespace freshet::transport
