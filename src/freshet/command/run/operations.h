// SPDX-License-Identifier: Apache-2.0
/// The running operations: each connection has a record of its client and of the operation it is
/// serving, which currentOp shows and killOp ends. An operation touches the record of its own
/// connection only; the list of all records is used when connections come and go, and by commands
/// that inspect it.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/command/run/arguments.h"
#include "freshet/query/javascript.h"
#include "freshet/query/work.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/mutex.h"
#include "freshet/sync/wait_token.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::command {

struct ClientFacts;

/// An operation in progress. The objects that it points to live as long as it runs.
struct RunningOperation {
    int32_t id = 0;
    uint64_t startNanos = 0;
    const Command* command = nullptr;
    bson::Document body;
    const GenericArguments* generic = nullptr;
    // As last reported when the operation let others run.
    uint32_t yields = 0;
    std::string planSummary = {};
};

/// How a log line names an operation.
struct OperationNames {
    std::string command;
    std::string ns;
    uint64_t connectionId = 0;
};

/// Which operations to show, and in how much detail.
struct ShowOperations {
    bool idleConnections = false;
    bool active = true;                // running operations
    std::optional<std::string> owner;  // "user@db": only that user's
    bool isOf(std::string_view user) const { return !owner.has_value() || *owner == user; }
};

/// One connection. begin(), end() and the waiting belong to its executor; the rest may be called
/// from any thread.
class ConnectionRecord {
public:
    /// `client` must outlive the record's use by its connection; a copy of its facts is kept.
    ConnectionRecord(const ClientFacts& client, sync::Atomic<uint64_t>& idSource);

    void begin(RunningOperation operation);
    void end();
    /// Why the operation must end; kNone when it may go on.
    Reason interrupted() const;

    /// What the client's hello said. Once; kInvalid when it comes again or is too large.
    Status setMetadata(bson::Document metadata);
    std::string appName() const;
    /// The user that is logged in from now on; two empty strings: none.
    void setUser(std::string_view name, std::string_view db);
    /// "user@db"; empty: none.
    std::string user() const;
    /// The running operation's progress.
    void showProgress(uint32_t yields, const query::PlanName& plan);

    /// `token` is completed when the operation is interrupted: at once when it already is.
    void setWake(sync::WaitToken token);
    void clearWake();
    /// Interrupted together with the operation, at once when it already is; null: none any more. On
    /// the thread that runs the operation.
    void setScript(query::JavaScript* script);

    /// False when the operation is another one or none.
    bool interrupt(int32_t operationId, Reason why);
    /// Interrupts the running operation when `isMeant` returns true.
    bool interruptIf(Reason why, const std::function<bool(const RunningOperation&)>& isMeant);
    /// In currentOp's form; empty when it is idle and idle ones are not asked for.
    bson::OwnedDocument describe(const ShowOperations& show, std::string_view host) const;
    bool isActive() const;
    /// Without a command: nothing runs.
    OperationNames running() const;
    /// The operation waits for fsyncUnlock: it counts as not begun.
    void setHeldUp(bool isHeldUp);
    /// An operation that may change data has begun and not ended.
    bool hasWriter() const;
    uint64_t connectionId() const { return connectionId_; }

private:
    void addClient(bson::Builder* out) const;
    void addUsers(bson::Builder* out) const;
    void addOperation(bson::Builder* out) const;
    std::string userNow() const { return userDb_.empty() ? "" : userName_ + "@" + userDb_; }
    int32_t nextOperationId();

    const uint64_t connectionId_;
    const std::string remote_;
    const std::string transport_;
    sync::Atomic<uint64_t>& idSource_;
    uint64_t nextId_ = 0;  // its executor's: ids are taken from the source in blocks
    uint64_t idsEnd_ = 0;

    /// The Reason why the running operation is to end, 0: none. Written by: begin(), interrupt(),
    /// under mutex_. Read by: the operation.
    ///   STEPS    0 -> reason, back to 0 with the next operation
    sync::Atomic<uint32_t> interrupt_{0};

    mutable sync::Mutex mutex_;
    RunningOperation running_;             // guarded by mutex_; id 0: none
    bool isWaiting_ = false;               // guarded by mutex_
    bool isHeldUp_ = false;                // guarded by mutex_
    sync::WaitToken wake_;                 // guarded by mutex_
    query::JavaScript* script_ = nullptr;  // guarded by mutex_
    bson::OwnedDocument metadata_;         // guarded by mutex_
    std::string appName_;                  // guarded by mutex_
    std::string userName_;                 // guarded by mutex_
    std::string userDb_;                   // guarded by mutex_
};

/// All connections.
class Operations {
public:
    std::shared_ptr<ConnectionRecord> connect(const ClientFacts& client);
    void disconnect(uint64_t connectionId);
    std::vector<std::shared_ptr<ConnectionRecord>> all() const;

    bool hasWriters() const;
    /// With an owner ("user@db") only if the operation is that user's. False: no such operation.
    bool kill(int32_t operationId, const std::optional<std::string>& owner);
    /// Ends the matching operations; returns how many.
    size_t killIf(Reason why, const std::function<bool(const RunningOperation&)>& isMeant);

private:
    /// The first operation id that no connection has taken. Written and read by: connections.
    ///   STEPS    rises in blocks
    sync::Atomic<uint64_t> nextIds_{1};
    mutable sync::Mutex mutex_;
    std::map<uint64_t, std::shared_ptr<ConnectionRecord>> connections_;  // guarded by mutex_
};

/// "query", "insert", "update", "remove", "getmore" or "command".
std::string_view operationKindName(OpKind kind);
/// Adds {user, db} for "user@db", and nothing for an empty name.
void addUser(std::string_view user, bson::Builder* array);

/// The collection that a command names, or "$cmd".
std::string_view collectionOf(const Command& command, bson::Document body);
/// The namespace that a command names, or `db.$cmd`.
std::string namespaceOf(const Command& command, bson::Document body, std::string_view db);
/// The command in a form that others may see: without secrets, long values cut.
bson::OwnedDocument presentable(const Command& command, bson::Document body);

}  // namespace freshet::command
