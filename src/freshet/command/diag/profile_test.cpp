// SPDX-License-Identifier: Apache-2.0
/// Reports of operations that have ended: the profile, the slow query line, the counters; and the
/// owners of running operations.
#include "freshet/command/access/auth_fixture_test.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"
#include "freshet/telemetry/log.h"

#include <algorithm>

namespace freshet::command {
namespace {

class ProfileTest : public CommandTest {
protected:
    /// The recorded operations that the filter finds.
    std::vector<bson::OwnedDocument> recorded(std::string_view filter,
                                              std::string_view db = "test") {
        const bson::OwnedDocument reply =
            run(R"({"find": "system.profile", "batchSize": 100000, "filter": )" +
                    std::string(filter) + "}",
                db);
        std::vector<bson::OwnedDocument> result;
        const bson::Element batch = reply.view().findPath("cursor.firstBatch");
        EXPECT_TRUE(batch.isArray()) << bson::toJson(reply.view());
        for (const bson::Element& element : batch.isArray() ? batch.document() : bson::Document()) {
            result.emplace_back(element.document());
        }
        return result;
    }

    /// There is one such operation, and it has these fields.
    void expectOne(std::string_view filter, std::string_view expected) {
        const std::vector<bson::OwnedDocument> found = recorded(filter);
        ASSERT_EQ(1u, found.size()) << filter;
        EXPECT_EQ("", missingFrom(found[0].view(), json(expected).view()))
            << bson::toJson(found[0].view());
    }

    static size_t slowLinesWith(std::string_view text) {
        const std::vector<std::string> lines = telemetry::recentLog();
        return static_cast<size_t>(std::count_if(lines.begin(), lines.end(), [&](const auto& line) {
            return line.find("\"Slow query\"") != std::string::npos &&
                   line.find(text) != std::string::npos;
        }));
    }
};

TEST_F(ProfileTest, LevelTwoRecordsWhatOperationsDid) {
    expectReply(R"({"profile": 2, "slowms": 600000})", R"({"was": 0, "slowms": 100})");
    run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}, {"_id": 3, "a": 3}]})");
    run(R"({"find": "c", "filter": {"a": {"$gte": 2}}, "sort": {"a": -1}})");
    run(R"({"find": "c", "filter": {"_id": 2}})");
    run(R"({"update": "c", "updates": [{"q": {"a": {"$lte": 2}}, "u": {"$set": {"a": 2}}, "multi": true}]})");
    run(R"({"delete": "c", "deletes": [{"q": {"_id": 9}, "limit": 1}]})");
    run(R"({"find": "c", "filter": {"$nope": 1}})");
    run(R"({"ping": 1})");
    expectOne(R"({"op": "insert"})",
              R"({"ns": "test.c", "command": {"insert": "c"}, "ninserted": 3,
                  "client": "127.0.0.1", "user": "", "allUsers": [], "protocol": "op_msg"})");
    expectOne(R"({"ns": "test.c", "hasSortStage": true})",
              R"({"op": "query", "command": {"find": "c", "filter": {"a": {"$gte": 2}}},
                  "keysExamined": 0, "docsExamined": 3, "nreturned": 2, "planSummary": "COLLSCAN",
                  "cursorExhausted": true})");
    expectOne(R"({"planSummary": "IDHACK", "op": "query"})",
              R"({"keysExamined": 1, "docsExamined": 1, "nreturned": 1})");
    expectOne(R"({"op": "update"})",
              R"({"nMatched": 2, "nModified": 1, "docsExamined": 3,
                  "command": {"q": {"a": {"$lte": 2}}, "multi": true}})");
    expectOne(R"({"op": "remove"})", R"({"ndeleted": 0, "ns": "test.c"})");
    expectOne(R"({"errCode": {"$exists": true}})",
              R"({"ok": 0.0, "errCode": 2, "errName": "BadValue"})");
    EXPECT_TRUE(recorded(R"({"command.ping": 1})").empty());
    expectReply(R"({"profile": 0})", R"({"was": 2, "slowms": 600000})");
    run(R"({"find": "after"})");
    EXPECT_TRUE(recorded(R"({"ns": "test.after"})").empty());
}

TEST_F(ProfileTest, LevelOneRecordsWhatIsSlowOrWhatTheFilterFinds) {
    run(R"({"profile": 1, "slowms": 600000})");
    run(R"({"find": "fast"})");
    EXPECT_TRUE(recorded("{}").empty());
    run(R"({"profile": 1, "slowms": -1})");
    run(R"({"find": "slow"})");
    expectOne(R"({"ns": "test.slow"})", R"({"op": "query"})");
    expectReply(R"({"profile": 1, "slowms": 600000, "filter": {"ns": "test.meant"}})",
                R"({"was": 1, "slowms": -1})");
    run(R"({"find": "other"})");
    run(R"({"find": "meant"})");
    EXPECT_TRUE(recorded(R"({"ns": "test.other"})").empty());
    expectOne(R"({"ns": "test.meant"})", R"({"op": "query"})");
    EXPECT_EQ(1u, slowLinesWith("\"test.meant\""));
    expectReplies({
        {R"({"profile": -1})", R"({"was": 1, "filter": {"ns": "test.meant"}})"},
        {R"({"profile": 1, "filter": "sometimes"})", R"({"code": 2})"},
        {R"({"profile": 1, "filter": {"$nope": 1}})", R"({"code": 2})"},
        {R"({"profile": 1, "sampleRate": 1.5})", R"({"code": 2})"},
        {R"({"profile": 0, "filter": "unset"})", R"({"was": 1})"},
    });
    EXPECT_FALSE(run(R"({"profile": -1})").view().find("filter"));
}

TEST_F(ProfileTest, AProfileIsOfItsDatabaseAndGoesWithIt) {
    run(R"({"profile": 2})");
    run(R"({"find": "c"})", "other");
    EXPECT_TRUE(recorded("{}", "other").empty());
    expectReply(R"({"drop": "system.profile"})", R"({"code": 20, "codeName": "IllegalOperation"})");
    expectReply(R"({"dropDatabase": 1})", R"({"ok": 1.0})");
    expectReply(R"({"profile": -1})", R"({"was": 0})");
    run(R"({"profile": 2})");
    run(R"({"profile": 0})");
    expectReply(R"({"drop": "system.profile"})", R"({"ok": 1.0})");
}

TEST_F(ProfileTest, TheOldestGoWhenThereAreTooMany) {
    run(R"({"profile": 2})");
    const std::string filler(900, 'x');
    for (int i = 0; i < 900; ++i) {
        run(R"({"find": "c", "skip": )" + std::to_string(i) + R"(, "comment": ")" + filler +
            R"("})");
    }
    run(R"({"profile": 0})");
    const bson::OwnedDocument size = run(R"({"dataSize": "test.system.profile"})");
    EXPECT_LE(size.view().find("size").toInt64(), 1 << 20);
    EXPECT_GE(size.view().find("size").toInt64(), (1 << 20) - 4096);
    EXPECT_TRUE(recorded(R"({"command.skip": 0})").empty());
    EXPECT_EQ(1u, recorded(R"({"command.skip": 899})").size());
}

TEST_F(ProfileTest, TheSlowQueryLineSaysHowDocumentsWereFound) {
    run(R"({"insert": "lines", "documents": [{"_id": 1, "onlyHere": 1}, {"_id": 2, "onlyHere": 2}]})");
    run(R"({"createIndexes": "lines", "indexes": [{"key": {"onlyHere": 1}, "name": "onlyHere_1"}]})");
    run(R"({"profile": 0, "slowms": -1})");
    run(R"({"find": "lines", "filter": {"onlyHere": 2}})");
    run(R"({"profile": 0, "slowms": 600000})");
    run(R"({"find": "lines", "filter": {"onlyHere": 1}})");
    EXPECT_EQ(1u, slowLinesWith("\"IXSCAN { onlyHere: 1 }\""));
    EXPECT_EQ(1u, slowLinesWith(R"(onlyHere: 1 }","keysExamined":1,"docsExamined":1)"));
}

TEST_F(ProfileTest, CountersSayWhatWasExaminedAndChanged) {
    run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})");
    run(R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}, "multi": true},
                                       {"q": {"_id": 3}, "u": {"a": 1}, "upsert": true}]})");
    run(R"({"find": "c", "filter": {"a": 1}})");
    run(R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]})");
    expectReply(R"({"serverStatus": 1})",
                R"({"metrics": {"document": {"inserted": {"$numberLong": "3"},
                    "updated": {"$numberLong": "2"}, "returned": {"$numberLong": "3"},
                    "deleted": {"$numberLong": "1"}}}})",
                "admin");
}

/// Which users may see and kill which operations.
class OwnOperationsTest : public AuthTest {
protected:
    /// The id of ann's operation, once it waits.
    std::string waitForSleep() {
        while (true) {
            const bson::OwnedDocument reply =
                run(R"({"currentOp": 1, "effectiveUsers.user": "ann", "waitingForLock": true})",
                    "admin");
            const bson::Element id = reply.view().findPath("inprog.0.opid");
            if (id) {
                return std::to_string(id.toInt64());
            }
            platform::sleepMillis(1);
        }
    }
};

TEST_F(OwnOperationsTest, MayBeKilledWithoutAPrivilege) {
    makeRoot();
    makeUser("ann", R"(["root"])", "admin");
    makeUser("bob", R"([])", "admin");
    Connection& sleeping = as("ann", "admin");
    Connection& bob = as("bob", "admin");
    std::unique_ptr<Connection> second = connectFrom(false);
    ASSERT_EQ("", logIn(*second, "admin", "ann", "pw"));
    // For the second half of the test her role is revoked, which would allow killOp.
    int64_t code = 0;
    const std::string bytes = message(request(R"({"sleep": 1, "millis": 600000})", "admin").view());
    platform::Thread thread("sleeper", [&] {
        sync::LocalExecutor executor;
        const Reply reply = executor.run(sleeping.handle(bytes));
        code = bodyOf(reply).view().find("code").toInt64();
    });
    const std::string kill = R"({"killOp": 1, "op": )" + waitForSleep() + "}";
    expectReply(R"({"revokeRolesFromUser": "ann", "roles": ["root"]})", R"({"ok": 1})", "admin");
    EXPECT_EQ(13, codeOn(bob, kill, "admin"));
    EXPECT_EQ(13, codeOn(*second, R"({"currentOp": 1})", "admin"));
    const bson::OwnedDocument own = runOn(*second, R"({"currentOp": 1, "$ownOps": true})", "admin");
    EXPECT_EQ(2, own.view().find("inprog").document().fieldCount()) << bson::toJson(own.view());
    EXPECT_EQ(0, codeOn(*second, kill, "admin"));
    thread.join();
    EXPECT_EQ(11601, code);
}

}  // namespace
}  // namespace freshet::command
