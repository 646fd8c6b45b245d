// SPDX-License-Identifier: Apache-2.0
/// Logins against the published vectors, against our own other side, and with every message cut and
/// damaged.
#include "freshet/security/scram.h"

#include "freshet/security/scram/keys.h"
#include "freshet/security/scram/messages.h"

#include <gtest/gtest.h>

namespace freshet::security {
namespace {

constexpr ScramMechanism kBoth[] = {ScramMechanism::kSha1, ScramMechanism::kSha256};

ScramCredentials credentialsOf(ScramMechanism mechanism,
                               const std::string& prepared,
                               const std::string& salt,
                               uint32_t iterations) {
    const std::string salted = saltedPassword(mechanism, prepared, salt, iterations);
    return {iterations,
            salt,
            digest(mechanism, clientKeyOf(mechanism, salted)),
            serverKeyOf(mechanism, salted)};
}

struct Vector {
    ScramMechanism mechanism;
    std::string prepared;
    std::string clientNonce;
    std::string serverNonce;
    std::string salt;
    uint32_t iterations;
    std::string proof;
    std::string verifier;
};

// RFC 5802 section 5, RFC 7677 section 3, and MongoDB's SHA-1 over the hex of an md5.
const Vector kVectors[] = {
    {ScramMechanism::kSha1,
     "pencil",
     "fyko+d2lbbFgONRv9qkxdawL",
     "3rfcNHYJY1ZVvWVs7j",
     "QSXCR+Q6sek8bf92",
     4096,
     "v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
     "rmF9pqV8S7suAoZWja4dJRkFsKQ="},
    {ScramMechanism::kSha256,
     "pencil",
     "rOprNGfwEbeRWgbNEkqO",
     "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
     "W22ZaJ0SNY7soEsUEjb6gQ==",
     4096,
     "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
     "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="},
    {ScramMechanism::kSha1,
     "1c33006ec1ffd90f9cadcbcc0e118200",  // md5 of "user:mongo:pencil"
     "fyko+d2lbbFgONRv9qkxdawL",
     "Ho+Vgk7qvUOKUwuWLIWg4l/9SraGMHEE",
     "rQ9ZY3MntBeuP3E1TDVC4w==",
     10000,
     "MC2T8BvbmWRckDw8oWl5IVghwCY=",
     "UMWeI25JD1yNYZRMpZ4VHvhZ9e0="},
};

TEST(ScramVectors, TheServerMatchesThePublishedMessages) {
    for (const Vector& v : kVectors) {
        const auto lookUp = [&v](const std::string& user) {
            EXPECT_EQ(user, "user");
            return credentialsOf(v.mechanism, v.prepared, *fromBase64(v.salt), v.iterations);
        };
        ScramServer server(v.mechanism, lookUp, {}, v.serverNonce);
        const std::string nonce = v.clientNonce + v.serverNonce;
        auto first = server.step("n,,n=user,r=" + v.clientNonce);
        ASSERT_TRUE(first.isOk()) << first.status().toString();
        EXPECT_EQ(*first, "r=" + nonce + ",s=" + v.salt + ",i=" + std::to_string(v.iterations));
        EXPECT_FALSE(server.isDone());
        auto final = server.step("c=biws,r=" + nonce + ",p=" + v.proof);
        ASSERT_TRUE(final.isOk()) << final.status().toString();
        EXPECT_EQ(*final, "v=" + v.verifier);
        EXPECT_TRUE(server.isDone());
    }
}

TEST(ScramVectors, TheClientMatchesThePublishedMessages) {
    for (const Vector& v : kVectors) {
        if (v.mechanism == ScramMechanism::kSha1 && v.prepared == "pencil") {
            continue;  // MongoDB's clients never hash the password itself
        }
        ScramClient client(v.mechanism, "user", "pencil", v.clientNonce);
        EXPECT_EQ(client.first(), "n,,n=user,r=" + v.clientNonce);
        const std::string nonce = v.clientNonce + v.serverNonce;
        auto proof =
            client.step("r=" + nonce + ",s=" + v.salt + ",i=" + std::to_string(v.iterations));
        ASSERT_TRUE(proof.isOk()) << proof.status().toString();
        EXPECT_EQ(*proof, "c=biws,r=" + nonce + ",p=" + v.proof);
        EXPECT_FALSE(client.isDone());
        EXPECT_TRUE(client.step("v=" + v.verifier).isOk());
        EXPECT_TRUE(client.isDone());
    }
}

struct Login {
    Status status;
    std::string serverFirst;
    int steps = 0;
    bool isDone = false;
};

Login logIn(ScramServer& server, ScramClient& client) {
    Login out;
    std::string toServer = client.first();
    while (!client.isDone()) {
        auto answer = server.step(toServer);
        ++out.steps;
        if (!answer.isOk()) {
            out.status = answer.status();
            return out;
        }
        if (out.steps == 1) {
            out.serverFirst = *answer;
        }
        auto next = client.step(*answer);
        if (!next.isOk()) {
            out.status = next.status();
            return out;
        }
        toServer = *next;
    }
    out.isDone = server.isDone();
    return out;
}

std::function<StatusOr<ScramCredentials>(const std::string&)> knows(ScramMechanism mechanism,
                                                                    const std::string& user,
                                                                    const std::string& password) {
    return [=](const std::string& asked) -> StatusOr<ScramCredentials> {
        if (asked != user) {
            return Status(Code::kNotFound, "no such user");
        }
        return makeCredentials(
            mechanism, user, password, mechanism == ScramMechanism::kSha1 ? 10'000 : 15'000);
    };
}

TEST(Scram, TheRightPasswordIsAccepted) {
    for (ScramMechanism mechanism : kBoth) {
        for (const char* user : {"a", "sales,west=1", "Zoë", "=2C"}) {
            ScramServer server(mechanism, knows(mechanism, user, "p\xc3\xa4ss w,ord="));
            ScramClient client(mechanism, user, "p\xc3\xa4ss w,ord=");
            const Login login = logIn(server, client);
            EXPECT_TRUE(login.isDone) << login.status.toString();
            EXPECT_EQ(server.user(), user);
        }
    }
}

TEST(Scram, AnUnknownUserLooksLikeAWrongPassword) {
    for (ScramMechanism mechanism : kBoth) {
        Login wrong;
        Login unknown[2];
        {
            ScramServer server(mechanism, knows(mechanism, "ann", "right"));
            ScramClient client(mechanism, "ann", "wrong");
            wrong = logIn(server, client);
        }
        for (Login& login : unknown) {
            ScramServer server(mechanism, knows(mechanism, "ann", "right"));
            ScramClient client(mechanism, "bob", "wrong");
            login = logIn(server, client);
        }
        EXPECT_FALSE(wrong.isDone || unknown[0].isDone);
        EXPECT_EQ(wrong.status.toString(), unknown[0].status.toString());
        EXPECT_EQ(wrong.status.text(), "Authentication failed.");
        EXPECT_EQ(wrong.status.reason(), Reason::kAuthenticationFailed);
        EXPECT_EQ(wrong.steps, unknown[0].steps);
        EXPECT_EQ(wrong.serverFirst.size(), unknown[0].serverFirst.size());
        const auto saltAndCount = [](const Login& login) {
            return login.serverFirst.substr(login.serverFirst.find(",s="));
        };
        EXPECT_EQ(saltAndCount(unknown[0]), saltAndCount(unknown[1]));
    }
}

std::string saltOf(ScramMechanism mechanism, const std::string& user, Pretence pretence) {
    ScramServer server(
        mechanism,
        [](const std::string&) {
            return StatusOr<ScramCredentials>(Status(Code::kNotFound, "nobody"));
        },
        std::move(pretence));
    const std::string answer = *server.step("n,,n=" + user + ",r=abc");
    const size_t at = answer.find(",s=") + 3;
    return *fromBase64(answer.substr(at, answer.find(",i=") - at));
}

TEST(Scram, PretendedSaltsDependOnTheSecretOnly) {
    const std::string sha1 = saltOf(ScramMechanism::kSha1, "bob", {"secret", "test"});
    const std::string sha256 = saltOf(ScramMechanism::kSha256, "bob", {"secret", "test"});
    EXPECT_EQ(sha1.size(), makeCredentials(ScramMechanism::kSha1, "a", "b", 5000)->salt.size());
    EXPECT_EQ(sha256.size(), makeCredentials(ScramMechanism::kSha256, "a", "b", 5000)->salt.size());
    EXPECT_NE(sha1.substr(0, 4), sha256.substr(0, 4));
    EXPECT_EQ(sha1, saltOf(ScramMechanism::kSha1, "bob", {"secret", "test"}));
    EXPECT_NE(sha1, saltOf(ScramMechanism::kSha1, "bob", {"secret", "other"}));
    EXPECT_NE(sha1, saltOf(ScramMechanism::kSha1, "bob", {"another", "test"}));
    EXPECT_NE(sha1, saltOf(ScramMechanism::kSha1, "bobby", {"secret", "test"}));
    // Without a secret, the process's own is used.
    EXPECT_EQ(saltOf(ScramMechanism::kSha1, "bob", {}), saltOf(ScramMechanism::kSha1, "bob", {}));
}

TEST(Scram, CredentialsOfOneMechanismDoNotFitTheOther) {
    ScramServer server(ScramMechanism::kSha256, knows(ScramMechanism::kSha1, "ann", "secret"));
    ScramClient client(ScramMechanism::kSha256, "ann", "secret");
    EXPECT_FALSE(logIn(server, client).isDone);
}

TEST(Scram, NoStepMayBeRepeatedOrSkipped) {
    ScramServer server(ScramMechanism::kSha256, knows(ScramMechanism::kSha256, "ann", "secret"));
    ScramClient client(ScramMechanism::kSha256, "ann", "secret");
    EXPECT_FALSE(server.step("c=biws,r=x,p=AAAA").isOk());
    EXPECT_FALSE(server.step(client.first()).isOk()) << "a failed login stays failed";

    ScramServer again(ScramMechanism::kSha256, knows(ScramMechanism::kSha256, "ann", "secret"));
    ASSERT_TRUE(logIn(again, client).isDone);
    EXPECT_FALSE(again.step(client.first()).isOk());
    EXPECT_FALSE(again.isDone());
}

TEST(Scram, AReplayedProofIsRefused) {
    auto lookUp = knows(ScramMechanism::kSha256, "ann", "secret");
    const ScramCredentials same = *lookUp("ann");
    const auto fixed = [&same](const std::string&) { return StatusOr<ScramCredentials>(same); };
    ScramServer server(ScramMechanism::kSha256, fixed);
    ScramClient client(ScramMechanism::kSha256, "ann", "secret");
    const std::string proof = *client.step(*server.step(client.first()));
    ASSERT_TRUE(server.step(proof).isOk());
    ScramServer other(ScramMechanism::kSha256, fixed);
    ASSERT_TRUE(other.step(client.first()).isOk());
    EXPECT_EQ(other.step(proof).status().text(), "Authentication failed.");
}

TEST(Scram, MalformedFirstMessagesAreRefused) {
    for (const std::string& message : std::vector<std::string>{
             "",
             "n",
             "n,,",
             "n,,n=",
             "n,,n=a",
             "n,,n=a,",
             "n,,n=a,r=",
             "n,,n=,r=abc",
             "n,,r=abc,n=a",
             "n,,m=x,n=a,r=abc",
             "n,a=root,n=a,r=abc",
             "p=tls-unique,,n=a,r=abc",
             "x,,n=a,r=abc",
             "n,,n=a=2D,r=abc",
             "n,,n=a=,r=abc",
             "n,,n=" + std::string(5000, 'a') + ",r=abc",
         }) {
        ScramServer server(ScramMechanism::kSha256, [](const std::string&) {
            ADD_FAILURE() << "no user may be looked up";
            return StatusOr<ScramCredentials>(Status(Code::kNotFound, ""));
        });
        const Status status = server.step(message).status();
        EXPECT_EQ(status.reason(), Reason::kAuthenticationFailed) << message;
        EXPECT_FALSE(userOfFirstMessage(message).isOk()) << message;
    }
    EXPECT_EQ(*userOfFirstMessage("y,,n=a=2Cb=3D,r=abc,x=ext"), "a,b=");
}

TEST(Scram, ADamagedProofIsNeverAccepted) {
    auto lookUp = knows(ScramMechanism::kSha1, "ann", "secret");
    const ScramCredentials same = *lookUp("ann");
    std::string proof;
    for (size_t at = 0; at == 0 || at < proof.size(); ++at) {
        for (int variant = 0; variant < 2; ++variant) {
            ScramServer server(ScramMechanism::kSha1, [&](const std::string&) { return same; });
            ScramClient client(ScramMechanism::kSha1, "ann", "secret");
            proof = *client.step(*server.step(client.first()));
            if (variant == 0) {
                proof.resize(at);
            } else {
                proof[at] = static_cast<char>(proof[at] ^ 1);
            }
            const bool isOk = server.step(proof).isOk();
            EXPECT_FALSE(isOk || server.isDone()) << at << " " << proof;
        }
    }
}

TEST(Scram, ExtensionsBeforeTheProofAreSigned) {
    auto lookUp = knows(ScramMechanism::kSha256, "ann", "secret");
    ScramServer server(ScramMechanism::kSha256, lookUp);
    ScramClient client(ScramMechanism::kSha256, "ann", "secret");
    std::string proof = *client.step(*server.step(client.first()));
    proof.insert(proof.find(",p="), ",x=1");
    EXPECT_FALSE(server.step(proof).isOk());
}

TEST(Scram, TheClientDistrustsAFalseServer) {
    for (const char* answer : {"",
                               "r=abc,s=QSXCR+Q6sek8bf92,i=15000",  // not our nonce
                               "r=NONCE,s=QSXCR+Q6sek8bf92,i=15000",
                               "r=NONCExyz,s=QSXCR+Q6sek8bf92,i=1000",
                               "r=NONCExyz,s=QSXCR+Q6sek8bf92,i=999999999",
                               "r=NONCExyz,s=QSXCR+Q6sek8bf92,i=9999999999",
                               "r=NONCExyz,s=QSXCR+Q6sek8bf92,i=-1",
                               "r=NONCExyz,s=!,i=15000",
                               "r=NONCExyz,i=15000,s=QSXCR+Q6sek8bf92"}) {
        ScramClient client(ScramMechanism::kSha256, "ann", "secret", "NONCE");
        EXPECT_FALSE(client.step(answer).isOk()) << answer;
    }
    for (const char* last : {"", "v=", "v=AAAA", "e=other-error", "v=!", "x"}) {
        ScramClient client(ScramMechanism::kSha256, "ann", "secret", "NONCE");
        ASSERT_TRUE(client.step("r=NONCExyz,s=QSXCR+Q6sek8bf92,i=4096").isOk());
        EXPECT_FALSE(client.step(last).isOk()) << last;
        EXPECT_FALSE(client.isDone());
    }
}

TEST(SaslPrep, MatchesTheRfcsExamples) {
    EXPECT_EQ(*saslPrepare("I\xc2\xadX"), "IX");  // a soft hyphen is removed
    EXPECT_EQ(*saslPrepare("user"), "user");
    EXPECT_EQ(*saslPrepare("USER"), "USER");
    EXPECT_EQ(*saslPrepare("\xc2\xaa"), "a");                          // feminine ordinal
    EXPECT_EQ(*saslPrepare("\xe2\x85\xa8"), "IX");                     // Roman numeral nine
    EXPECT_EQ(*saslPrepare("a\xc2\xa0z"), "a z");                      // no-break space
    EXPECT_EQ(saslPrepare("\xef\xb7\xba")->substr(0, 2), "\xd8\xb5");  // grows eighteenfold
    EXPECT_EQ(*saslPrepare(""), "");
    EXPECT_FALSE(saslPrepare("\x07").isOk());  // control
    EXPECT_FALSE(saslPrepare("\xd8\xa7"
                             "1")
                     .isOk());                     // right to left, but not at both ends
    EXPECT_FALSE(saslPrepare("\xff\xfe").isOk());  // not UTF-8
    EXPECT_FALSE(saslPrepare(std::string(100'000, 'a')).isOk());
}

TEST(SaslPrep, APasswordTypedDifferentlyIsTheSame) {
    ScramServer server(ScramMechanism::kSha256, knows(ScramMechanism::kSha256, "ann", "IX"));
    ScramClient client(ScramMechanism::kSha256, "ann", "\xe2\x85\xa8");
    EXPECT_TRUE(logIn(server, client).isDone);
    EXPECT_FALSE(makeCredentials(ScramMechanism::kSha256, "ann", "\x07", 15000).isOk());
    EXPECT_TRUE(makeCredentials(ScramMechanism::kSha1, "ann", "\x07", 15000).isOk());
}

TEST(Credentials, AreSaltedAndOfTheirSizes) {
    for (ScramMechanism mechanism : kBoth) {
        auto one = makeCredentials(mechanism, "ann", "secret", 5000);
        auto two = makeCredentials(mechanism, "ann", "secret", 5000);
        ASSERT_TRUE(one.isOk() && two.isOk());
        EXPECT_NE(one->salt, two->salt);
        EXPECT_NE(one->storedKey, two->storedKey);
        EXPECT_EQ(one->salt.size() + 4, one->storedKey.size());
        EXPECT_FALSE(makeCredentials(mechanism, "ann", "secret", 0).isOk());
    }
}

TEST(Crypto, HelpersMatchTheirVectors) {
    EXPECT_EQ(toBase64(sha256("abc")), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    EXPECT_TRUE(equalInConstantTime("", ""));
    EXPECT_TRUE(equalInConstantTime("abc", "abc"));
    EXPECT_FALSE(equalInConstantTime("abc", "abd"));
    EXPECT_FALSE(equalInConstantTime("abc", "abcd"));
    EXPECT_NE(secureRandom(16), secureRandom(16));
    for (const char* bad :
         {"A", "AA", "AAA", "====", "=AAA", "A===", "AA=A", "AA A", "AAA\n", "="}) {
        EXPECT_FALSE(fromBase64(bad).isOk()) << bad;
    }
    for (const char* good : {"", "AA==", "AAA=", "AAAA", "+/+/"}) {
        EXPECT_EQ(toBase64(*fromBase64(good)), good);
    }
}

}  // namespace
}  // namespace freshet::security
