// SPDX-License-Identifier: Apache-2.0
/// Two directly connected channels, with certificates made here: what goes in on one side comes out
/// on the other, and nothing else does, whatever is cut, damaged, expired or foreign.
#include "freshet/security/tls.h"

#include "freshet/platform/folder_for_test.h"
#include "freshet/platform/thread.h"
#include "freshet/security/certificates_for_test.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>

namespace freshet::security {
namespace {

class TlsTest : public ::testing::Test {
protected:
    TlsTest() {
        server_.certificateKeyFile = file("server.pem", authority_.issue({}));
        client_.caFile = file("ca.pem", authority_.certificate());
    }

    std::string file(const std::string& name, const std::string& contents) {
        std::string path = folder_.path(name);
        std::ofstream(path) << contents;
        return path;
    }

    static std::unique_ptr<TlsChannel> open(TlsSide side,
                                            const TlsOptions& options,
                                            const std::string& peer = "") {
        auto context = TlsContext::make(side, options);
        EXPECT_TRUE(context.isOk()) << context.status().toString();
        auto channel = TlsChannel::open(*context, peer);
        EXPECT_TRUE(channel.isOk()) << channel.status().toString();
        return std::move(*channel);
    }

    void join(const std::string& peer = "localhost") {
        left_ = open(TlsSide::kClient, client_, peer);
        right_ = open(TlsSide::kServer, server_);
    }

    /// Moves bytes both ways until there are no more. The first error of each side is kept.
    void pump() {
        for (bool moved = true; moved;) {
            moved = false;
            for (auto [from, to, error] : {std::tuple(left_.get(), right_.get(), &serverError_),
                                           std::tuple(right_.get(), left_.get(), &clientError_)}) {
                const std::string bytes = from->drainCipher();
                if (!bytes.empty()) {
                    moved = true;
                    if (error->isOk()) {
                        *error = to->feedCipher(bytes);
                    }
                }
            }
        }
    }

    /// A read by the client shows the server's verdict on its certificate (TLS 1.3 reports it
    /// late).
    Status clientVerdict() {
        std::string plain;
        return clientError_.isOk() ? left_->readPlain(&plain, 1).status() : clientError_;
    }

    void expectRefused(const std::string& words) {
        join();
        pump();
        EXPECT_NE(clientError_.text().find(words), std::string::npos)
            << "client says: " << clientError_.toString();
        EXPECT_FALSE(left_->isHandshakeDone());
        EXPECT_FALSE(serverError_.isOk()) << "the alert tells the server";
    }

    static void expectCarries(TlsChannel* from, TlsChannel* to, const std::string& text) {
        ASSERT_TRUE(from->writePlain(text).isOk());
        ASSERT_TRUE(to->feedCipher(from->drainCipher()).isOk());
        std::string got;
        auto bytes = to->readPlain(&got, text.size() + 1);
        ASSERT_TRUE(bytes.isOk()) << bytes.status().toString();
        EXPECT_EQ(*bytes, text.size());
        EXPECT_EQ(got, text);
    }

    AuthorityForTest authority_{"authority"};
    const platform::FolderForTest folder_;
    TlsOptions server_;
    TlsOptions client_;
    std::unique_ptr<TlsChannel> left_;   // the client
    std::unique_ptr<TlsChannel> right_;  // the server
    Status clientError_;
    Status serverError_;
};

TEST_F(TlsTest, CarriesBytesBothWaysInEveryProtocol) {
    for (const char* without : {"TLS1_2", "TLS1_3"}) {
        client_.disabledProtocols = {without};
        join();
        pump();
        ASSERT_TRUE(left_->isHandshakeDone() && right_->isHandshakeDone()) << without;
        EXPECT_EQ(right_->serverNameIndication(), "localhost");
        EXPECT_EQ(left_->peerSubject(), "CN=server,O=Freshet");
        EXPECT_EQ(right_->peerSubject(), "");
        for (size_t size : {0u, 1u, 5u, 16384u, 16385u, 300'000u}) {
            expectCarries(left_.get(), right_.get(), std::string(size, 'q'));
            expectCarries(right_.get(), left_.get(), std::string(size, 'a'));
        }
        EXPECT_FALSE(right_->isPeerClosed());
        left_->close();
        pump();
        std::string none;
        EXPECT_EQ(*right_->readPlain(&none, 1), 0u);
        EXPECT_TRUE(right_->isPeerClosed());
    }
}

TEST_F(TlsTest, WorksWhenBytesComeOneByOne) {
    join();
    while (!left_->isHandshakeDone() || !right_->isHandshakeDone()) {
        for (auto [from, to] :
             {std::pair(left_.get(), right_.get()), {right_.get(), left_.get()}}) {
            for (char byte : from->drainCipher()) {
                ASSERT_TRUE(to->feedCipher({&byte, 1}).isOk());
            }
        }
    }
    ASSERT_TRUE(left_->writePlain("hello").isOk());
    std::string got;
    for (char byte : left_->drainCipher()) {
        EXPECT_EQ(got, "");
        ASSERT_TRUE(right_->feedCipher({&byte, 1}).isOk());
        ASSERT_TRUE(right_->readPlain(&got, 100).isOk());
    }
    EXPECT_EQ(got, "hello");
}

TEST_F(TlsTest, PlainBytesAreReturnedInTheRequestedSizes) {
    join();
    pump();
    ASSERT_TRUE(left_->writePlain("abcdef").isOk());
    ASSERT_TRUE(right_->feedCipher(left_->drainCipher()).isOk());
    std::string got = "(";
    EXPECT_EQ(*right_->readPlain(&got, 4), 4u);
    EXPECT_EQ(*right_->readPlain(&got, 4), 2u);
    EXPECT_EQ(*right_->readPlain(&got, 4), 0u);
    EXPECT_EQ(got, "(abcdef");
}

TEST_F(TlsTest, GarbageInsteadOfTheClientsHelloIsAnError) {
    right_ = open(TlsSide::kServer, server_);
    Status refused = right_->feedCipher("GET / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(refused.code(), Code::kInvalid);
    EXPECT_EQ(refused.reason(), Reason::kProtocolError);
    EXPECT_NE(refused.text().find("http request"), std::string::npos) << refused.toString();
    EXPECT_FALSE(right_->feedCipher("more").isOk()) << "nothing works after an error";
    right_->close();
}

/// Flips one byte of each message of the handshake in turn: neither side may accept it, and no
/// plain byte comes through.
TEST_F(TlsTest, ADamagedHandshakeNeverSucceeds) {
    for (size_t at = 0;; at += 7) {
        join();
        clientError_ = serverError_ = Status::ok();
        size_t seen = 0;
        bool isDamaged = false;
        for (int round = 0; round < 6; ++round) {
            for (auto [from, to, error] : {std::tuple(left_.get(), right_.get(), &serverError_),
                                           std::tuple(right_.get(), left_.get(), &clientError_)}) {
                std::string bytes = from->drainCipher();
                if (!isDamaged && at >= seen && at < seen + bytes.size()) {
                    bytes[at - seen] = static_cast<char>(bytes[at - seen] ^ 0x55);
                    isDamaged = true;
                }
                seen += bytes.size();
                if (error->isOk() && !bytes.empty()) {
                    *error = to->feedCipher(bytes);
                }
            }
        }
        if (!isDamaged) {
            EXPECT_GT(at, 900u) << "the handshake was shorter than it can be";
            return;
        }
        EXPECT_FALSE(left_->isHandshakeDone() && right_->isHandshakeDone()) << at;
    }
}

TEST_F(TlsTest, AnIncompleteHandshakeWaits) {
    join();
    const std::string hello = left_->drainCipher();
    for (size_t size = 0; size < hello.size(); ++size) {
        right_ = open(TlsSide::kServer, server_);
        EXPECT_TRUE(right_->feedCipher(ByteView(hello).substr(0, size)).isOk()) << size;
        EXPECT_FALSE(right_->isHandshakeDone());
        std::string plain;
        EXPECT_EQ(*right_->readPlain(&plain, 10), 0u);
    }
}

TEST_F(TlsTest, ADamagedRecordIsAnErrorAndNoData) {
    join();
    pump();
    ASSERT_TRUE(left_->writePlain("transfer 100").isOk());
    std::string record = left_->drainCipher();
    record[record.size() / 2] = static_cast<char>(record[record.size() / 2] ^ 1);
    ASSERT_TRUE(right_->feedCipher(record).isOk());
    std::string plain;
    auto read = right_->readPlain(&plain, 100);
    EXPECT_EQ(read.status().reason(), Reason::kProtocolError);
    EXPECT_EQ(plain, "");
    EXPECT_FALSE(right_->writePlain("x").isOk());
    EXPECT_NE(right_->drainCipher(), "") << "the alert";
}

TEST_F(TlsTest, RandomBytesAreHarmless) {
    const char* given = std::getenv("FRESHET_SEED");
    const uint64_t seed =
        given != nullptr ? std::strtoull(given, nullptr, 10) : platform::randomSeed();
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int round = 0; round < 300; ++round) {
        right_ = open(TlsSide::kServer, server_);
        std::string bytes = "\x16\x03\x01";
        const size_t size = random() % 600;
        for (size_t i = 0; i < size; ++i) {
            bytes += static_cast<char>(random());
        }
        std::ignore = right_->feedCipher(bytes);
        EXPECT_FALSE(right_->isHandshakeDone());
        EXPECT_LE(right_->drainCipher().size(), 100u);
    }
}

TEST_F(TlsTest, AnAuthorityThatTheClientDoesNotKnowIsRefused) {
    AuthorityForTest other("somebody else");
    client_.caFile = file("other.pem", other.certificate());
    expectRefused("unable to get local issuer certificate");
}

TEST_F(TlsTest, AnotherHostsCertificateIsRefused) {
    server_.certificateKeyFile =
        file("other-host.pem", authority_.issue({.names = {"DNS:example.org"}}));
    expectRefused("ostname mismatch");
    client_.allowInvalidHostnames = true;
    clientError_ = serverError_ = Status::ok();
    join();
    pump();
    EXPECT_TRUE(left_->isHandshakeDone()) << clientError_.toString();
}

TEST_F(TlsTest, AddressesAreCheckedToo) {
    join("127.0.0.1");
    pump();
    EXPECT_TRUE(left_->isHandshakeDone()) << clientError_.toString();
    EXPECT_EQ(right_->serverNameIndication(), "") << "an address is not sent as a server name";
    join("127.0.0.2");
    pump();
    EXPECT_NE(clientError_.text().find("IP address mismatch"), std::string::npos);
}

TEST_F(TlsTest, AnExpiredAuthorityIsRefusedUnlessAllIsAllowed) {
    AuthorityForTest old("old authority", -60);
    server_.certificateKeyFile = file("old.pem", old.issue({}));
    client_.caFile = file("old-ca.pem", old.certificate());
    expectRefused("certificate has expired");
    client_.allowInvalidCertificates = true;
    clientError_ = serverError_ = Status::ok();
    join();
    pump();
    EXPECT_TRUE(left_->isHandshakeDone()) << clientError_.toString();
    EXPECT_EQ(left_->peerSubject(), "") << "what was not checked proves nothing";
}

TEST_F(TlsTest, AServerWithAuthoritiesAsksForACertificate) {
    server_.caFile = client_.caFile;
    join();
    pump();
    EXPECT_NE(serverError_.text().find("did not return a certificate"), std::string::npos);
    EXPECT_FALSE(clientVerdict().isOk());

    server_.allowConnectionsWithoutCertificates = true;
    clientError_ = serverError_ = Status::ok();
    join();
    pump();
    EXPECT_TRUE(right_->isHandshakeDone()) << serverError_.toString();

    server_.allowConnectionsWithoutCertificates = false;
    client_.certificateKeyFile = file("client.pem", authority_.issue({.commonName = "Zoë, Ann"}));
    join();
    pump();
    ASSERT_TRUE(right_->isHandshakeDone()) << serverError_.toString();
    EXPECT_EQ(right_->peerSubject(), "CN=Zo\\C3\\AB\\, Ann,O=Freshet");
    expectCarries(left_.get(), right_.get(), "hello");
}

TEST_F(TlsTest, AForeignClientCertificateIsRefusedOrIgnored) {
    AuthorityForTest other("somebody else");
    server_.caFile = client_.caFile;
    client_.certificateKeyFile = file("client.pem", other.issue({.commonName = "root"}));
    join();
    pump();
    EXPECT_FALSE(serverError_.isOk());
    EXPECT_FALSE(right_->isHandshakeDone());

    server_.allowInvalidCertificates = true;
    clientError_ = serverError_ = Status::ok();
    join();
    pump();
    ASSERT_TRUE(right_->isHandshakeDone()) << serverError_.toString();
    EXPECT_EQ(right_->peerSubject(), "");
}

TEST_F(TlsTest, ARevokedCertificateIsRefused) {
    client_.crlFile = file("crl.pem", authority_.revoke({2}));
    join();
    pump();
    EXPECT_TRUE(left_->isHandshakeDone()) << "number 1 is good: " << clientError_.toString();
    client_.crlFile = file("crl.pem", authority_.revoke({7, 1}));
    expectRefused("certificate revoked");
}

TEST_F(TlsTest, FaultsInFilesAreReported) {
    const auto expectWords = [this](const TlsOptions& options, const std::string& words) {
        const Status status = TlsContext::make(TlsSide::kServer, options).status();
        EXPECT_EQ(status.code(), Code::kInvalid);
        EXPECT_NE(status.text().find(words), std::string::npos) << status.toString();
        EXPECT_NE(status.text().find(folder_.path().string()), std::string::npos)
            << status.toString();
    };
    const std::string good = authority_.issue({});
    const std::string other = authority_.issue({});
    // Not at the same place in both: signatures differ in length.
    const size_t keyAt = good.find("-----BEGIN PRIVATE KEY");
    const size_t otherKeyAt = other.find("-----BEGIN PRIVATE KEY");
    ASSERT_NE(keyAt, std::string::npos);
    ASSERT_NE(otherKeyAt, std::string::npos);
    const auto withKeyFile = [this](const std::string& contents, const std::string& password = "") {
        TlsOptions options;
        options.certificateKeyFile = file("tried.pem", contents);
        options.certificateKeyPassword = password;
        return options;
    };
    TlsOptions missing;
    missing.certificateKeyFile = folder_.path("nowhere.pem");
    expectWords(missing, "No such file");
    expectWords(withKeyFile(""), "has no readable certificate");
    expectWords(withKeyFile("-----BEGIN CERTIFICATE-----\n!\n"), "has no readable certificate");
    expectWords(withKeyFile(good.substr(0, keyAt)), "has no readable private key");
    expectWords(withKeyFile(good.substr(0, keyAt) + other.substr(otherKeyAt)),
                "does not belong to the certificate");
    expectWords(withKeyFile(authority_.issue({.validToSeconds = -60})), "expired or not yet valid");
    expectWords(withKeyFile(authority_.issue({.validFromSeconds = 60})),
                "expired or not yet valid");
    const std::string locked = authority_.issue({.password = "open sesame"});
    expectWords(withKeyFile(locked), "no password is given");
    // With one wrong password in a few hundred, the result looks like decrypted data.
    for (int attempt = 0; attempt < 20; ++attempt) {
        expectWords(withKeyFile(locked, "wrong" + std::to_string(attempt)),
                    "password of the private key is wrong");
    }
    EXPECT_TRUE(TlsContext::make(TlsSide::kServer, withKeyFile(locked, "open sesame")).isOk());
    for (size_t size = 0; size < keyAt + 60; size += 13) {
        EXPECT_FALSE(TlsContext::make(TlsSide::kServer, withKeyFile(good.substr(0, size))).isOk());
    }
    TlsOptions badAuthority = server_;
    badAuthority.caFile = file("bad-ca.pem", "no certificate at all");
    expectWords(badAuthority, "bad-ca.pem: has no readable certificate of an authority");
    TlsOptions badList = server_;
    badList.caFile = client_.caFile;
    badList.crlFile = client_.caFile;
    expectWords(badList, "has no readable list of revoked certificates");
    badList.caFile = "";
    expectWords(badList, "needs a file of authorities");
}

TEST_F(TlsTest, InvalidOptionsAreRefused) {
    EXPECT_FALSE(TlsContext::make(TlsSide::kServer, {}).isOk()) << "a server needs a certificate";
    server_.disabledProtocols = {"TLS1_2", "TLS1_3"};
    EXPECT_FALSE(TlsContext::make(TlsSide::kServer, server_).isOk());
    server_.disabledProtocols = {"SSL3"};
    EXPECT_NE(TlsContext::make(TlsSide::kServer, server_).status().text().find("'SSL3'"),
              std::string::npos);
    server_.disabledProtocols = {"TLS1_0", "TLS1_1"};
    EXPECT_TRUE(TlsContext::make(TlsSide::kServer, server_).isOk());
}

}  // namespace
}  // namespace freshet::security
