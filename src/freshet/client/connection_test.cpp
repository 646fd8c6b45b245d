// SPDX-License-Identifier: Apache-2.0
/// A connection against a server with scripted replies, over real sockets.
#include "freshet/bson/json.h"
#include "freshet/client/scripted_server.h"
#include "freshet/security/scram.h"
#include "freshet/testing/net/sim_verbs.h"
#include "freshet/wire/compress.h"

#include <gtest/gtest.h>

#include <mutex>
#include <vector>

namespace freshet::client {

namespace {

std::string json(std::string_view text) {
    return bson::fromJson(text)->bytes();
}

std::unique_ptr<Connection> connectTo(const ScriptedServer& server) {
    StatusOr<std::unique_ptr<Connection>> opened = Connection::open(server.where());
    EXPECT_TRUE(opened.isOk()) << opened.status().toString();
    return opened.isOk() ? std::move(*opened) : nullptr;
}

/// The server's requests, as relaxed JSON.
class Requests {
public:
    void add(const wire::Request& request) {
        std::lock_guard lock(mutex_);
        texts_.push_back(bson::toJson(request.body));
    }
    std::vector<std::string> texts() {
        std::lock_guard lock(mutex_);
        return texts_;
    }

private:
    std::mutex mutex_;
    std::vector<std::string> texts_;
};

}  // namespace

TEST(Connection, SaysHelloAndRunsCommands) {
    Requests requests;
    ScriptedServer server([&](const wire::Request& request) {
        requests.add(request);
        return json(R"({"ok": 1, "n": 5})");
    });
    std::unique_ptr<Connection> connection = connectTo(server);
    ASSERT_NE(connection, nullptr);
    EXPECT_EQ(connection->hello().find("maxWireVersion").toInt64(), 21);
    for (int i = 0; i < 3; ++i) {
        StatusOr<bson::OwnedDocument> reply = connection->run("shop", bson::Document(kPing));
        ASSERT_TRUE(reply.isOk()) << reply.status().toString();
        EXPECT_EQ(reply->view().find("n").toInt64(), 5);
    }
    EXPECT_EQ(requests.texts(), std::vector<std::string>(3, R"({ "ping" : 1, "$db" : "shop" })"));
}

TEST(Connection, KeepsTheCommandsOwnDatabase) {
    Requests requests;
    ScriptedServer server([&](const wire::Request& request) {
        requests.add(request);
        return json(R"({"ok": 1})");
    });
    std::string command = json(R"({"ping": 1, "$db": "other"})");
    ASSERT_TRUE(connectTo(server)->run("shop", bson::Document(command)).isOk());
    EXPECT_EQ(requests.texts()[0], R"({ "ping" : 1, "$db" : "other" })");
}

TEST(Connection, ALargeWriteSendsItsDocumentsAsASequence) {
    std::vector<size_t> beside;
    std::string body;
    ScriptedServer server([&](const wire::Request& request) {
        beside.clear();
        for (const wire::Sequence& sequence : request.sequences) {
            EXPECT_EQ(sequence.name, "documents");
            beside.push_back(sequence.documents.size());
        }
        body = bson::toJson(request.body);
        return json(R"({"ok": 1})");
    });
    std::unique_ptr<Connection> connection = connectTo(server);
    for (size_t bytes : {10u, 9'000'000u}) {
        bson::Builder command;
        command.add("insert", "c");
        {
            bson::Builder list = command.array("documents");
            for (int i = 0; i < 3; ++i) {
                list.object(list.nextIndex()).add("s", std::string(bytes, 'x'));
            }
        }
        command.add("ordered", true);
        const std::string whole = command.finish();
        ASSERT_TRUE(connection->run("shop", bson::Document(whole)).isOk());
        EXPECT_EQ(beside, bytes == 10 ? std::vector<size_t>{} : std::vector<size_t>{3});
    }
    EXPECT_EQ(body, R"({ "insert" : "c", "ordered" : true, "$db" : "shop" })");
}

TEST(Connection, AReplyWithOkZeroIsAReplyUnlessChecked) {
    ScriptedServer server([&](const wire::Request&) {
        return json(R"({"ok": 0, "errmsg": "no such command: 'x'", "code": 59})");
    });
    std::unique_ptr<Connection> connection = connectTo(server);
    StatusOr<bson::OwnedDocument> reply = connection->run("shop", bson::Document(kPing));
    ASSERT_TRUE(reply.isOk());
    EXPECT_EQ(reply->view().find("code").toInt64(), 59);
    Status checked = connection->runChecked("shop", bson::Document(kPing)).status();
    EXPECT_EQ(checked.code(), Code::kInvalid);
    EXPECT_EQ(checked.text(), "no such command: 'x'");
}

TEST(Connection, ReportsThatNothingListens) {
    ConnectionString where;
    where.port = 1;
    EXPECT_EQ(Connection::open(where).status().code(), Code::kUnavailable);
}

TEST(Connection, FailsWhenTheServerHangsUp) {
    ScriptedServer server([](const wire::Request&) { return std::string(); });
    std::unique_ptr<Connection> connection = connectTo(server);
    for (int i = 0; i < 2; ++i) {
        EXPECT_FALSE(connection->run("shop", bson::Document(kPing)).isOk());
    }
}

/// The server's side of SCRAM for ann, whose password is "pencil".
class LoginScript {
public:
    explicit LoginScript(security::ScramMechanism mechanism)
        : scram_(mechanism, [mechanism](const std::string& user) {
              return user == "ann" ? security::makeCredentials(mechanism, user, "pencil", 5'000)
                                   : Status(Code::kNotFound, "");
          }) {}
    std::string operator()(const wire::Request& request) {
        const bool isLogin = request.body.has("saslStart") || request.body.has("saslContinue");
        if (!isLogin) {
            return json(R"({"ok": 1, "in": true})");
        }
        std::string payload;
        if (!scram_.isDone()) {
            auto next = scram_.step(request.body.find("payload").binaryValue().bytes);
            if (!next.isOk()) {
                return json(R"({"ok": 0, "errmsg": "Authentication failed.", "code": 18})");
            }
            payload = *next;
        }
        return bson::Builder()
            .add("conversationId", 1)
            .add("done", scram_.isDone())
            .add("payload", bson::Binary{0, payload})
            .add("ok", 1.0)
            .finish();
    }

private:
    security::ScramServer scram_;
};

TEST(Login, BothMechanisms) {
    for (security::ScramMechanism mechanism :
         {security::ScramMechanism::kSha1, security::ScramMechanism::kSha256}) {
        auto script = std::make_shared<LoginScript>(mechanism);
        ScriptedServer server(
            [script](const wire::Request& request) { return (*script)(request); });
        ConnectionString where = server.where();
        where.username = "ann";
        where.password = "pencil";
        where.authMechanism = security::mechanismName(mechanism);
        auto opened = Connection::open(where);
        ASSERT_TRUE(opened.isOk()) << opened.status().toString();
        EXPECT_TRUE((*opened)->run("x", bson::Document(kPing))->view().has("in"));
    }
}

TEST(Login, ReportsTheServersTextForAWrongPassword) {
    auto script = std::make_shared<LoginScript>(security::ScramMechanism::kSha1);
    ScriptedServer server([script](const wire::Request& request) { return (*script)(request); });
    ConnectionString where = server.where();
    where.username = "ann";
    where.password = "pen";
    Status status = Connection::open(where).status();
    EXPECT_EQ(status.code(), Code::kInvalid);
    EXPECT_NE(status.text().find("Authentication failed."), std::string_view::npos);
}

TEST(Login, AServerThatDoesNotKnowThePasswordIsRefused) {
    ScriptedServer server([](const wire::Request&) {
        return bson::Builder()
            .add("conversationId", 1)
            .add("done", true)
            .add("payload", bson::Binary{0, "v=bm90IGEgcHJvb2Y="})
            .add("ok", 1.0)
            .finish();
    });
    ConnectionString where = server.where();
    where.username = "ann";
    where.password = "pencil";
    EXPECT_FALSE(Connection::open(where).isOk());
}

TEST(Compression, IsUsedOnceTheServerHasAgreed) {
    std::vector<bool> packed;
    ScriptedServer server([&](const wire::Request&) { return json(R"({"ok": 1})"); },
                          0,
                          {"zstd", "snappy"},
                          [&](ByteView message) { packed.push_back(wire::isCompressed(message)); });
    ConnectionString where = server.where();
    where.compressors = {"snappy", "zstd"};
    auto opened = Connection::open(where);
    ASSERT_TRUE(opened.isOk()) << opened.status().toString();
    const std::string login = bson::Builder().add("saslStart", 1).finish();
    ASSERT_TRUE((*opened)->run("x", bson::Document(kPing)).isOk());
    ASSERT_TRUE((*opened)->run("x", bson::Document(login)).isOk());
    EXPECT_EQ(packed, (std::vector<bool>{false, true, false})) << "hello, ping, saslStart";
}

TEST(Tls, AServerWithoutTlsGivesAClearError) {
    ScriptedServer server([](const wire::Request&) { return json(R"({"ok": 1})"); });
    ConnectionString where = server.where();
    where.tls = true;
    EXPECT_FALSE(Connection::open(where).isOk());
    where.tlsCaFile = "/nowhere/ca.pem";
    const Status status = Connection::open(where).status();
    EXPECT_EQ(status.code(), Code::kInvalid);
    EXPECT_NE(status.text().find("/nowhere/ca.pem"), std::string_view::npos);
}

/// Answers with the request.
std::string mirror(const wire::Request& request) {
    return bson::Builder().add("ok", 1).add("got", request.body).finish();
}

TEST(Rdma, CommandsUseItWhenBothSidesCan) {
    const auto sim = std::make_shared<testing::SimVerbs>();
    {
        ScriptedServer server(mirror, 0, {"snappy"}, {}, sim);
        ConnectionString where = server.where();
        where.rdma = true;
        where.compressors = {"snappy"};
        std::vector<std::string> notices;
        auto opened = Connection::open(
            where, {sim, [&](const std::string& text) { notices.push_back(text); }});
        ASSERT_TRUE(opened.isOk()) << opened.status().toString();
        EXPECT_EQ((*opened)->transportKind(), "rdma");
        for (const size_t bytes : {10u, 5'000u, 3'000'000u}) {
            const std::string command =
                bson::Builder().add("ping", std::string(bytes, 'p')).finish();
            auto reply = (*opened)->run("shop", bson::Document(command));
            ASSERT_TRUE(reply.isOk()) << reply.status().toString();
            EXPECT_EQ(reply->view().findPath("got.ping").stringValue().size(), bytes);
        }
        EXPECT_TRUE(notices.empty());
    }
    EXPECT_EQ(sim->counts().queuePairs, 0u);
}

TEST(Rdma, CommandsUseCallsWithoutTcp) {
    const auto sim = std::make_shared<testing::SimVerbs>();
    {
        ScriptedServer server(mirror, 0, {}, {}, sim, 4'420);
        ConnectionString where = server.where();
        where.rdma = where.rdmaByCall = true;
        where.port = 4'420;
        auto opened = Connection::open(where, {sim, {}});
        ASSERT_TRUE(opened.isOk()) << opened.status().toString();
        EXPECT_EQ((*opened)->transportKind(), "rdma");
        EXPECT_TRUE((*opened)->run("shop", bson::Document(kPing)).isOk());
        // Nothing listens there, and nothing else is tried instead.
        where.port = 4'421;
        EXPECT_EQ(Connection::open(where, {sim, {}}).status().code(), Code::kUnavailable);
    }
    EXPECT_EQ(sim->counts().queuePairs, 0u);
    EXPECT_EQ(sim->counts().calls, 0u);
}

TEST(Rdma, StaysOnTcpWithANoticeWhereAServerHasNone) {
    const auto sim = std::make_shared<testing::SimVerbs>();
    ScriptedServer server(mirror);
    ConnectionString where = server.where();
    where.rdma = true;
    std::vector<std::string> notices;
    auto opened =
        Connection::open(where, {sim, [&](const std::string& text) { notices.push_back(text); }});
    ASSERT_TRUE(opened.isOk()) << opened.status().toString();
    EXPECT_EQ((*opened)->transportKind(), "tcp");
    EXPECT_TRUE((*opened)->run("shop", bson::Document(kPing)).isOk());
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_NE(notices[0].find("stays on TCP"), std::string::npos) << notices[0];
}

/// Loopback belongs to no device, so the result is the same with and without adapters.
TEST(Rdma, StaysOnTcpWithANoticeWithoutADevice) {
    ScriptedServer server(mirror);
    ConnectionString where = server.where();
    where.rdma = true;
    int notices = 0;
    auto opened = Connection::open(where, {nullptr, [&](const std::string&) { ++notices; }});
    ASSERT_TRUE(opened.isOk()) << opened.status().toString();
    EXPECT_EQ((*opened)->transportKind(), "tcp");
    EXPECT_EQ(notices, 1);
    EXPECT_TRUE((*opened)->run("shop", bson::Document(kPing)).isOk());
}

TEST(Rdma, IsRefusedTogetherWithTls) {
    ConnectionString where;
    where.rdma = where.tls = true;
    EXPECT_EQ(Connection::open(where).status().reason(), Reason::kFailedToParse);
}

TEST(ForEach, FetchesAllBatches) {
    Requests requests;
    ScriptedServer server([&](const wire::Request& request) {
        requests.add(request);
        return request.body.has("find") ? json(R"({"ok": 1, "cursor": {"id": 77, "ns": "shop.a.b",
                                                  "firstBatch": [{"n": 1}, {"n": 2}]}})")
                                        : json(R"({"ok": 1, "cursor": {"id": 0, "ns": "shop.a.b",
                                                  "nextBatch": [{"n": 3}]}})");
    });
    std::unique_ptr<Connection> connection = connectTo(server);
    std::vector<int64_t> seen;
    std::string find = json(R"({"find": "a.b"})");
    Status status = forEach(*connection, "shop", bson::Document(find), [&](bson::Document each) {
        seen.push_back(each.find("n").toInt64());
        return true;
    });
    ASSERT_TRUE(status.isOk()) << status.toString();
    EXPECT_EQ(seen, (std::vector<int64_t>{1, 2, 3}));
    EXPECT_EQ(requests.texts()[1], R"({ "getMore" : 77, "collection" : "a.b", "$db" : "shop" })");
}

TEST(ForEach, KillsTheCursorWhenStopped) {
    Requests requests;
    ScriptedServer server([&](const wire::Request& request) {
        requests.add(request);
        return json(R"({"ok": 1, "cursor": {"id": 77, "ns": "shop.c",
                                            "firstBatch": [{"n": 1}, {"n": 2}]}})");
    });
    std::unique_ptr<Connection> connection = connectTo(server);
    int calls = 0;
    std::string find = json(R"({"find": "c"})");
    ASSERT_TRUE(forEach(*connection, "shop", bson::Document(find), [&](bson::Document) {
                    ++calls;
                    return false;
                }).isOk());
    EXPECT_EQ(calls, 1);
    ASSERT_EQ(requests.texts().size(), 2u);
    EXPECT_EQ(requests.texts()[1],
              R"({ "killCursors" : "c", "cursors" : [ 77 ], "$db" : "shop" })");
}

TEST(ForEach, RefusesRepliesWithoutACursor) {
    ScriptedServer server([](const wire::Request&) { return json(R"({"ok": 1, "cursor": 5})"); });
    std::unique_ptr<Connection> connection = connectTo(server);
    Status status =
        forEach(*connection, "shop", bson::Document(kPing), [](bson::Document) { return true; });
    EXPECT_EQ(status.code(), Code::kInvalid);
}

}  // namespace freshet::client
