// SPDX-License-Identifier: Apache-2.0
/// Logins over the wire: both mechanisms, what a client may do before login, and hostile messages.
#include "freshet/command/access/auth_fixture_test.h"

namespace freshet::command {
namespace {

using security::ScramMechanism;

TEST_F(AuthTest, BeforeAnyUserOnlyTheFirstOneMayBeMadeFromHere) {
    EXPECT_FALSE(connection_->isAuthenticated());
    expectReply(
        R"({"find": "c"})",
        R"({"ok": 0, "code": 13, "errmsg": "not authorized on test to execute command { find: \"c\", $db: \"test\" }"})");
    expectReply(R"({"createUser": "a", "pwd": "x", "roles": []})", R"({"code": 13})", "test");
    std::unique_ptr<Connection> far = connectFrom(false);
    EXPECT_EQ(13, codeOn(*far, R"({"createUser": "a", "pwd": "x", "roles": ["root"]})", "admin"));
    const bson::OwnedDocument refused = runOn(*far, R"({"find": "c"})");
    EXPECT_EQ("Command find requires authentication", refused.view().find("errmsg").stringValue());

    makeRoot();
    EXPECT_TRUE(connection_->isAuthenticated());
    std::unique_ptr<Connection> near = connectFrom(true);
    const std::string_view second = R"({"createUser": "b", "pwd": "x", "roles": ["root"]})";
    EXPECT_EQ("Command createUser requires authentication",
              runOn(*near, second, "admin").view().find("errmsg").stringValue());
    far.reset();
    near.reset();
    restart(true);
    EXPECT_EQ(13, codeOn(*connection_, second, "admin"));
}

TEST_F(AuthTest, ADroppedUserDoesNotOpenTheExceptionAgain) {
    makeRoot();
    expectReply(R"({"dropUser": "root"})", R"({"ok": 1})", "admin");
    std::unique_ptr<Connection> near = connectFrom(true);
    EXPECT_EQ(13, codeOn(*near, R"({"createUser": "b", "pwd": "x", "roles": []})", "admin"));
}

TEST_F(AuthTest, BothMechanismsOpenWithTheRightPasswordOnly) {
    makeRoot();
    for (ScramMechanism mechanism : {ScramMechanism::kSha1, ScramMechanism::kSha256}) {
        for (bool skips : {false, true}) {
            std::unique_ptr<Connection> client = connectFrom(false);
            EXPECT_EQ("Authentication failed.",
                      logIn(*client, "admin", "root", "wrong", mechanism, skips));
            EXPECT_FALSE(client->isAuthenticated());
            EXPECT_EQ("Authentication failed.",
                      logIn(*client, "admin", "nobody", "secret", mechanism, skips));
            EXPECT_EQ("Authentication failed.",
                      logIn(*client, "test", "root", "secret", mechanism, skips));
            EXPECT_EQ(13, codeOn(*client, R"({"find": "c"})"));
            EXPECT_EQ("", logIn(*client, "admin", "root", "secret", mechanism, skips));
            EXPECT_TRUE(client->isAuthenticated());
            EXPECT_EQ(0, codeOn(*client, R"({"find": "c"})"));
        }
    }
}

TEST_F(AuthTest, AUserOfOneMechanismHasNoOther) {
    makeRoot();
    expectReply(R"({"createUser": "old", "pwd": "pw", "roles": [], "mechanisms": ["SCRAM-SHA-1"]})",
                R"({"ok": 1})");
    std::unique_ptr<Connection> client = connectFrom(false);
    EXPECT_EQ("Authentication failed.", logIn(*client, "test", "old", "pw"));
    EXPECT_EQ("", logIn(*client, "test", "old", "pw", ScramMechanism::kSha1));
}

/// Compares "s=...,i=..." in the answers to first messages, as an attacker would.
class PretenceTest : public AuthTest {
protected:
    PretenceTest() {
        makeRoot();
        makeUser("ann", R"(["read"])");
    }

    std::string saltOf(ScramMechanism mechanism, const std::string& user, const std::string& db) {
        std::unique_ptr<Connection> stranger = connectFrom(false);
        const bson::OwnedDocument begun = saslStart(
            *stranger, security::mechanismName(mechanism), "n,,n=" + user + ",r=abc", true, db);
        const std::string answer(begun.view().find("payload").binaryValue().bytes);
        return answer.substr(std::min(answer.find(",s="), answer.size()));
    }
};

TEST_F(PretenceTest, SaltsOfUnknownUsersLookLikeThoseOfUsers) {
    const std::string sha1 = saltOf(ScramMechanism::kSha1, "nobody", "test");
    const std::string sha256 = saltOf(ScramMechanism::kSha256, "nobody", "test");
    EXPECT_EQ(sha1.size(), saltOf(ScramMechanism::kSha1, "ann", "test").size());
    EXPECT_EQ(sha256.size(), saltOf(ScramMechanism::kSha256, "ann", "test").size());
    EXPECT_EQ(sha1.substr(sha1.find(",i=")),
              saltOf(ScramMechanism::kSha1, "ann", "test").substr(sha1.find(",i=")));
    EXPECT_EQ(sha256.substr(sha256.find(",i=")),
              saltOf(ScramMechanism::kSha256, "ann", "test").substr(sha256.find(",i=")));
    EXPECT_NE(sha1.substr(0, 20), sha256.substr(0, 20)) << "one has nothing to do with the other";
    EXPECT_NE(sha256, saltOf(ScramMechanism::kSha256, "nobody", "other"));
    EXPECT_NE(sha256, saltOf(ScramMechanism::kSha256, "somebody", "test"));
    const std::string ann = saltOf(ScramMechanism::kSha256, "ann", "test");
    for (int restarts = 0; restarts < 2; ++restarts) {
        restart(true);
        EXPECT_EQ(sha1, saltOf(ScramMechanism::kSha1, "nobody", "test"));
        EXPECT_EQ(sha256, saltOf(ScramMechanism::kSha256, "nobody", "test"));
        EXPECT_EQ(ann, saltOf(ScramMechanism::kSha256, "ann", "test"));
    }
}

TEST_F(PretenceTest, AnOlderDirectoryGetsItsSecretWithTheFirstUnknownUser) {
    expectReply(R"({"delete": "system.version", "deletes": [{"q": {"_id": "loginPretence"},
                    "limit": 1}]})",
                R"({"code": 13})",
                "admin");  // only a server without --auth
    restart(false);
    expectReply(R"({"delete": "system.version", "deletes": [{"q": {"_id": "loginPretence"},
                    "limit": 1}]})",
                R"({"n": 1})",
                "admin");
    restart(true);
    const std::string first = saltOf(ScramMechanism::kSha256, "nobody", "test");
    restart(true);
    EXPECT_EQ(first, saltOf(ScramMechanism::kSha256, "nobody", "test"));
}

TEST_F(PretenceTest, ASpeculationThatCannotWinIsNotAnswered) {
    expectReply(R"({"createUser": "old", "pwd": "pw", "roles": [], "mechanisms": ["SCRAM-SHA-1"]})",
                R"({"ok": 1})");
    const auto hello = [this](const std::string& user, std::string_view mechanism) {
        bson::Builder body;
        body.add("hello", int32_t{1}).add("saslSupportedMechs", "test." + user);
        {
            auto start = body.object("speculativeAuthenticate");
            start.add("saslStart", int32_t{1}).add("mechanism", mechanism).add("db", "test");
            start.add("payload", bson::Binary{0, "n,,n=" + user + ",r=abc"});
        }
        body.add("$db", "admin");
        const bson::OwnedDocument request(body.finish());
        std::unique_ptr<Connection> client = connectFrom(false);
        return sendOn(*client, request.view());
    };
    const bson::OwnedDocument wrong = hello("old", "SCRAM-SHA-256");
    EXPECT_FALSE(wrong.view().has("speculativeAuthenticate"));
    EXPECT_EQ("",
              missingFrom(wrong.view(), json(R"({"saslSupportedMechs": ["SCRAM-SHA-1"]})").view()));
    EXPECT_TRUE(hello("old", "SCRAM-SHA-1").view().has("speculativeAuthenticate"));
    EXPECT_TRUE(hello("ann", "SCRAM-SHA-256").view().has("speculativeAuthenticate"));
    EXPECT_TRUE(hello("nobody", "SCRAM-SHA-256").view().has("speculativeAuthenticate"));
}

TEST_F(PretenceTest, ANameSplitElsewhereIsAnotherUser) {
    expectReply(R"({"createUser": "x.y", "pwd": "pw", "roles": []})", R"({"ok": 1})");
    std::unique_ptr<Connection> client = connectFrom(false);
    EXPECT_EQ("", logIn(*client, "test", "x.y", "pw"));
    // The database is inside a speculative login, where no other check sees it.
    security::ScramClient scram(ScramMechanism::kSha256, "y", "pw");
    bson::Builder body;
    body.add("hello", int32_t{1});
    {
        auto start = body.object("speculativeAuthenticate");
        start.add("saslStart", int32_t{1}).add("mechanism", "SCRAM-SHA-256").add("db", "test.x");
        start.add("payload", bson::Binary{0, scram.first()});
    }
    body.add("$db", "admin");
    const bson::OwnedDocument request(body.finish());
    client = connectFrom(false);
    const bson::OwnedDocument hello = sendOn(*client, request.view());
    auto proof =
        scram.step(hello.view().findPath("speculativeAuthenticate.payload").binaryValue().bytes);
    ASSERT_TRUE(proof.isOk());
    const bson::OwnedDocument last = saslContinue(*client, 1, *proof, "test.x");
    EXPECT_NE(0, last.view().find("code").toInt64());
    EXPECT_FALSE(client->isAuthenticated());
}

TEST_F(AuthTest, HelloNamesMechanismsAndBeginsALogin) {
    makeRoot();
    makeUser("ann", R"(["read"])");
    std::unique_ptr<Connection> client = connectFrom(false);
    bson::OwnedDocument hello =
        runOn(*client, R"({"hello": 1, "saslSupportedMechs": "test.ann"})", "admin");
    EXPECT_EQ(
        "",
        missingFrom(hello.view(),
                    json(R"({"saslSupportedMechs": ["SCRAM-SHA-1", "SCRAM-SHA-256"]})").view()));
    hello = runOn(*client, R"({"hello": 1, "saslSupportedMechs": "test.nobody"})", "admin");
    EXPECT_EQ(1.0, hello.view().find("ok").toDouble());
    EXPECT_FALSE(hello.view().has("saslSupportedMechs"));

    for (bool isKnown : {true, false}) {
        security::ScramClient scram(ScramMechanism::kSha256, isKnown ? "ann" : "nobody", "pw");
        bson::Builder body;
        body.add("hello", int32_t{1});
        {
            auto start = body.object("speculativeAuthenticate");
            start.add("saslStart", int32_t{1}).add("mechanism", "SCRAM-SHA-256");
            start.add("payload", bson::Binary{0, scram.first()}).add("db", "test");
            start.object("options").add("skipEmptyExchange", true);
        }
        body.add("$db", "admin");
        const bson::OwnedDocument request(body.finish());
        hello = sendOn(*client, request.view());
        const bson::Document begun = hello.view().find("speculativeAuthenticate").document();
        EXPECT_FALSE(begun.find("done").isTruthy());
        auto proof = scram.step(begun.find("payload").binaryValue().bytes);
        ASSERT_TRUE(proof.isOk()) << proof.status().toString();
        const bson::OwnedDocument last =
            saslContinue(*client, begun.find("conversationId").toInt64(), *proof, "test");
        EXPECT_EQ(isKnown ? 0 : 18, last.view().find("code").toInt64());
        EXPECT_EQ(isKnown, last.view().find("done").isTruthy());
    }
    EXPECT_TRUE(client->isAuthenticated());
    hello = runOn(*client,
                  R"({"hello": 1, "speculativeAuthenticate": {"saslStart": 1, "db": "test",
                      "mechanism": "SCRAM-SHA-256", "payload": "garbage"}})",
                  "admin");
    EXPECT_EQ(1.0, hello.view().find("ok").toDouble());
    EXPECT_FALSE(hello.view().has("speculativeAuthenticate"));
}

TEST_F(AuthTest, HostileLoginMessagesAreRefusedAndHarmNobody) {
    makeRoot();
    const std::string binary = R"({"$binary": {"base64": "biwsbj1hLHI9YQ==", "subType": "00"}})";
    std::unique_ptr<Connection> client = connectFrom(false);
    for (
        const auto& [text, code] : std::vector<std::pair<std::string, int64_t>>{
            {R"({"saslStart": 1})", 40414},
            {R"({"saslStart": 1, "mechanism": 7, "payload": ""})", 14},
            {R"({"saslStart": 1, "mechanism": "PLAIN", "payload": ""})", 334},
            {R"({"saslStart": 1, "mechanism": "SCRAM-SHA-256"})", 4},
            {R"({"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": 1})", 14},
            {R"({"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": ""})", 18},
            {R"({"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": "biws"})", 18},
            {R"({"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": "bixhPXJvb3QsbixyPQ=="})",
             18},
            {R"({"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": )" + binary +
                 R"(, "options": 3})",
             14},
            {R"({"saslContinue": 1, "conversationId": 1, "payload": )" + binary + "}", 17},
            {R"({"saslContinue": 1, "conversationId": "x", "payload": ""})", 14},
            {R"({"authenticate": 1, "mechanism": "MONGODB-X509", "user": "CN=root"})", 17},
            {R"({"authenticate": 1, "mechanism": "MONGODB-CR", "user": "root"})", 334},
            {R"({"authenticate": 1})", 40414},
        }) {
        EXPECT_EQ(code, codeOn(*client, text, "admin")) << text;
        EXPECT_FALSE(client->isAuthenticated());
    }
    EXPECT_EQ(18,
              codeOn(*client,
                     R"({"authenticate": 1, "mechanism": "MONGODB-X509", "user": "CN=root"})",
                     "$external"));
    // A login in progress ends after one wrong message.
    for (const char* next : {R"({"saslContinue": 1, "conversationId": 99, "payload": ""})",
                             R"({"saslContinue": 1, "conversationId": ID, "payload": 5})",
                             R"({"saslContinue": 1, "conversationId": ID, "payload": "AAAA"})"}) {
        const bson::OwnedDocument begun =
            saslStart(*client, "SCRAM-SHA-256", "n,,n=root,r=abc", true, "admin");
        const std::string id = std::to_string(begun.view().find("conversationId").toInt64());
        std::string text(next);
        if (size_t at = text.find("ID"); at != std::string::npos) {
            text.replace(at, 2, id);
        }
        EXPECT_NE(0, codeOn(*client, text, "admin")) << text;
        EXPECT_EQ(17,
                  codeOn(*client,
                         R"({"saslContinue": 1, "conversationId": )" + id + R"(, "payload": ""})",
                         "admin"));
    }
    EXPECT_EQ("", logIn(*client, "admin", "root", "secret"));
}

TEST_F(AuthTest, OneConnectionIsOneUser) {
    makeRoot();
    makeUser("ann", R"(["read"])");
    EXPECT_EQ("", logIn(*connection_, "admin", "root", "secret")) << "the same again";
    EXPECT_NE("", logIn(*connection_, "test", "ann", "pw"));
    expectReply(R"({"connectionStatus": 1})",
                R"({"authInfo": {"authenticatedUsers": [{"user": "root", "db": "admin"}],
                                 "authenticatedUserRoles": [{"role": "root", "db": "admin"}]}})");
    expectReply(R"({"logout": 1})", R"({"ok": 1})", "admin");
    EXPECT_FALSE(connection_->isAuthenticated());
    expectReply(R"({"find": "c"})", R"({"code": 13})");
    EXPECT_EQ("", logIn(*connection_, "test", "ann", "pw"));
    const bson::OwnedDocument status =
        runOn(*connection_, R"({"connectionStatus": 1, "showPrivileges": true})");
    const bson::Document info = status.view().find("authInfo").document();
    EXPECT_EQ("",
              missingFrom(info.find("authenticatedUserPrivileges").document(),
                          json(R"({"0": {"resource": {"db": "test", "collection": ""}}})").view()));
}

TEST_F(AuthTest, CertificatesOpenForTheirUser) {
    makeRoot();
    expectReply(R"({"createUser": "CN=ann,O=x", "roles": [{"role": "read", "db": "test"}]})",
                R"({"ok": 1})",
                "$external");
    ClientFacts facts = clientFacts(900);
    facts.certificateSubject = "CN=ann,O=x";
    std::unique_ptr<Connection> client = dispatcher_->connect(facts);
    EXPECT_EQ(18,
              codeOn(*client,
                     R"({"authenticate": 1, "mechanism": "MONGODB-X509", "user": "CN=root"})",
                     "$external"));
    EXPECT_EQ(0,
              codeOn(*client, R"({"authenticate": 1, "mechanism": "MONGODB-X509"})", "$external"));
    EXPECT_EQ(0, codeOn(*client, R"({"find": "c"})"));
    EXPECT_EQ(13, codeOn(*client, R"({"insert": "c", "documents": [{}]})"));
    EXPECT_EQ("Authentication failed.", logIn(*client, "$external", "CN=ann,O=x", ""));
}

TEST_F(AuthTest, WithoutAuthEverybodyMayAndLoginsStillWork) {
    makeRoot();
    restart(false);
    EXPECT_TRUE(connection_->isAuthenticated());
    expectReply(R"({"insert": "c", "documents": [{}]})", R"({"n": 1})");
    EXPECT_EQ("Authentication failed.", logIn(*connection_, "admin", "root", "wrong"));
    EXPECT_EQ("", logIn(*connection_, "admin", "root", "secret"));
}

}  // namespace
}  // namespace freshet::command
