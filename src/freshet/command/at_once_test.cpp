// SPDX-License-Identifier: Apache-2.0
/// Commands that are answered without a coroutine: who asks does not notice.
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

    /// Whether it is answered at once. Either way the answer is the one that handle() gives.
    bool isAtOnce(std::string_view text, std::string_view db = "test") {
        const std::string bytes = message(request(text, db).view());
        const bson::OwnedDocument general = bodyOf(executor_.run(connection_->handle(bytes)));
        Reply reply;
        const bool isShort = connection_->handleAtOnce(bytes, &reply);
        if (!isShort) {
            reply = executor_.run(connection_->handle(bytes));
        }
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
    EXPECT_TRUE(isAtOnce(R"({"find": "nowhere", "filter": {"_id": 1}})"));
    EXPECT_TRUE(isAtOnce(R"({"find": "c", "filter": {"_id": null}})"));
    // Errors as well.
    EXPECT_TRUE(isAtOnce(R"({"find": "c", "filter": {"_id": 1}, "limit": -1})"));
    EXPECT_TRUE(isAtOnce(R"({"find": "", "filter": {"_id": 1}})"));
    EXPECT_TRUE(isAtOnce(R"({"find": 5, "filter": {"_id": 1}})"));
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
    run(R"({"find": "c", "filter": {"_id": {"$regex": "^k"}}})");
    EXPECT_EQ(number("opcounters", "query"), queries + 2);
    EXPECT_EQ(number("metrics", "document.returned"), returned + 2);
}

TEST_F(AtOnceTest, FailPointsStillFire) {
    expectReply(R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                    "data": {"failCommands": ["find"], "errorCode": 11601}})",
                R"({"ok": 1})",
                "admin");
    expectReply(R"({"find": "c", "filter": {"_id": 1}})", R"({"ok": 0, "code": 11601})");
    expectReply(R"({"find": "c", "filter": {"_id": 1}})", R"({"ok": 1})");
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
