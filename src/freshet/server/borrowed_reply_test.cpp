// SPDX-License-Identifier: Apache-2.0
/// Large documents on their way to a slow client: changing or deleting them meanwhile, and even the
/// server's shutdown, does no harm.
#include "freshet/bson/builder.h"
#include "freshet/platform/signals.h"
#include "freshet/server/run_server.h"
#include "freshet/testing/sim/memory_file_system.h"
#include "freshet/transport/connector.h"
#include "freshet/wire/message.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace freshet::server {
namespace {

constexpr int kDocuments = 15;
constexpr size_t kDocumentBytes = 1'000'000;  // together more than two sockets buffer

std::string padOf(int id) {
    return std::string(kDocumentBytes, static_cast<char>('a' + id));
}

/// One connection, driven by hand.
class Client {
public:
    explicit Client(uint16_t port) {
        transport::ConnectOptions options;
        options.port = port;
        auto session = transport::connect(options);
        EXPECT_TRUE(session.isOk()) << session.status().toString();
        session_ = std::move(*session);
    }
    void send(const bson::OwnedDocument& body) {
        std::string bytes;
        wire::appendOpMsg(&bytes, ++requests_, 0, 0, body.view());
        EXPECT_TRUE(session_->sinkMessage(transport::ReplyChain(std::move(bytes))).isOk());
    }
    bson::OwnedDocument receive() {
        auto message = session_->sourceMessage();
        EXPECT_TRUE(message.isOk()) << message.status().toString();
        auto reply = wire::parseReply(message->view());
        EXPECT_TRUE(reply.isOk()) << reply.status().toString();
        return bson::OwnedDocument(reply->body);
    }
    bson::OwnedDocument run(const bson::OwnedDocument& body) {
        send(body);
        return receive();
    }

private:
    std::unique_ptr<transport::Session> session_;
    int32_t requests_ = 0;
};

bson::OwnedDocument command(std::string_view name, std::string_view collection) {
    bson::Builder body;
    body.add(name, collection).add("$db", "test");
    return bson::OwnedDocument(body.finish());
}

bson::OwnedDocument findOf(int id) {
    bson::Builder body;
    body.add("find", "c").add("$db", "test");
    body.object("filter").add("_id", id);
    return bson::OwnedDocument(body.finish());
}

bson::OwnedDocument insertOf(int id) {
    bson::Builder body;
    body.add("insert", "c").add("$db", "test");
    {
        auto documents = body.array("documents");
        auto document = documents.object(documents.nextIndex());
        document.add("_id", id).add("pad", padOf(id));
    }
    return bson::OwnedDocument(body.finish());
}

class BorrowedReplyTest : public ::testing::Test {
protected:
    BorrowedReplyTest() { EXPECT_TRUE(disk_.makeDirectory("/db").isOk()); }

    /// Calls `body` with a server's port, then ends the server.
    void withServer(const std::function<void(uint16_t)>& body) {
        platform::holdSignals();
        Surroundings surroundings{disk_};
        surroundings.onOpen = [&](uint16_t port) {
            body(port);
            platform::requestEnd();
        };
        std::vector<std::string> words{"freshetd", "--dbpath", "/db", "--port", "0"};
        std::vector<char*> argv;
        for (std::string& word : words) {
            argv.push_back(word.data());
        }
        EXPECT_EQ(kExitClean, runServer(static_cast<int>(argv.size()), argv.data(), surroundings));
    }

    static void fill(Client& client) {
        for (int i = 0; i < kDocuments; ++i) {
            const bson::OwnedDocument reply = client.run(insertOf(i));
            ASSERT_EQ(reply.view().find("n").toInt64(), 1);
        }
    }
    /// How many finds have ended.
    static int64_t findsOf(Client& client) {
        const bson::OwnedDocument status = client.run(command("serverStatus", ""));
        return status.view().findPath("metrics.commands.find.total").toInt64();
    }

    testing::MemoryFileSystem disk_;
};

TEST_F(BorrowedReplyTest, PointReadsBringWhatIsStored) {
    withServer([](uint16_t port) {
        Client client(port);
        fill(client);
        for (int i = 0; i < 2 * kDocuments; ++i) {
            const int id = i % kDocuments;
            const bson::OwnedDocument reply = client.run(findOf(id));
            const bson::Document document =
                reply.view().findPath("cursor.firstBatch").document().begin()->document();
            EXPECT_EQ(document.find("_id").int32Value(), id);
            EXPECT_TRUE(document.find("pad").stringValue() == padOf(id)) << id;
        }
    });
}

TEST_F(BorrowedReplyTest, ASlowReaderGetsWhatTheCommandHasRead) {
    withServer([](uint16_t port) {
        Client slow(port);
        Client other(port);
        fill(other);
        slow.send(command("find", "c"));
        while (findsOf(other) == 0) {  // until it has read; its reply waits for the client
        }
        other.run(command("drop", "c"));
        for (int i = 0; i < kDocuments; ++i) {
            other.run(insertOf(kDocuments - 1 - i));
        }
        const bson::OwnedDocument reply = slow.receive();
        int id = 0;
        for (const bson::Element& element : reply.view().findPath("cursor.firstBatch").document()) {
            EXPECT_EQ(element.document().find("_id").int32Value(), id);
            EXPECT_TRUE(element.document().find("pad").stringValue() == padOf(id)) << id;
            ++id;
        }
        EXPECT_EQ(id, kDocuments);
        EXPECT_EQ(slow.run(command("ping", "")).view().find("ok").toDouble(), 1.0);
    });
}

TEST_F(BorrowedReplyTest, AReplyThatNobodyTakesDoesNotOutliveTheServer) {
    std::unique_ptr<Client> never;
    withServer([&never](uint16_t port) {
        Client other(port);
        fill(other);
        never = std::make_unique<Client>(port);
        never->send(command("find", "c"));
        while (findsOf(other) == 0) {
        }
    });
}

}  // namespace
}  // namespace freshet::server
