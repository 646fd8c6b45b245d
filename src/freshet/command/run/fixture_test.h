// SPDX-License-Identifier: Apache-2.0
/// A whole server below the sockets, on a disk in memory: tests send bytes and check the bytes of
/// the reply.
#pragma once

#include "freshet/bson/compare.h"
#include "freshet/bson/json.h"
#include "freshet/command/dispatcher.h"
#include "freshet/command/session_records.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"
#include "freshet/query/predicate.h"
#include "freshet/sync/local_executor.h"
#include "freshet/telemetry/fail_point.h"
#include "freshet/testing/sim/memory_file_system.h"
#include "freshet/wire/message.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace freshet::command {

/// Whether every field of `expected` is in `actual` with an equal value; objects inside likewise,
/// arrays element by element. Returns the path of the first difference, or "".
inline std::string missingFrom(bson::Document actual, bson::Document expected) {
    for (const bson::Element& want : expected) {
        const std::string name(want.name());
        const bson::Element have = actual.find(want.name());
        if (have.isMissing()) {
            return name;
        }
        if (have.type() == want.type() && (want.isObject() || want.isArray())) {
            if (want.isArray() && have.document().fieldCount() != want.document().fieldCount()) {
                return name + " (length)";
            }
            std::string inner = missingFrom(have.document(), want.document());
            if (!inner.empty()) {
                return name + "." + inner;
            }
        } else if (!bson::equalValues(have, want)) {
            return name;
        }
    }
    return "";
}

class CommandTest : public ::testing::Test {
protected:
    CommandTest() { open(); }
    ~CommandTest() override {
        // They are the process's, and would outlive the test that has switched them on.
        for (telemetry::FailPoint* point : telemetry::allFailPoints()) {
            point->configure({});
        }
        close();
    }

    void open() {
        engine::StoreOptions options;
        options.files = &disk_;
        options.directory = "/data";
        options.journalCommitIntervalMs = 5;
        options.recordBytesMax = recordBytesMax_;
        ASSERT_TRUE(disk_.makeDirectory("/data").isOk());
        sessionRecords_ = makeSessionRecords();
        options.eventKeeper = &keeperOf(*sessionRecords_);
        auto store = engine::Store::open(options);
        ASSERT_TRUE(store.isOk()) << store.status().toString();
        store_ = std::move(*store);
        auto catalog = catalog::Catalog::open(*store_, query::compilePredicate);
        ASSERT_TRUE(catalog.isOk()) << catalog.status().toString();
        catalog_ = std::move(*catalog);
        ServerFacts facts;
        facts.argv = {"freshetd", "--port", "0"};
        facts.host = "freshet.test:27017";
        facts.enableTestCommands = true;
        facts.authEnabled = isAuthEnabled_;
        facts.replicaSet = replicaSet_;
        facts.sessionRecords = sessionRecords_;
        facts.requestShutdown = [this] { wasAskedToEnd_ = true; };
        facts.recentLog = [] { return std::vector<std::string>{"first", "second"}; };
        dispatcher_ = std::make_unique<Dispatcher>(*catalog_, std::move(facts));
        connection_ = dispatcher_->connect(clientFacts(7));
    }

    void close() {
        connection_.reset();
        dispatcher_.reset();
        catalog_.reset();
        if (store_ != nullptr) {
            EXPECT_TRUE(store_->close().isOk());
        }
        store_.reset();
    }

    /// Like a power cut.
    void crash() {
        disk_.crash();
        connection_.reset();
        dispatcher_.reset();
        catalog_.reset();
        store_.reset();
        open();
    }

    static ClientFacts clientFacts(uint64_t id) {
        ClientFacts client;
        client.connectionId = id;
        client.remote = "127.0.0.1:5000";
        client.local = "127.0.0.1:27017";
        client.isLocal = true;
        return client;
    }

    static std::string message(bson::Document body,
                               uint32_t flags = 0,
                               const std::vector<wire::Sequence>& sequences = {}) {
        std::string out;
        wire::appendOpMsg(&out, 42, 0, flags, body, sequences);
        return out;
    }

    Reply exchange(const std::string& bytes) {
        Reply reply;
        return connection_->handleAtOnce(bytes, &reply) ? std::move(reply)
                                                        : executor_.run(connection_->handle(bytes));
    }

    /// As a client receives it.
    static std::string wholeOf(const Reply& reply) {
        return reply.borrowed == nullptr ? reply.message
                                         : reply.borrowed->putIntoForTest(reply.message);
    }

    static bson::OwnedDocument bodyOf(const Reply& reply) {
        const std::string message = wholeOf(reply);
        auto parsed = wire::parseReply(message);
        EXPECT_TRUE(parsed.isOk()) << parsed.status().toString();
        return parsed.isOk() ? bson::OwnedDocument(parsed->body) : bson::OwnedDocument();
    }

    static bson::OwnedDocument json(std::string_view text) {
        auto document = bson::fromJson(text);
        EXPECT_TRUE(document.isOk()) << text << document.status().toString();
        return document.isOk() ? std::move(*document) : bson::OwnedDocument();
    }

    /// The request with `$db` added.
    static bson::OwnedDocument request(std::string_view text, std::string_view db = "test") {
        bson::Builder body;
        body.addFields(json(text).view());
        body.add("$db", db);
        return bson::OwnedDocument(body.finish());
    }

    bson::OwnedDocument run(std::string_view text, std::string_view db = "test") {
        return bodyOf(exchange(message(request(text, db).view())));
    }

    void expectReply(std::string_view text,
                     std::string_view expected,
                     std::string_view db = "test") {
        const bson::OwnedDocument reply = run(text, db);
        EXPECT_EQ("", missingFrom(reply.view(), json(expected).view()))
            << "request " << text << "\nreply " << bson::toJson(reply.view()) << "\nexpected "
            << expected;
    }

    struct Exchange {
        std::string_view request;
        std::string_view reply;
    };
    void expectReplies(const std::vector<Exchange>& table, std::string_view db = "test") {
        for (const Exchange& row : table) {
            expectReply(row.request, row.reply, db);
        }
    }

    /// Sends a message on a connection and a thread of its own.
    class Elsewhere {
    public:
        Elsewhere(CommandTest& test, uint64_t id, std::string bytes)
            : connection_(test.dispatcher_->connect(clientFacts(id))),
              message_(std::move(bytes)),
              thread_("elsewhere",
                      [this] { reply_ = executor_.run(connection_->handle(message_)); }) {}
        Connection& connection() { return *connection_; }
        bson::OwnedDocument reply() {
            thread_.join();
            return bodyOf(reply_);
        }

    private:
        sync::LocalExecutor executor_;
        std::unique_ptr<Connection> connection_;
        const std::string message_;
        Reply reply_;
        platform::Thread thread_;
    };

    /// The operation that currentOp shows for the filter, once it exists.
    bson::OwnedDocument waitForOp(std::string_view filter) {
        while (true) {
            const bson::OwnedDocument reply =
                run(R"({"currentOp": 1, )" + std::string(filter) + "}", "admin");
            const bson::Document list = reply.view().find("inprog").document();
            if (!list.isEmpty()) {
                return bson::OwnedDocument(list.begin()->document());
            }
            platform::sleepMillis(1);
        }
    }

    testing::MemoryFileSystem disk_;
    sync::LocalExecutor executor_;
    std::shared_ptr<SessionRecords> sessionRecords_;  // outlive the store
    std::unique_ptr<engine::Store> store_;
    std::unique_ptr<catalog::Catalog> catalog_;
    std::unique_ptr<Dispatcher> dispatcher_;
    std::unique_ptr<Connection> connection_;
    bool wasAskedToEnd_ = false;
    bool isAuthEnabled_ = false;  // takes effect at the next open(), as does ...
    std::string replicaSet_;
    size_t recordBytesMax_ = engine::StoreOptions().recordBytesMax;
};

}  // namespace freshet::command
