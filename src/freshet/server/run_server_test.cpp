// SPDX-License-Identifier: Apache-2.0
/// Starts, shutdowns, and the exit codes that scripts check.
#include "freshet/server/run_server.h"

#include "freshet/engine/store.h"
#include "freshet/platform/signals.h"
#include "freshet/telemetry/log.h"
#include "freshet/testing/net/sim_verbs.h"
#include "freshet/testing/sim/memory_file_system.h"
#include "freshet/transport/connector.h"
#include "freshet/transport/server_transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace freshet::server {
namespace {

class NoSession final : public transport::MessageHandlerFactory {
public:
    std::unique_ptr<transport::MessageHandler> create(const transport::PeerInfo&) override {
        return nullptr;
    }
};

class RunServerTest : public ::testing::Test {
protected:
    RunServerTest() { EXPECT_TRUE(disk_.makeDirectory("/db").isOk()); }

    int run(std::vector<std::string> words) { return run(std::move(words), {disk_}); }

    static int run(std::vector<std::string> words, const Surroundings& surroundings) {
        words.insert(words.begin(), "freshetd");
        std::vector<char*> argv;
        for (std::string& word : words) {
            argv.push_back(word.data());
        }
        return runServer(static_cast<int>(argv.size()), argv.data(), surroundings);
    }

    /// The end is requested before the start: the signal waits until the server looks for it.
    int startAndEnd(std::vector<std::string> words) {
        platform::holdSignals();
        platform::requestEnd();
        return run(std::move(words));
    }

    static bool hasLogged(std::string_view text) {
        const std::vector<std::string> lines = telemetry::recentLog();
        return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
            return line.find(text) != std::string::npos;
        });
    }

    testing::MemoryFileSystem disk_;
};

TEST_F(RunServerTest, StartsAndEndsCleanlyTwice) {
    EXPECT_EQ(kExitClean, startAndEnd({"--dbpath", "/db", "--port", "0"}));
    EXPECT_TRUE(hasLogged("Waiting for connections"));
    EXPECT_EQ(kExitClean, startAndEnd({"--dbpath", "/db", "--port", "0"}));
}

TEST_F(RunServerTest, ServesOverTheAdaptersItIsGiven) {
    platform::holdSignals();
    Surroundings surroundings{disk_};
    surroundings.adapters = std::make_shared<testing::SimVerbs>();
    std::string kind;
    surroundings.onOpen = [&](uint16_t port) {
        transport::ConnectOptions options;
        options.port = port;
        options.rdma.verbs = surroundings.adapters;
        auto session = transport::connect(options);
        kind = session.isOk() ? (*session)->peer().kind : session.status().toString();
        platform::requestEnd();
    };
    EXPECT_EQ(kExitClean, run({"--dbpath", "/db", "--port", "0", "--rdma"}, surroundings));
    EXPECT_EQ(kind, "rdma");
    EXPECT_TRUE(hasLogged("RDMA device sim0"));
}

TEST_F(RunServerTest, SaysWhatItIs) {
    EXPECT_EQ(kExitClean, run({"--help"}));
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(kExitClean, run({"--version"}));
    const std::string version = ::testing::internal::GetCapturedStdout();
    EXPECT_TRUE(version.starts_with("db version v8.0.0\nfreshetd version v")) << version;
}

TEST_F(RunServerTest, SaysThatASetsMemberIsPrimary) {
    constexpr std::string_view kPrimary =
        "\"id\":21331,   \"ctx\":\"listener\",\"msg\":\"Transition to primary complete; database "
        "writes are now permitted\"";
    EXPECT_EQ(kExitClean, startAndEnd({"--dbpath", "/db", "--port", "0"}));
    EXPECT_FALSE(hasLogged(kPrimary));
    EXPECT_EQ(kExitClean, startAndEnd({"--dbpath", "/db", "--port", "0", "--replSet", "rs0"}));
    EXPECT_TRUE(hasLogged(kPrimary));
}

TEST_F(RunServerTest, RefusesBadOptions) {
    EXPECT_EQ(2, run({"--bogus"}));
    EXPECT_EQ(2, run({"--dbpath", "/db", "--bind_ip_all"}));
}

TEST_F(RunServerTest, RefusesAMissingDirectory) {
    EXPECT_EQ(100, run({"--dbpath", "/none", "--port", "0"}));
    EXPECT_TRUE(hasLogged("/none not found"));
}

TEST_F(RunServerTest, RefusesADirectoryInUse) {
    engine::StoreOptions options;
    options.files = &disk_;
    options.directory = "/db";
    auto holder = engine::Store::open(options);
    ASSERT_TRUE(holder.isOk()) << holder.status().toString();
    EXPECT_EQ(100, run({"--dbpath", "/db", "--port", "0"}));
    EXPECT_TRUE(hasLogged("already in use"));
    EXPECT_TRUE((*holder)->close().isOk());
}

TEST_F(RunServerTest, RefusesAPortInUse) {
    transport::ServerTransportOptions options;
    options.port = 0;
    options.reactors = 1;
    auto holder = transport::ServerTransport::start(options, std::make_shared<NoSession>());
    ASSERT_TRUE(holder.isOk()) << holder.status().toString();
    EXPECT_EQ(48, run({"--dbpath", "/db", "--port", std::to_string((*holder)->port())}));
    (*holder)->shutdown();
}

}  // namespace
}  // namespace freshet::server
