// SPDX-License-Identifier: Apache-2.0
/// libFuzzer target: any bytes as what a client sends to log in: saslStart, saslContinue,
/// authenticate and hello with its speculative login, to a whole server with users, below the
/// sockets. No login succeeds without a password, and the server goes on answering.
#include "freshet/command/dispatcher.h"
#include "freshet/query/predicate.h"
#include "freshet/security/scram.h"
#include "freshet/sync/local_executor.h"
#include "freshet/testing/sim/memory_file_system.h"
#include "freshet/wire/message.h"

namespace freshet::command {
namespace {

class FuzzedServer {
public:
    FuzzedServer() {
        engine::StoreOptions options;
        options.files = &disk_;
        options.directory = "/data";
        invariant(disk_.makeDirectory("/data").isOk());
        store_ = *engine::Store::open(options);
        catalog_ = *catalog::Catalog::open(*store_, query::compilePredicate);
        ServerFacts facts;
        facts.authEnabled = true;
        dispatcher_ = std::make_unique<Dispatcher>(*catalog_, std::move(facts));
        makeUsers();
    }

    std::unique_ptr<Connection> connect(bool isLocal) {
        ClientFacts client;
        client.connectionId = ++connections_;
        client.remote = "127.0.0.1:5000";
        client.isLocal = isLocal;
        client.certificateSubject = isLocal ? "" : "CN=nobody,O=Freshet";
        return dispatcher_->connect(client);
    }

    /// The reply's body; empty when there is none.
    bson::OwnedDocument send(Connection& connection, const bson::OwnedDocument& body) {
        std::string request;
        wire::appendOpMsg(&request, 1, 0, 0, body.view(), {});
        const Reply reply = executor_.run(connection.handle(request));
        const auto parsed = wire::parseReply(reply.message);
        return parsed.isOk() ? bson::OwnedDocument(parsed->body) : bson::OwnedDocument();
    }

private:
    /// By the localhost exception, which the first user ends; so root creates the others.
    void makeUsers() {
        std::unique_ptr<Connection> near = connect(true);
        const std::string password = security::toBase64(security::secureRandom(20));
        bson::Builder root;
        root.add("createUser", "root").add("pwd", password);
        root.array("roles").push("root");
        root.add("$db", "admin");
        const bson::OwnedDocument made = send(*near, bson::OwnedDocument(root.finish()));
        invariant(made.view().find("ok").toDouble() == 1.0);
    }

    testing::MemoryFileSystem disk_;
    sync::LocalExecutor executor_;
    std::unique_ptr<engine::Store> store_;
    std::unique_ptr<catalog::Catalog> catalog_;
    std::unique_ptr<Dispatcher> dispatcher_;
    uint64_t connections_ = 0;
};

ByteView takeLine(ByteView* bytes) {
    const size_t end = std::min(bytes->find('\n'), bytes->size());
    const ByteView line = bytes->substr(0, end);
    bytes->remove_prefix(std::min(end + 1, bytes->size()));
    return line;
}

constexpr const char* kMechanisms[] = {"SCRAM-SHA-1", "SCRAM-SHA-256", "MONGODB-X509", "PLAIN"};
constexpr const char* kDatabases[] = {"admin", "$external", "test", "a.b"};

/// How a message is made from the fuzzer's bytes.
struct Plan {
    explicit Plan(uint8_t bits)
        : isSpeculative((bits & 1) != 0),
          isText((bits & 2) != 0),
          mechanism(kMechanisms[bits >> 2 & 3]),
          db(kDatabases[bits >> 4 & 3]),
          isRaw((bits & 64) != 0) {}

    const bool isSpeculative;
    const bool isText;  // payloads as base64 in strings
    const char* mechanism;
    const char* db;
    const bool isRaw;  // the bytes are fields of the command

    void addPayload(ByteView bytes, bson::Builder* out) const {
        if (isText) {
            out->add("payload", security::toBase64(bytes));
        } else {
            out->add("payload", bson::Binary{0, bytes});
        }
    }
};

void addStart(const Plan& plan, ByteView payload, bson::Builder* out) {
    out->add("saslStart", int32_t{1}).add("mechanism", plan.mechanism);
    plan.addPayload(payload, out);
}

bson::OwnedDocument startOf(const Plan& plan, ByteView payload) {
    bson::Builder out;
    if (plan.isSpeculative) {
        out.add("hello", int32_t{1}).add("saslSupportedMechs", payload.substr(0, 100));
        auto inner = out.object("speculativeAuthenticate");
        addStart(plan, payload, &inner);
        inner.add("db", plan.db);
        inner.close();
        out.add("$db", "admin");
    } else {
        addStart(plan, payload, &out);
        out.add("$db", std::string_view(plan.db) == "a.b" ? "admin" : plan.db);
    }
    return bson::OwnedDocument(out.finish());
}

/// A payload that begins with '!' continues from the server's nonce, which a fuzzer cannot guess.
std::string withNonce(ByteView payload, ByteView answer) {
    if (payload.substr(0, 1) != "!" || answer.substr(0, 2) != "r=") {
        return std::string(payload);
    }
    return "c=biws," + std::string(answer.substr(0, answer.find(','))) +
           std::string(payload.substr(1));
}

void converse(FuzzedServer& server, const Plan& plan, ByteView bytes) {
    std::unique_ptr<Connection> stranger = server.connect(bytes.size() % 2 == 0);
    bson::OwnedDocument reply = server.send(*stranger, startOf(plan, takeLine(&bytes)));
    for (int step = 0; step < 4 && !bytes.empty(); ++step) {
        const bson::Element inner = reply.view().find("speculativeAuthenticate");
        const bson::Document state = inner.isObject() ? inner.document() : reply.view();
        const bson::Element answer = state.find("payload");
        bson::Builder next;
        next.add("saslContinue", int32_t{1});
        next.add("conversationId", static_cast<int32_t>(state.find("conversationId").toInt64()));
        plan.addPayload(withNonce(takeLine(&bytes),
                                  answer.type() == bson::Type::kBinary ? answer.binaryValue().bytes
                                                                       : ByteView()),
                        &next);
        next.add("$db", std::string_view(plan.db) == "a.b" ? "admin" : plan.db);
        reply = server.send(*stranger, bson::OwnedDocument(next.finish()));
        invariant(!stranger->isAuthenticated());
    }
    invariant(!stranger->isAuthenticated());
}

/// Adds fields of any names and types after the command's own.
void sendRaw(FuzzedServer& server, const Plan& plan, ByteView bytes) {
    const auto fields = bson::Document::parsePrefix(bytes);
    if (!fields.isOk()) {
        return;
    }
    constexpr const char* kCommands[] = {"saslStart", "saslContinue", "authenticate", "hello"};
    std::unique_ptr<Connection> stranger = server.connect(false);
    for (const char* command : kCommands) {
        bson::Builder body;
        body.add(command, int32_t{1}).addFields(*fields).add("$db", plan.db);
        std::ignore = server.send(*stranger, bson::OwnedDocument(body.finish()));
        invariant(!stranger->isAuthenticated());
    }
}

}  // namespace

void fuzzLogin(ByteView bytes) {
    static FuzzedServer* const kServer = new FuzzedServer;  // its threads outlive main()
    if (bytes.empty()) {
        return;
    }
    const Plan plan(static_cast<uint8_t>(bytes.front()));
    bytes.remove_prefix(1);
    if (plan.isRaw) {
        sendRaw(*kServer, plan, bytes);
    } else {
        converse(*kServer, plan, bytes);
    }
}

}  // namespace freshet::command

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    freshet::command::fuzzLogin({reinterpret_cast<const char*>(data), size});
    return 0;
}
