// SPDX-License-Identifier: Apache-2.0
/// Running operations are shown, killed, timed out and made to fail; parameters; the slow query
/// log's limits.
#include "freshet/command/run/fixture_test.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"

namespace freshet::command {
namespace {

class OperationsTest : public CommandTest {};

TEST_F(OperationsTest, AnOperationIsSeenAndKilledWhileItWaits) {
    const bson::OwnedDocument sleep =
        request(R"({"sleep": 1, "millis": 600000, "comment": "deep"})", "admin");
    Elsewhere sleeper(*this, 8, message(sleep.view()));
    const bson::OwnedDocument op = waitForOp(R"("command.sleep": 1, "waitingForLock": true)");
    EXPECT_EQ("",
              missingFrom(op.view(),
                          json(R"({"type": "op", "op": "command",
        "ns": "admin.$cmd", "active": true, "command": {"millis": 600000, "comment": "deep"}})")
                              .view()))
        << bson::toJson(op.view());
    EXPECT_EQ(8, op.view().find("connectionId").toInt64());
    const std::string id = std::to_string(op.view().find("opid").toInt64());
    expectReply(R"({"killOp": 1, "op": )" + id + "}", R"({"ok": 1.0})", "admin");
    const bson::OwnedDocument reply = sleeper.reply();
    EXPECT_EQ(11601, reply.view().find("code").toInt64()) << bson::toJson(reply.view());
    EXPECT_EQ("Interrupted", reply.view().find("codeName").stringValue());
}

TEST_F(OperationsTest, AWaitEndsAtItsTimeLimitAndNotBefore) {
    const uint64_t start = platform::monotonicNanos();
    expectReply(R"({"sleep": 1, "millis": 600000, "maxTimeMS": 20})",
                R"({"ok": 0.0, "code": 50, "codeName": "MaxTimeMSExpired"})",
                "admin");
    EXPECT_GE(platform::monotonicNanos() - start, 20'000'000u);
}

TEST_F(OperationsTest, AWriterThatWaitsForAnotherEndsAtItsTimeLimit) {
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    engine::Txn holder(*store_);
    {
        sync::Slice slice(store_->epochs());
        const catalog::CollectionRef collection = catalog_->find("test", "c");
        engine::Cursor cursor(holder, collection->records);
        ASSERT_TRUE(cursor.first().isOk());
        ASSERT_TRUE(cursor.valid());
        ASSERT_TRUE(
            holder.put(*collection->records, std::string(cursor.key()), std::string(cursor.value()))
                .isOk());
    }
    expectReply(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}],
                    "maxTimeMS": 20})",
                R"({"ok": 0.0, "code": 50})");
    {
        sync::Slice slice(store_->epochs());
        holder.abort();
    }
    expectReply(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}]})",
                R"({"ok": 1.0, "nModified": 1})");
}

TEST_F(OperationsTest, IdleConnectionsAreShownWhenAskedFor) {
    auto other = dispatcher_->connect(clientFacts(9));
    expectReply(R"({"currentOp": 1, "connectionId": 9})", R"({"inprog": []})", "admin");
    expectReply(R"({"currentOp": 1, "$all": true, "connectionId": 9})",
                R"({"inprog": [{"active": false, "connectionId": 9, "transport": "tcp"}]})",
                "admin");
    ClientFacts near = clientFacts(10);
    near.transport = "unix";
    const auto third = dispatcher_->connect(near);
    expectReply(R"({"currentOp": 1, "$all": true, "transport": "unix"})",
                R"({"inprog": [{"connectionId": 10, "transport": "unix"}]})",
                "admin");
    other.reset();
    expectReply(
        R"({"currentOp": 1, "$all": true, "connectionId": 9})", R"({"inprog": []})", "admin");
}

TEST_F(OperationsTest, FailCommandFailsAsOftenAsItIsTold) {
    expectReplies(
        {
            {R"({"configureFailPoint": "failCommand", "mode": {"times": 2},
             "data": {"failCommands": ["ping", "noSuchCommand"], "errorCode": 91,
                      "errorLabels": ["L"], "errorExtraInfo": {"x": 1}}})",
             R"({"ok": 1.0})"},
            {R"({"noSuchCommand": 1})", R"({"code": 59})"},
            {R"({"buildInfo": 1})", R"({"ok": 1.0})"},
            {R"({"ping": 1})",
             R"({"ok": 0.0, "code": 91, "codeName": "ShutdownInProgress", "errorLabels": ["L"], "x": 1,
             "errmsg": "Failing command via 'failCommand' failpoint"})"},
            {R"({"ping": 1})", R"({"code": 91})"},
            {R"({"ping": 1})", R"({"ok": 1.0})"},
        },
        "admin");
    expectReplies(
        {
            {R"({"configureFailPoint": "failCommand", "mode": {"skip": 1},
             "data": {"failCommands": ["ping"], "errorCode": 10107}})",
             R"({"ok": 1.0})"},
            {R"({"ping": 1})", R"({"ok": 1.0})"},
            {R"({"ping": 1})", R"({"code": 10107, "codeName": "NotWritablePrimary"})"},
            {R"({"getParameter": "*"})",
             R"({"failpoint.failCommand": {"mode": 4, "data": {"errorCode": 10107}},
             "enableTestCommands": true})"},
            {R"({"configureFailPoint": "none", "mode": "off"})",
             R"({"code": 266, "codeName": "FailPointSetFailed"})"},
            {R"({"configureFailPoint": "failCommand", "mode": "sometimes"})", R"({"code": 2})"},
        },
        "admin");
}

TEST_F(OperationsTest, FailCommandMayRunTheCommandAndBlameTheWriteConcern) {
    run(R"({"configureFailPoint": "failCommand", "mode": "alwaysOn", "data":
        {"failCommands": ["insert"], "writeConcernError": {"code": 64, "errmsg": "late"}}})",
        "admin");
    expectReply(R"({"insert": "c", "documents": [{"_id": 1}]})",
                R"({"ok": 1.0, "n": 1, "writeConcernError": {"code": 64, "errmsg": "late"}})");
    expectReply(R"({"count": "c"})", R"({"n": 1})");
}

TEST_F(OperationsTest, FailCommandClosesAndBlocksAndKnowsApplications) {
    run(R"({"hello": 1, "client": {"application": {"name": "mine"}, "driver": {"name": "d"},
        "os": {"type": "t"}}})",
        "admin");
    run(R"({"configureFailPoint": "failCommand", "mode": "alwaysOn", "data":
        {"failCommands": ["ping"], "closeConnection": true, "appName": "other"}})",
        "admin");
    expectReply(R"({"ping": 1})", R"({"ok": 1.0})");
    run(R"({"configureFailPoint": "failCommand", "mode": "alwaysOn", "data":
        {"failCommands": ["ping"], "closeConnection": true, "appName": "mine"}})",
        "admin");
    const Reply reply = exchange(message(request(R"({"ping": 1})").view()));
    EXPECT_TRUE(reply.closeAfter);
    EXPECT_TRUE(reply.message.empty());
    run(R"({"configureFailPoint": "failCommand", "mode": "alwaysOn", "data":
        {"failCommands": ["ping"], "blockConnection": true, "blockTimeMS": 20}})",
        "admin");
    const uint64_t start = platform::monotonicNanos();
    expectReply(R"({"ping": 1})", R"({"ok": 1.0})");
    EXPECT_GE(platform::monotonicNanos() - start, 20'000'000u);
}

TEST_F(OperationsTest, FailCommandKnowsTheApplicationAtItsFirstHello) {
    run(R"({"configureFailPoint": "failCommand", "mode": "alwaysOn", "data":
        {"failCommands": ["hello", "isMaster"], "errorCode": 91, "appName": "mine"}})",
        "admin");
    for (const std::string hello : {"hello", "isMaster"}) {
        for (const auto& [application, reply] :
             {std::pair("mine", R"({"ok": 0.0, "code": 91})"), {"other", R"({"ok": 1.0})"}}) {
            connection_ = dispatcher_->connect(clientFacts(9));
            expectReply("{\"" + hello + R"(": 1, "client": {"application": {"name": ")" +
                            application + R"("}, "driver": {"name": "d"}, "os": {"type": "t"}}})",
                        reply,
                        "admin");
        }
        connection_ = dispatcher_->connect(clientFacts(10));
        expectReply("{\"" + hello + "\": 1}", R"({"ok": 1.0})", "admin");
    }
}

TEST_F(OperationsTest, FailCommandAsksForItsConditions) {
    const auto configure = [&](const std::string& data) {
        run(R"({"configureFailPoint": "failCommand", "mode": "alwaysOn", "data": )" + data + "}",
            "admin");
    };
    configure(R"({"failAllCommands": true, "errorCode": 91})");
    expectReply(R"({"ping": 1})", R"({"code": 91})");
    expectReply(R"({"count": "c"})", R"({"code": 91})");
    configure(R"({"failCommands": ["ping"], "errorCode": 91, "threadName": "conn8"})");
    expectReply(R"({"ping": 1})", R"({"ok": 1.0})");
    configure(R"({"failCommands": ["ping"], "errorCode": 91, "threadName": "conn7",
                  "failInternalCommands": true, "failLocalClients": true})");
    expectReply(R"({"ping": 1})", R"({"code": 91})");
    configure(R"({"failCommands": ["find"], "errorCode": 91, "namespace": "test.c"})");
    expectReply(R"({"find": "d"})", R"({"ok": 1.0})");
    expectReply(R"({"find": "c"})", R"({"code": 91})");
    for (const char* data : {R"({"failCommands": ["ping"], "blockConnection": true})",
                             R"({"failCommands": ["ping"], "blockConnection": true,
                                 "blockTimeMS": -1})"}) {
        configure(data);
        expectReply(R"({"ping": 1})", R"({"code": 72})");
    }
    configure(R"({"failCommands": ["insert"], "errorCode": 91,
                  "writeConcernError": {"code": 64, "errmsg": "late"}})");
    expectReply(R"({"insert": "c", "documents": [{}]})", R"({"code": 91})");
    expectReply(R"({"count": "c"})", R"({"n": 0})");
}

TEST_F(OperationsTest, FailCommandCountsOnlyWhatItChanges) {
    expectReplies(
        {
            {R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                 "data": {"failCommands": ["ping"], "errorLabels": ["L"]}})",
             R"({"ok": 1.0})"},
            {R"({"ping": 1})", R"({"ok": 1.0})"},
            {R"({"getParameter": 1, "failpoint.failCommand": 1})",
             R"({"failpoint.failCommand": {"mode": 3}})"},
            {R"({"configureFailPoint": "failCommand", "mode": {"activationProbability": 1.0},
                 "data": {"failCommands": ["ping"], "errorCode": 91}})",
             R"({"ok": 1.0})"},
            {R"({"ping": 1})", R"({"code": 91})"},
            {R"({"configureFailPoint": "failCommand", "mode": {"activationProbability": 0.0},
                 "data": {"failCommands": ["ping"], "errorCode": 91}})",
             R"({"ok": 1.0})"},
            {R"({"ping": 1})", R"({"ok": 1.0})"},
            {R"({"configureFailPoint": "failCommand", "mode": {"activationProbability": 2}})",
             R"({"code": 2})"},
            {R"({"configureFailPoint": "failCommand"})", R"({"code": 20})"},
            {R"({"configureFailPoint": "failCommand", "mode": "off", "data": 5})",
             R"({"code": 14})"},
        },
        "admin");
    const auto count = [&] {
        return run(R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                       "data": {"failCommands": ["ping"], "errorCode": 91}})",
                   "admin")
            .view()
            .find("count")
            .toInt64();
    };
    const int64_t before = count();
    run(R"({"ping": 1})");
    EXPECT_EQ(before + 1, count());
}

TEST_F(OperationsTest, AFailPointFailsAGetMoreThatHasItsCursor) {
    run(R"({"insert": "c", "documents": [{}, {}, {}]})");
    const auto openCursor = [&] {
        return run(R"({"find": "c", "batchSize": 1})").view().findPath("cursor.id").toInt64();
    };
    const auto getMore = [&](int64_t id) {
        return R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
               R"("}, "collection": "c"})";
    };
    expectReply(R"({"configureFailPoint": "failGetMoreAfterCursorCheckout", "mode": {"times": 1},
                    "data": {"errorCode": 6, "closeConnection": false}})",
                R"({"ok": 1.0})",
                "admin");
    const int64_t id = openCursor();
    expectReply(getMore(id + 1), R"({"code": 43})");
    expectReply(getMore(id),
                R"({"code": 6, "codeName": "HostUnreachable",
                    "errmsg": "Hit the 'failGetMoreAfterCursorCheckout' failpoint"})");
    expectReply(getMore(id), R"({"code": 43})");
    run(R"({"configureFailPoint": "failGetMoreAfterCursorCheckout", "mode": "alwaysOn"})", "admin");
    expectReply(getMore(openCursor()), R"({"code": 1})");
    run(R"({"configureFailPoint": "failGetMoreAfterCursorCheckout", "mode": "off"})", "admin");
    expectReply(getMore(openCursor()), R"({"ok": 1.0})");
}

TEST_F(OperationsTest, FailPointsEndOrLiftEachTimeLimit) {
    run(R"({"insert": "c", "documents": [{}, {}, {}]})");
    const int64_t id = run(R"({"find": "c", "batchSize": 1, "maxTimeMS": 60000})")
                           .view()
                           .findPath("cursor.id")
                           .toInt64();
    const std::string getMore =
        R"({"getMore": {"$numberLong": ")" + std::to_string(id) + R"("}, "collection": "c"})";
    expectReply(R"({"configureFailPoint": "maxTimeAlwaysTimeOut", "mode": "alwaysOn"})",
                R"({"ok": 1.0})",
                "admin");
    expectReply(R"({"find": "c", "filter": {"_id": 1}, "maxTimeMS": 60000})",
                R"({"code": 50, "codeName": "MaxTimeMSExpired",
                    "errmsg": "operation exceeded time limit"})");
    expectReply(R"({"find": "c"})", R"({"ok": 1.0})");
    expectReply(getMore, R"({"code": 50})");
    run(R"({"configureFailPoint": "maxTimeAlwaysTimeOut", "mode": "off"})", "admin");
    expectReply(R"({"find": "c", "maxTimeMS": 60000})", R"({"ok": 1.0})");
    run(R"({"configureFailPoint": "maxTimeNeverTimeOut", "mode": "alwaysOn"})", "admin");
    expectReply(R"({"sleep": 1, "millis": 30, "maxTimeMS": 1})", R"({"ok": 1.0})", "admin");
    run(R"({"configureFailPoint": "maxTimeNeverTimeOut", "mode": "off"})", "admin");
    expectReply(R"({"sleep": 1, "millis": 3000, "maxTimeMS": 1})", R"({"code": 50})", "admin");
}

TEST_F(OperationsTest, ParametersAreTypedAndBounded) {
    expectReplies(
        {
            {R"({"setParameter": 1, "cursorTimeoutMillis": 5000})",
             R"({"ok": 1.0, "was": {"$numberLong": "600000"}})"},
            {R"({"getParameter": 1, "cursorTimeoutMillis": 1})",
             R"({"cursorTimeoutMillis": {"$numberLong": "5000"}})"},
            {R"({"getParameter": {"showDetails": true}, "cursorTimeoutMillis": 1})",
             R"({"cursorTimeoutMillis": {"settableAtRuntime": true, "settableAtStartup": true}})"},
            {R"({"setParameter": 1, "cursorTimeoutMillis": "x"})", R"({"code": 2})"},
            {R"({"setParameter": 1, "cursorTimeoutMillis": 0})", R"({"code": 2})"},
            {R"({"setParameter": 1, "enableTestCommands": false})",
             R"({"code": 20, "errmsg": "not allowed to change [enableTestCommands] at runtime"})"},
            {R"({"setParameter": 1, "nope": 1})",
             R"({"code": 72, "errmsg": "attempted to set unrecognized parameter [nope], use help:true to see options "})"},
            {R"({"setParameter": 1})", R"({"code": 72})"},
            {R"({"getParameter": 1, "nope": 1})",
             R"({"code": 72, "errmsg": "no option found to get"})"},
            {R"({"getParameter": 1, "featureCompatibilityVersion": 1})",
             R"({"featureCompatibilityVersion": {"version": "8.0"}})"},
            {R"({"profile": 0, "slowms": 50, "sampleRate": 0.5})",
             R"({"was": 0, "slowms": 100, "sampleRate": 1.0})"},
            {R"({"profile": -1})", R"({"was": 0, "slowms": 50, "sampleRate": 0.5})"},
        },
        "admin");
}

TEST_F(OperationsTest, AnApiVersionMayBeDemanded) {
    expectReply(R"({"setParameter": 1, "requireApiVersion": true})", R"({"ok": 1.0})", "admin");
    expectReplies(
        {
            {R"({"ping": 1})", R"({"code": 498870})"},
            {R"({"ping": 1, "apiVersion": "1"})", R"({"ok": 1.0})"},
            {R"({"hello": 1})", R"({"ok": 1.0})"},
            {R"({"top": 1, "apiVersion": "1", "apiStrict": true})",
             R"({"code": 323, "codeName": "APIStrictError"})"},
            {R"({"ping": 1, "apiVersion": "2"})", R"({"code": 322})"},
        },
        "admin");
}

TEST_F(OperationsTest, ALockAgainstWritersHoldsThemUpUntilItIsGone) {
    expectReply(R"({"fsync": 1, "lock": true})",
                R"({"ok": 1.0, "lockCount": {"$numberLong": "1"}})",
                "admin");
    expectReply(R"({"insert": "c", "documents": [{"_id": 1}], "maxTimeMS": 20})",
                R"({"code": 50})");
    expectReply(R"({"count": "c"})", R"({"n": 0})");
    expectReply(R"({"aggregate": "c", "pipeline": [{"$match": {}}], "cursor": {}})",
                R"({"ok": 1.0})");
    expectReply(R"({"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {}, "maxTimeMS": 20})",
                R"({"code": 50})");
    expectReply(R"({"fsyncUnlock": 1})", R"({"lockCount": {"$numberLong": "0"}})", "admin");
    expectReply(R"({"insert": "c", "documents": [{"_id": 1}]})", R"({"n": 1})");
    expectReply(R"({"fsyncUnlock": 1})", R"({"code": 20})", "admin");
}

}  // namespace
}  // namespace freshet::command
