// SPDX-License-Identifier: Apache-2.0
/// A proxy between real sockets and adapters in memory, with a client as the driver.
#include "freshet/client/scripted_server.h"
#include "freshet/platform/thread.h"
#include "freshet/proxy/options.h"
#include "freshet/testing/net/sim_verbs.h"
#include "freshet/testing/sim/seed.h"
#include "freshet/transport/connector.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

namespace freshet::proxy {
namespace {

using client::Connection;
using client::ConnectionString;
using client::ScriptedServer;

size_t openDescriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<size_t>(std::distance(begin(all), end(all)));
}

/// Bounded by the test runner.
template <typename F>
void waitUntil(F condition) {
    while (!condition()) {
        platform::yieldThread();
    }
}

/// Sends the request back; hangs up when asked to.
std::string mirror(const wire::Request& request) {
    return request.body.has("hangUp")
               ? std::string()
               : bson::Builder().add("ok", 1).add("got", request.body).finish();
}

class ProxyTest : public ::testing::Test {
protected:
    void serve(std::shared_ptr<transport::verbs::Verbs> verbs,
               std::vector<std::string> compressors = {}) {
        server_ = std::make_unique<ScriptedServer>(
            mirror, 0, std::move(compressors), ScriptedServer::Onlooker{}, std::move(verbs));
    }
    ProxyOptions optionsFor(std::shared_ptr<transport::verbs::Verbs> verbs) {
        ProxyOptions options;
        options.listenPort = 0;
        options.serverHost = "127.0.0.1";
        options.serverPort = server_->where().port;
        options.verbs = std::move(verbs);
        return options;
    }
    void start(const ProxyOptions& options) {
        auto started = Proxy::start(options);
        ASSERT_TRUE(started.isOk()) << started.status().toString();
        proxy_ = std::move(*started);
    }
    void startBoth() {
        serve(sim_);
        start(optionsFor(sim_));
    }
    ConnectionString where() const {
        ConnectionString out;
        out.port = proxy_->port();
        return out;
    }
    std::unique_ptr<Connection> driver() {
        auto opened = Connection::open(where());
        EXPECT_TRUE(opened.isOk()) << opened.status().toString();
        return opened.isOk() ? std::move(*opened) : nullptr;
    }
    static Status say(Connection& connection, const std::string& text) {
        const std::string command = bson::Builder().add("say", text).finish();
        FRESHET_ASSIGN_OR_RETURN(bson::OwnedDocument reply,
                                 connection.run("shop", bson::Document(command)));
        EXPECT_EQ(reply.view().findPath("got.say").stringValue(), text);
        return Status::ok();
    }
    static Status hangUp(Connection& connection) {
        const std::string command = bson::Builder().add("hangUp", 1).finish();
        return connection.run("shop", bson::Document(command)).status();
    }
    void expectNothingLeft() {
        waitUntil([&] { return proxy_->stats().current == 0; });
        waitUntil([&] { return sim_->counts().queuePairs == 0; });
    }

    const std::shared_ptr<testing::SimVerbs> sim_ = std::make_shared<testing::SimVerbs>();
    std::unique_ptr<ScriptedServer> server_;
    std::unique_ptr<Proxy> proxy_;
};

TEST_F(ProxyTest, DriversWithoutRdmaAreCarriedOverIt) {
    startBoth();
    auto one = driver(), other = driver();
    for (const size_t bytes : {1u, 5'000u, 1'000'000u, 16'000'000u}) {
        ASSERT_TRUE(say(*one, std::string(bytes, 'x')).isOk());
        ASSERT_TRUE(say(*other, std::string(bytes, 'y')).isOk());
    }
    EXPECT_EQ(proxy_->stats().overRdma, 2u);
    EXPECT_EQ(proxy_->stats().overTcp, 0u);
    EXPECT_EQ(proxy_->stats().current, 2u);
    one.reset();
    other.reset();
    expectNothingLeft();
}

TEST_F(ProxyTest, CompressionIsNegotiatedThroughIt) {
    serve(sim_, {"zstd"});
    start(optionsFor(sim_));
    ConnectionString packed = where();
    packed.compressors = {"zstd"};
    auto opened = Connection::open(packed);
    ASSERT_TRUE(opened.isOk()) << opened.status().toString();
    EXPECT_TRUE((*opened)->hello().has("compression"));
    ASSERT_TRUE(say(**opened, std::string(100'000, 'z')).isOk());
}

TEST_F(ProxyTest, MessagesDoNotWaitForEachOther) {
    startBoth();
    transport::ConnectOptions raw;
    raw.port = proxy_->port();
    auto session = std::move(transport::connect(raw)).value();
    constexpr int kMessages = 5;
    const std::string command = bson::Builder().add("say", "so").add("$db", "shop").finish();
    for (int i = 1; i <= kMessages; ++i) {
        std::string message;
        wire::appendOpMsg(&message, i, 0, 0, bson::Document(command));
        ASSERT_TRUE(session->sinkMessage(transport::ReplyChain(std::move(message))).isOk());
    }
    for (int i = 1; i <= kMessages; ++i) {
        auto reply = session->sourceMessage();
        ASSERT_TRUE(reply.isOk()) << reply.status().toString();
        EXPECT_EQ(wire::parseReply(reply->view())->header.responseTo, i);
    }
}

TEST_F(ProxyTest, ConnectionsThatCannotMoveStayOnTcp) {
    serve(nullptr);  // a server without RDMA
    start(optionsFor(sim_));
    EXPECT_TRUE(say(*driver(), "over TCP").isOk());
    EXPECT_EQ(proxy_->stats().overTcp, 1u);
    expectNothingLeft();
    start(optionsFor(nullptr));  // a machine without a device
    EXPECT_TRUE(say(*driver(), "over TCP").isOk());
    EXPECT_EQ(proxy_->stats().overTcp, 1u);
}

TEST_F(ProxyTest, RequiredRdmaRefusesConnectionsThatCannotMove) {
    serve(nullptr);
    ProxyOptions options = optionsFor(sim_);
    options.requireRdma = true;
    start(options);
    EXPECT_FALSE(Connection::open(where()).isOk());
    waitUntil([&] { return proxy_->stats().refused == 1; });
    EXPECT_EQ(proxy_->stats().overTcp, 0u);
    expectNothingLeft();
}

TEST_F(ProxyTest, WithoutAServerDriversAreRefused) {
    serve(sim_);
    const ProxyOptions options = optionsFor(sim_);
    server_.reset();
    start(options);
    EXPECT_FALSE(Connection::open(where()).isOk());
    waitUntil([&] { return proxy_->stats().refused == 1; });
    expectNothingLeft();
}

TEST_F(ProxyTest, NoMoreConnectionsThanAllowed) {
    serve(sim_);
    ProxyOptions options = optionsFor(sim_);
    options.connectionsMax = 1;
    start(options);
    auto one = driver();
    EXPECT_FALSE(Connection::open(where()).isOk());
    EXPECT_TRUE(say(*one, "still here").isOk());
    one.reset();
    expectNothingLeft();
    EXPECT_TRUE(say(*driver(), "there is room again").isOk());
}

TEST_F(ProxyTest, EitherEndClosesTheOther) {
    startBoth();
    auto one = driver(), other = driver();
    EXPECT_FALSE(hangUp(*one).isOk());
    waitUntil([&] { return proxy_->stats().current == 1; });
    EXPECT_TRUE(say(*other, "not my matter").isOk());
    other.reset();
    expectNothingLeft();
}

TEST_F(ProxyTest, ALinkThatBreaksEndsItsPairAndNoOther) {
    startBoth();
    auto one = driver(), other = driver();
    sim_->failWrite(0, transport::verbs::CompletionStatus::kPeerGone);
    EXPECT_FALSE(say(*one, "lost").isOk());
    EXPECT_TRUE(say(*other, "not lost").isOk());
    EXPECT_TRUE(say(*driver(), "a new one").isOk());
}

TEST_F(ProxyTest, ListensOnUnixSockets) {
    serve(sim_);
    const std::string path =
        "/tmp/freshet-proxy-test-" + std::to_string(platform::processId()) + ".sock";
    ProxyOptions options = optionsFor(sim_);
    options.listenHost = path;
    start(options);
    EXPECT_EQ(proxy_->addresses(), std::vector<std::string>{path});
    ConnectionString where;
    where.host = path;
    auto opened = Connection::open(where);
    ASSERT_TRUE(opened.isOk()) << opened.status().toString();
    EXPECT_TRUE(say(**opened, "from a file").isOk());
    EXPECT_EQ(proxy_->stats().overRdma, 1u);
}

TEST_F(ProxyTest, DestroyingItEndsEveryConnection) {
    startBoth();
    auto one = driver(), other = driver();
    proxy_.reset();
    EXPECT_FALSE(say(*one, "too late").isOk());
    EXPECT_FALSE(say(*other, "too late").isOk());
    waitUntil([&] { return sim_->counts().queuePairs == 0; });
}

TEST_F(ProxyTest, NothingLeaksWhenDriversComeAndGo) {
    startBoth();
    std::mt19937_64 random(testing::testSeed());
    ASSERT_TRUE(say(*driver(), "warm up").isOk());
    expectNothingLeft();
    const size_t before = openDescriptors();
    std::vector<std::unique_ptr<Connection>> drivers(8);
    for (int i = 0; i < 150; ++i) {
        auto& each = drivers[random() % drivers.size()];
        if (each == nullptr) {
            each = driver();
        } else if (random() % 3 == 0) {
            each.reset();
        } else if (random() % 5 == 0) {
            EXPECT_FALSE(hangUp(*each).isOk());
            each.reset();
        } else {
            ASSERT_TRUE(say(*each, std::string(random() % 20'000, 'r')).isOk());
        }
    }
    drivers.clear();
    expectNothingLeft();
    waitUntil([&] { return openDescriptors() <= before; });
    EXPECT_EQ(sim_->counts().regions, 0u);
}

TEST(ProxyOptionsTest, AreParsed) {
    auto given = parseCommandLine({"--server", "10.9.0.1:5", "--listen=/tmp/p.sock"});
    ASSERT_TRUE(given.isOk()) << given.status().toString();
    EXPECT_EQ(given->proxy.serverHost, "10.9.0.1");
    EXPECT_EQ(given->proxy.serverPort, 5);
    EXPECT_EQ(given->proxy.listenHost, "/tmp/p.sock");
    EXPECT_FALSE(given->proxy.requireRdma);
    given = parseCommandLine({"--require-rdma", "--server=[fd00::1]", "--listen", "[::1]:9"});
    ASSERT_TRUE(given.isOk()) << given.status().toString();
    EXPECT_EQ(given->proxy.serverHost, "fd00::1");
    EXPECT_EQ(given->proxy.serverPort, 27017);
    EXPECT_EQ(given->proxy.listenPort, 9);
    EXPECT_TRUE(given->proxy.requireRdma);
    EXPECT_TRUE(parseCommandLine({"--help"})->wantsHelp);
    for (const char* option : {"--listen", "--server", "--require-rdma", "--help"}) {
        EXPECT_NE(usage().find(option), std::string_view::npos) << option;
    }
}

TEST(ProxyOptionsTest, MistakesAreReported) {
    for (const std::vector<std::string>& wrong :
         std::vector<std::vector<std::string>>{{},
                                               {"--listen", "127.0.0.1:1"},
                                               {"--server"},
                                               {"--server", "h:port"},
                                               {"--server", "user@h"},
                                               {"--server", "h/db"},
                                               {"--server", "h", "--listen", "0.0.0.0:1"},
                                               {"--server", "h", "--listen", "10.9.0.1:1"},
                                               {"--server", "h", "--liste", "x"},
                                               {"--server", "h", "extra"}}) {
        EXPECT_EQ(parseCommandLine(wrong).status().code(), Code::kInvalid)
            << (wrong.empty() ? "nothing" : wrong.back());
    }
}

}  // namespace
}  // namespace freshet::proxy
