// SPDX-License-Identifier: Apache-2.0
/// The command layer's front door: bytes of a request in, bytes of a reply out. It knows no
/// transport: server joins it to one. A Dispatcher is shared by all connections; a Connection is
/// one client's state.
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

/// What somebody who has not logged in may send, also once it is unpacked: every command of a login
/// fits well.
inline constexpr size_t kStrangerMessageBytesMax = 64 * 1024;

/// What the server tells the commands about itself.
struct ServerFacts {
    std::string version =
        "7.0.0";  // the MongoDB version whose behaviour we serve (wire version 21)
    std::string freshetVersion = "0.1.0";
    std::vector<std::string> argv;
    bson::OwnedDocument parsedOptions;  // getCmdLineOpts
    std::string host;                   // "name:port"
    int64_t startedWallMs = 0;
    bool enableTestCommands = false;
    bool authEnabled = false;
    bool javaScriptEnabled = true;
    std::string replicaSet;      // its name; empty: a standalone
    std::string replicaSetHost;  // "name:port" of its member; empty: as the client dialled it
    uint32_t journalCommitIntervalMs = 100;
    uint32_t slowOpThresholdMs = 100;
    double slowOpSampleRate = 1.0;
    int32_t profileLevel = 0;  // of databases for which the profile command has set none
    /// --setParameter: those that checkStartParameter() has passed.
    std::vector<std::pair<std::string, std::string>> startParameters;
    /// Of OP_COMPRESSED, the preferred one first; names as in hello.
    std::vector<std::string> compressors{"snappy", "zstd", "zlib"};
    /// Adds transport's numbers to serverStatus ({connections: ..., network: ...}).
    std::function<void(bson::Builder*)> transportStatus;
    /// What requests may hold together; null: nothing is counted.
    std::shared_ptr<sync::MemoryPool> memory;
    /// Asked for by the shutdown command; returns at once.
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
    std::string serverName = {};    // by which it called us in its TLS handshake; or empty
    std::string transport = "tcp";  // "unix", "rdma"
};

struct Reply {
    std::string message;  // a whole wire message, but for `borrowed`; empty: no reply is due
    std::unique_ptr<query::BorrowedDocuments> borrowed{};  // what goes into it; null: nothing
    bool closeAfter = false;  // protocol violation: send what there is, then close
    bool moreToCome = false;  // exhaust: call next() for the following reply
};

class Connection {
public:
    virtual ~Connection() = default;
    /// One whole message that can be answered without waiting: true, and `*reply` is the answer.
    /// False: nothing has happened, and handle() is to be called with the same message.
    virtual bool handleAtOnce(ByteView message, Reply* reply) = 0;
    /// The message that is given to handleAtOnce() next: true if readAhead() will get what it
    /// needs.
    virtual bool lookAhead(ByteView message) = 0;
    /// One whole message. On the connection's executor; one at a time. Never fails: errors are
    /// replies.
    virtual sync::Task<Reply> handle(ByteView message) = 0;
    /// The next reply of an exhaust stream.
    virtual sync::Task<Reply> next() = 0;
    /// Somebody is logged in, or nobody needs to be.
    virtual bool isAuthenticated() const = 0;
    /// While handle() or next() is suspended: nobody waits for its reply any more. What can be
    /// interrupted is.
    virtual void onPeerGone() = 0;
    /// The last reply has not reached its client, nor will it: a cursor that it speaks of ends.
    virtual void onReplyLost() = 0;
};

class Dispatcher {
public:
    Dispatcher(catalog::Catalog& catalog, ServerFacts facts);
    ~Dispatcher();
    std::unique_ptr<Connection> connect(ClientFacts client);
    /// Gets into the caches what the messages need that this thread's connections looked ahead at.
    /// REQUIRES: an open slice.
    static void readAhead();
    /// Around each pass of the calling thread over its run queue, and before the end of one that
    /// took so long that others have waited.
    static void passBegan();
    static void passEnded();
    static void longPass(uint64_t nanos);
    /// Connections begin unauthenticated.
    bool needsLogin() const;
    /// Commands that arrive from now on get ShutdownInProgress; cursors are ended.
    void beginShutdown();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::command
