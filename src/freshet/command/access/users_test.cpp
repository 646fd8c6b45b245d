// SPDX-License-Identifier: Apache-2.0
/// The commands about users: what they store and show, what they refuse, and that changes take
/// effect at once for users who are logged in.
#include "freshet/command/access/auth_fixture_test.h"

namespace freshet::command {
namespace {

TEST_F(AuthTest, AUserIsStoredInTheShapeThatToolsKnow) {
    makeRoot();
    expectReply(
        R"({"createUser": "ann", "pwd": "pw", "customData": {"x": 1},
            "roles": ["read", {"role": "dbAdmin", "db": "other"}]})",
        R"({"ok": 1})");
    // root reads system.users: it has salts and keys, but not the password.
    const bson::OwnedDocument found =
        run(R"({"find": "system.users", "filter": {"_id": "test.ann"}})", "admin");
    const bson::Document user = found.view().findPath("cursor.firstBatch.0").document();
    EXPECT_EQ("",
              missingFrom(user,
                          json(R"({"_id": "test.ann", "user": "ann", "db": "test",
                                   "customData": {"x": 1},
                                   "credentials": {"SCRAM-SHA-1": {"iterationCount": 10000},
                                                   "SCRAM-SHA-256": {"iterationCount": 15000}},
                                   "roles": [{"role": "read", "db": "test"},
                                             {"role": "dbAdmin", "db": "other"}]})")
                              .view()));
    EXPECT_EQ(4, user.find("userId").binaryValue().subtype);
    EXPECT_EQ(24u, user.findPath("credentials.SCRAM-SHA-1.salt").stringValue().size());
    EXPECT_EQ(40u, user.findPath("credentials.SCRAM-SHA-256.salt").stringValue().size());
    EXPECT_EQ(std::string::npos, bson::toJson(user).find("\"pw\""));
    expectReply(R"({"find": "system.version"})",
                R"({"cursor": {"firstBatch": [{"_id": "authSchema", "currentVersion": 5},
                                              {"_id": "loginPretence"}]}})",
                "admin");
}

TEST_F(AuthTest, UsersSurviveARestart) {
    makeRoot();
    makeUser("ann", R"(["read"])");
    restart(true);
    EXPECT_EQ(0, codeOn(as("ann"), R"({"find": "c"})"));
}

TEST_F(AuthTest, CreateUserRefusesWhatMongodRefuses) {
    makeRoot();
    makeUser("ann", R"(["read"])");
    expectReplies({
        {R"({"createUser": "ann", "pwd": "pw", "roles": []})",
         R"({"code": 51003, "codeName": "Location51003",
             "errmsg": "User \"ann@test\" already exists"})"},
        {R"({"createUser": "b", "roles": []})", R"({"code": 2})"},
        {R"({"createUser": "b", "pwd": "pw"})", R"({"code": 40414})"},
        {R"({"createUser": "b", "pwd": "", "roles": []})", R"({"code": 2})"},
        {R"({"createUser": "b", "pwd": 7, "roles": []})", R"({"code": 14})"},
        {R"({"createUser": "", "pwd": "pw", "roles": []})", R"({"code": 2})"},
        {R"({"createUser": 1, "pwd": "pw", "roles": []})", R"({"code": 14})"},
        {R"({"createUser": "b", "pwd": "pw", "roles": ["reader"]})",
         R"({"code": 31, "codeName": "RoleNotFound",
             "errmsg": "Could not find role: reader@test"})"},
        {R"({"createUser": "b", "pwd": "pw", "roles": ["root"]})", R"({"code": 31})"},
        {R"({"createUser": "b", "pwd": "pw", "roles": [1]})", R"({"code": 2})"},
        {R"({"createUser": "b", "pwd": "pw", "roles": [], "mechanisms": []})", R"({"code": 2})"},
        {R"({"createUser": "b", "pwd": "pw", "roles": [], "mechanisms": ["PLAIN"]})",
         R"({"code": 2, "errmsg": "Unknown auth mechanism 'PLAIN'"})"},
        {R"({"createUser": "b", "pwd": "pw", "roles": [], "digestPassword": false})",
         R"({"code": 2, "errmsg": "Use of SCRAM-SHA-256 requires undigested passwords"})"},
        {R"({"createUser": "b", "pwd": "pw", "roles": [], "shoeSize": 9})", R"({"code": 40415})"},
        {R"({"dropUser": "b"})",
         R"({"code": 11, "codeName": "UserNotFound", "errmsg": "User 'b@test' not found"})"},
        {R"({"updateUser": "b", "pwd": "x"})", R"({"code": 11})"},
        {R"({"updateUser": "ann"})", R"({"code": 2})"},
        {R"({"grantRolesToUser": "b", "roles": ["read"]})", R"({"code": 11})"},
        {R"({"grantRolesToUser": "ann", "roles": []})", R"({"code": 2})"},
        {R"({"revokeRolesFromUser": "ann", "roles": ["nothing"]})", R"({"code": 31})"},
    });
    expectReply(R"({"createUser": "b", "pwd": "pw", "roles": []})", R"({"code": 2})", "local");
    // "b" of "x@test" and "b@x" of "test" would both be "b@x@test".
    expectReply(R"({"createUser": "b", "pwd": "pw", "roles": []})",
                R"({"code": 2, "errmsg": "'x@test' is not a valid value for the db field."})",
                "x@test");
    expectReply(R"({"createUser": "b", "pwd": "pw", "roles": []})", R"({"code": 2})", "$external");
}

TEST_F(AuthTest, UsersInfoShowsWhatIsAskedFor) {
    makeRoot();
    makeUser("ann", R"(["read"])");
    makeUser("bob", R"(["readWrite"])", "other");
    const auto count = [this](std::string_view text, std::string_view db = "test") {
        return run(text, db).view().find("users").document().fieldCount();
    };
    EXPECT_EQ(1, count(R"({"usersInfo": 1})"));
    EXPECT_EQ(3, count(R"({"usersInfo": {"forAllDBs": true}})", "admin"));
    EXPECT_EQ(1, count(R"({"usersInfo": {"forAllDBs": true}, "filter": {"user": "bob"}})"));
    EXPECT_EQ(1, count(R"({"usersInfo": "ann"})"));
    EXPECT_EQ(0, count(R"({"usersInfo": "bob"})"));
    EXPECT_EQ(2, count(R"({"usersInfo": ["ann", {"user": "bob", "db": "other"}]})"));
    expectReplies({
        {R"({"usersInfo": "ann"})",
         R"({"users": [{"_id": "test.ann", "user": "ann", "db": "test",
                        "roles": [{"role": "read", "db": "test"}],
                        "mechanisms": ["SCRAM-SHA-1", "SCRAM-SHA-256"]}]})"},
        {R"({"usersInfo": "ann", "showCredentials": true})",
         R"({"users": [{"credentials": {"SCRAM-SHA-1": {}, "SCRAM-SHA-256": {}}}]})"},
        {R"({"usersInfo": "ann", "showPrivileges": true})",
         R"({"users": [{"inheritedRoles": [{"role": "read", "db": "test"}],
                        "inheritedPrivileges": [
                            {"resource": {"db": "test", "collection": ""}},
                            {"resource": {"db": "test", "collection": "system.js"}}]}]})"},
        {R"({"usersInfo": 1, "showPrivileges": true})", R"({"code": 20})"},
        {R"({"usersInfo": true})", R"({"code": 2})"},
        {R"({"usersInfo": {"user": "ann"}})", R"({"code": 40414})"},
    });
    EXPECT_FALSE(run(R"({"usersInfo": "ann"})").view().findPath("users.0.credentials"));
    // A user may see the user's own entry, and no other.
    EXPECT_EQ(0, codeOn(as("ann"), R"({"usersInfo": "ann"})"));
    EXPECT_EQ(13, codeOn(as("ann"), R"({"usersInfo": 1})"));
    EXPECT_EQ(13, codeOn(as("ann"), R"({"usersInfo": {"user": "root", "db": "admin"}})"));
}

TEST_F(AuthTest, RolesInfoShowsTheBuiltInOnes) {
    makeRoot();
    expectReplies({
        {R"({"rolesInfo": "read"})",
         R"({"roles": [{"role": "read", "db": "test", "isBuiltin": true}]})"},
        {R"({"rolesInfo": "nothing"})", R"({"roles": []})"},
        {R"({"rolesInfo": {"role": "root", "db": "admin"}, "showPrivileges": true})",
         R"({"roles": [{"role": "root", "db": "admin", "isBuiltin": true}]})"},
        {R"({"rolesInfo": 1})", R"({"roles": []})"},
    });
    const bson::OwnedDocument all = run(R"({"rolesInfo": 1, "showBuiltinRoles": true})", "admin");
    EXPECT_EQ(17, all.view().find("roles").document().fieldCount());
}

TEST_F(AuthTest, ChangesCountAtOnceForWhoIsLoggedIn) {
    makeRoot();
    makeUser("ann", R"(["read"])");
    Connection& ann = as("ann");
    const std::string_view insert = R"({"insert": "c", "documents": [{"a": 1}]})";
    EXPECT_EQ(13, codeOn(ann, insert));
    expectReply(R"({"grantRolesToUser": "ann", "roles": ["readWrite"]})", R"({"ok": 1})");
    EXPECT_EQ(0, codeOn(ann, insert));
    expectReply(R"({"revokeRolesFromUser": "ann", "roles": ["readWrite"]})", R"({"ok": 1})");
    EXPECT_EQ(13, codeOn(ann, insert));
    EXPECT_EQ(0, codeOn(ann, R"({"find": "c"})"));
    expectReply(R"({"updateUser": "ann", "roles": [], "customData": {"y": 2}})", R"({"ok": 1})");
    EXPECT_EQ(13, codeOn(ann, R"({"find": "c"})"));
    expectReply(R"({"usersInfo": "ann"})", R"({"users": [{"customData": {"y": 2}, "roles": []}]})");
    expectReply(R"({"dropUser": "ann"})", R"({"ok": 1})");
    EXPECT_FALSE(codeOn(ann, R"({"find": "c"})") == 0 || ann.isAuthenticated());
    makeUser("ann", R"(["root"])", "admin");
    makeUser("ann", R"(["readWrite"])");
    EXPECT_EQ(13, codeOn(ann, insert)) << "another user of the same name";
}

TEST_F(AuthTest, ChangesByPlainWritesCountToo) {
    makeRoot();
    makeUser("ann", R"(["read"])");
    makeUser("keeper", R"(["restore"])", "admin");
    EXPECT_EQ(0, codeOn(as("ann"), R"({"find": "c"})"));
    EXPECT_EQ(0,
              codeOn(as("keeper", "admin"),
                     R"({"update": "system.users", "updates": [
                         {"q": {"_id": "test.ann"}, "u": {"$set": {"roles": []}}}]})",
                     "admin"));
    EXPECT_EQ(13, codeOn(as("ann"), R"({"find": "c"})"));
}

TEST_F(AuthTest, PasswordsChange) {
    makeRoot();
    makeUser("ann", R"(["read"])");
    expectReply(R"({"updateUser": "ann", "pwd": "new"})", R"({"ok": 1})");
    std::unique_ptr<Connection> client = connectFrom(false);
    EXPECT_EQ("Authentication failed.", logIn(*client, "test", "ann", "pw"));
    EXPECT_EQ("", logIn(*client, "test", "ann", "new"));
    expectReply(R"({"updateUser": "ann", "mechanisms": ["SCRAM-SHA-256"]})", R"({"ok": 1})");
    expectReply(R"({"usersInfo": "ann"})", R"({"users": [{"mechanisms": ["SCRAM-SHA-256"]}]})");
    expectReply(R"({"updateUser": "ann", "mechanisms": ["SCRAM-SHA-1"]})", R"({"code": 2})");
    std::unique_ptr<Connection> again = connectFrom(false);
    EXPECT_EQ("", logIn(*again, "test", "ann", "new"));
}

TEST_F(AuthTest, AllUsersOfADatabaseGoAtOnce) {
    makeRoot();
    makeUser("a", "[]");
    makeUser("b", "[]");
    makeUser("c", "[]", "other");
    expectReply(R"({"dropAllUsersFromDatabase": 1})", R"({"n": 2})");
    expectReply(R"({"dropAllUsersFromDatabase": 1})", R"({"n": 0})");
    expectReply(R"({"usersInfo": {"forAllDBs": true}})",
                R"({"users": [{"user": "root"}, {"user": "c"}]})");
}

TEST_F(AuthTest, SecretsAreNotInErrorTexts) {
    makeRoot();
    makeUser("ann", R"(["read"])");
    const bson::OwnedDocument refused =
        runOn(as("ann"), R"({"createUser": "b", "pwd": "topsecret", "roles": []})");
    const std::string text(refused.view().find("errmsg").stringValue());
    EXPECT_EQ(std::string::npos, text.find("topsecret")) << text;
    EXPECT_NE(std::string::npos, text.find("pwd: \"xxx\"")) << text;
}

}  // namespace
}  // namespace freshet::command
