// SPDX-License-Identifier: Apache-2.0
/// Users cannot be removed by general commands, whatever the role; only valid users can be stored
/// as users; and an invalid one that exists all the same does no harm to others.
#include "freshet/command/admin/own_names.h"

#include "freshet/command/access/auth_fixture_test.h"
#include "freshet/command/run/invocation.h"
#include "freshet/query/write.h"

namespace freshet::command {
namespace {

constexpr std::string_view kKeys =
    R"("salt": "QUFBQUFBQUFBQUFBQUFBQQ==", "storedKey": "QUFBQUFBQUFBQUFBQUFBQUFBQUE=",
       "serverKey": "QUFBQUFBQUFBQUFBQUFBQUFBQUE=")";

/// A user's document, with `change` in place of the field of that name.
std::string userText(std::string_view field = {}, std::string_view change = {}) {
    const std::pair<std::string_view, std::string> kFields[] = {
        {"_id", R"("_id": "test.eve")"},
        {"user", R"("user": "eve")"},
        {"db", R"("db": "test")"},
        {"credentials",
         R"("credentials": {"SCRAM-SHA-1": {"iterationCount": 10000, )" + std::string(kKeys) +
             "}}"},
        {"roles", R"("roles": [{"role": "read", "db": "test"}])"}};
    std::string out;
    for (const auto& [name, text] : kFields) {
        const std::string member = name == field ? std::string(change) : text;
        out += member.empty() ? "" : (out.empty() ? "{" : ", ") + member;
    }
    return out + "}";
}

class OwnNamesTest : public AuthTest {
protected:
    OwnNamesTest() {
        makeRoot();
        makeUser("ann", R"(["read"])");
    }

    /// Bypasses all checks, as an older server or another program could have.
    void store(bson::Document document) {
        auto op = query::makeInsert(*store_, catalog_->find("admin", "system.users"), document);
        ASSERT_TRUE(op.isOk());
        ASSERT_TRUE(executor_.run(driveToEnd(**op)).isOk());
    }
    void store(const std::string& text) {
        const bson::OwnedDocument document = json(text);
        store(document.view());
    }
};

TEST_F(OwnNamesTest, NobodyDropsOrReplacesUsersByTheWay) {
    expectReply(R"({"create": "system.js"})", R"({"ok": 1})");
    expectReply(R"({"insert": "c", "documents": [{"_id": "admin.root"}]})", R"({"n": 1})");
    expectReplies(
        {
            {R"({"dropDatabase": 1})",
             R"({"code": 20, "codeName": "IllegalOperation",
                 "errmsg": "Dropping the 'admin' database is prohibited."})"},
            {R"({"drop": "system.users"})",
             R"({"code": 20, "errmsg": "can't drop system collection admin.system.users"})"},
            {R"({"drop": "system.version"})",
             R"({"code": 20, "errmsg": "can't drop system collection admin.system.version"})"},
            {R"({"renameCollection": "admin.system.users", "to": "admin.u"})",
             R"({"code": 20, "errmsg":
                 "renaming system.users collection or renaming to system.users is not allowed"})"},
            {R"({"renameCollection": "test.c", "to": "admin.system.users", "dropTarget": true})",
             R"({"code": 20, "errmsg":
                 "renaming system.users collection or renaming to system.users is not allowed"})"},
            {R"({"renameCollection": "admin.system.version", "to": "admin.u"})",
             R"({"code": 20, "errmsg": "renaming the server configuration collection (admin.system.version) is not allowed"})"},
            {R"({"renameCollection": "admin.system.roles", "to": "test.u"})", R"({"code": 20})"},
            {R"({"collMod": "system.users", "validator": {"user": "x"}})",
             R"({"code": 72, "errmsg":
                 "Document validators not allowed on system collection admin.system.users"})"},
            {R"({"collMod": "c", "validator": {"user": "x"}})", R"({"code": 72})"},
            {R"({"create": "system.users", "validator": {"user": "x"}})", R"({"code": 72})"},
            {R"({"create": "c", "validator": {"user": "x"}})",
             R"({"code": 72, "errmsg": "Document validators are not allowed on collection admin.c in the admin internal database"})"},
            {R"({"createIndexes": "system.users", "indexes": [
                 {"key": {"customData.t": 1}, "name": "t", "expireAfterSeconds": 0}]})",
             R"({"code": 72, "errmsg": "TTL indexes are not allowed on admin.system.users"})"},
            {R"({"createIndexes": "system.users", "indexes": [{"key": {"t": 1}, "name": "t"}]})",
             R"({"ok": 1})"},
            {R"({"collMod": "system.users", "index": {"name": "t", "expireAfterSeconds": 0}})",
             R"({"code": 72})"},
            {R"({"dropIndexes": "system.users", "index": "_id_"})", R"({"code": 72})"},
            {R"({"convertToCapped": "system.users", "size": 4096})", R"({"ok": 0})"},
        },
        "admin");
    for (const auto& [stage, code] : std::vector<std::pair<std::string, int>>{
             {R"({"$out": {"db": "admin", "coll": "system.users"}})", 17385},
             {R"({"$out": {"db": "admin", "coll": "users"}})", 31321},
             {R"({"$out": {"db": "config", "coll": "transactions"}})", 31321},
             {R"({"$out": {"db": "local", "coll": "x"}})", 31321},
             {R"({"$out": "system.js"})", 17385},
             {R"({"$merge": {"into": {"db": "admin", "coll": "system.users"}}})", 31319},
             {R"({"$merge": {"into": {"db": "admin", "coll": "users"}}})", 31320},
             {R"({"$merge": {"into": "system.js"}})", 31319}}) {
        EXPECT_EQ(code,
                  codeOn(*connection_,
                         R"({"aggregate": "c", "cursor": {}, "pipeline": [)" + stage + "]}"))
            << stage;
    }
    expectReply(R"({"drop": "system.js"})", R"({"ok": 1, "ns": "test.system.js"})");
    expectReply(R"({"usersInfo": {"forAllDBs": true}})",
                R"({"users": [{"user": "root"}, {"user": "ann"}]})");
}

TEST(OwnNames, OtherDatabasesOfTheServerMayBeDropped) {
    for (bool isReplicaSet : {false, true}) {
        EXPECT_EQ(Reason::kIllegalOperation, checkDropDatabase("admin", isReplicaSet).reason());
        EXPECT_TRUE(checkDropDatabase("config", isReplicaSet).isOk());
        EXPECT_TRUE(checkDropDatabase("test", isReplicaSet).isOk());
    }
    EXPECT_TRUE(checkDropDatabase("local", false).isOk());
    EXPECT_EQ("Cannot drop 'local' database while replication is active",
              checkDropDatabase("local", true).text());
}

TEST_F(OwnNamesTest, WhoMayWriteToAdminMayNotWriteUsers) {
    expectReply(R"({"createUser": "any", "pwd": "pw", "roles": [
                    {"role": "readWriteAnyDatabase", "db": "admin"},
                    {"role": "dbAdminAnyDatabase", "db": "admin"},
                    {"role": "dbOwner", "db": "admin"}]})",
                R"({"ok": 1})");
    Connection& any = as("any");
    const std::string user = userText();
    for (const std::string& text :
         {R"({"insert": "system.users", "documents": [)" + user + "]}",
          std::string(R"({"delete": "system.users", "deletes": [{"q": {}, "limit": 0}]})"),
          std::string(R"({"update": "system.users", "updates": [{"q": {}, "u": {"$set": {
              "roles": []}}}]})"),
          std::string(R"({"findAndModify": "system.users", "query": {}, "remove": true})"),
          std::string(R"({"drop": "system.users"})"),
          std::string(R"({"collMod": "system.users"})"),
          std::string(R"({"createIndexes": "system.users", "indexes": [
              {"key": {"t": 1}, "name": "t", "expireAfterSeconds": 0}]})"),
          std::string(R"({"find": "system.users"})"),
          std::string(R"({"find": "system.version"})"),
          std::string(
              R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$out": "system.users"}]})")}) {
        EXPECT_EQ(13, codeOn(any, text, "admin")) << text;
    }
}

/// As in mongod: once a user has been seen the exception has ended until the next start, and a
/// server that starts without users has it again.
TEST_F(OwnNamesTest, TheExceptionComesBackWithARestartWithoutUsersOnly) {
    const std::string_view make = R"({"createUser": "b", "pwd": "x", "roles": ["root"]})";
    makeUser("keeper", R"(["restore"])", "admin");
    EXPECT_EQ(0,
              codeOn(as("keeper", "admin"),
                     R"({"delete": "system.users", "deletes": [{"q": {}, "limit": 0}]})",
                     "admin"));
    std::unique_ptr<Connection> near = connectFrom(true);
    EXPECT_EQ(13, codeOn(*near, make, "admin"));
    near.reset();
    store(R"({"_id": "nobody's"})");
    restart(true);
    EXPECT_EQ(13, codeOn(*connection_, make, "admin")) << "a damaged user is somebody";
    restart(false);
    expectReply(R"({"delete": "system.users", "deletes": [{"q": {}, "limit": 0}]})",
                R"({"n": 1})",
                "admin");
    restart(true);
    EXPECT_EQ(0, codeOn(*connection_, make, "admin"));
}

TEST_F(OwnNamesTest, WhatIsStoredAsAUserMustBeOne) {
    makeUser("keeper", R"(["restore"])", "admin");
    Connection& keeper = as("keeper", "admin");
    const auto insert = [&](const std::string& document) {
        return runOn(
            keeper, R"({"insert": "system.users", "documents": [)" + document + "]}", "admin");
    };
    struct Case {
        std::string_view field;
        std::string change;
        std::string_view text;
    };
    const std::string sha256 = R"("credentials": {"SCRAM-SHA-256": {"iterationCount": 15000, )" +
                               std::string(kKeys) + "}}";
    for (const Case& bad : std::vector<Case>{
             {"user", "", "User document needs 'user' field to be a string"},
             {"user", R"("user": 7)", "User document needs 'user' field to be a string"},
             {"user", R"("user": "")", "User document needs 'user' field to be non-empty"},
             {"db", R"("db": [])", "User document needs 'db' field to be a non-empty string"},
             {"db", R"("db": "a.b")", "'a.b' is not a valid value for the db field."},
             {"db", R"("db": "a@b")", "'a@b' is not a valid value for the db field."},
             {"db", R"("db": "other")", "User document needs '_id' field to be <db>.<user>"},
             {"_id", R"("_id": 1)", "User document needs '_id' field to be <db>.<user>"},
             {"_id", "", "User document needs '_id' field to be <db>.<user>"},
             {"credentials", "", "User document needs 'credentials' object"},
             {"credentials",
              R"("credentials": "x")",
              "User document needs 'credentials' field to be an object"},
             {"credentials",
              R"("credentials": {})",
              "User document needs 'credentials' field to be a non-empty object"},
             {"credentials",
              R"("credentials": {"SCRAM-SHA-1": 1})",
              "SCRAM-SHA-1 credential must be an object, if present"},
             {"credentials",
              sha256,
              "SCRAM-SHA-256 credential must have an iterationCount, a salt, a storedKey and a "
              "serverKey"},
             {"credentials",
              R"("credentials": {"external": true})",
              "User document must provide credentials for all non-external users"},
             {"roles", "", "User document needs 'roles' field to be an array"},
             {"roles", R"("roles": "root")", "User document needs 'roles' field to be an array"},
             {"roles", R"("roles": ["root"])", "Elements in 'roles' array must objects"},
             {"roles",
              R"("roles": [{"role": 1, "db": "x"}])",
              "Role names must be non-empty strings"},
             {"roles", R"("roles": [{"role": "read"}])", "Role db must be non-empty strings"},
             {"roles",
              R"("roles": [], "customData": 7)",
              "User document needs 'customData' field to be an object"}}) {
        const bson::OwnedDocument reply = insert(userText(bad.field, bad.change));
        const bson::Document error = reply.view().findPath("writeErrors.0").document();
        EXPECT_EQ(2, error.find("code").toInt64()) << bad.change;
        EXPECT_EQ(bad.text, error.find("errmsg").stringValue()) << bad.change;
    }
    EXPECT_EQ(1, insert(userText()).view().find("n").toInt64());
    EXPECT_EQ(1,
              insert(R"({"_id": "$external.CN=eve", "user": "CN=eve", "db": "$external",
                         "credentials": {"external": true}, "roles": []})")
                  .view()
                  .find("n")
                  .toInt64());
    for (const char* update : {R"({"update": "system.users", "updates": [{"q": {"_id": "test.eve"},
              "u": {"$set": {"db": "admin"}}}]})",
                               R"({"update": "system.users", "updates": [{"q": {"_id": "test.eve"},
              "u": [{"$unset": "credentials"}]}]})",
                               R"({"update": "system.users", "updates": [{"q": {"_id": "test.new"},
              "u": {"$set": {"roles": []}}, "upsert": true}]})"}) {
        const bson::OwnedDocument reply = runOn(keeper, update, "admin");
        EXPECT_EQ(2, reply.view().findPath("writeErrors.0.code").toInt64()) << update;
    }
    EXPECT_EQ(2,
              codeOn(keeper,
                     R"({"findAndModify": "system.users", "query": {"_id": "test.eve"},
                         "update": {"$set": {"roles": 1}}})",
                     "admin"));
}

TEST_F(OwnNamesTest, DamagedDocumentsHarmNobodyElse) {
    const std::string odd =
        R"({"_id": "test.odd", "user": "odd", "db": "test", "roles": "root", "credentials": {
            "SCRAM-SHA-1": 7, "SCRAM-SHA-256": {"iterationCount": {"a": 1}, "salt": "QUE",
            "storedKey": "!", "serverKey": "QUE="}}})";
    for (const std::string& text :
         std::vector<std::string>{R"({"_id": 1})",
                                  R"({"_id": "test.none"})",
                                  R"({"_id": "test.types", "user": 7, "db": ["test"]})",
                                  // Anyone with eve's password would be root.
                                  userText("user", R"("user": "root")"),
                                  odd}) {
        store(text);
    }
    for (const char* name : {"big", "huge"}) {
        bson::Builder big;
        big.add("_id", "test." + std::string(name)).add("user", name).add("db", "test");
        big.object("customData").add("x", std::string(10 << 20, 'x'));
        const bson::OwnedDocument document(big.finish());
        store(document.view());
    }
    for (bool isNew : {false, true}) {
        if (isNew) {
            restart(true);
            ASSERT_EQ("", logIn(*connection_, "admin", "root", "secret"));
        }
        expectReply(
            R"({"usersInfo": {"forAllDBs": true}, "showCustomData": false})",
            R"({"users": [{"user": "root"}, {"user": "ann"}, {"user": "odd", "mechanisms": []},
                                  {"user": "big"}, {"user": "huge"}]})",
            "admin");
        expectReply(R"({"usersInfo": "ann"})", R"({"users": [{"user": "ann"}]})");
        expectReply(R"({"usersInfo": "none"})", R"({"users": []})");
        EXPECT_EQ(0, codeOn(as("ann"), R"({"find": "c"})"));
        for (const char* name : {"none", "types", "eve", "odd", "big"}) {
            std::unique_ptr<Connection> client = connectFrom(false);
            EXPECT_EQ("Authentication failed.", logIn(*client, "test", name, "pw")) << name;
        }
    }
    expectReply(R"({"dropUser": "odd"})", R"({"ok": 1})");
    expectReply(R"({"dropUser": "none"})", R"({"ok": 1})");
    expectReply(R"({"updateUser": "eve", "pwd": "pw"})", R"({"code": 11})");
}

TEST_F(OwnNamesTest, AUserWhoIsDamagedWhileLoggedInIsNobody) {
    Connection& ann = as("ann");
    EXPECT_EQ(0, codeOn(ann, R"({"find": "c"})"));
    expectReply(R"({"dropUser": "ann"})", R"({"ok": 1})");
    store(R"({"_id": "test.ann", "user": 7})");
    EXPECT_EQ(13, codeOn(ann, R"({"find": "c"})"));
    EXPECT_EQ(0, codeOn(ann, R"({"ping": 1})"));
}

}  // namespace
}  // namespace freshet::command
