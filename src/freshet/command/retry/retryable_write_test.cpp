// SPDX-License-Identifier: Apache-2.0
/// A write that is sent twice is done once: repeated, concurrently with itself, and after a crash.
#include "freshet/command/run/fixture_test.h"
#include "freshet/platform/thread.h"
#include "freshet/testing/sim/seed.h"

#include <random>

namespace freshet::command {
namespace {

class RetryableWriteTest : public CommandTest {
protected:
    /// The command with a session and a transaction number.
    static std::string numbered(std::string_view command, int number, int session = 1) {
        const std::string text(command);
        return text.substr(0, text.rfind('}')) + R"(, "lsid": {"id": {"$binary": {"base64": ")" +
               std::string(1, 'A' + session) +
               R"(AAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}}, "txnNumber": {"$numberLong": ")" +
               std::to_string(number) + R"("}})";
    }
    void expectTwice(std::string_view command, int number, std::string_view reply) {
        const std::string sent = numbered(command, number);
        expectReply(sent, reply);
        SCOPED_TRACE("the second time");
        expectReply(sent, reply);
    }
    std::string documents() {
        const bson::OwnedDocument reply =
            run(R"({"find": "c", "sort": {"_id": 1}, "projection": {"_id": 1, "n": 1}})");
        return bson::toJson(reply.view().findPath("cursor.firstBatch").document());
    }
    int64_t countOf(const std::string& filter) {
        return run(R"({"count": "c", "query": )" + filter + "}").view().find("n").toInt64();
    }
};

TEST_F(RetryableWriteTest, EachKindOfWriteIsDoneOnce) {
    expectTwice(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}, {"_id": 2, "n": 0}]})",
                1,
                R"({"n": 2})");
    expectTwice(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}}]})",
                2,
                R"({"n": 1, "nModified": 1})");
    expectTwice(R"({"delete": "c", "deletes": [{"q": {"n": 0}, "limit": 1}]})", 3, R"({"n": 1})");
    EXPECT_EQ(countOf("{}"), 1);
    EXPECT_EQ(countOf(R"({"_id": 1, "n": 1})"), 1);
}

TEST_F(RetryableWriteTest, WhatIsGivenBackIsGivenBackAgain) {
    run(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}]})");
    const std::string add =
        R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}})";
    expectTwice(
        add + "}",
        1,
        R"({"value": {"_id": 1, "n": 0}, "lastErrorObject": {"n": 1, "updatedExisting": true}})");
    expectTwice(add + R"(, "new": true})", 2, R"({"value": {"_id": 1, "n": 2}})");
    expectTwice(
        R"({"findAndModify": "c", "query": {"_id": 7}, "update": {"$set": {"n": 3}}, "upsert": true})",
        3,
        R"({"value": null, "lastErrorObject": {"n": 1, "updatedExisting": false, "upserted": 7}})");
    expectTwice(R"({"findAndModify": "c", "query": {"_id": 1}, "remove": true})",
                4,
                R"({"value": {"_id": 1, "n": 2}, "lastErrorObject": {"n": 1}})");
    expectTwice(
        R"({"update": "c", "updates": [{"q": {"_id": 9}, "u": {"$set": {"n": 1}}, "upsert": true}]})",
        5,
        R"({"n": 1, "nModified": 0, "upserted": [{"index": 0, "_id": 9}]})");
    EXPECT_EQ(countOf("{}"), 2);
}

TEST_F(RetryableWriteTest, AReplySaysWhatWasRetried) {
    const std::string first = R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})";
    EXPECT_FALSE(run(numbered(first, 1)).view().has("retriedStmtIds"));
    expectReply(numbered(first, 1), R"({"n": 2, "retriedStmtIds": [0, 1]})");
    // What was not done the first time is done now.
    expectReply(
        numbered(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})", 1),
        R"({"n": 3, "retriedStmtIds": [0, 1]})");
    expectReply(numbered(R"({"insert": "c", "documents": [{"_id": 4}], "stmtId": 2})", 1),
                R"({"n": 1, "retriedStmtIds": [2]})");
    expectReply(
        numbered(R"({"insert": "c", "documents": [{"_id": 5}, {"_id": 6}], "stmtIds": [9, 1]})", 1),
        R"({"n": 2, "retriedStmtIds": [1]})");
    EXPECT_EQ(
        documents(),
        R"({ "0" : { "_id" : 1 }, "1" : { "_id" : 2 }, "2" : { "_id" : 3 }, "3" : { "_id" : 5 } })");
}

TEST_F(RetryableWriteTest, AFailedStatementFailsAgainAndTheOthersCount) {
    run(R"({"insert": "c", "documents": [{"_id": 2}]})");
    const std::string sent = numbered(
        R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}], "ordered": false})",
        1);
    for (int i = 0; i < 2; ++i) {
        expectReply(sent, R"({"n": 2, "writeErrors": [{"index": 1, "code": 11000}]})");
    }
    EXPECT_EQ(countOf("{}"), 3);
}

TEST_F(RetryableWriteTest, SurvivesACrashWithWhatItWrote) {
    const std::string one = numbered(R"({"insert": "c", "documents": [{"_id": 1, "n": 1}]})", 7);
    const std::string add = numbered(
        R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "new": true})",
        8);
    expectReply(one, R"({"n": 1})");
    expectReply(add, R"({"value": {"_id": 1, "n": 2}})");
    crash();
    expectReply(add, R"({"value": {"_id": 1, "n": 2}})");
    expectReply(one, R"({"code": 225, "codeName": "TransactionTooOld"})");
    EXPECT_EQ(countOf(R"({"n": 2})"), 1);
}

/// Commands of several sessions, some of which are sent again, with checkpoints and power cuts at
/// random places. Each adds one to a counter of its session.
TEST_F(RetryableWriteTest, NothingIsDoneTwiceWhateverCheckpointsAndCrashesComeBetween) {
    constexpr int kSessions = 5;
    std::mt19937_64 random(testing::testSeed());
    std::vector<int> done(kSessions + 1);
    const auto add = [&](int session, int number) {
        return numbered(R"({"findAndModify": "c", "query": {"_id": )" + std::to_string(session) +
                            R"(}, "update": {"$inc": {"n": 1}}, "upsert": true, "new": true})",
                        number,
                        session);
    };
    for (int step = 0; step < 300; ++step) {
        const int session = 1 + static_cast<int>(random() % kSessions);
        if (random() % 3 == 0 || done[session] == 0) {
            ++done[session];
        }
        SCOPED_TRACE(step);
        expectReply(add(session, done[session]),
                    R"({"value": {"n": )" + std::to_string(done[session]) + "}}");
        switch (random() % 20) {
            case 0:
                ASSERT_TRUE(store_->checkpointNow().isOk());
                break;
            case 1:
                crash();
                break;
            case 2:  // a clean end
                close();
                open();
                break;
            default:
                break;
        }
    }
    for (int session = 1; session <= kSessions; ++session) {
        EXPECT_EQ(countOf(R"({"_id": )" + std::to_string(session) + R"(, "n": )" +
                          std::to_string(done[session]) + "}"),
                  1);
    }
}

TEST_F(RetryableWriteTest, ALongBatchIsKnownWholeAfterACrashInItsMiddle) {
    const auto batch = [](int count) {
        std::string updates;
        for (int i = 0; i < count; ++i) {
            updates += (i == 0 ? "" : ", ") + (R"({"q": {"_id": )" + std::to_string(i)) +
                       R"(}, "u": {"$inc": {"n": 1}}, "upsert": true})";
        }
        return numbered(R"({"update": "c", "updates": [)" + updates + "]}", 1);
    };
    for (const int count : {300, 500, 501, 900}) {
        run(batch(count));
        if (count != 501) {
            ASSERT_TRUE(store_->checkpointNow().isOk());
            EXPECT_GT(run(R"({"count": "transactions"})", "config").view().find("n").toInt64(), 2);
        }
        crash();
        const bson::OwnedDocument reply = run(batch(count));
        EXPECT_EQ(reply.view().find("retriedStmtIds").document().fieldCount(), count);
        EXPECT_EQ(reply.view().find("upserted").document().fieldCount(), count);
        EXPECT_EQ(countOf(R"({"n": 1})"), count);
        EXPECT_EQ(countOf("{}"), count);
    }
}

TEST_F(RetryableWriteTest, WhatAnEarlierVersionHasStoredCounts) {
    expectReply(R"({"insert": "transactions", "documents": [{"_id": {"id": {"$binary":
                    {"base64": "BAAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}},
                    "txnNum": {"$numberLong": "4"}, "lastWriteDate": {"$date": {"$numberLong": "0"}},
                    "done": [0, 1], "results": [{"stmtId": 1, "n": {"$numberLong": "0"},
                    "nModified": {"$numberLong": "0"}, "upserted": 7}], "parts": 0}]})",
                R"({"n": 1})",
                "config");
    const std::string updates =
        R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}},
            {"q": {"_id": 7}, "u": {"$inc": {"n": 1}}, "upsert": true},
            {"q": {"_id": 8}, "u": {"$inc": {"n": 1}}, "upsert": true}]})";
    for (int i = 0; i < 2; ++i) {
        expectReply(numbered(updates, 4),
                    R"({"n": 3, "upserted": [{"index": 1, "_id": 7}, {"index": 2, "_id": 8}]})");
        expectReply(numbered(updates, 3), R"({"code": 225})");
        EXPECT_EQ(countOf("{}"), 1);
        crash();
    }
}

TEST_F(RetryableWriteTest, WritesToCollectionsWithoutEventsAreDoneOnce) {
    const std::string add =
        numbered(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}},
                     "upsert": true}]})",
                 1);
    expectReply(add, R"({"n": 1})", "local");
    crash();
    expectReply(add, R"({"n": 1, "retriedStmtIds": [0]})", "local");
    EXPECT_FALSE(run(R"({"find": "c", "filter": {"n": 1}})", "local")
                     .view()
                     .findPath("cursor.firstBatch")
                     .document()
                     .isEmpty());
}

TEST_F(RetryableWriteTest, TheirRecordsAreShownAndWhoDeletesThemForgetsThem) {
    const std::string insert = numbered(R"({"insert": "c", "documents": [{"_id": 1}]})", 5);
    expectReply(insert, R"({"n": 1})");
    expectReply(R"({"find": "transactions", "projection": {"txnNum": 1, "_id": 0}})",
                R"({"cursor": {"firstBatch": [{"txnNum": 5}]}})",
                "config");
    expectReply(R"({"delete": "transactions", "deletes": [{"q": {}, "limit": 0}]})",
                R"({"n": 1})",
                "config");
    expectReply(insert, R"({"writeErrors": [{"code": 11000}]})");
}

TEST_F(RetryableWriteTest, NumbersAreOfOneSession) {
    const std::string add =
        R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}}]})";
    run(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}]})");
    for (int session = 1; session <= 3; ++session) {
        expectReply(numbered(add, 1, session), R"({"n": 1})");
    }
    expectReply(numbered(add, 2, 2), R"({"n": 1})");
    expectReply(numbered(add, 1, 2), R"({"code": 225})");
    EXPECT_EQ(countOf(R"({"n": 4})"), 1);
}

TEST_F(RetryableWriteTest, OneCommandAtATimeWhenItIsSentBesideItself) {
    run(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}]})");
    constexpr int kThreads = 4;
    constexpr int kNumbers = 50;
    const std::string add =
        R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "new": true})";
    std::vector<platform::Thread> threads;
    std::vector<std::vector<int64_t>> seen(kThreads);
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back("client", [&, t] {
            sync::LocalExecutor executor;
            auto connection = dispatcher_->connect(clientFacts(100 + t));
            for (int number = 1; number <= kNumbers; ++number) {
                const std::string bytes = message(request(numbered(add, number)).view());
                const bson::OwnedDocument reply = bodyOf(executor.run(connection->handle(bytes)));
                const bson::Element value = reply.view().findPath("value.n");
                seen[t].push_back(value ? value.toInt64() : -reply.view().find("code").toInt64());
            }
        });
    }
    for (platform::Thread& thread : threads) {
        thread.join();
    }
    // All sendings that were not too late got the same answer, whichever of them did the write.
    for (const std::vector<int64_t>& answers : seen) {
        for (int number = 1; number <= kNumbers; ++number) {
            EXPECT_TRUE(answers[number - 1] == number || answers[number - 1] == -225)
                << answers[number - 1];
        }
    }
    EXPECT_EQ(countOf(R"({"n": 50})"), 1);
}

TEST_F(RetryableWriteTest, ALongBatchOfUpsertsIsKnownWhole) {
    std::string updates;
    for (int i = 0; i < 300; ++i) {
        updates += (i == 0 ? "" : ", ") + (R"({"q": {"_id": )" + std::to_string(i)) +
                   R"(}, "u": {"$inc": {"n": 1}}, "upsert": true})";
    }
    const std::string sent = numbered(R"({"update": "c", "updates": [)" + updates + "]}", 1);
    const bson::OwnedDocument first = run(sent);
    const bson::OwnedDocument second = run(sent);
    EXPECT_EQ(first.view().find("upserted").document().fieldCount(), 300u);
    EXPECT_EQ(first.view().find("upserted").value(), second.view().find("upserted").value());
    EXPECT_EQ(countOf(R"({"n": 1})"), 300);
    EXPECT_GT(run(R"({"count": "transactions"})", "config").view().find("n").toInt64(), 2);
}

TEST_F(RetryableWriteTest, AnUnorderedBatchInWhichEachSecondOneFails) {
    std::string half;
    std::string all;
    for (int i = 0; i < 600; ++i) {
        const std::string document = R"({"_id": )" + std::to_string(i) + "}";
        all += (i == 0 ? "" : ", ") + document;
        half += i % 2 == 0 ? "" : (i == 1 ? "" : ", ") + document;
    }
    run(R"({"insert": "c", "documents": [)" + half + "]}");
    const std::string sent =
        numbered(R"({"insert": "c", "ordered": false, "documents": [)" + all + "]}", 1);
    for (int i = 0; i < 2; ++i) {
        const bson::OwnedDocument reply = run(sent);
        EXPECT_EQ(reply.view().find("n").toInt64(), 300);
        EXPECT_EQ(reply.view().find("writeErrors").document().fieldCount(), 300u);
        EXPECT_EQ(reply.view().has("retriedStmtIds"), i == 1);
    }
}

/// The fail point by which drivers' tests lose a reply: the statement is done, or it is not.
TEST_F(RetryableWriteTest, AConnectionThatEndsBeforeItsReply) {
    const char* insert = R"({"insert": "c", "documents": [{"_id": 1}]})";
    const std::string bytes = message(request(numbered(insert, 1)).view());
    for (const bool isDone : {false, true}) {
        run(std::string(
                R"({"configureFailPoint": "onPrimaryTransactionalWrite", "mode": {"times": 1}, "data": {)") +
                (isDone ? "" : R"("failBeforeCommitExceptionCode": 1)") + "}}",
            "admin");
        EXPECT_TRUE(exchange(bytes).closeAfter);
        EXPECT_EQ(countOf("{}"), isDone ? 1 : 0);
    }
    expectReply(numbered(insert, 1), R"({"n": 1, "retriedStmtIds": [0]})");
}

TEST_F(RetryableWriteTest, WhatCannotBeKnownIsRefused) {
    const std::string many = R"({"q": {}, "u": {"$set": {"n": 1}}, "multi": true})";
    expectReplies({
        {numbered(R"({"update": "c", "updates": [)" + many + "]}", 1), R"({"code": 72})"},
        {numbered(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})", 1), R"({"code": 72})"},
        {numbered(R"({"find": "c"})", 1),
         R"({"code": 50768, "codeName": "NotARetryableWriteCommand"})"},
        {numbered(R"({"insert": "c", "documents": [{}]})", -1), R"({"code": 72})"},
        {numbered(R"({"insert": "c", "documents": [{}], "stmtIds": [1, 2]})", 1),
         R"({"code": 16})"},
        {numbered(R"({"insert": "c", "documents": [{}], "stmtId": 1, "stmtIds": [1]})", 1),
         R"({"code": 72})"},
    });
    EXPECT_EQ(countOf("{}"), 0);
}

TEST_F(RetryableWriteTest, TheirRecordsMayBeDroppedAndCannotBeRenamed) {
    const std::string insert = R"({"insert": "c", "documents": [{"_id": 1}]})";
    expectReply(numbered(insert, 1), R"({"n": 1})");
    expectReply(R"({"listIndexes": "transactions"})",
                R"({"cursor": {"firstBatch": [{"name": "_id_"}, {"expireAfterSeconds": 1860}]}})",
                "config");
    expectReply(R"({"renameCollection": "config.transactions", "to": "config.x"})",
                R"({"code": 20})",
                "admin");
    expectReply(
        R"({"renameCollection": "test.c", "to": "config.transactions", "dropTarget": true})",
        R"({"code": 20})",
        "admin");
    expectReply(R"({"drop": "transactions"})", R"({"ok": 1})", "config");
    expectReply(numbered(R"({"insert": "c", "documents": [{"_id": 2}]})", 2), R"({"n": 1})");
    expectReply(numbered(insert, 1), R"({"code": 225})");
    // Writes there are not recorded.
    expectReply(numbered(R"({"delete": "transactions", "deletes": [{"q": {}, "limit": 1}]})", 1),
                R"({"n": 1})",
                "config");
    expectReply(R"({"validate": "transactions"})", R"({"valid": true})", "config");
}

}  // namespace
}  // namespace freshet::command
