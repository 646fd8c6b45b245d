// SPDX-License-Identifier: Apache-2.0
/// Cursors whose documents are still coming: getMores that wait for them, and what ends a wait.
#include "freshet/command/crud/cursor_reply.h"
#include "freshet/command/run/fixture_test.h"
#include "freshet/query/aggregate.h"
#include "freshet/query/tail_for_test.h"

#include <functional>
#include <vector>

namespace freshet::command {
namespace {

constexpr uint64_t kNanosPerMilli = 1'000'000;
constexpr const char* kForever = R"(, "maxTimeMS": 600000)";

class TailCursorTest : public CommandTest {
protected:
    using List = std::shared_ptr<query::ListForTest>;

    /// A change stream's cursor over list_ that is not registered.
    std::unique_ptr<query::QueryCursor> makeTail(const std::string& stages = "") {
        return makeTail(list_, stages);
    }
    std::unique_ptr<query::QueryCursor> makeTail(const List& list, const std::string& stages) {
        query::AggregateRequest request;
        request.db = "test";
        request.pipeline = bson::OwnedDocument(
            json(R"({"v": [{"$changeStream": {}})" + (stages.empty() ? "" : ", " + stages) + "]}")
                .view()
                .find("v")
                .document());
        request.tail = std::make_unique<query::TailForTest>(list);
        auto cursor = query::makeAggregate(*store_, std::move(request));
        EXPECT_TRUE(cursor.isOk()) << cursor.status().toString();
        return std::move(*cursor);
    }
    static ClientCursor clientCursor(std::unique_ptr<query::QueryCursor> cursor,
                                     bool awaitsData = true) {
        ClientCursor made;
        made.ns = "test.c";
        made.isTailable = true;
        made.awaitsData = awaitsData;
        made.nanosLeft = awaitsData ? 1 : 0;  // no limit for getMores that wait
        made.cursor = std::move(cursor);
        return made;
    }
    int64_t open(std::unique_ptr<query::QueryCursor> cursor, bool awaitsData = true) {
        return add(clientCursor(std::move(cursor), awaitsData));
    }
    int64_t add(ClientCursor cursor) {
        return *dispatcher_->servicesForTest().cursors.add(std::move(cursor));
    }
    bool isOpen(int64_t id) { return !dispatcher_->servicesForTest().cursors.isKilled(id); }

    static std::string textOf(int64_t id, const std::string& more = "") {
        return R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
               R"("}, "collection": "c")" + more + "}";
    }
    static std::string messageOf(int64_t id, const std::string& more = "", uint32_t flags = 0) {
        return message(request(textOf(id, more)).view(), flags);
    }
    bson::OwnedDocument getMore(int64_t id, const std::string& more = "") {
        return run(textOf(id, more));
    }
    /// "1 2 @2": the values of `n` in the batch, and the resume token.
    static std::string shown(const bson::OwnedDocument& reply) {
        const bson::Document cursor = reply.view().find("cursor").document();
        const bson::Element batch =
            cursor.has("nextBatch") ? cursor.find("nextBatch") : cursor.find("firstBatch");
        if (!batch.isArray()) {
            return bson::toJson(reply.view());
        }
        std::string text;
        for (const bson::Element& document : batch.document()) {
            text += std::to_string(document.document().find("n").toInt64()) + " ";
        }
        const bson::Element place = cursor.findPath("postBatchResumeToken._data");
        return text + "@" + (place.isString() ? std::string(place.stringValue()) : "none");
    }
    static int64_t idOf(const bson::OwnedDocument& reply) {
        return reply.view().findPath("cursor.id").toInt64();
    }
    static int64_t codeOf(const bson::OwnedDocument& reply) {
        return reply.view().find("code").toInt64();
    }
    void push(int n) { push(list_, n); }
    static void push(const List& list, int n) {
        bson::Builder fields;
        fields.add("n", n);
        list->push(bson::OwnedDocument(fields.finish()).view());
    }
    /// Returns when the getMore waits.
    int64_t waitUntilItWaits(int64_t cursor) {
        return waitForOp(R"("command.getMore": {"$numberLong": ")" + std::to_string(cursor) +
                         R"("}, "waitingForLock": true)")
            .view()
            .find("opid")
            .toInt64();
    }

    /// Runs `handler` as that of an aggregate command; the reply's body.
    template <typename Handler>
    bson::OwnedDocument runAsAggregate(Handler handler) {
        Services& services = dispatcher_->servicesForTest();
        const ClientFacts client = clientFacts(9);
        const std::shared_ptr<ConnectionRecord> record = services.operations.connect(client);
        LoginState login;
        const bson::OwnedDocument body = request(R"({"aggregate": "c"})");
        wire::Request request;
        request.body = body.view();
        const BodyIndex index(request.body);
        GenericArguments generic;
        generic.db = "test";
        const Command& command = *services.registry.find("aggregate");
        Invocation call{services, client, login, *record, command, request, index, generic};
        record->begin({0, platform::monotonicNanos(), &command, request.body, &generic});
        const Status status = executor_.run(handler(call));
        EXPECT_TRUE(status.isOk()) << status.toString();
        record->end();
        services.operations.disconnect(client.connectionId);
        call.reply.close();
        return bson::OwnedDocument(bson::Document(call.message.data() + wire::kOpMsgBodyAt));
    }

    List list_ = std::make_shared<query::ListForTest>();
};

TEST_F(TailCursorTest, GivesAtOnceWhatThereIs) {
    const int64_t id = open(makeTail());
    push(1);
    push(2);
    list_->pass();
    const bson::OwnedDocument reply = getMore(id, kForever);
    EXPECT_EQ("1 2 @3", shown(reply));
    EXPECT_EQ(id, idOf(reply));
    std::string names;
    for (const bson::Element& field : reply.view().find("cursor").document()) {
        names += std::string(field.name()) + " ";
    }
    EXPECT_EQ("nextBatch postBatchResumeToken id ns ", names);
    push(3);
    push(4);
    EXPECT_EQ("3 @4", shown(getMore(id, R"(, "batchSize": 1)")));
    EXPECT_EQ("4 @5", shown(getMore(id, R"(, "batchSize": 1)")));
}

TEST_F(TailCursorTest, TheFirstBatchNeverWaits) {
    FirstBatch first;
    first.ns = "test.c";
    first.isTailable = true;
    first.awaitsData = true;
    const auto reply = [&] {
        return runAsAggregate(
            [&](Invocation& call) { return replyWithFirstBatch(call, makeTail(), first); });
    };
    EXPECT_EQ("@0", shown(reply()));
    push(1);
    const bson::OwnedDocument second = reply();
    EXPECT_EQ("1 @1", shown(second));
    EXPECT_NE(0, idOf(second));
    first.batchSize = 0;
    const bson::OwnedDocument empty = reply();
    EXPECT_EQ("@0", shown(empty));
    EXPECT_EQ("1 @1", shown(getMore(idOf(empty), kForever)));
    const bson::OwnedDocument idle = run(
        R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$currentOp": {"idleCursors": true}},
            {"$match": {"type": "idleCursor"}}]})",
        "admin");
    EXPECT_EQ("",
              missingFrom(idle.view().findPath("cursor.firstBatch.0").document(),
                          json(R"({"cursor": {"tailable": true, "awaitData": true}})").view()))
        << bson::toJson(idle.view());
}

TEST_F(TailCursorTest, AnEmptyBatchComesWhenItsTimeIsOver) {
    const int64_t id = open(makeTail());
    const uint64_t start = platform::monotonicNanos();
    EXPECT_EQ("@0", shown(getMore(id, R"(, "maxTimeMS": 0)")));
    const bson::OwnedDocument late = getMore(id, R"(, "maxTimeMS": 30)");
    EXPECT_EQ("@0", shown(late));
    EXPECT_EQ(id, idOf(late));
    EXPECT_GE(platform::monotonicNanos() - start, 30 * kNanosPerMilli);
    const uint64_t again = platform::monotonicNanos();
    EXPECT_EQ("@0", shown(getMore(id)));
    EXPECT_GE(platform::monotonicNanos() - again, 1'000 * kNanosPerMilli);
    EXPECT_TRUE(isOpen(id));
}

TEST_F(TailCursorTest, ADocumentEndsTheWait) {
    const int64_t id = open(makeTail());
    Elsewhere waiting(*this, 8, messageOf(id, kForever));
    waitUntilItWaits(id);
    push(7);
    EXPECT_EQ("7 @1", shown(waiting.reply()));
    EXPECT_TRUE(isOpen(id));
}

TEST_F(TailCursorTest, WhatIsNotWantedDoesNotEndTheWait) {
    const int64_t id = open(makeTail(R"({"$match": {"n": 2}})"));
    Elsewhere waiting(*this, 8, messageOf(id, kForever));
    waitUntilItWaits(id);
    push(1);
    list_->pass();
    push(2);
    EXPECT_EQ("2 @3", shown(waiting.reply()));
    push(3);
    EXPECT_EQ("@4", shown(getMore(id, R"(, "maxTimeMS": 1)")));
}

/// One thread adds documents, the other one reads them: a lost wake-up would last forever.
TEST_F(TailCursorTest, NoWakeUpIsLost) {
    constexpr int kCount = 2'000;
    const int64_t id = open(makeTail());
    platform::Thread writer("writer", [this] {
        for (int n = 0; n < kCount; ++n) {
            push(n);
            if (n % 3 == 0) {
                platform::yieldThread();
            }
        }
    });
    int next = 0;
    while (next < kCount) {
        const bson::OwnedDocument reply = getMore(id, kForever);
        const bson::Document batch = reply.view().findPath("cursor.nextBatch").document();
        ASSERT_FALSE(batch.isEmpty()) << bson::toJson(reply.view());
        for (const bson::Element& document : batch) {
            ASSERT_EQ(next++, document.document().find("n").toInt64());
        }
    }
    writer.join();
}

TEST_F(TailCursorTest, KillingTheCursorEndsTheWait) {
    const int64_t id = open(makeTail());
    Elsewhere waiting(*this, 8, messageOf(id, kForever));
    waitUntilItWaits(id);
    expectReply(
        R"({"killCursors": "c", "cursors": [{"$numberLong": ")" + std::to_string(id) + R"("}]})",
        R"({"ok": 1.0})");
    EXPECT_EQ(11601, codeOf(waiting.reply()));
    EXPECT_EQ(0u, dispatcher_->servicesForTest().cursors.openCount());
}

TEST_F(TailCursorTest, KillingTheOperationEndsTheWait) {
    const int64_t id = open(makeTail());
    Elsewhere waiting(*this, 8, messageOf(id, kForever));
    const int64_t operation = waitUntilItWaits(id);
    expectReply(
        R"({"killOp": 1, "op": )" + std::to_string(operation) + "}", R"({"ok": 1.0})", "admin");
    EXPECT_EQ(11601, codeOf(waiting.reply()));
    EXPECT_FALSE(isOpen(id));
}

TEST_F(TailCursorTest, KillingTheSessionEndsTheWait) {
    const std::string lsid = R"({"id": {"$uuid": "00112233-4455-6677-8899-aabbccddeeff"}})";
    run(R"({"insert": "c", "documents": [{}, {}]})");
    run(R"({"find": "c", "batchSize": 1, "lsid": )" + lsid + "}");
    CursorRegistry& cursors = dispatcher_->servicesForTest().cursors;
    ClientCursor made = clientCursor(makeTail());
    made.lsid = cursors.idle().at(0).lsid;
    const int64_t id = *cursors.add(std::move(made));
    Elsewhere waiting(*this, 8, messageOf(id, kForever + (R"(, "lsid": )" + lsid)));
    waitUntilItWaits(id);
    expectReply(R"({"killSessions": [)" + lsid + "]}", R"({"ok": 1.0})", "admin");
    EXPECT_EQ(11601, codeOf(waiting.reply()));
    EXPECT_EQ(0u, cursors.openCount());
}

TEST_F(TailCursorTest, AClientThatLeavesEndsTheWait) {
    const int64_t id = open(makeTail());
    Elsewhere waiting(*this, 8, messageOf(id, kForever));
    waitUntilItWaits(id);
    waiting.connection().onPeerGone();
    EXPECT_EQ(11601, codeOf(waiting.reply()));
    EXPECT_FALSE(isOpen(id));
}

TEST_F(TailCursorTest, ShutdownEndsTheWait) {
    const int64_t id = open(makeTail());
    Elsewhere waiting(*this, 8, messageOf(id, kForever));
    waitUntilItWaits(id);
    dispatcher_->beginShutdown();
    EXPECT_EQ(11600, codeOf(waiting.reply()));
}

TEST_F(TailCursorTest, AnErrorOfTheSourceEndsTheCursor) {
    const int64_t id = open(makeTail());
    Elsewhere waiting(*this, 8, messageOf(id, kForever));
    waitUntilItWaits(id);
    list_->fail(invalid(Reason::kChangeStreamHistoryLost, "too late"));
    const bson::OwnedDocument reply = waiting.reply();
    EXPECT_EQ("",
              missingFrom(reply.view(),
                          json(R"({"ok": 0.0, "code": 286, "codeName": "ChangeStreamHistoryLost",
                                  "errmsg": "Executor error during getMore :: caused by :: )"
                               R"(too late"})")
                              .view()))
        << bson::toJson(reply.view());
    EXPECT_FALSE(isOpen(id));
}

TEST_F(TailCursorTest, ACursorThatIsOverIsInvalidated) {
    const int64_t id = open(makeTail());
    push(1);
    list_->end();
    const bson::OwnedDocument reply = getMore(id);
    EXPECT_EQ("1 @1", shown(reply));
    EXPECT_EQ(0, idOf(reply));
    EXPECT_TRUE(reply.view().findPath("cursor.invalidated").isTruthy());
    EXPECT_FALSE(isOpen(id));
}

TEST_F(TailCursorTest, WithoutAwaitDataItNeverWaits) {
    const int64_t id = open(makeTail(), false);
    const uint64_t start = platform::monotonicNanos();
    const bson::OwnedDocument empty = getMore(id);
    EXPECT_LT(platform::monotonicNanos() - start, 1'000 * kNanosPerMilli);
    EXPECT_EQ("@0", shown(empty));
    EXPECT_EQ(id, idOf(empty));
    push(1);
    EXPECT_EQ("1 @1", shown(getMore(id)));
}

TEST_F(TailCursorTest, MaxTimeIsForCursorsThatAwaitData) {
    const bson::OwnedDocument expected = json(
        R"({"ok": 0.0, "code": 2,
            "errmsg": "cannot set maxTimeMS on getMore command for a non-awaitData cursor"})");
    run(R"({"insert": "c", "documents": [{"n": 1}, {"n": 2}]})");
    const int64_t ordinary = idOf(run(R"({"find": "c", "batchSize": 1})"));
    for (const int64_t id : {ordinary, open(makeTail(), false)}) {
        const bson::OwnedDocument reply = getMore(id, R"(, "maxTimeMS": 1000)");
        EXPECT_EQ("", missingFrom(reply.view(), expected.view())) << bson::toJson(reply.view());
        EXPECT_TRUE(isOpen(id));
    }
    EXPECT_EQ("2 @none", shown(getMore(ordinary)));
}

TEST_F(TailCursorTest, StreamsRepliesWhenAllowed) {
    const int64_t id = open(makeTail());
    push(1);
    const Reply first = exchange(messageOf(id, R"(, "maxTimeMS": 20)", wire::kFlagExhaustAllowed));
    EXPECT_TRUE(first.moreToCome);
    EXPECT_EQ("1 @1", shown(bodyOf(first)));
    const Reply empty = executor_.run(connection_->next());
    EXPECT_TRUE(empty.moreToCome);
    EXPECT_EQ("@1", shown(bodyOf(empty)));
    push(2);
    EXPECT_EQ("2 @2", shown(bodyOf(executor_.run(connection_->next()))));
    list_->end();
    const Reply last = executor_.run(connection_->next());
    EXPECT_FALSE(last.moreToCome);
    EXPECT_EQ(0, idOf(bodyOf(last)));
}

sync::Task<Status> make(std::function<void()> maker) {
    maker();
    co_return Status::ok();
}

TEST_F(TailCursorTest, WaitingKeepsNoThreadForScripts) {
    constexpr size_t kMany = 12;  // more than there are such threads
    const std::string odd = R"({"$match": {"$expr": {"$function":
        {"body": "function(n) { return n % 2 == 1; }", "args": ["$n"], "lang": "js"}}}})";
    std::vector<List> lists;
    std::vector<int64_t> ids;
    std::vector<std::unique_ptr<Elsewhere>> waiting;
    for (size_t i = 0; i < kMany; ++i) {
        lists.push_back(std::make_shared<query::ListForTest>());
        ClientCursor made;
        runAsAggregate([&](Invocation& call) {
            return call.services.scripts.run(
                call, make([&] { made = clientCursor(makeTail(lists[i], odd)); }));
        });
        made.hasScripts = true;
        ids.push_back(add(std::move(made)));
        waiting.push_back(std::make_unique<Elsewhere>(*this, 100 + i, messageOf(ids[i], kForever)));
    }
    for (const int64_t id : ids) {
        waitUntilItWaits(id);
    }
    expectReply(R"({"find": "c", "filter": {"$where": "true"}})", R"({"ok": 1.0})");
    for (size_t i = 0; i < kMany; ++i) {
        push(lists[i], 2);
        push(lists[i], 3);
        EXPECT_EQ("3 @2", shown(waiting[i]->reply()));
    }
}

TEST_F(TailCursorTest, WaitingIsNoWork) {
    run(R"({"profile": 2})");
    const int64_t id = open(makeTail());
    EXPECT_EQ("@0", shown(getMore(id, R"(, "maxTimeMS": 300)")));
    run(R"({"profile": 0})");
    const bson::OwnedDocument profiled =
        run(R"({"find": "system.profile", "filter": {"op": "getmore"}})");
    const bson::Element millis = profiled.view().findPath("cursor.firstBatch.0.millis");
    ASSERT_TRUE(millis.isNumber()) << bson::toJson(profiled.view());
    EXPECT_LT(millis.toInt64(), 300);
}

}  // namespace
}  // namespace freshet::command
