// SPDX-License-Identifier: Apache-2.0
/// The instruments themselves: do they count what happened?
#include "freshet/bench/histogram.h"
#include "freshet/bench/load.h"
#include "freshet/bench/options.h"
#include "freshet/bench/processes.h"
#include "freshet/bench/requests.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"
#include "freshet/testing/net/sim_verbs.h"
#include "freshet/transport/connector.h"
#include "freshet/transport/server_transport.h"
#include "freshet/wire/message.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>

namespace freshet::bench {
namespace {

TEST(Histogram, QuantilesAreWithinOneThirtySecond) {
    Histogram histogram;
    EXPECT_EQ(histogram.quantileNanos(0.5), 0u);
    for (uint64_t value = 1; value <= 100'000; ++value) {
        histogram.add(value);
    }
    EXPECT_EQ(histogram.total(), 100'000u);
    for (double quantile : {0.01, 0.5, 0.99, 1.0}) {
        const double exact = quantile * 100'000;
        const auto found = static_cast<double>(histogram.quantileNanos(quantile));
        EXPECT_GE(found, exact) << quantile;
        EXPECT_LE(found, exact * (1 + 1.0 / 32) + 1) << quantile;
    }
}

TEST(Histogram, TakesAnyValueAndMerges) {
    Histogram one, other;
    for (uint64_t value : {uint64_t{0}, uint64_t{31}, uint64_t{32}, uint64_t{63}, UINT64_MAX}) {
        one.add(value);
        EXPECT_GE(one.quantileNanos(1), value);
    }
    other.add(5);
    other.merge(one);
    EXPECT_EQ(other.total(), 6u);
    EXPECT_EQ(other.quantileNanos(1), UINT64_MAX);
}

TEST(Options, ListsAndDefaults) {
    auto defaults = parseWireOptions({});
    ASSERT_TRUE(defaults.isOk());
    EXPECT_EQ(defaults->clients, (std::vector<unsigned>{1, 8, 64}));
    EXPECT_TRUE(defaults->durable);
    auto given = parseWireOptions({"--op", "get", "--clients", "1,2", "--clients", "3", "--json"});
    ASSERT_TRUE(given.isOk());
    EXPECT_EQ(given->ops, std::vector<std::string>{"get"});
    EXPECT_EQ(given->clients, (std::vector<unsigned>{1, 2, 3}));
    EXPECT_TRUE(given->json);
}

TEST(Options, MistakesAreNamed) {
    for (const std::vector<std::string>& wrong :
         std::vector<std::vector<std::string>>{{"--op", "scan"},
                                               {"--clients", "0"},
                                               {"--clients", "1,"},
                                               {"--seconds"},
                                               {"--durability", "maybe"},
                                               {"--transport", "pigeon"},
                                               {"--transport", "rdma"},
                                               {"--sconds", "1"}}) {
        auto parsed = parseWireOptions(wrong);
        ASSERT_FALSE(parsed.isOk()) << wrong[0];
        EXPECT_NE(parsed.status().text().find(wrong[0]), std::string_view::npos);
    }
}

/// Notes the _ids of inserts and answers {ok: 1, n: 1}.
class InsertSink final : public transport::MessageHandlerFactory {
public:
    std::unique_ptr<transport::MessageHandler> create(const transport::PeerInfo&) override {
        return std::make_unique<Handler>(this);
    }
    std::mutex mutex;
    std::set<int64_t> ids;  // guarded by mutex
    uint64_t requests = 0;  // guarded by mutex
    int32_t inserted = 1;

private:
    struct Handler final : transport::MessageHandler {
        explicit Handler(InsertSink* sinkIn) : sink(sinkIn) {}
        sync::Task<transport::HandlerResult> handle(transport::Message message) override {
            StatusOr<wire::Request> request = wire::parseRequest(message.view());
            EXPECT_TRUE(request.isOk());
            std::lock_guard<std::mutex> lock(sink->mutex);
            ++sink->requests;
            sink->ids.insert(request->sequences.at(0).documents.at(0).find("_id").int64Value());
            const std::string body =
                bson::Builder().add("n", sink->inserted).add("ok", 1.0).finish();
            std::string reply;
            wire::appendOpMsg(&reply, 1, request->header.requestId, 0, bson::Document(body));
            transport::HandlerResult result;
            result.reply = transport::ReplyChain(std::move(reply));
            co_return result;
        }
        sync::Task<transport::HandlerResult> handleExhaust() override {
            co_return transport::HandlerResult();
        }
        InsertSink* sink;
    };
};

LoadPlan putPlan(uint16_t port, unsigned clients) {
    LoadPlan plan;
    plan.host = "127.0.0.1";
    plan.port = port;
    plan.clients = clients;
    plan.threads = 2;
    plan.warmUpMillis = 20;
    plan.millis = 100;
    plan.request = putRequest(100, true, 1'000);
    plan.measuringBegins = [] {};
    return plan;
}

TEST(Load, EveryRequestIsAnsweredOnceAndIdsAreUnique) {
    auto sink = std::make_shared<InsertSink>();
    transport::ServerTransportOptions options;
    options.port = 0;
    options.reactors = 1;
    auto server = std::move(transport::ServerTransport::start(options, sink)).value();
    auto result = runLoad(putPlan(server->port(), 5));
    server->shutdown();
    ASSERT_TRUE(result.isOk()) << result.status().toString();
    EXPECT_GT(result->latencies.total(), 0u);
    EXPECT_LE(result->latencies.total(), sink->requests);
    EXPECT_EQ(sink->ids.size(), sink->requests);
    EXPECT_GE(*sink->ids.begin(), 1'000);
    EXPECT_LE(*sink->ids.rbegin(), static_cast<int64_t>(1'000 + result->idsUsed));
}

TEST(Load, SessionsOverRdmaSendTheSame) {
    const auto sim = std::make_shared<testing::SimVerbs>();
    auto sink = std::make_shared<InsertSink>();
    transport::ServerTransportOptions options;
    options.port = 0;
    options.reactors = 1;
    options.rdma.verbs = sim;
    auto server = std::move(transport::ServerTransport::start(options, sink)).value();
    LoadPlan plan = putPlan(server->port(), 3);
    plan.connect = [&] {
        transport::ConnectOptions client;
        client.port = server->port();
        client.rdma.verbs = sim;
        client.rdma.spinMicrosMax = 0;
        return transport::connect(client);
    };
    auto result = runLoad(plan);
    EXPECT_EQ(server->stats().rdma.sessionsMade, 3u);
    server->shutdown();
    ASSERT_TRUE(result.isOk()) << result.status().toString();
    EXPECT_GT(result->latencies.total(), 0u);
    EXPECT_EQ(sink->ids.size(), sink->requests);
    EXPECT_LE(*sink->ids.rbegin(), static_cast<int64_t>(1'000 + result->idsUsed));
}

TEST(Load, AWrongReplyEndsIt) {
    auto sink = std::make_shared<InsertSink>();
    sink->inserted = 0;
    transport::ServerTransportOptions options;
    options.port = 0;
    options.reactors = 1;
    auto server = std::move(transport::ServerTransport::start(options, sink)).value();
    auto result = runLoad(putPlan(server->port(), 2));
    ASSERT_FALSE(result.isOk());
    EXPECT_NE(result.status().text().find("put"), std::string_view::npos);
    const uint16_t port = server->port();
    server->shutdown();
    EXPECT_EQ(runLoad(putPlan(port, 1)).status().code(), Code::kUnavailable);
}

TEST(Processes, ChildrenAreStartedMeasuredAndEnded) {
    auto child = ChildProcess::start({"/bin/sleep", "1000"}, "/dev/null");
    ASSERT_TRUE(child.isOk()) << child.status().toString();
    EXPECT_TRUE(child->isRunning());
    EXPECT_TRUE(cpuMicrosOf(child->pid()).isOk());
    child->stop();
    EXPECT_FALSE(child->isRunning());
    EXPECT_FALSE(ChildProcess::start({"/no/such/program"}, "/dev/null").isOk());
    auto own = cpuMicrosOf(platform::processId());
    ASSERT_TRUE(own.isOk());
    EXPECT_LE(*own, platform::processCpuMicros() + 20'000);
}

}  // namespace
}  // namespace freshet::bench
