// SPDX-License-Identifier: Apache-2.0
/// The table of all commands: which fields a request may have, which rights it needs, and the
/// handler. Built once at start and immutable after that; any thread.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/view.h"
#include "freshet/sync/task.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace freshet::command {

struct Invocation;  // run/invocation.h

/// Reads call.body, adds fields to call.reply. A status that is not ok becomes the reply instead.
using Handler = sync::Task<Status> (*)(Invocation& call);

/// Which opcounter of serverStatus a command counts in.
enum class OpKind : uint8_t { kInsert, kQuery, kUpdate, kDelete, kGetMore, kCommand };

/// The actions that roles allow, in the protocol's own terms.
enum class Action : uint8_t {
    kFind,
    kInsert,
    kUpdate,
    kRemove,
    kChangeStream,
    kBypassDocumentValidation,
    kCreateCollection,
    kDropCollection,
    kRenameCollection,
    kCollMod,
    kCompact,
    kConvertToCapped,
    kCreateIndex,
    kDropIndex,
    kReIndex,
    kListIndexes,
    kCreateSearchIndexes,
    kDropSearchIndex,
    kUpdateSearchIndex,
    kListSearchIndexes,
    kListCollections,
    kListDatabases,
    kDropDatabase,
    kCollStats,
    kDbStats,
    kDbHash,
    kIndexStats,
    kValidate,
    kStorageDetails,
    kPlanCacheRead,
    kPlanCacheWrite,
    kPlanCacheIndexFilter,
    kEnableProfiler,
    kKillCursors,
    kKillAnyCursor,
    kKillAnySession,
    kListSessions,
    kInprog,
    kKillOp,
    kServerStatus,
    kTop,
    kHostInfo,
    kNetstat,
    kGetLog,
    kGetParameter,
    kSetParameter,
    kGetClusterParameter,
    kSetClusterParameter,
    kGetDefaultRWConcern,
    kSetDefaultRWConcern,
    kGetCmdLineOpts,
    kConnPoolStats,
    kConnPoolSync,
    kApplicationMessage,
    kLogRotate,
    kRotateCertificates,
    kFsync,
    kUnlock,
    kShutdown,
    kDropConnections,
    kCloseAllDatabases,
    kCpuProfiler,
    kSetFeatureCompatibilityVersion,
    kSetUserWriteBlockMode,
    kBypassWriteBlockingMode,
    kAppendOplogNote,
    kReplSetGetConfig,
    kReplSetGetStatus,
    kReplSetConfigure,
    kReplSetStateChange,
    kResync,
    kListShards,
    kShardingState,
    kGetShardMap,
    kCreateUser,
    kDropUser,
    kViewUser,
    kChangePassword,
    kChangeOwnPassword,
    kChangeCustomData,
    kChangeOwnCustomData,
    kSetAuthenticationRestriction,
    kCreateRole,
    kDropRole,
    kViewRole,
    kGrantRole,
    kRevokeRole,
    kInvalidateUserCache,
    kAuthSchemaUpgrade,
    kUseUUID,
    kApplyOps,
    kTestCommand,  // only with enableTestCommands
    kCount_,
};

/// In the protocol's spelling: "find", "renameCollectionSameDB".
std::string_view actionName(Action action);

/// What a command requires of its sender. There is no default: a command without it does not
/// compile.
class Access {
public:
    enum class Scope : uint8_t {
        kAnybody,     // even before login
        kLoggedIn,    // any user, whatever the roles
        kCluster,     // `action` on the server as a whole
        kDatabase,    // `action` on the request's database
        kCollection,  // `action` on the collection that the command's first field names
        kByHandler    // depends on the arguments: the handler asks, see access/authorize.h
    };
    static constexpr Access anybody() { return {Scope::kAnybody, Action::kCount_}; }
    static constexpr Access loggedIn() { return {Scope::kLoggedIn, Action::kCount_}; }
    static constexpr Access byHandler() { return {Scope::kByHandler, Action::kCount_}; }
    static constexpr Access onCluster(Action action) { return {Scope::kCluster, action}; }
    static constexpr Access onDatabase(Action action) { return {Scope::kDatabase, action}; }
    static constexpr Access onCollection(Action action) { return {Scope::kCollection, action}; }

    Scope scope;
    Action action;

private:
    constexpr Access(Scope theScope, Action theAction) : scope(theScope), action(theAction) {}
};

/// Whether a command may carry a multi-document transaction's number: as one of its statements, or
/// to end it.
enum class InTransactions : uint8_t { kNever, kStatement, kEnd };

struct Command {
    std::string_view name;
    std::vector<std::string_view> aliases;
    std::string_view help;
    /// The fields that the body may have besides the command's own name and the generic arguments.
    std::vector<std::string_view> fields;
    Handler handler = nullptr;
    Access access;
    OpKind kind = OpKind::kCommand;
    bool acceptsUnknownFields = false;  // handshakes: newer drivers send fields that we do not know
    bool adminOnly = false;             // runs on the admin database only
    bool readOnly = false;
    /// For a command that is otherwise read-only: whether it writes with this body.
    bool (*writesWith)(bson::Document body) = nullptr;
    bool inApiVersion1 = false;  // allowed with apiStrict
    bool takesReadConcern = false;
    bool takesSnapshots = false;  // also read concern snapshot, outside of transactions
    bool isRetryable = false;     // its statements can be identified by a transaction number
    InTransactions inTransactions = InTransactions::kNever;
    bool testOnly = false;  // exists only when enableTestCommands is on
    /// Whether it runs JavaScript, which must then happen on a script thread.
    enum class Scripts : uint8_t { kNever, kWhenMentioned, kAlways };
    Scripts scripts = Scripts::kNever;
};

class Registry {
public:
    /// Every command of this server.
    Registry();
    ~Registry();
    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;

    /// By name or alias, with exact spelling. Null when there is none.
    const Command* find(std::string_view name) const;
    /// In the order of their names.
    const std::vector<Command>& commands() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::command
