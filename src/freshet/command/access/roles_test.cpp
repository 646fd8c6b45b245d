// SPDX-License-Identifier: Apache-2.0
/// Who may send what: one row for every command of the registry, tried by a user of each role. A
/// command without a row fails the test.
#include "freshet/command/access/auth_fixture_test.h"
#include "freshet/command/registry.h"

#include <algorithm>

namespace freshet::command {
namespace {

/// Users of the table, each with one role; all but the last three on the database "test".
enum Who : unsigned {
    kStranger = 1u << 0,  // not logged in
    kNone = 1u << 1,      // logged in, no role
    kRead = 1u << 2,
    kReadWrite = 1u << 3,
    kDbAdmin = 1u << 4,
    kUserAdmin = 1u << 5,
    kMonitor = 1u << 6,  // clusterMonitor
    kHost = 1u << 7,     // hostManager
    kRoot = 1u << 8,
};
constexpr unsigned kUsers =
    kNone | kRead | kReadWrite | kDbAdmin | kUserAdmin | kMonitor | kHost | kRoot;
constexpr unsigned kEverybody = kStranger | kUsers;
constexpr unsigned kReaders = kRead | kReadWrite | kRoot;
constexpr unsigned kWriters = kReadWrite | kRoot;
constexpr unsigned kDefiners = kReadWrite | kDbAdmin | kRoot;
constexpr unsigned kMonitors = kMonitor | kRoot;
constexpr unsigned kHosts = kHost | kRoot;
constexpr unsigned kUserAdmins = kUserAdmin | kRoot;

struct Row {
    std::string_view command;
    unsigned allowed;
    std::string_view body = {};  // {command: "c"} when empty
    std::string_view db = "test";
};

const std::vector<Row>& rows() {
    static const std::vector<Row> kRows = {
        {"_mergeAuthzCollections",
         kRoot,
         R"({"_mergeAuthzCollections": 1, "tempUsersCollection": "admin.new", "db": "test",
             "drop": false})",
         "admin"},
        {"mapReduce",
         kReaders,
         R"({"mapReduce": "c", "map": "1", "reduce": "1", "out": {"inline": 1}})"},
        {"aggregate", kReaders, R"({"aggregate": "c", "pipeline": [], "cursor": {}})"},
        {"authenticate", kEverybody},
        {"buildInfo", kEverybody},
        {"bulkWrite", kRoot, {}, "admin"},
        {"collMod", kDbAdmin | kRoot},
        {"collStats", kReaders | kDbAdmin | kMonitor},
        {"commitTransaction", kUsers, {}, "admin"},
        {"abortTransaction", kUsers, {}, "admin"},
        {"compact", kDbAdmin | kRoot},
        {"configureFailPoint", kRoot, {}, "admin"},
        {"waitForFailPoint", kRoot, {}, "admin"},
        {"clearLog", kRoot, {}, "admin"},
        {"connPoolStats", kMonitors},
        {"connectionStatus", kEverybody},
        {"convertToCapped", kDefiners},
        {"count", kReaders},
        {"create", kDefiners},
        {"createIndexes", kDefiners},
        {"createUser", kUserAdmins, R"({"createUser": "x", "pwd": "x", "roles": []})"},
        {"currentOp", kMonitors, R"({"currentOp": 1})", "admin"},
        {"dataSize", kReaders, R"({"dataSize": "test.c"})"},
        {"dbHash", kReaders | kDbAdmin},
        {"dbStats", kReaders | kDbAdmin | kMonitor, R"({"dbStats": 1})"},
        {"delete", kWriters},
        {"distinct", kReaders},
        {"drop", kDefiners, R"({"drop": "nothing"})"},
        {"dropAllUsersFromDatabase", kUserAdmins, R"({"dropAllUsersFromDatabase": 1})", "none"},
        {"dropDatabase", kDbAdmin | kRoot, R"({"dropDatabase": 1})"},
        {"dropIndexes", kDefiners},
        {"dropUser", kUserAdmins, R"({"dropUser": "x"})"},
        {"echo", kRoot},
        {"endSessions", kEverybody, R"({"endSessions": []})"},
        {"explain", kReaders, R"({"explain": {"find": "c"}})"},
        {"features", kUsers},
        {"find", kReaders},
        {"findAndModify",
         kWriters,
         R"({"findAndModify": "c", "query": {}, "update": {"$set": {"a": 1}}})"},
        {"fsync", kHosts, R"({"fsync": 1})", "admin"},
        {"fsyncUnlock", kHosts, R"({"fsyncUnlock": 1})", "admin"},
        {"getCmdLineOpts", kMonitors, {}, "admin"},
        {"getDefaultRWConcern", kMonitors, {}, "admin"},
        {"getDiagnosticData", kMonitors, {}, "admin"},
        {"getLog", kMonitors, {}, "admin"},
        {"getMore", kUsers, R"({"getMore": {"$numberLong": "77"}, "collection": "c"})"},
        {"getParameter", kMonitors, R"({"getParameter": 1, "quiet": 1})", "admin"},
        {"grantRolesToUser", kUserAdmins, R"({"grantRolesToUser": "x", "roles": ["read"]})"},
        {"hello", kEverybody, R"({"hello": 1})"},
        {"hostInfo", kMonitors, R"({"hostInfo": 1})", "admin"},
        {"insert", kWriters},
        {"killAllSessions", kHosts, R"({"killAllSessions": [{"user": "x", "db": "y"}]})"},
        {"killAllSessionsByPattern",
         kHosts,
         R"({"killAllSessionsByPattern": [{"user": "x", "db": "y"}]})"},
        {"killCursors", kUsers, R"({"killCursors": "c", "cursors": [{"$numberLong": "77"}]})"},
        {"killOp", kHosts, R"({"killOp": 1, "op": 0})", "admin"},
        {"killSessions", kUsers, R"({"killSessions": []})"},
        {"listCollections", kReaders | kDbAdmin, R"({"listCollections": 1})"},
        {"listCommands", kEverybody, R"({"listCommands": 1})"},
        {"listDatabases",
         kMonitors,
         R"({"listDatabases": 1, "authorizedDatabases": false})",
         "admin"},
        {"listIndexes", kReaders | kDbAdmin},
        {"listLanguage", kRoot, {}, "admin"},
        {"logApplicationMessage", kHosts, {}, "admin"},
        {"logRotate", kHosts, R"({"logRotate": 1})", "admin"},
        {"logout", kStranger, R"({"logout": 1})"},
        {"ping", kEverybody, R"({"ping": 1})"},
        {"profile", kDbAdmin | kRoot, R"({"profile": -1})"},
        {"reIndex", kDbAdmin | kRoot},
        {"reapLogicalSessionCacheNow", kRoot},
        {"refreshLogicalSessionCacheNow", kRoot},
        {"refreshSessions", kUsers, R"({"refreshSessions": []})"},
        {"renameCollection",
         kDefiners,
         R"({"renameCollection": "test.nothing", "to": "test.other"})",
         "admin"},
        {"replSetFreeze", kRoot, {}, "admin"},
        {"replSetGetConfig", kMonitors, {}, "admin"},
        {"replSetGetStatus", kMonitors, {}, "admin"},
        {"replSetInitiate", kRoot, {}, "admin"},
        {"replSetMaintenance", kRoot, {}, "admin"},
        {"replSetReconfig", kRoot, {}, "admin"},
        {"replSetStepDown", kRoot, {}, "admin"},
        {"revokeRolesFromUser", kUserAdmins, R"({"revokeRolesFromUser": "x", "roles": ["read"]})"},
        {"rolesInfo", kUserAdmins, R"({"rolesInfo": 1})"},
        {"saslContinue", kEverybody},
        {"saslStart", kEverybody},
        {"serverStatus", kMonitors | kRoot, R"({"serverStatus": 1})", "admin"},
        {"setDefaultRWConcern", kRoot, {}, "admin"},
        {"setFeatureCompatibilityVersion", kRoot, {}, "admin"},
        {"setParameter", kHosts, R"({"setParameter": 1, "nothing": 1})", "admin"},
        {"shutdown", kHosts, R"({"shutdown": 1})", "admin"},
        {"sleep", kRoot, R"({"sleep": 1, "millis": 0})", "admin"},
        {"startSession", kUsers, R"({"startSession": 1})"},
        {"testVersion2", kUsers},
        {"top", kMonitors, R"({"top": 1})", "admin"},
        {"update", kWriters, R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]})"},
        {"updateUser", kUserAdmins, R"({"updateUser": "x", "pwd": "x"})"},
        {"usersInfo", kUserAdmins, R"({"usersInfo": 1})"},
        {"validate", kDbAdmin | kRoot},
        {"whatsmyuri", kEverybody, R"({"whatsmyuri": 1})"},
    };
    return kRows;
}

class RolesTest : public AuthTest {
protected:
    struct Named {
        Who who;
        std::string user;
        std::string role;
        std::string db;
    };

    RolesTest() {
        makeRoot();
        for (const Named& user : kNamed) {
            makeUser(user.user, user.role.empty() ? "[]" : "[\"" + user.role + "\"]", user.db);
        }
    }

    Connection& connectionOf(const Named& user) { return as(user.user, user.db); }

    const std::vector<Named> kNamed{{kNone, "none", "", "test"},
                                    {kRead, "read", "read", "test"},
                                    {kReadWrite, "readWrite", "readWrite", "test"},
                                    {kDbAdmin, "dbAdmin", "dbAdmin", "test"},
                                    {kUserAdmin, "userAdmin", "userAdmin", "test"},
                                    {kMonitor, "monitor", "clusterMonitor", "admin"},
                                    {kHost, "host", "hostManager", "admin"},
                                    {kRoot, "root2", "root", "admin"}};
};

TEST_F(RolesTest, EveryCommandIsForWhomTheTableSays) {
    const Registry registry;
    std::unique_ptr<Connection> stranger = connectFrom(false);
    for (const Command& command : registry.commands()) {
        const auto row = std::find_if(rows().begin(), rows().end(), [&command](const Row& one) {
            return one.command == command.name;
        });
        if (row == rows().end()) {
            ADD_FAILURE() << "who may send " << command.name << "? Add a row here";
            continue;
        }
        const std::string body = row->body.empty()
                                     ? "{\"" + std::string(row->command) + "\": \"c\"}"
                                     : std::string(row->body);
        const auto expectVerdict = [&](unsigned who, const std::string& name, Connection& as) {
            const bool isRefused = codeOn(as, body, row->db) == 13;
            EXPECT_EQ((row->allowed & who) == 0, isRefused) << command.name << " as " << name;
        };
        expectVerdict(kStranger, "a stranger", *stranger);
        if (command.name == "logout") {
            continue;  // it would go well, and spoil what follows
        }
        for (const Named& user : kNamed) {
            // userAdmin's actions on the users of "none" are not on "test".
            if (row->db == "none" && user.who == kUserAdmin) {
                continue;
            }
            expectVerdict(user.who, user.user, connectionOf(user));
        }
    }
}

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
