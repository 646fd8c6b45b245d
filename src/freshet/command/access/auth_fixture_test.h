// SPDX-License-Identifier: Apache-2.0
/// A server with --auth, and logins over its own protocol.
#pragma once

#include "freshet/command/run/fixture_test.h"
#include "freshet/security/scram.h"

#include <map>
#include <memory>
#include <string>

namespace freshet::command {

class AuthTest : public CommandTest {
protected:
    AuthTest() { restart(true); }

    /// Starts a new server on the same data.
    void restart(bool isAuthEnabled) {
        clients_.clear();
        close();
        isAuthEnabled_ = isAuthEnabled;
        open();
    }

    std::unique_ptr<Connection> connectFrom(bool isLocal) {
        ClientFacts client = clientFacts(++lastId_);
        client.isLocal = isLocal;
        return dispatcher_->connect(client);
    }

    bson::OwnedDocument runOn(Connection& connection,
                              std::string_view text,
                              std::string_view db = "test") {
        return sendOn(connection, request(text, db).view());
    }

    bson::OwnedDocument sendOn(Connection& connection, bson::Document body) {
        const std::string bytes = message(body);
        const Reply reply = executor_.run(connection.handle(bytes));
        return reply.message.empty() ? bson::OwnedDocument()
                                     : bodyOf(reply);  // shutdown sends no reply
    }

    /// The code of an error, 0 for success.
    int64_t codeOn(Connection& connection, std::string_view text, std::string_view db = "test") {
        return runOn(connection, text, db).view().find("code").toInt64();
    }

    bson::OwnedDocument saslStart(Connection& connection,
                                  std::string_view mechanism,
                                  const std::string& payload,
                                  bool skipsEmptyExchange,
                                  const std::string& db) {
        bson::Builder start;
        start.add("saslStart", int32_t{1}).add("mechanism", mechanism);
        start.add("payload", bson::Binary{0, payload});
        start.object("options").add("skipEmptyExchange", skipsEmptyExchange);
        start.add("$db", db);
        const bson::OwnedDocument body(start.finish());
        return sendOn(connection, body.view());
    }

    bson::OwnedDocument saslContinue(Connection& connection,
                                     int64_t id,
                                     const std::string& payload,
                                     const std::string& db) {
        bson::Builder next;
        next.add("saslContinue", int32_t{1}).add("conversationId", static_cast<int32_t>(id));
        next.add("payload", bson::Binary{0, payload}).add("$db", db);
        const bson::OwnedDocument body(next.finish());
        return sendOn(connection, body.view());
    }

    /// "", or the error that the server replied.
    std::string logIn(Connection& connection,
                      const std::string& db,
                      const std::string& user,
                      const std::string& password,
                      security::ScramMechanism mechanism = security::ScramMechanism::kSha256,
                      bool skipsEmptyExchange = true) {
        security::ScramClient client(mechanism, user, password);
        bson::OwnedDocument reply = saslStart(
            connection, security::mechanismName(mechanism), client.first(), skipsEmptyExchange, db);
        while (reply.view().find("ok").toDouble() == 1.0) {
            const bson::Document body = reply.view();
            const std::string payload(body.find("payload").binaryValue().bytes);
            std::string next;
            if (!client.isDone()) {
                auto step = client.step(payload);
                if (!step.isOk()) {
                    return "client: " + step.status().toString();
                }
                next = *step;
            }
            if (body.find("done").isTruthy()) {
                return client.isDone() ? "" : "the server ended too early";
            }
            const int64_t id = body.find("conversationId").toInt64();
            reply = saslContinue(connection, id, next, db);
        }
        return std::string(reply.view().find("errmsg").stringValue());
    }

    /// Makes root@admin by the localhost exception.
    void makeRoot() {
        expectReply(R"({"createUser": "root", "pwd": "secret", "roles": ["root"]})",
                    R"({"ok": 1})",
                    "admin");
        ASSERT_EQ("", logIn(*connection_, "admin", "root", "secret"));
    }

    /// As root: a user of `db` with a JSON array of roles.
    void makeUser(const std::string& user, const std::string& roles, std::string_view db = "test") {
        expectReply(R"({"createUser": ")" + user + R"(", "pwd": "pw", "roles": )" + roles + "}",
                    R"({"ok": 1})",
                    db);
    }

    /// A connection on which this user (password "pw") is logged in.
    Connection& as(const std::string& user, const std::string& db = "test") {
        std::unique_ptr<Connection>& client = clients_[user + "@" + db];
        if (client == nullptr) {
            client = connectFrom(false);
            EXPECT_EQ("", logIn(*client, db, user, "pw"));
        }
        return *client;
    }

    std::map<std::string, std::unique_ptr<Connection>> clients_;
    uint64_t lastId_ = 100;
};

}  // namespace freshet::command
