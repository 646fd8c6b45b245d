// SPDX-License-Identifier: Apache-2.0
/// The command layer's front door: a request's bytes in, a reply's bytes out. It knows no
/// transport; server joins the two. A Dispatcher is shared by all connections; a Connection is the
/// state of one client.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/bson/builder.h"
#include "freshet/catalog/catalog.h"
#include "freshet/engine/store.h"
#include "freshet/query/borrowed_documents.h"
#include "freshet/sync/memory_pool.h"
#include "freshet/sync/task.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace freshet::command {

/// The longest message that a client may send before it has logged in, also after decompression:
/// every command of a login fits easily.
inline constexpr size_t kStrangerMessageBytesMax = 64 * 1024;

class SessionRecords;

/// Facts about the server that commands report or depend on.
struct ServerFacts {
    std::string version =
        "8.0.0";  // the MongoDB version whose behaviour we serve (wire version 25)
    std::string freshetVersion = "0.1.0";
    std::vector<std::string> argv;
    bson::OwnedDocument parsedOptions;  // getCmdLineOpts
    std::string host;                   // "name:port"
    int64_t startedWallMs = 0;
    bool enableTestCommands = false;
    bool authEnabled = false;
    bool javaScriptEnabled = true;
    bool verifiesCertificates = false;  // of clients, which may log in by them
    std::string replicaSet;             // its name; empty: a standalone
    std::string replicaSetHost;  // "name:port" of its member; empty: as the client dialled it
    uint32_t journalCommitIntervalMs = 100;
    uint32_t slowOpThresholdMs = 100;
    double slowOpSampleRate = 1.0;
    int32_t profileLevel = 0;  // of databases for which the profile command has set no level
    /// --setParameter: the values that checkStartParameter() has passed.
    std::vector<std::pair<std::string, std::string>> startParameters;
    /// For OP_COMPRESSED, the preferred one first; names as in hello.
    std::vector<std::string> compressors{"snappy", "zstd", "zlib"};
    /// Adds transport's numbers to serverStatus ({connections: ..., network: ...}).
    std::function<void(bson::Builder*)> transportStatus;
    /// Bounds what all requests hold together; null: nothing is counted.
    std::shared_ptr<sync::MemoryPool> memory;
    /// The eventKeeper of the catalog's store (session_records.h); null: whether a write was done
    /// is forgotten in a crash.
    std::shared_ptr<SessionRecords> sessionRecords;
    /// Called by the shutdown command; returns at once.
    std::function<void()> requestShutdown;
    /// The newest log lines for getLog, oldest first.
    std::function<std::vector<std::string>()> recentLog;
    std::function<std::vector<std::string>()> startupWarnings;
    /// For the logRotate command.
    std::function<Status()> rotateLog;
};

struct ClientFacts {
    uint64_t connectionId = 0;
    std::string remote;
    std::string local;
    bool isLocal = false;  // from this machine: the localhost exception may apply
    bool isTls = false;
    std::string certificateSubject = {};
    std::string serverName = {};    // the name of us that the client gave in its TLS handshake; or
                                    // empty
    std::string transport = "tcp";  // "unix", "rdma"
};

struct Reply {
    std::string message;  // a whole wire message, without the bytes of `borrowed`; empty: no reply
                          // is due
    std::unique_ptr<query::BorrowedDocuments> borrowed{};  // documents that go into it; null: none
    bool closeAfter = false;  // protocol violation: send this reply, then close
    bool moreToCome = false;  // exhaust: call next() for the following reply
};

class Connection {
public:
    virtual ~Connection() = default;
    /// Answers one whole message if that needs no waiting: true, and `*reply` is the answer. False:
    /// nothing has happened, and handle() must be called with the same message.
    virtual bool handleAtOnce(ByteView message, Reply* reply) = 0;
    /// Looks at the message that will be given to handleAtOnce() next: true if readAhead() will
    /// load what it needs.
    virtual bool lookAhead(ByteView message) = 0;
    /// One whole message. On the connection's executor; one at a time. Never fails: errors are
    /// replies.
    virtual sync::Task<Reply> handle(ByteView message) = 0;
    /// The next reply of an exhaust stream.
    virtual sync::Task<Reply> next() = 0;
    /// A user is logged in, or no login is required.
    virtual bool isAuthenticated() const = 0;
    /// While handle() or next() is suspended: the client no longer waits for the reply. Interrupts
    /// what can be interrupted.
    virtual void onPeerGone() = 0;
    /// The last reply did not and will not reach its client: the cursor that it announced ends.
    virtual void onReplyLost() = 0;
};

struct Services;

class Dispatcher {
public:
    Dispatcher(catalog::Catalog& catalog, ServerFacts facts);
    ~Dispatcher();
    /// Writes what each start of the server leaves in its own databases: local.startup_log and the
    /// feature compatibility version. Blocks; to be called once, before clients are served.
    void recordStart();
    std::unique_ptr<Connection> connect(ClientFacts client);
    /// Loads into the caches what the messages need that this thread's connections have looked
    /// ahead at. REQUIRES: an open slice.
    static void readAhead();
    /// Called at the start of each pass of the calling thread over its run queue, and before the
    /// end of a pass that took so long that others had to wait.
    static void passBegan();
    static void passEnded();
    static void longPass(uint64_t nanos);
    /// Connections begin unauthenticated.
    bool needsLogin() const;
    /// Commands that arrive from now on get ShutdownInProgress; cursors are ended.
    void beginShutdown();

    /// What its commands share.
    Services& servicesForTest();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::command
