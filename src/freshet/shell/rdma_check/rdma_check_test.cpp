// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/rdma_check/rdma_check.h"

#include "freshet/client/scripted_server.h"
#include "freshet/testing/net/sim_verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace freshet::shell {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint16_t kCallPort = 4'420;

std::string agree(const wire::Request&) {
    return bson::Builder().add("ok", 1).finish();
}

class RdmaCheckTest : public ::testing::Test {
protected:
    /// The report on `server`, or on a port where nothing listens.
    std::string said(const client::ScriptedServer* server, bool byCall = false) {
        RdmaCheckOptions options;
        if (server != nullptr) {
            options.where = server->where();
        }
        if (server == nullptr || byCall) {
            options.where.port = kCallPort;
        }
        options.where.rdma = options.where.rdmaByCall = byCall;
        options.verbs = here_;
        options.lockedBytesMax = lockedBytesMax_;
        std::ostringstream out;
        works_ = checkRdma(options, out);
        return out.str();
    }
    static std::shared_ptr<testing::SimVerbs> adapterWith(std::vector<std::string> addresses) {
        testing::SimVerbsOptions options;
        options.addresses = std::move(addresses);
        return std::make_shared<testing::SimVerbs>(options);
    }

    std::shared_ptr<testing::SimVerbs> here_ = adapterWith({"127.0.0.1"});
    uint64_t lockedBytesMax_ = UINT64_MAX;
    bool works_ = false;
};

TEST_F(RdmaCheckTest, SaysThatAllIsWell) {
    const client::ScriptedServer server(agree, 0, {}, {}, here_, kCallPort);
    const std::string text = said(&server);
    EXPECT_TRUE(works_) << text;
    EXPECT_THAT(text, HasSubstr("Device sim0 port 1: active, Ethernet, MTU 1024"));
    EXPECT_THAT(text, HasSubstr("Locked memory: no limit"));
    EXPECT_THAT(text, HasSubstr("belongs to device sim0 port 1, GID 127.0.0.1"));
    EXPECT_THAT(text, HasSubstr("A ping came back over RDMA"));
    EXPECT_THAT(text, HasSubstr("RDMA works between here and 127.0.0.1"));
    EXPECT_THAT(text, Not(HasSubstr("  no  ")));
    const std::string byCall = said(&server, true);
    EXPECT_TRUE(works_) << byCall;
    EXPECT_THAT(byCall, HasSubstr("It took the call"));
    EXPECT_THAT(byCall, Not(HasSubstr("TCP")));
}

TEST_F(RdmaCheckTest, KnowsNoDevice) {
    const client::ScriptedServer server(agree, 0, {}, {}, here_);
    here_ = adapterWith({});
    const std::string text = said(&server);
    EXPECT_FALSE(works_);
    EXPECT_THAT(text, HasSubstr("There is no RDMA device\n        To mend it: Install rdma-core"));
    EXPECT_THAT(text, HasSubstr("It listens for TCP"));
    EXPECT_THAT(text, HasSubstr("It offers RDMA"));
    EXPECT_THAT(text, HasSubstr("RDMA does not work between here and"));
    {
        const client::ScriptedServer without(agree);
        EXPECT_THAT(said(&without), HasSubstr("Start freshetd with --rdma."));
    }
    const client::ScriptedServer elsewhere(agree, 0, {}, {}, adapterWith({"10.1.2.3"}));
    EXPECT_THAT(said(&elsewhere), HasSubstr("On the server's machine, connect to the address"));
}

TEST_F(RdmaCheckTest, KnowsThatTheWayIsAnother) {
    const client::ScriptedServer server(agree, 0, {}, {}, here_);
    here_ = adapterWith({"10.9.0.1"});
    const std::string text = said(&server);
    EXPECT_FALSE(works_);
    EXPECT_THAT(text, HasSubstr("No RDMA device has the address 127.0.0.1"));
    EXPECT_THAT(text, HasSubstr("To mend it: Connect to an address in the network"));
}

/// Each of the server's reasons, with its remedy.
TEST_F(RdmaCheckTest, KnowsWhatTheServerLacks) {
    {
        const client::ScriptedServer server(agree);
        EXPECT_THAT(said(&server), HasSubstr("Start freshetd with --rdma."));
        EXPECT_FALSE(works_);
    }
    {
        const client::ScriptedServer server(agree, 0, {}, {}, adapterWith({"10.1.2.3"}));
        EXPECT_THAT(said(&server), HasSubstr("On the server's machine, connect to the address"));
        EXPECT_FALSE(works_);
    }
    {
        const auto there = adapterWith({"127.0.0.1"});
        there->setOutOfMemory(true);
        const client::ScriptedServer server(agree, 0, {}, {}, there);
        EXPECT_THAT(said(&server), HasSubstr("The server could not register memory"));
        EXPECT_FALSE(works_);
    }
    {
        // Adapters that exist but cannot reach each other.
        const client::ScriptedServer server(agree, 0, {}, {}, adapterWith({"127.0.0.1"}));
        EXPECT_THAT(said(&server), HasSubstr("let UDP port 4791 through"));
        EXPECT_FALSE(works_);
    }
}

TEST_F(RdmaCheckTest, KnowsThatNobodyIsThere) {
    uint16_t port = 0;
    {
        const client::ScriptedServer server(agree);
        port = server.where().port;
    }
    RdmaCheckOptions options;
    options.where.port = port;
    options.verbs = here_;
    std::ostringstream out;
    EXPECT_FALSE(checkRdma(options, out));
    EXPECT_THAT(out.str(), HasSubstr("Is the server running"));
    EXPECT_THAT(said(nullptr, true), HasSubstr("Start freshetd with --rdma --rdmaPort"));
    EXPECT_FALSE(works_);
}

TEST_F(RdmaCheckTest, LooksAtTheLimitOnLockedMemory) {
    const client::ScriptedServer server(agree, 0, {}, {}, here_);
    lockedBytesMax_ = 64 * 1024;
    EXPECT_THAT(said(&server),
                HasSubstr("no    Locked memory: 64 KiB, a connection takes 384 KiB"));
    EXPECT_TRUE(works_) << "the adapter did not mind";
    lockedBytesMax_ = 8 << 20;
    EXPECT_THAT(said(&server), HasSubstr("ok    Locked memory: 8192 KiB"));
    here_->setOutOfMemory(true);
    EXPECT_THAT(said(&server), HasSubstr("Raise the limit on locked memory here"));
    EXPECT_FALSE(works_);
}

}  // namespace
}  // namespace freshet::shell
