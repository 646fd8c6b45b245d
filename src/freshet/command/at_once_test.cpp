// SPDX-License-Identifier: Apache-2.0
/// Commands that are answered without a coroutine: the client does not notice the difference.
#include "freshet/command/crud/find.h"
#include "freshet/command/run/fixture_test.h"

#include <gtest/gtest.h>

namespace freshet::command {
namespace {

class AtOnceTest : public CommandTest {
protected:
    AtOnceTest() {
        run(R"({"insert": "c", "documents": [{"_id": 1, "a": "x"}, {"_id": "k", "a": "y"}]})");
    }

    Reply answer(const std::string& bytes) {
        Reply reply;
        return connection_->handleAtOnce(bytes, &reply) ? std::move(reply)
                                                        : executor_.run(connection_->handle(bytes));
    }

    /// As a reactor has it answered when it is one of several messages.
    Reply answerAhead(const std::string& bytes) {
        connection_->lookAhead(bytes);
        {
            sync::Slice slice(store_->epochs());
            Dispatcher::readAhead();
        }
        return answer(bytes);
    }

    /// Whether it is answered at once. In either case the answer must equal that of handle().
    bool isAtOnce(std::string_view text, std::string_view db = "test") {
        const std::string bytes = message(request(text, db).view());
        const bson::OwnedDocument general = bodyOf(executor_.run(connection_->handle(bytes)));
        Reply reply;
        const bool isShort = connection_->handleAtOnce(bytes, &reply);
        if (!isShort) {
            reply = executor_.run(connection_->handle(bytes));
        }
        EXPECT_EQ(bson::toJson(bodyOf(reply).view()), bson::toJson(general.view())) << text;
        reply = answerAhead(bytes);
        EXPECT_EQ(bson::toJson(bodyOf(reply).view()), bson::toJson(general.view())) << text;
        return isShort;
    }

    int64_t number(std::string_view section, std::string_view name) {
        const bson::OwnedDocument status = run(R"({"serverStatus": 1})");
        return status.view().find(section).document().findPath(name).toInt64();
    }
};

TEST_F(AtOnceTest, PointReadsAreAndSayTheSame) {
    EXPECT_TRUE(isAtOnce(R"({"find": "c", "filter": {"_id": 1}})"));
    EXPECT_TRUE(isAtOnce(R"({"find": "c", "filter": {"_id": "k"}, "limit": 1, "singleBatch": true,
                             "comment": "a driver's findOne"})"));
    EXPECT_TRUE(isAtOnce(R"({"find": "c", "filter": {"_id": "none"}})"));
}

TEST_F(AtOnceTest, TheSameIsAskedAgainOfOtherDocuments) {
    run(R"({"insert": "c", "documents": [{"_id": 2, "a": "a longer one"}, {"_id": "q", "a": 4},
            {"_id": {"$oid": "507f1f77bcf86cd799439011"}}, {"_id": 2.5}, {"_id": true}]})");
    // Each type twice, so that the second differs from the first in its value only; some do not
    // exist.
    for (const char* id : {"1",
                           "2",
                           "3",
                           "2",
                           R"("k")",
                           R"("q")",
                           R"("x")",
                           R"("longer")",
                           "1",
                           "2.5",
                           "3.5",
                           R"({"$oid": "507f1f77bcf86cd799439012"})",
                           R"({"$oid": "507f1f77bcf86cd799439011"})",
                           "2"}) {
        EXPECT_TRUE(isAtOnce(R"({"find": "c", "filter": {"_id": )" + std::string(id) + "}}")) << id;
    }
    // Only two values of a bool's byte are valid, so it is not taken over from another message.
    EXPECT_FALSE(isAtOnce(R"({"find": "c", "filter": {"_id": true}})"));
}

TEST_F(AtOnceTest, EachSessionIsTheOneThatAsked) {
    for (const char* session :
         {"AAAAAAAAAAAAAAAAAAAAAA==", "BBBBBBBBBBBBBBBBBBBBBA==", "AAAAAAAAAAAAAAAAAAAAAA=="}) {
        EXPECT_TRUE(isAtOnce(R"({"find": "c", "filter": {"_id": 1}, "lsid": {"id": {"$binary":
                                 {"base64": ")" +
                             std::string(session) + R"(", "subType": "04"}}}})"));
    }
    const bson::OwnedDocument sessions =
        run(R"({"aggregate": 1, "pipeline": [{"$listLocalSessions": {"allUsers": true}}],
                "cursor": {}})",
            "admin");
    const bson::Document batch = sessions.view().findPath("cursor.firstBatch").document();
    EXPECT_TRUE(batch.has("1") && !batch.has("2")) << bson::toJson(sessions.view());
}

TEST_F(AtOnceTest, WhatBecomesOfTheCollectionIsSeen) {
    const char* const kFind = R"({"find": "c", "filter": {"_id": 1}})";
    EXPECT_TRUE(isAtOnce(kFind));
    expectReply(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"_id": 1, "a": "new"}}]})",
                R"({"ok": 1, "n": 1})");
    EXPECT_TRUE(isAtOnce(kFind));
    expectReply(R"({"renameCollection": "test.c", "to": "test.d"})", R"({"ok": 1})", "admin");
    expectReply(kFind, R"({"cursor": {"firstBatch": []}, "ok": 1})");
    expectReply(R"({"find": "d", "filter": {"_id": 1}})",
                R"({"cursor": {"firstBatch": [{"_id": 1, "a": "new"}]}, "ok": 1})");
    expectReply(R"({"insert": "c", "documents": [{"_id": 1, "a": "newer"}]})", R"({"ok": 1})");
    expectReply(kFind, R"({"cursor": {"firstBatch": [{"_id": 1, "a": "newer"}]}, "ok": 1})");
    EXPECT_TRUE(isAtOnce(kFind));
    expectReply(R"({"drop": "c"})", R"({"ok": 1})");
    EXPECT_FALSE(isAtOnce(kFind));
    expectReply(kFind, R"({"cursor": {"firstBatch": []}, "ok": 1})");
}

TEST_F(AtOnceTest, AVersionOfTheInterfaceMayBeAskedForLater) {
    const char* const kFind = R"({"find": "c", "filter": {"_id": 1}})";
    EXPECT_TRUE(isAtOnce(kFind));
    expectReply(R"({"setParameter": 1, "requireApiVersion": true, "apiVersion": "1"})",
                R"({"ok": 1})",
                "admin");
    expectReply(kFind, R"({"ok": 0, "code": 498870})");
}

TEST_F(AtOnceTest, WhateverMayTakeLongIsNot) {
    for (const char* text : {R"({"find": "c"})",
                             R"({"find": "c", "filter": {}})",
                             R"({"find": "c", "filter": {"a": 1}})",
                             R"({"find": "c", "filter": {"_id": 1, "a": "x"}})",
                             R"({"find": "c", "filter": {"_id": {"$gt": 0}}})",
                             R"({"find": "c", "filter": {"_id": 1}, "sort": {"a": 1}})",
                             R"({"find": "c", "filter": {"_id": 1}, "projection": {"a": 1}})",
                             R"({"find": "c", "filter": {"_id": 1}, "bogus": 1})",
                             R"({"find": "c", "filter": {"_id": 1},
                                 "readConcern": {"level": "majority"}})",
                             R"({"find": "c", "filter": {"_id": 1}, "maxTimeMS": 1000})",
                             R"({"find": "c", "filter": {"_id": 1}, "limit": -1})",
                             R"({"find": "c", "filter": {"_id": null}})",
                             R"({"find": "nowhere", "filter": {"_id": 1}})",
                             R"({"find": "", "filter": {"_id": 1}})",
                             R"({"find": 5, "filter": {"_id": 1}})",
                             R"({"ping": 1})",
                             R"({"nope": 1})"}) {
        EXPECT_FALSE(isAtOnce(text)) << text;
    }
}

TEST_F(AtOnceTest, ABatchOfNoneLeavesACursorThatGivesTheDocument) {
    const bson::OwnedDocument first = run(R"({"find": "c", "filter": {"_id": 1}, "batchSize": 0})");
    const int64_t id = first.view().findPath("cursor.id").toInt64();
    ASSERT_NE(id, 0);
    expectReply(
        R"({"getMore": {"$numberLong": ")" + std::to_string(id) + R"("}, "collection": "c"})",
        R"({"cursor": {"nextBatch": [{"_id": 1, "a": "x"}], "id": 0}, "ok": 1})");
}

TEST_F(AtOnceTest, IsCountedOnce) {
    const int64_t queries = number("opcounters", "query");
    const int64_t returned = number("metrics", "document.returned");
    run(R"({"find": "c", "filter": {"_id": 1}})");
    run(R"({"find": "c", "filter": {"_id": 1}})");
    run(R"({"find": "c", "filter": {"_id": 7}})");
    run(R"({"find": "c", "filter": {"_id": {"$regex": "^k"}}})");
    EXPECT_EQ(number("opcounters", "query"), queries + 4);
    EXPECT_EQ(number("metrics", "document.returned"), returned + 3);
}

TEST_F(AtOnceTest, FailPointsStillFire) {
    expectReply(R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                    "data": {"failCommands": ["find"], "errorCode": 11601}})",
                R"({"ok": 1})",
                "admin");
    expectReply(R"({"find": "c", "filter": {"_id": 1}})", R"({"ok": 0, "code": 11601})");
    expectReply(R"({"find": "c", "filter": {"_id": 1}})", R"({"ok": 1})");
}

TEST_F(AtOnceTest, FailPointsFireForWhatWasAskedBefore) {
    run(R"({"find": "c", "filter": {"_id": 1}})");
    expectReply(R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                    "data": {"failCommands": ["find"], "errorCode": 11601}})",
                R"({"ok": 1})",
                "admin");
    expectReply(R"({"find": "c", "filter": {"_id": 1}})", R"({"ok": 0, "code": 11601})");
}

TEST_F(AtOnceTest, WhatWasLookedAheadAtIsForgottenWhenItIsAnsweredOtherwise) {
    const auto find = [&](const char* id) {
        const std::string text = R"({"find": "c", "filter": {"_id": )" + std::string(id) + "}}";
        return message(request(text, "test").view());
    };
    const auto firstId = [&](const Reply& reply) {
        return bodyOf(reply).view().findPath("cursor.firstBatch.0._id").toInt64();
    };
    run(R"({"insert": "c", "documents": [{"_id": 2}]})");
    EXPECT_EQ(firstId(answerAhead(find("1"))), 1);
    run(R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
            "data": {"failCommands": ["find"], "errorCode": 11601}})",
        "admin");
    EXPECT_EQ(bodyOf(answerAhead(find("1"))).view().find("code").toInt64(), 11601);
    EXPECT_EQ(firstId(answer(find("2"))), 2);
}

TEST_F(AtOnceTest, StrangersAreRefused) {
    isAuthEnabled_ = true;
    close();
    open();
    EXPECT_FALSE(isAtOnce(R"({"find": "c", "filter": {"_id": 1}})"));
    expectReply(R"({"find": "c", "filter": {"_id": 1}})", R"({"ok": 0, "code": 13})");
}

}  // namespace
}  // namespace freshet::command
