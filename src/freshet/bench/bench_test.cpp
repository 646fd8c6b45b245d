// SPDX-License-Identifier: Apache-2.0
/// Tests the measuring instruments: do they count what happened?
#include "freshet/bench/gridfs_transfer.h"
#include "freshet/bench/histogram.h"
#include "freshet/bench/load.h"
#include "freshet/bench/load/request_stream.h"
#include "freshet/bench/options.h"
#include "freshet/bench/processes.h"
#include "freshet/bench/requests.h"
#include "freshet/bench/wire/meter.h"
#include "freshet/bench/wire/model.h"
#include "freshet/bench/wire/process_events.h"
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
    EXPECT_EQ(defaults->durabilities, std::vector<std::string>{"durable"});
    EXPECT_FALSE(defaults->driver);
    auto given = parseWireOptions({"--op", "get", "--clients", "1,2", "--clients", "3", "--json"});
    ASSERT_TRUE(given.isOk());
    EXPECT_EQ(given->ops, std::vector<std::string>{"get"});
    EXPECT_EQ(given->clients, (std::vector<unsigned>{1, 2, 3}));
    EXPECT_TRUE(given->json);
    EXPECT_FALSE(given->stages);
    auto mixed = parseWireOptions(
        {"--op", "mixed", "--value-bytes", "1K,64K,1048576", "--put-percent", "10", "--stages"});
    ASSERT_TRUE(mixed.isOk());
    EXPECT_EQ(mixed->valueBytes, (std::vector<uint64_t>{1'024, 65'536, 1'048'576}));
    EXPECT_EQ(mixed->putPercent, 10u);
    EXPECT_TRUE(mixed->stages);
    auto driver = parseWireOptions(
        {"--load", "driver", "--op", "ping,put", "--durability", "nosync,durable"});
    ASSERT_TRUE(driver.isOk());
    EXPECT_TRUE(driver->driver);
    EXPECT_EQ(driver->ops, (std::vector<std::string>{"ping", "put"}));
    EXPECT_EQ(driver->durabilities, (std::vector<std::string>{"nosync", "durable"}));
    auto model = parseWireOptions({"--op", "model", "--value-bytes", "91M,2G"});
    ASSERT_TRUE(model.isOk());
    EXPECT_EQ(model->valueBytes, (std::vector<uint64_t>{91u << 20, 2ull << 30}));
}

TEST(Options, RecordsAreSoManyAsFit) {
    WireOptions options;
    EXPECT_EQ(recordsFor(options, 1'024), 100'000u);
    EXPECT_EQ(recordsFor(options, 1 << 20), 255u);
    EXPECT_EQ(recordsFor(options, 16'000'000), 16u);
    options.records = 7;
    EXPECT_EQ(recordsFor(options, 1 << 20), 7u);
}

TEST(Options, MistakesAreNamed) {
    for (const std::vector<std::string>& wrong :
         std::vector<std::vector<std::string>>{{"--op", "scan"},
                                               {"--clients", "0"},
                                               {"--clients", "1,"},
                                               {"--seconds"},
                                               {"--durability", "maybe"},
                                               {"--durability", "durable,"},
                                               {"--load", "heavy"},
                                               {"--load", "driver", "--with-echo"},
                                               {"--with-echo", "--op", "ping"},
                                               {"--transport", "pigeon"},
                                               {"--transport", "rdma"},
                                               {"--transport", "rdma-oneslot"},
                                               {"--value-bytes", "17M"},
                                               {"--value-bytes", "1T"},
                                               {"--value-bytes", "K"},
                                               {"--value-bytes", "2000000G", "--op", "model"},
                                               {"--put-percent", "101"},
                                               {"--with-echo", "--op", "mixed"},
                                               {"--sconds", "1"}}) {
        auto parsed = parseWireOptions(wrong);
        ASSERT_FALSE(parsed.isOk()) << wrong[0];
        EXPECT_NE(parsed.status().text().find(wrong[0]), std::string_view::npos);
    }
}

TEST(GridFsTransfer, ReadsItsCommandLine) {
    auto given =
        parseGridFsTransferOptions({"put", "a.bin", "--bucket", "b", "--chunk-bytes", "1M"});
    ASSERT_TRUE(given.isOk());
    EXPECT_TRUE(given->isPut);
    EXPECT_EQ(given->filename, "a.bin");
    EXPECT_EQ(given->bucket, "b");
    EXPECT_EQ(given->chunkBytes, 1u << 20);
    EXPECT_FALSE(parseGridFsTransferOptions({"get"}).isOk());
    EXPECT_FALSE(parseGridFsTransferOptions({"list", "a.bin"}).isOk());
    EXPECT_FALSE(parseGridFsTransferOptions({"put", "a.bin", "--chunk-bytes", "17M"}).isOk());
}

TEST(Requests, APingIsOneAndAnyAnswerButOkIsAnError) {
    const RequestTemplate ping = pingRequest();
    const auto parsed = wire::parseRequest(ping.bytes);
    ASSERT_TRUE(parsed.isOk());
    EXPECT_EQ(parsed->body.find("ping").toInt64(), 1);
    EXPECT_EQ(parsed->body.find("$db").stringValue(), "admin");
    const auto reply = [](double ok) {
        std::string message;
        const std::string body = bson::Builder().add("ok", ok).finish();
        wire::appendOpMsg(&message, 1, 1, 0, bson::Document(body));
        return message;
    };
    EXPECT_TRUE(ping.checkReply(reply(1)).isOk());
    EXPECT_FALSE(ping.checkReply(reply(0)).isOk());
}

/// A message that is not a put is a get.
bool isPut(ByteView message) {
    return !wire::parseRequest(message)->sequences.empty();
}

TEST(Requests, RetryablePutsHaveASessionForEachConnectionAndRisingNumbers) {
    const RequestTemplate request = retryableRequest(10, true, 1'000);
    std::set<std::string> sessions;
    for (uint64_t index = 0; index < 2; ++index) {
        RequestStream stream(request, {index, 2});
        int64_t last = -1;
        for (int i = 0; i < 5; ++i) {
            const auto parsed = wire::parseRequest(stream.next());
            ASSERT_TRUE(parsed.isOk());
            const int64_t number = parsed->body.find("txnNumber").int64Value();
            EXPECT_GT(number, last);
            EXPECT_EQ(number, parsed->sequences[0].documents[0].find("_id").int64Value());
            last = number;
            const bson::Element id = parsed->body.findPath("lsid.id");
            EXPECT_EQ(id.binaryValue().subtype, 4);
            EXPECT_EQ(id.binaryValue().bytes.size(), 16u);
            sessions.insert(std::string(id.binaryValue().bytes));
        }
    }
    EXPECT_EQ(sessions.size(), 2u);
}

TEST(Requests, AMixKeepsItsShareAndItsIds) {
    RequestTemplate request = putRequest(10, true, 1'000);
    request.other = std::make_shared<const RequestTemplate>(getRequest(50));
    request.otherPercent = 30;
    RequestStream stream(request, {1, 2});
    std::set<int64_t> ids;
    int puts = 0;
    constexpr int kRequests = 20'000;
    for (int i = 0; i < kRequests; ++i) {
        const ByteView message = stream.next();
        if (isPut(message)) {
            ++puts;
            const auto parsed = wire::parseRequest(message);
            ids.insert(parsed->sequences[0].documents[0].find("_id").int64Value());
        }
    }
    EXPECT_EQ(ids.size(), static_cast<size_t>(puts));
    EXPECT_EQ(*ids.begin() % 2, 1);
    EXPECT_LT(*ids.rbegin(), 1'000 + 2 * kRequests);
    EXPECT_NEAR(puts, kRequests * 0.7, kRequests * 0.02);
}

TEST(Model, BytesAreTheSameAgainAndNeverTheWhole) {
    for (uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 20, uint64_t{2'500'000}}) {
        std::string first, second;
        for (std::string* out : {&first, &second}) {
            EXPECT_TRUE(forModelBytes(bytes, [out](ByteView part) {
                            EXPECT_LE(part.size(), 1u << 20);
                            out->append(part);
                            return Status::ok();
                        }).isOk());
        }
        EXPECT_EQ(first.size(), bytes);
        EXPECT_EQ(first, second);
        EXPECT_TRUE(bytes <= 1 << 20 || first.substr(0, 100) != first.substr(1 << 20, 100));
    }
    EXPECT_FALSE(forModelBytes(1, [](ByteView) { return badValue("full"); }).isOk());
}

TEST(Meter, WorkIsDividedAndWhatIsNotKnownIsNull) {
    ServerWork work;
    work.cpuMicros = 30;
    work.sinkMicros = 4;
    EXPECT_EQ(work.json(10, false), R"(, "server_cpu_us_per_op": 3.000)");
    const std::string all = work.json(10, true);
    EXPECT_NE(all.find(R"("sink_us_per_op": 0.400)"), std::string::npos) << all;
    EXPECT_NE(all.find(R"("source_us_per_op": null)"), std::string::npos) << all;
    EXPECT_EQ(work.cpuText(0), "null");
}

TEST(ProcessEvents, SystemCallsOfAProcessAreCountedWhereTheSystemAllows) {
    EXPECT_FALSE(ProcessEvents(0, ProcessEvent::kSystemCall).read().has_value());
    ProcessEvents own(platform::processId(), ProcessEvent::kSystemCall);
    if (!own.read()) {
        GTEST_SKIP() << "perf_event_open or the tracing file system is not ours to use";
    }
    const uint64_t before = *own.read();
    constexpr int kCalls = 100;
    for (int i = 0; i < kCalls; ++i) {
        (void)platform::processId();
    }
    EXPECT_GE(*own.read(), before + kCalls);
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

LoadPlan putPlan(uint16_t port, unsigned clients, bool isBlocking = false) {
    LoadPlan plan;
    plan.host = "127.0.0.1";
    plan.port = port;
    plan.clients = clients;
    plan.isBlocking = isBlocking;
    plan.threads = 2;
    plan.warmUpMillis = 20;
    plan.millis = 100;
    plan.request = putRequest(100, true, 1'000);
    plan.measuringBegins = [] {};
    return plan;
}

/// The parameter: whether each connection has a thread that blocks.
class Load : public ::testing::TestWithParam<bool> {};

TEST_P(Load, EveryRequestIsAnsweredOnceAndIdsAreUnique) {
    auto sink = std::make_shared<InsertSink>();
    transport::ServerTransportOptions options;
    options.port = 0;
    options.reactors = 1;
    auto server = std::move(transport::ServerTransport::start(options, sink)).value();
    auto result = runLoad(putPlan(server->port(), 5, GetParam()));
    server->shutdown();
    ASSERT_TRUE(result.isOk()) << result.status().toString();
    EXPECT_GT(result->latencies.total(), 0u);
    EXPECT_LE(result->latencies.total(), sink->requests);
    EXPECT_EQ(sink->ids.size(), sink->requests);
    EXPECT_GE(*sink->ids.begin(), 1'000);
    EXPECT_LE(*sink->ids.rbegin(), static_cast<int64_t>(1'000 + result->idsUsed));
}

TEST(LoadOfSessions, OverRdmaSendTheSame) {
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

TEST_P(Load, AWrongReplyEndsIt) {
    auto sink = std::make_shared<InsertSink>();
    sink->inserted = 0;
    transport::ServerTransportOptions options;
    options.port = 0;
    options.reactors = 1;
    auto server = std::move(transport::ServerTransport::start(options, sink)).value();
    auto result = runLoad(putPlan(server->port(), 2, GetParam()));
    ASSERT_FALSE(result.isOk());
    EXPECT_NE(result.status().text().find("put"), std::string_view::npos);
    const uint16_t port = server->port();
    server->shutdown();
    EXPECT_EQ(runLoad(putPlan(port, 1, GetParam())).status().code(), Code::kUnavailable);
}

INSTANTIATE_TEST_SUITE_P(, Load, ::testing::Bool(), [](const auto& tested) {
    return tested.param ? "Driver" : "Epoll";
});

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
