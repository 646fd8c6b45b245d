// SPDX-License-Identifier: Apache-2.0
/// Cursors across requests and connections.
#include "freshet/command/run/cursors.h"

#include "freshet/command/crud/cursor_reply.h"
#include "freshet/command/run/fixture_test.h"

#include <algorithm>
#include <random>

namespace freshet::command {
namespace {

class CursorsTest : public CommandTest {
protected:
    void insertMany(int count) {
        std::string text = R"({"insert": "c", "documents": [)";
        for (int i = 0; i < count; ++i) {
            text += (i == 0 ? "" : ",") + std::string(R"({"_id": )") + std::to_string(i) + "}";
        }
        expectReply(text + "]}", R"({"ok": 1.0})");
    }
    static int64_t idOf(const bson::OwnedDocument& reply) {
        return reply.view().findPath("cursor.id").toInt64();
    }
    /// -1 when there is no such batch.
    static int sizeOf(const bson::OwnedDocument& reply, const char* batch) {
        const bson::Element found = reply.view().findPath(std::string("cursor.") + batch);
        return found.isArray() ? found.document().fieldCount() : -1;
    }
    bson::OwnedDocument getMore(int64_t id, const char* more = "", const char* collection = "c") {
        return run(R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
                   R"("}, "collection": ")" + collection + "\"" + more + "}");
    }
};

TEST_F(CursorsTest, GivesAllDocumentsOnceOverAnyConnection) {
    insertMany(250);
    const bson::OwnedDocument first = run(R"({"find": "c", "sort": {"_id": 1}})");
    EXPECT_EQ(101, sizeOf(first, "firstBatch"));
    const int64_t id = idOf(first);
    EXPECT_GT(id, 0);
    connection_ = dispatcher_->connect({8, "127.0.0.1:5001", "127.0.0.1:27017"});
    const bson::OwnedDocument second = getMore(id, R"(, "batchSize": 100)");
    EXPECT_EQ(100, sizeOf(second, "nextBatch"));
    EXPECT_EQ(id, idOf(second));
    EXPECT_EQ(101, second.view().findPath("cursor.nextBatch.0._id").toInt64());
    const bson::OwnedDocument third = getMore(id);
    EXPECT_EQ(49, sizeOf(third, "nextBatch"));
    EXPECT_EQ(0, idOf(third));
    EXPECT_EQ(43, getMore(id).view().find("code").toInt64());
    EXPECT_EQ("cursor id " + std::to_string(id) + " not found",
              getMore(id).view().find("errmsg").stringValue());
}

TEST_F(CursorsTest, HonoursBatchSizeAndLimit) {
    insertMany(10);
    const bson::OwnedDocument empty = run(R"({"find": "c", "batchSize": 0})");
    EXPECT_EQ(0, sizeOf(empty, "firstBatch"));
    EXPECT_NE(0, idOf(empty));
    EXPECT_EQ(10, sizeOf(getMore(idOf(empty)), "nextBatch"));
    EXPECT_EQ(0, idOf(run(R"({"find": "c", "batchSize": 2, "singleBatch": true})")));
    const bson::OwnedDocument limited = run(R"({"find": "c", "batchSize": 2, "limit": 3})");
    EXPECT_EQ(2, sizeOf(limited, "firstBatch"));
    const bson::OwnedDocument rest = getMore(idOf(limited));
    EXPECT_EQ(1, sizeOf(rest, "nextBatch"));
    EXPECT_EQ(0, idOf(rest));
    const bson::OwnedDocument aggregated =
        run(R"({"aggregate": "c", "pipeline": [{"$match": {}}], "cursor": {"batchSize": 4}})");
    EXPECT_EQ(4, sizeOf(aggregated, "firstBatch"));
    EXPECT_EQ(6, sizeOf(getMore(idOf(aggregated)), "nextBatch"));
}

TEST_F(CursorsTest, BelongToTheirNamespaceAndSession) {
    insertMany(10);
    const char* lsid = R"({"id": {"$uuid": "00112233-4455-6677-8899-aabbccddeeff"}})";
    const bson::OwnedDocument first =
        run(std::string(R"({"find": "c", "batchSize": 2, "lsid": )") + lsid + "}");
    EXPECT_EQ(13, getMore(idOf(first), "", "other").view().find("code").toInt64());
    EXPECT_EQ(50737, getMore(idOf(first)).view().find("code").toInt64());
    const std::string inSession = std::string(R"(, "batchSize": 1, "lsid": )") + lsid;
    EXPECT_EQ(1.0, getMore(idOf(first), inSession.c_str()).view().find("ok").toDouble());
    expectReply(std::string(R"({"endSessions": [)") + lsid + "]}", R"({"ok": 1.0})", "admin");
    EXPECT_EQ(43, getMore(idOf(first)).view().find("code").toInt64());
}

TEST_F(CursorsTest, CanBeKilled) {
    insertMany(10);
    const std::string id = std::to_string(idOf(run(R"({"find": "c", "batchSize": 2})")));
    const std::string kill = R"({"killCursors": "c", "cursors": [{"$numberLong": ")" + id +
                             R"("}, {"$numberLong": "12"}]})";
    expectReply(kill,
                R"({"cursorsKilled": [{"$numberLong": ")" + id +
                    R"("}], "cursorsNotFound": [{"$numberLong": "12"}], "cursorsAlive": [],
                    "cursorsUnknown": [], "ok": 1.0})");
    expectReply(R"({"killCursors": "c", "cursors": ["x"]})", R"({"code": 14})");
}

TEST_F(CursorsTest, EndWithTheirCollection) {
    insertMany(10);
    const int64_t id = idOf(run(R"({"find": "c", "batchSize": 2})"));
    expectReply(R"({"drop": "c"})", R"({"ok": 1.0})");
    EXPECT_EQ(0.0, getMore(id).view().find("ok").toDouble());
    EXPECT_EQ(43, getMore(id).view().find("code").toInt64());
}

TEST_F(CursorsTest, StreamWhenAllowed) {
    insertMany(5);
    const int64_t id = idOf(run(R"({"find": "c", "batchSize": 2})"));
    const std::string ask = R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
                            R"("}, "collection": "c", "batchSize": 2})";
    const Reply one = exchange(message(request(ask).view(), wire::kFlagExhaustAllowed));
    EXPECT_TRUE(one.moreToCome);
    auto first = wire::parseReply(one.message);
    ASSERT_TRUE(first.isOk());
    EXPECT_TRUE(first->moreToCome());
    const Reply two = executor_.run(connection_->next());
    auto second = wire::parseReply(two.message);
    ASSERT_TRUE(second.isOk());
    EXPECT_FALSE(two.moreToCome);
    EXPECT_FALSE(second->moreToCome());
    EXPECT_EQ(first->header.requestId, second->header.responseTo);
    EXPECT_EQ(0, second->body.findPath("cursor.id").toInt64());
}

TEST(CursorRegistry, KillsWhatIsCheckedOutWhenItComesBack) {
    CursorRegistry registry;
    ClientCursor cursor;
    cursor.ns = "a.b";
    cursor.cursor = makeListCursor({});
    const int64_t id = *registry.add(std::move(cursor));
    StatusOr<ClientCursor> out = registry.checkOut(id, "a.b");
    ASSERT_TRUE(out.isOk());
    EXPECT_EQ(Reason::kCursorInUse, registry.checkOut(id, "a.b").status().reason());
    EXPECT_FALSE(registry.isKilled(id));
    EXPECT_TRUE(registry.kill(id, "a.b"));
    EXPECT_FALSE(registry.kill(id, "a.b"));
    EXPECT_TRUE(registry.isKilled(id));
    registry.checkIn(std::move(*out));
    EXPECT_EQ(0u, registry.openCount());
    EXPECT_EQ(Reason::kCursorNotFound, registry.checkOut(id, "a.b").status().reason());
}

using Shares = FairShares<int>;

TEST(FairShares, TheOldestOfTheHeaviestGoes) {
    Shares shares;
    EXPECT_EQ(nullptr, shares.next(Shares::By::kCount));
    shares.add("few", 1, 900, 1);
    const Shares::Handle first = shares.add("many", 2, 10, 2);
    shares.add("many", 3, 20, 3);
    shares.add("many", 2, 30, 4);
    EXPECT_EQ(2, *shares.next(Shares::By::kCount));
    EXPECT_EQ(1, *shares.next(Shares::By::kBytes));
    EXPECT_EQ(4, *shares.next(Shares::By::kCount, first));
    shares.remove(first);
    EXPECT_EQ(950u, shares.bytes());
    EXPECT_EQ(4, *shares.next(Shares::By::kCount));  // each has one, and its creator was the first
    EXPECT_EQ(1, *shares.next(Shares::By::kBytes));
}

TEST(FairShares, AnotherCreatorGivesForOneThatHasNothingElse) {
    Shares shares;
    shares.add("a", 1, 40, 1);
    const Shares::Handle large = shares.add("a", 2, 100, 2);
    EXPECT_EQ(nullptr, shares.next(Shares::By::kBytes, large));
    EXPECT_EQ(1, *shares.next(Shares::By::kCount, large));
    shares.add("a", 1, 10, 3);
    EXPECT_EQ(1, *shares.next(Shares::By::kBytes, large));
}

TEST(FairShares, WhatHasNoSizeDoesNotGoForIt) {
    Shares shares;
    const Shares::Handle only = shares.add("a", 1, 0, 7);
    EXPECT_EQ(nullptr, shares.next(Shares::By::kBytes));
    EXPECT_EQ(7, *shares.next(Shares::By::kCount));
    EXPECT_EQ(nullptr, shares.next(Shares::By::kCount, only));
    shares.remove(only);
    EXPECT_EQ(nullptr, shares.next(Shares::By::kCount));
}

/// The contents of the shares, kept in a simple way.
struct Model {
    struct Held {
        int item;
        int holder;
        uint64_t creator;
        uint64_t bytes;
        Shares::Handle handle;
    };
    std::vector<Held> all;

    template <typename Same>
    uint64_t load(Shares::By by, Same same) const {
        uint64_t sum = 0;
        for (const Held& held : all) {
            sum += !same(held) ? 0 : by == Shares::By::kCount ? 1 : held.bytes;
        }
        return sum;
    }
    uint64_t ofHolder(Shares::By by, int holder) const {
        return load(by, [&](const Held& held) { return held.holder == holder; });
    }
    uint64_t ofCreator(Shares::By by, const Held& one) const {
        return load(by, [&](const Held& held) {
            return held.holder == one.holder && held.creator == one.creator;
        });
    }
    /// No holder and no creator has more than those of the item to be evicted, and of theirs it is
    /// the next one.
    void check(const Shares& shares, Shares::By by) const {
        const int* next = shares.next(by);
        ASSERT_EQ(all.empty(), next == nullptr);
        if (next == nullptr) {
            return;
        }
        const auto chosen = std::find_if(
            all.begin(), all.end(), [&](const Held& held) { return held.item == *next; });
        ASSERT_NE(chosen, all.end());
        for (const Held& other : all) {
            EXPECT_LE(ofHolder(by, other.holder), ofHolder(by, chosen->holder));
            if (other.holder != chosen->holder) {
                continue;
            }
            EXPECT_LE(ofCreator(by, other), ofCreator(by, *chosen));
            if (other.creator == chosen->creator) {
                EXPECT_TRUE(by == Shares::By::kCount ? other.item >= chosen->item
                                                     : other.bytes < 2 * chosen->bytes);
            }
        }
    }
};

TEST(FairShares, AgreesWithAPlainModel) {
    std::mt19937_64 chance(39);
    Shares shares;
    Model model;
    uint64_t bytes = 0;
    for (int step = 0; step < 3'000; ++step) {
        if (model.all.empty() || chance() % 5 < 3) {
            Model::Held held{
                step, static_cast<int>(chance() % 4), chance() % 3, 1 + chance() % 100'000, {}};
            held.handle =
                shares.add(std::to_string(held.holder), held.creator, held.bytes, held.item);
            bytes += held.bytes;
            model.all.push_back(held);
        } else {
            const size_t at = chance() % model.all.size();
            shares.remove(model.all[at].handle);
            bytes -= model.all[at].bytes;
            model.all.erase(model.all.begin() + static_cast<ptrdiff_t>(at));
        }
        ASSERT_EQ(bytes, shares.bytes());
        if (step % 16 == 0) {
            model.check(shares, Shares::By::kCount);
            model.check(shares, Shares::By::kBytes);
        }
    }
}

class CursorRoomTest : public ::testing::Test {
protected:
    static ClientCursor cursor(const std::string& holder, uint64_t connection, size_t bytes = 0) {
        ClientCursor made;
        made.ns = "a.b";
        made.holder = holder;
        made.connectionId = connection;
        made.cursor =
            makeListCursor({bson::OwnedDocument(std::string(bytes, ' ')), bson::OwnedDocument()});
        return made;
    }
    static bool isThere(const CursorRegistry& registry, int64_t id) {
        return !registry.isKilled(id);
    }
};

TEST_F(CursorRoomTest, WhoHasMostMakesWay) {
    CursorRegistry registry(nullptr, 10);
    std::vector<int64_t> greedy;
    for (int i = 0; i < 10; ++i) {
        greedy.push_back(*registry.add(cursor("greedy", i == 3 ? 2 : 1)));
    }
    std::vector<int64_t> modest;
    for (int i = 0; i < 5; ++i) {
        modest.push_back(*registry.add(cursor("modest", 3)));
    }
    for (const int64_t id : modest) {
        EXPECT_TRUE(isThere(registry, id));
    }
    const std::vector<bool> left{false, false, false, true, false, false, true, true, true, true};
    for (size_t i = 0; i < greedy.size(); ++i) {
        EXPECT_EQ(left[i], isThere(registry, greedy[i])) << i;
    }
    EXPECT_EQ(Reason::kCursorNotFound, registry.checkOut(greedy[0], "a.b").status().reason());
    for (int i = 0; i < 1'000; ++i) {
        ASSERT_TRUE(registry.add(cursor("greedy", 100 + i)).isOk());
    }
    for (const int64_t id : modest) {
        EXPECT_TRUE(isThere(registry, id));
    }
    EXPECT_EQ(10u, registry.openCount());
    EXPECT_EQ(1'005u, registry.counts().endedForNumber);
}

TEST_F(CursorRoomTest, WhatIsInUseStays) {
    CursorRegistry registry(nullptr, 2);
    const int64_t first = *registry.add(cursor("a", 1));
    const int64_t second = *registry.add(cursor("a", 1));
    StatusOr<ClientCursor> used = registry.checkOut(first, "a.b");
    ASSERT_TRUE(used.isOk());
    const int64_t third = *registry.add(cursor("b", 2));
    EXPECT_TRUE(isThere(registry, first));
    EXPECT_FALSE(isThere(registry, second));
    StatusOr<ClientCursor> alsoUsed = registry.checkOut(third, "a.b");
    ASSERT_TRUE(alsoUsed.isOk());
    EXPECT_EQ(Code::kLimit, registry.add(cursor("c", 3)).status().code());
    EXPECT_EQ(2u, registry.counts().pinned);
    registry.checkIn(std::move(*used));
    registry.checkIn(std::move(*alsoUsed));
    EXPECT_TRUE(isThere(registry, first));
    EXPECT_TRUE(registry.add(cursor("c", 3)).isOk());
    EXPECT_EQ(2u, registry.openCount());
}

TEST_F(CursorRoomTest, MemoryIsBounded) {
    constexpr size_t kMib = 1u << 20;
    sync::MemoryPool pool(16 * kMib);
    CursorRegistry registry(&pool);
    const int64_t small = *registry.add(cursor("a", 1, kMib));
    std::vector<int64_t> large;
    for (int i = 0; i < 4; ++i) {
        large.push_back(*registry.add(cursor("b", 2, 2 * kMib)));
    }
    EXPECT_TRUE(isThere(registry, small));
    EXPECT_FALSE(isThere(registry, large[0]));
    EXPECT_TRUE(isThere(registry, large[3]));
    EXPECT_LE(registry.counts().idleBytes, 8 * kMib);
    EXPECT_GE(pool.used(), 7 * kMib);
    EXPECT_EQ(1u, registry.counts().endedForMemory);
    EXPECT_EQ(Reason::kExceededMemoryLimit,
              registry.add(cursor("a", 1, 9 * kMib)).status().reason());
    EXPECT_TRUE(isThere(registry, small));
    // Another client has taken the rest of the pool.
    pool.take(pool.bytesMax() - pool.used());
    const int64_t another = *registry.add(cursor("b", 2, 2 * kMib));
    EXPECT_TRUE(isThere(registry, another));
    EXPECT_TRUE(isThere(registry, small));
    const uint64_t held = registry.counts().idleBytes;
    registry.killAll();
    EXPECT_EQ(0u, registry.counts().idleBytes);
    EXPECT_LE(pool.used(), pool.bytesMax() - held + sync::MemoryHold::kUnitBytes);
}

TEST_F(CursorRoomTest, SessionsAndTimeTakeTheirs) {
    CursorRegistry registry;
    std::vector<int64_t> ids;
    for (const char* lsid : {"x", "y", "x", ""}) {
        ClientCursor made = cursor("a", 1);
        made.lsid = lsid;
        made.neverTimesOut = ids.empty();
        ids.push_back(*registry.add(std::move(made)));
    }
    EXPECT_EQ(1u, registry.counts().noTimeout);
    registry.killSessions({"x", "z"});
    EXPECT_EQ(2u, registry.openCount());
    EXPECT_EQ(0u, registry.counts().noTimeout);
    EXPECT_EQ(0u, registry.endIdle(1'000'000));
    EXPECT_EQ(2u, registry.endIdle(0));
    EXPECT_EQ(0u, registry.openCount());
}

class UndeliveredTest : public CursorsTest {
protected:
    int64_t openCursors() {
        return run(R"({"serverStatus": 1})", "admin")
            .view()
            .findPath("metrics.cursor.open.total")
            .toInt64();
    }
};

TEST_F(UndeliveredTest, WithoutAReplyNoCursorStays) {
    insertMany(10);
    const Reply none = exchange(
        message(request(R"({"find": "c", "batchSize": 2})").view(), wire::kFlagMoreToCome));
    EXPECT_TRUE(none.message.empty());
    EXPECT_EQ(0, openCursors());
}

TEST_F(UndeliveredTest, AStreamThatIsCutOffEndsItsCursor) {
    insertMany(10);
    const int64_t id = idOf(run(R"({"find": "c", "batchSize": 2})"));
    const std::string ask = R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
                            R"("}, "collection": "c", "batchSize": 2})";
    EXPECT_TRUE(exchange(message(request(ask).view(), wire::kFlagExhaustAllowed)).moreToCome);
    connection_ = dispatcher_->connect(clientFacts(8));
    EXPECT_EQ(0, openCursors());
}

TEST_F(UndeliveredTest, ALostReplyEndsItsCursor) {
    insertMany(10);
    const int64_t kept = idOf(run(R"({"find": "c", "batchSize": 2})"));
    EXPECT_NE(0, idOf(run(R"({"find": "c", "batchSize": 2})")));
    connection_->onReplyLost();
    EXPECT_EQ(1, openCursors());
    connection_->onReplyLost();  // of the serverStatus reply
    EXPECT_EQ(1, openCursors());
    EXPECT_EQ(8, sizeOf(getMore(kept), "nextBatch"));
}

TEST_F(UndeliveredTest, AnotherConnectionGoesOnWithWhatWasDelivered) {
    insertMany(10);
    const int64_t id = idOf(run(R"({"find": "c", "batchSize": 2})"));
    connection_ = dispatcher_->connect(clientFacts(8));
    EXPECT_EQ(1, openCursors());
    EXPECT_EQ(8, sizeOf(getMore(id), "nextBatch"));
    EXPECT_EQ(0, openCursors());
}

}  // namespace
}  // namespace freshet::command
