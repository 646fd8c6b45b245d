// SPDX-License-Identifier: Apache-2.0
/// The limits of roles: their database, system collections, other users' cursors and sessions.
/// Which role allows which command is tested in access_matrix_test.cpp.
#include "freshet/command/access/auth_fixture_test.h"

namespace freshet::command {
namespace {

class RolesTest : public AuthTest {
protected:
    RolesTest() {
        makeRoot();
        makeUser("none", "[]");
        for (const char* role : {"read", "readWrite", "dbAdmin"}) {
            makeUser(role, "[\"" + std::string(role) + "\"]");
        }
    }
};

TEST_F(RolesTest, RolesEndAtTheirDatabase) {
    for (const char* user : {"read", "readWrite", "dbAdmin"}) {
        for (const char* db : {"other", "admin", "local", "config"}) {
            for (const char* text : {R"({"find": "c"})",
                                     R"({"insert": "c", "documents": [{}]})",
                                     R"({"create": "c"})",
                                     R"({"listCollections": 1})",
                                     R"({"aggregate": "c", "pipeline": [], "cursor": {}})"}) {
                EXPECT_EQ(13, codeOn(as(user), text, db)) << user << db << text;
            }
        }
    }
}

TEST_F(RolesTest, SystemCollectionsAreNotAnyCollection) {
    makeUser("any", R"(["readWriteAnyDatabase"])", "admin");
    makeUser("keeper", R"(["userAdminAnyDatabase"])", "admin");
    Connection& any = as("any", "admin");
    EXPECT_EQ(0, codeOn(any, R"({"insert": "c", "documents": [{}]})", "elsewhere"));
    EXPECT_EQ(13, codeOn(any, R"({"find": "system.users"})", "admin"));
    EXPECT_EQ(13, codeOn(any, R"({"insert": "system.users", "documents": [{}]})", "admin"));
    EXPECT_EQ(13, codeOn(any, R"({"insert": "c", "documents": [{}]})", "local"));
    EXPECT_EQ(0, codeOn(as("keeper", "admin"), R"({"find": "system.users"})", "admin"));
    EXPECT_EQ(
        13,
        codeOn(as("keeper", "admin"), R"({"insert": "system.users", "documents": [{}]})", "admin"));
}

TEST_F(RolesTest, PipelinesAreAskedForAllTheyTouch) {
    expectReply(R"({"insert": "secret", "documents": [{"_id": 1}]})", R"({"n": 1})", "other");
    for (
        const char* stage :
        {R"({"$lookup": {"from": {"db": "other", "coll": "secret"}, "pipeline": [], "as": "x"}})",
         R"({"$lookup": {"from": "system.users", "pipeline": [], "as": "x"}})",
         R"({"$unionWith": "system.users"})",
         R"({"$facet": {"a": [{"$lookup": {"from": "system.users", "pipeline": [], "as": "x"}}]}})",
         R"({"$graphLookup": {"from": "system.users", "startWith": "$a", "connectFromField": "a",
              "connectToField": "b", "as": "x"}})",
         R"({"$out": {"db": "other", "coll": "x"}})",
         R"({"$merge": {"into": {"db": "other", "coll": "x"}}})"}) {
        const std::string pipeline =
            std::string(R"({"aggregate": "c", "cursor": {}, "pipeline": [)") + stage + "]}";
        EXPECT_EQ(13, codeOn(as("readWrite"), pipeline)) << stage;
        EXPECT_EQ(13, codeOn(as("readWrite"), std::string(R"({"explain": )") + pipeline + "}"))
            << stage;
    }
    const std::string_view out =
        R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$out": "copy"}]})";
    EXPECT_EQ(13, codeOn(as("read"), out));
    EXPECT_NE(13, codeOn(as("readWrite"), out));
}

TEST_F(RolesTest, AnUpsertNeedsInsert) {
    makeUser("half", R"(["restore"])", "admin");  // may insert, not update
    EXPECT_EQ(13,
              codeOn(as("half", "admin"),
                     R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]})"));
    EXPECT_EQ(13,
              codeOn(as("read"),
                     R"({"update": "c", "updates": [
                         {"q": {}, "u": {"$set": {"a": 1}}, "upsert": true}]})"));
}

TEST_F(RolesTest, CursorsBelongToTheirUser) {
    expectReply(R"({"insert": "c", "documents": [{}, {}, {}]})", R"({"n": 3})");
    const bson::OwnedDocument first = runOn(as("read"), R"({"find": "c", "batchSize": 1})");
    const std::string id = std::to_string(first.view().findPath("cursor.id").toInt64());
    const std::string more =
        R"({"getMore": {"$numberLong": ")" + id + R"("}, "collection": "c", "batchSize": 1})";
    const std::string kill =
        R"({"killCursors": "c", "cursors": [{"$numberLong": ")" + id + R"("}]})";
    EXPECT_EQ(13, codeOn(as("readWrite"), more));
    EXPECT_EQ(13, codeOn(*connection_, more)) << "not even root";
    EXPECT_EQ(13, codeOn(as("readWrite"), kill));
    EXPECT_EQ(0, codeOn(as("read"), more));
    EXPECT_EQ(0, codeOn(*connection_, kill)) << "root may kill any";
    EXPECT_EQ(43, codeOn(as("read"), more));
}

TEST_F(RolesTest, ARoleThatIsTakenEndsWhatItOpened) {
    makeUser("ann", R"(["read", "dbAdmin"])");
    expectReply(R"({"insert": "c", "documents": [{}, {}, {}]})", R"({"n": 3})");
    const auto open = [this] {
        const bson::OwnedDocument first = runOn(as("ann"), R"({"find": "c", "batchSize": 1})");
        const std::string id = std::to_string(first.view().findPath("cursor.id").toInt64());
        return R"({"getMore": {"$numberLong": ")" + id +
               R"("}, "collection": "c", "batchSize": 1})";
    };
    std::string more = open();
    expectReply(R"({"grantRolesToUser": "ann", "roles": ["userAdmin"]})", R"({"ok": 1})");
    EXPECT_EQ(0, codeOn(as("ann"), more));
    expectReply(R"({"revokeRolesFromUser": "ann", "roles": ["read"]})", R"({"ok": 1})");
    EXPECT_EQ(43, codeOn(as("ann"), more));
    expectReply(R"({"grantRolesToUser": "ann", "roles": ["read"]})", R"({"ok": 1})");
    more = open();
    expectReply(R"({"dropUser": "ann"})", R"({"ok": 1})");
    EXPECT_EQ(13, codeOn(as("ann"), more));
}

TEST_F(RolesTest, ListsShowWhatOneMaySee) {
    expectReply(R"({"insert": "a", "documents": [{}]})", R"({"n": 1})");
    expectReply(R"({"insert": "b", "documents": [{}]})", R"({"n": 1})", "other");
    const auto databases = [this](Connection& as) {
        std::string names;
        const bson::OwnedDocument reply =
            runOn(as, R"({"listDatabases": 1, "nameOnly": true})", "admin");
        for (const bson::Element& one : reply.view().find("databases").document()) {
            names += std::string(one.document().find("name").stringValue()) + " ";
        }
        return names;
    };
    EXPECT_EQ("", databases(as("none")));
    EXPECT_EQ("test ", databases(as("read")));
    EXPECT_EQ("admin other test ", databases(*connection_));
    const std::string_view names =
        R"({"listCollections": 1, "nameOnly": true, "authorizedCollections": true})";
    EXPECT_EQ("",
              missingFrom(runOn(as("read"), names).view(),
                          json(R"({"cursor": {"firstBatch": [{"name": "a"}]}})").view()));
    EXPECT_EQ("",
              missingFrom(runOn(as("none"), names).view(),
                          json(R"({"cursor": {"firstBatch": []}})").view()));
    EXPECT_EQ(13, codeOn(as("none"), R"({"listCollections": 1, "nameOnly": true})"));
}

TEST_F(RolesTest, MergingUsersIsForWhoMayGiveAnyRole) {
    // A user who may create users of one database and write to "admin" could smuggle in a root by
    // restoring a dump.
    expectReply(R"({"createUser": "keeper", "pwd": "pw", "roles": [
                    "userAdmin", {"role": "readWrite", "db": "admin"}]})",
                R"({"ok": 1})");
    Connection& keeper = as("keeper");
    EXPECT_EQ(0, codeOn(keeper, R"({"insert": "dump", "documents": [{}]})", "admin"));
    for (const char* db : {"test", ""}) {
        EXPECT_EQ(13,
                  codeOn(keeper,
                         R"({"_mergeAuthzCollections": 1, "tempUsersCollection": "admin.dump",
                             "drop": false, "db": ")" +
                             std::string(db) + "\"}",
                         "admin"))
            << db;
    }
}

TEST_F(RolesTest, ANewNameDoesNotOpenWhatOneMayNotRead) {
    // dbAdmin may rename; of all collections it may read only the profile.
    EXPECT_EQ(13, codeOn(as("dbAdmin"), R"({"find": "c"})"));
    EXPECT_EQ(20,
              codeOn(*connection_,
                     R"({"renameCollection": "test.c", "to": "test.system.profile"})",
                     "admin"));
}

TEST_F(RolesTest, ASessionOfAUserIsNotForWhoHasNotLoggedIn) {
    const std::string session =
        R"({"id": {"$binary": {"base64": "AAECAwQFBgcICQoLDA0ODw==", "subType": "04"}},
            "uid": {"$binary": {"base64": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            "subType": "00"}}})";
    std::unique_ptr<Connection> stranger = connectFrom(false);
    EXPECT_EQ(13, codeOn(*stranger, R"({"endSessions": [)" + session + "]}"));
    EXPECT_EQ(13, codeOn(*stranger, R"({"ping": 1, "lsid": )" + session + "}"));
    EXPECT_EQ(13, codeOn(as("read"), R"({"endSessions": [)" + session + "]}"));
    EXPECT_EQ(0, codeOn(*stranger, R"({"endSessions": []})"));
}

TEST_F(RolesTest, AnotherUsersSessionCannotBeNamed) {
    const std::string uuid =
        R"({"$binary": {"base64": "AAECAwQFBgcICQoLDA0ODw==", "subType": "04"}})";
    const std::string foreign =
        R"({"find": "c", "lsid": {"id": )" + uuid +
        R"(, "uid": {"$binary": {"base64": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            "subType": "00"}}}})";
    EXPECT_EQ(13, codeOn(as("read"), foreign));
    EXPECT_EQ(0, codeOn(as("read"), R"({"find": "c", "lsid": {"id": )" + uuid + "}}"));
}

}  // namespace
}  // namespace freshet::command
