// SPDX-License-Identifier: Apache-2.0
#include "freshet/client/pool.h"

#include "freshet/client/scripted_server.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/atomic.h"

#include <gtest/gtest.h>

#include <optional>

namespace freshet::client {
namespace {

const std::string kDie = bson::Builder().add("die", 1).finish();
const std::string kFail = bson::Builder().add("fail", 1).finish();

/// Hangs up on {die: 1}, answers ok: 0 to {fail: 1}.
std::string answer(const wire::Request& request) {
    return request.body.has("die")
               ? std::string()
               : bson::Builder().add("ok", request.body.has("fail") ? 0.0 : 1.0).finish();
}

PoolOptions optionsFor(const ScriptedServer& server, size_t most, uint32_t waitMillis) {
    PoolOptions options;
    options.where = server.where();
    options.connectionsMax = most;
    options.checkOutMillisMax = waitMillis;
    return options;
}

void untilOneWaits(const Pool& pool) {
    while (pool.stats().waiting == 0) {
        platform::yieldThread();
    }
}

TEST(Pool, ReusesReturnedConnections) {
    ScriptedServer server(answer);
    Pool pool(optionsFor(server, 2, 0));
    for (int i = 0; i < 3; ++i) {
        auto lease = pool.checkOut();
        ASSERT_TRUE(lease.isOk()) << lease.status().toString();
        EXPECT_TRUE((*lease)->runChecked("shop", bson::Document(kPing)).isOk());
        EXPECT_EQ((*lease)->transportKind(), "tcp");
        EXPECT_EQ((*lease)->hello().find("maxWireVersion").toInt64(), 21);
        EXPECT_EQ(pool.stats().idle, 0u);
    }
    const PoolStats stats = pool.stats();
    EXPECT_EQ(stats.made, 1u);
    EXPECT_EQ(stats.open, 1u);
    EXPECT_EQ(stats.idle, 1u);
}

TEST(Pool, AWaitForAConnectionTimesOut) {
    ScriptedServer server(answer);
    Pool pool(optionsFor(server, 2, 1));
    auto first = pool.checkOut();
    auto second = pool.checkOut();
    ASSERT_TRUE(first.isOk() && second.isOk());
    const Status third = pool.checkOut().status();
    EXPECT_EQ(third.code(), Code::kTimeout) << third.toString();
    EXPECT_NE(third.text().find("all 2 connections"), std::string_view::npos);
    EXPECT_EQ(pool.stats().open, 2u);
}

TEST(Pool, AWaitingThreadGetsTheNextReturnedConnection) {
    ScriptedServer server(answer);
    Pool pool(optionsFor(server, 1, 3'600'000));
    std::optional<Pool::Lease> first = std::move(pool.checkOut()).value();
    Status seen = badValue("never ran");
    platform::Thread other("waiter", [&] {
        auto lease = pool.checkOut();
        seen =
            lease.isOk() ? (*lease)->run("shop", bson::Document(kPing)).status() : lease.status();
    });
    untilOneWaits(pool);
    first.reset();
    other.join();
    EXPECT_TRUE(seen.isOk()) << seen.toString();
    EXPECT_EQ(pool.stats().made, 1u);
}

TEST(Pool, ABrokenConnectionMakesRoomForAWaiterAndDropsTheIdleOnes) {
    ScriptedServer server(answer);
    Pool pool(optionsFor(server, 2, 3'600'000));
    std::optional<Pool::Lease> first = std::move(pool.checkOut()).value();
    std::optional<Pool::Lease> second = std::move(pool.checkOut()).value();
    Status seen = badValue("never ran");
    platform::Thread other("waiter", [&] {
        auto lease = pool.checkOut();
        seen =
            lease.isOk() ? (*lease)->run("shop", bson::Document(kPing)).status() : lease.status();
    });
    untilOneWaits(pool);
    EXPECT_FALSE((*first)->run("shop", bson::Document(kDie)).isOk());
    first.reset();
    other.join();
    EXPECT_TRUE(seen.isOk()) << seen.toString();
    EXPECT_EQ(pool.stats().made, 3u);
    EXPECT_EQ(pool.stats().idle, 1u);
    EXPECT_FALSE((*second)->run("shop", bson::Document(kDie)).isOk());
    second.reset();
    const PoolStats stats = pool.stats();
    EXPECT_EQ(stats.open, 0u);
    EXPECT_EQ(stats.idle, 0u);
    EXPECT_EQ(stats.broken, 2u);
}

TEST(Pool, ARefusedCommandBreaksNothing) {
    ScriptedServer server(answer);
    Pool pool(optionsFor(server, 1, 0));
    {
        auto lease = pool.checkOut();
        ASSERT_TRUE(lease.isOk());
        EXPECT_FALSE((*lease)->runChecked("shop", bson::Document(kFail)).isOk());
    }
    EXPECT_EQ(pool.stats().idle, 1u);
    EXPECT_EQ(pool.stats().broken, 0u);
}

TEST(Pool, AFailedConnectionDoesNotCount) {
    PoolOptions options;
    options.where.port = 1;
    options.connectionsMax = 1;
    Pool pool(options);
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(pool.checkOut().status().code(), Code::kUnavailable);
    }
    EXPECT_EQ(pool.stats().open, 0u);
    EXPECT_EQ(pool.stats().made, 0u);
}

TEST(Pool, ALeaseMayMoveBetweenThreads) {
    ScriptedServer server(answer);
    Pool pool(optionsFor(server, 2, 0));
    Pool::Lease one = std::move(pool.checkOut()).value();
    {
        Pool::Lease other = std::move(pool.checkOut()).value();
        one = std::move(other);  // gives back the one it had
        EXPECT_EQ(pool.stats().idle, 1u);
    }
    EXPECT_EQ(pool.stats().idle, 1u);
    EXPECT_TRUE(one->run("shop", bson::Document(kPing)).isOk());
}

TEST(Pool, ManyThreadsShareFewConnections) {
    ScriptedServer server(answer);
    Pool pool(optionsFor(server, 3, 3'600'000));
    constexpr int kThreads = 8;
    constexpr int kRounds = 30;
    sync::Atomic<uint32_t> good{0};
    {
        std::vector<platform::Thread> threads;
        for (int i = 0; i < kThreads; ++i) {
            threads.emplace_back("sharer", [&, i] {
                for (int round = 0; round < kRounds; ++round) {
                    auto lease = pool.checkOut();
                    const bool dies = round % 10 == i;  // some break their connection
                    if (lease.isOk() && dies) {
                        (void)(*lease)->run("shop", bson::Document(kDie));
                    }
                    const bool works =
                        lease.isOk() &&
                        (dies || (*lease)->run("shop", bson::Document(kPing)).isOk());
                    // [pool-test.good] relaxed: read after the threads were joined.
                    good.fetch_add(works ? 1 : 0, sync::kRelaxed);
                }
            });
        }
    }
    // [pool-test.good] relaxed: the join orders it.
    EXPECT_EQ(good.load(sync::kRelaxed), uint32_t{kThreads * kRounds});
    const PoolStats stats = pool.stats();
    EXPECT_LE(stats.open, 3u);
    EXPECT_EQ(stats.open, stats.idle);
    EXPECT_EQ(stats.broken, uint64_t{kThreads * kRounds / 10});
}

}  // namespace
}  // namespace freshet::client
