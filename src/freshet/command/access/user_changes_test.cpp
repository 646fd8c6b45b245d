// SPDX-License-Identifier: Apache-2.0
/// Concurrent changes of users, also from backups: none is lost, and hashing passwords delays no
/// other command.
#include "freshet/command/access/auth_fixture_test.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/worker.h"

#include <set>

namespace freshet::command {
namespace {

class UserChangesTest : public AuthTest {
protected:
    /// Expects {ok: 1} from each command, all sent at once, each from a thread of its own.
    void runAtOnce(const std::vector<std::string>& commands, const std::string& user = "root") {
        std::vector<std::unique_ptr<Connection>> connections;
        std::vector<std::string> replies(commands.size());
        for (size_t i = 0; i < commands.size(); ++i) {
            connections.push_back(connectFrom(false));
            ASSERT_EQ("", logIn(*connections.back(), "admin", user, "secret"));
        }
        {
            std::vector<platform::Thread> threads;
            for (size_t i = 0; i < commands.size(); ++i) {
                threads.emplace_back("client", [&, i] {
                    sync::LocalExecutor executor;
                    const bool isDirect = commands[i].find("system.users") != std::string::npos;
                    const std::string bytes =
                        message(request(commands[i], isDirect ? "admin" : "test").view());
                    replies[i] = executor.run(connections[i]->handle(bytes)).message;
                });
            }
        }
        for (size_t i = 0; i < commands.size(); ++i) {
            const auto reply = wire::parseReply(replies[i]);
            ASSERT_TRUE(reply.isOk());
            EXPECT_EQ(1.0, reply->body.find("ok").toDouble())
                << commands[i] << bson::toJson(reply->body);
        }
    }

    /// The user's document as it is stored.
    bson::OwnedDocument stored(const std::string& id) {
        const bson::OwnedDocument reply =
            run(R"({"find": "system.users", "filter": {"_id": ")" + id + R"("}})", "admin");
        const bson::Element first = reply.view().findPath("cursor.firstBatch.0");
        return first.isObject() ? bson::OwnedDocument(first.document()) : bson::OwnedDocument();
    }

    std::set<std::string> rolesOf(const std::string& id) {
        std::set<std::string> out;
        const bson::OwnedDocument user = stored(id);
        for (const bson::Element& role : user.view().find("roles").document()) {
            out.insert(std::string(role.document().find("role").stringValue()));
        }
        return out;
    }

    /// The users now, by id; the first one first.
    std::string ids() {
        std::string out;
        const bson::OwnedDocument reply = run(
            R"({"find": "system.users", "sort": {"_id": 1}, "projection": {"_id": 1}})", "admin");
        for (const bson::Element& user : reply.view().findPath("cursor.firstBatch").document()) {
            out += std::string(user.document().find("_id").stringValue()) + " ";
        }
        return out;
    }

    /// What mongorestore does first: it loads a dump's users into a collection of their own.
    void load(const std::vector<bson::OwnedDocument>& users) {
        run(R"({"drop": "tempusers"})", "admin");
        for (const bson::OwnedDocument& user : users) {
            bson::Builder insert;
            insert.add("insert", "tempusers");
            insert.array("documents").push(user.view());
            insert.add("$db", "admin");
            const bson::OwnedDocument body(insert.finish());
            EXPECT_EQ(1, sendOn(*connection_, body.view()).view().find("n").toInt64());
        }
    }

    int64_t merge(const std::string& rest) {
        return codeOn(
            *connection_,
            R"({"_mergeAuthzCollections": 1, "tempUsersCollection": "admin.tempusers", )" + rest +
                "}",
            "admin");
    }
};

TEST_F(UserChangesTest, NoneIsLostBesideAnother) {
    makeRoot();
    makeUser("ann", "[]");
    const std::vector<std::string> roles{"read", "readWrite", "dbAdmin", "userAdmin", "dbOwner"};
    std::vector<std::string> grants;
    std::vector<std::string> revocations;
    for (const std::string& role : roles) {
        const std::string list = R"(", "roles": [")" + role + R"("]})";
        grants.push_back(R"({"grantRolesToUser": "ann)" + list);
        revocations.push_back(R"({"revokeRolesFromUser": "ann)" + list);
    }
    grants.emplace_back(R"({"updateUser": "ann", "customData": {"x": 1}})");
    grants.emplace_back(R"({"updateUser": "ann", "pwd": "new"})");
    runAtOnce(grants);
    EXPECT_EQ(std::set<std::string>(roles.begin(), roles.end()), rolesOf("test.ann"));
    EXPECT_EQ(1, stored("test.ann").view().findPath("customData.x").toInt64());
    EXPECT_EQ("", logIn(*connectFrom(false), "test", "ann", "new"));
    runAtOnce(revocations);
    EXPECT_TRUE(rolesOf("test.ann").empty());
}

TEST_F(UserChangesTest, NoneIsLostBesideWhoWritesUsersDirectly) {
    makeRoot();
    run(R"({"createUser": "keeper", "pwd": "secret", "roles": ["root", "restore"]})", "admin");
    makeUser("ann", "[]");
    for (int round = 0; round < 5; ++round) {
        const std::string direct = "direct" + std::to_string(round);
        runAtOnce({R"({"grantRolesToUser": "ann", "roles": ["read"]})",
                   R"({"update": "system.users", "updates": [{"q": {"_id": "test.ann"},
                       "u": {"$set": {"customData.)" +
                       direct + R"(": 1}}}]})",
                   R"({"revokeRolesFromUser": "ann", "roles": ["dbAdmin"]})",
                   R"({"findAndModify": "system.users", "query": {"_id": "test.ann"},
                       "update": {"$set": {"customData.modified)" +
                       direct + R"(": 1}}})"},
                  "keeper");
        const bson::OwnedDocument ann = stored("test.ann");
        EXPECT_EQ(1, ann.view().findPath("customData." + direct).toInt64()) << round;
        EXPECT_EQ(1, ann.view().findPath("customData.modified" + direct).toInt64()) << round;
        EXPECT_EQ(1u, rolesOf("test.ann").count("read"));
        runAtOnce({R"({"revokeRolesFromUser": "ann", "roles": ["read"]})"}, "keeper");
    }
}

TEST_F(UserChangesTest, TheFirstUserIsTheOnlyOneWhomNobodyMakes) {
    std::vector<std::unique_ptr<Connection>> connections;
    std::vector<int64_t> codes(4);
    {
        std::vector<platform::Thread> threads;
        for (size_t i = 0; i < codes.size(); ++i) {
            connections.push_back(connectFrom(true));
            threads.emplace_back("client", [&, i, client = connections.back().get()] {
                sync::LocalExecutor executor;
                const std::string bytes =
                    message(request(R"({"createUser": "u)" + std::to_string(i) +
                                        R"(", "pwd": "pw", "roles": ["root"]})",
                                    "admin")
                                .view());
                codes[i] =
                    bodyOf(executor.run(client->handle(bytes))).view().find("code").toInt64();
            });
        }
    }
    std::multiset<int64_t> sorted(codes.begin(), codes.end());
    EXPECT_EQ(1u, sorted.count(0)) << "one of them was first";
    EXPECT_EQ(3u, sorted.count(13));
}

TEST_F(UserChangesTest, OthersRunWhileAPasswordIsHashed) {
    sync::Worker worker("test");
    const sync::WaitToken hashed = sync::WaitToken::create();
    bool isDone = false;
    auto first = worker.run([hashed] { sync::blockOn(hashed); });
    auto second = worker.run([&isDone] { isDone = true; });
    ASSERT_TRUE(first.isOk() && second.isOk());
    // The worker is busy, this thread is not.
    expectReply(R"({"ping": 1})", R"({"ok": 1})");
    EXPECT_FALSE(second->isDone());
    hashed.complete();
    sync::blockOn(*second);
    EXPECT_TRUE(first->isDone());
    EXPECT_TRUE(isDone);
}

TEST_F(UserChangesTest, TheWorkersQueueIsBounded) {
    const sync::WaitToken go = sync::WaitToken::create();
    sync::WaitToken last;
    {
        sync::Worker worker("test");
        ASSERT_TRUE(worker.run([go] { sync::blockOn(go); }).isOk());
        StatusOr<sync::WaitToken> token = sync::WaitToken();
        size_t accepted = 0;
        while (token.isOk() && accepted <= sync::Worker::kJobsMax + 1) {
            last = *token;
            token = worker.run([] {});
            ++accepted;
        }
        EXPECT_EQ(Code::kLimit, token.status().code());
        go.complete();
    }
    EXPECT_TRUE(last.isDone()) << "who waits for a job that never began is not left waiting";
}

TEST_F(UserChangesTest, ADumpsUsersComeBackWithTheirPasswords) {
    makeRoot();
    makeUser("ann", R"(["readWrite"])");
    makeUser("bob", R"(["read"])");
    makeUser("cid", R"(["read"])", "other");
    const std::vector<bson::OwnedDocument> dump{stored("test.ann"), stored("other.cid")};
    expectReply(R"({"dropUser": "ann"})", R"({"ok": 1})");
    expectReply(R"({"updateUser": "cid", "pwd": "changed"})", R"({"ok": 1})", "other");
    load(dump);
    EXPECT_EQ(0, merge(R"("db": "test", "drop": false)"));
    EXPECT_EQ("admin.root other.cid test.ann test.bob ", ids());
    EXPECT_EQ(0, codeOn(as("ann"), R"({"insert": "c", "documents": [{}]})"));
    EXPECT_EQ("", logIn(*connectFrom(false), "other", "cid", "changed")) << "not of this database";

    EXPECT_EQ(0, merge(R"("db": "", "drop": false)"));
    EXPECT_EQ("", logIn(*connectFrom(false), "other", "cid", "changed")) << "who is there stays";

    expectReply(R"({"updateUser": "ann", "pwd": "changed"})", R"({"ok": 1})");
    EXPECT_EQ(0, merge(R"("db": "test", "drop": true)"));
    EXPECT_EQ("admin.root other.cid test.ann ", ids()) << "bob is not in the dump";
    EXPECT_EQ("", logIn(*connectFrom(false), "test", "ann", "pw"));

    load({stored("admin.root"), stored("test.ann")});
    EXPECT_EQ(0, merge(R"("db": "", "drop": true)"));
    EXPECT_EQ("admin.root test.ann ", ids());
}

TEST_F(UserChangesTest, MergingRefusesWhatIsNoUser) {
    makeRoot();
    load({json(R"({"_id": "test.x", "user": "y", "db": "test"})")});
    EXPECT_EQ(2, merge(R"("db": "", "drop": false)"));
    EXPECT_EQ("admin.root ", ids());
    expectReplies(
        {
            {R"({"_mergeAuthzCollections": 1, "db": "", "drop": true})", R"({"code": 2})"},
            {R"({"_mergeAuthzCollections": 1, "tempUsersCollection": "test.c", "db": "",
                 "drop": true})",
             R"({"code": 2})"},
            {R"({"_mergeAuthzCollections": 1, "tempUsersCollection": "admin.system.users",
                 "db": "", "drop": true})",
             R"({"code": 2})"},
            {R"({"_mergeAuthzCollections": 1, "tempUsersCollection": "admin.c", "drop": true})",
             R"({"code": 40414})"},
            {R"({"_mergeAuthzCollections": 1, "tempRolesCollection": "admin.none", "db": "",
                 "drop": true})",
             R"({"ok": 1})"},
            {R"({"insert": "temproles", "documents": [{"_id": "test.r", "db": "test"}]})",
             R"({"n": 1})"},
            {R"({"_mergeAuthzCollections": 1, "tempRolesCollection": "admin.temproles", "db": "",
                 "drop": false})",
             R"({"code": 115})"},
            {R"({"_mergeAuthzCollections": 1, "tempRolesCollection": "admin.temproles",
                 "db": "other", "drop": false})",
             R"({"ok": 1})"},
        },
        "admin");
    expectReply(R"({"_mergeAuthzCollections": 1, "tempUsersCollection": "admin.c", "db": "",
                    "drop": true})",
                R"({"code": 13})",
                "test");
}

}  // namespace
}  // namespace freshet::command
