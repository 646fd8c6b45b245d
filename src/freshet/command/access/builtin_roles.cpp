// SPDX-License-Identifier: Apache-2.0
/// The built-in roles as tables of actions by kind of resource, following the public manual.
#include "freshet/command/access/grants.h"

#include <algorithm>
#include <iterator>

namespace freshet::command {
namespace {

using enum Action;

constexpr char kAnyCollection[] = "";

const Actions& readActions() {
    static const Actions kActions = actionsOf({kChangeStream,
                                               kCollStats,
                                               kDbHash,
                                               kDbStats,
                                               kFind,
                                               kKillCursors,
                                               kListCollections,
                                               kListIndexes,
                                               kListSearchIndexes,
                                               kPlanCacheRead});
    return kActions;
}

const Actions& writeActions() {
    static const Actions kActions = actionsOf({kConvertToCapped,
                                               kCreateCollection,
                                               kCreateIndex,
                                               kCreateSearchIndexes,
                                               kDropCollection,
                                               kDropIndex,
                                               kDropSearchIndex,
                                               kInsert,
                                               kRemove,
                                               kRenameCollection,
                                               kUpdate,
                                               kUpdateSearchIndex});
    return kActions;
}

const Actions& dbAdminActions() {
    static const Actions kActions = actionsOf({kBypassDocumentValidation,
                                               kCollMod,
                                               kCollStats,
                                               kCompact,
                                               kConvertToCapped,
                                               kCreateCollection,
                                               kCreateIndex,
                                               kCreateSearchIndexes,
                                               kDbStats,
                                               kDropCollection,
                                               kDropDatabase,
                                               kDropIndex,
                                               kDropSearchIndex,
                                               kEnableProfiler,
                                               kListCollections,
                                               kListIndexes,
                                               kListSearchIndexes,
                                               kPlanCacheIndexFilter,
                                               kPlanCacheRead,
                                               kPlanCacheWrite,
                                               kReIndex,
                                               kRenameCollection,
                                               kStorageDetails,
                                               kUpdateSearchIndex,
                                               kValidate});
    return kActions;
}

const Actions& profileActions() {
    static const Actions kActions =
        readActions() | actionsOf({kConvertToCapped, kCreateCollection, kDropCollection});
    return kActions;
}

const Actions& userAdminActions() {
    static const Actions kActions = actionsOf({kChangeCustomData,
                                               kChangePassword,
                                               kCreateRole,
                                               kCreateUser,
                                               kDropRole,
                                               kDropUser,
                                               kGrantRole,
                                               kRevokeRole,
                                               kSetAuthenticationRestriction,
                                               kViewRole,
                                               kViewUser});
    return kActions;
}

const Actions& monitorClusterActions() {
    static const Actions kActions = actionsOf({kConnPoolStats,
                                               kGetCmdLineOpts,
                                               kGetDefaultRWConcern,
                                               kGetLog,
                                               kGetParameter,
                                               kGetShardMap,
                                               kHostInfo,
                                               kInprog,
                                               kListDatabases,
                                               kListSessions,
                                               kListShards,
                                               kNetstat,
                                               kReplSetGetConfig,
                                               kReplSetGetStatus,
                                               kServerStatus,
                                               kShardingState,
                                               kTop,
                                               kUseUUID});
    return kActions;
}

const Actions& hostClusterActions() {
    static const Actions kActions = actionsOf({kApplicationMessage,
                                               kCloseAllDatabases,
                                               kConnPoolSync,
                                               kCpuProfiler,
                                               kDropConnections,
                                               kFsync,
                                               kInvalidateUserCache,
                                               kKillAnyCursor,
                                               kKillAnySession,
                                               kKillOp,
                                               kLogRotate,
                                               kResync,
                                               kRotateCertificates,
                                               kSetParameter,
                                               kShutdown,
                                               kUnlock});
    return kActions;
}

const Actions& managerClusterActions() {
    static const Actions kActions = actionsOf({kAppendOplogNote,
                                               kApplicationMessage,
                                               kGetClusterParameter,
                                               kGetDefaultRWConcern,
                                               kListSessions,
                                               kListShards,
                                               kReplSetConfigure,
                                               kReplSetGetConfig,
                                               kReplSetGetStatus,
                                               kReplSetStateChange,
                                               kResync,
                                               kSetClusterParameter,
                                               kSetDefaultRWConcern,
                                               kSetFeatureCompatibilityVersion});
    return kActions;
}

void addRead(const std::string& db, Grants* out) {
    out->add(db, kAnyCollection, readActions());
    out->add(db, "system.js", readActions());
}

void addReadWrite(const std::string& db, Grants* out) {
    addRead(db, out);
    out->add(db, kAnyCollection, writeActions());
    out->add(db, "system.js", writeActions());
}

void addDbAdmin(const std::string& db, Grants* out) {
    out->add(db, kAnyCollection, dbAdminActions());
    out->add(db, "system.profile", profileActions());
}

void addUserAdmin(const std::string& db, Grants* out) {
    out->add(db, kAnyCollection, userAdminActions());
}

void addDbOwner(const std::string& db, Grants* out) {
    addReadWrite(db, out);
    addDbAdmin(db, out);
    addUserAdmin(db, out);
}

void addReadAny(const std::string&, Grants* out) {
    addRead(kAnyDb, out);
    out->addCluster(actionsOf({kListDatabases}));
}

void addReadWriteAny(const std::string&, Grants* out) {
    addReadWrite(kAnyDb, out);
    out->addCluster(actionsOf({kListDatabases}));
}

void addDbAdminAny(const std::string&, Grants* out) {
    addDbAdmin(kAnyDb, out);
    out->addCluster(actionsOf({kApplyOps, kListDatabases}));
}

void addUserAdminAny(const std::string&, Grants* out) {
    addUserAdmin(kAnyDb, out);
    out->addCluster(
        actionsOf({kAuthSchemaUpgrade, kInvalidateUserCache, kListDatabases, kViewUser}));
    for (const char* collection : {"system.users", "system.roles"}) {
        out->add("admin",
                 collection,
                 readActions() |
                     actionsOf({kCreateIndex, kCreateSearchIndexes, kDropIndex, kDropSearchIndex}));
    }
    for (const char* collection : {"system.version", "system.backup_users"}) {
        out->add("admin", collection, readActions());
    }
    out->add(kAnyDb, "system.users", readActions());
    for (const char* db : {"config", "local"}) {
        addUserAdmin(db, out);
    }
}

void addClusterMonitor(const std::string&, Grants* out) {
    addRead("config", out);
    addRead("local", out);
    out->addCluster(monitorClusterActions());
    const Actions look = actionsOf({kCollStats, kDbStats, kIndexStats});
    for (const char* db : {kAnyDb, "config", "local"}) {
        out->add(db, kAnyCollection, look);
    }
    out->add("config", "system.sessions", look);
    out->add(kAnyDb, "system.profile", actionsOf({kFind}));
    out->add("local", "system.replset", actionsOf({kFind}));
}

void addHostManager(const std::string&, Grants* out) {
    out->addCluster(hostClusterActions());
    out->add(kAnyDb, kAnyCollection, actionsOf({kKillCursors}));
}

void addClusterManager(const std::string&, Grants* out) {
    addRead("config", out);
    out->addCluster(managerClusterActions());
    for (const char* db : {"config", "local"}) {
        out->add(db, kAnyCollection, actionsOf({kInsert, kRemove, kUpdate}));
    }
    for (const char* collection : {"system.replset", "system.healthlog"}) {
        out->add("local", collection, readActions());
    }
}

void addClusterAdmin(const std::string& db, Grants* out) {
    addClusterMonitor(db, out);
    addHostManager(db, out);
    addClusterManager(db, out);
    out->add(kAnyDb, kAnyCollection, actionsOf({kDropDatabase}));
}

void addBackup(const std::string&, Grants* out) {
    out->addAny(actionsOf({kCollStats, kListCollections, kListIndexes, kListSearchIndexes}));
    out->addCluster(actionsOf({kAppendOplogNote,
                               kGetParameter,
                               kListDatabases,
                               kServerStatus,
                               kSetUserWriteBlockMode,
                               kUseUUID}));
    const Actions find = actionsOf({kFind});
    for (const char* db : {kAnyDb, "config", "local"}) {
        out->add(db, kAnyCollection, find);
    }
    for (const char* collection : {"system.js", "system.profile", "system.users"}) {
        out->add(kAnyDb, collection, find);
    }
    for (const char* collection : {"system.backup_users", "system.roles", "system.version"}) {
        out->add("admin", collection, find);
    }
    const Actions note = actionsOf({kInsert, kUpdate});
    out->add("admin", "mms.backup", note);
    out->add("config", "settings", note);
}

void addRestore(const std::string&, Grants* out) {
    out->addAny(actionsOf({kListCollections}));
    out->addCluster(actionsOf(
        {kApplyOps, kBypassWriteBlockingMode, kGetParameter, kSetUserWriteBlockMode, kUseUUID}));
    const Actions fill = actionsOf({kBypassDocumentValidation,
                                    kCollMod,
                                    kConvertToCapped,
                                    kCreateCollection,
                                    kCreateIndex,
                                    kCreateSearchIndexes,
                                    kDropCollection,
                                    kInsert,
                                    kUpdateSearchIndex});
    for (const char* db : {"config", "local"}) {
        out->add(db, kAnyCollection, fill);
    }
    out->add(kAnyDb, kAnyCollection, fill | userAdminActions());
    out->add(kAnyDb, "system.js", fill);
    out->add(kAnyDb, "system.users", fill | actionsOf({kFind, kRemove, kUpdate}));
    out->add("local", "system.replset", fill);
    out->add("admin", "system.backup_users", fill);
    out->add("admin", "system.version", fill | actionsOf({kFind}));
    out->add("admin", "system.roles", actionsOf({kCreateIndex}));
    for (const char* collection : {"tempusers", "temproles"}) {
        out->add("admin", collection, actionsOf({kFind}));
    }
}

void addRoot(const std::string& db, Grants* out) {
    addReadWriteAny(db, out);
    addDbAdminAny(db, out);
    addUserAdminAny(db, out);
    addClusterAdmin(db, out);
    addBackup(db, out);
    addRestore(db, out);
    out->addAny(actionsOf({kValidate}));
    out->addCluster(actionsOf({kTestCommand}));
}

void addSystem(const std::string&, Grants* out) {
    out->addAny(Actions().set());
}

struct BuiltinRole {
    std::string_view name;
    bool onAdminOnly;
    void (*add)(const std::string& db, Grants* out);
};

// By name.
constexpr BuiltinRole kRoles[] = {
    {"__system", true, addSystem},
    {"backup", true, addBackup},
    {"clusterAdmin", true, addClusterAdmin},
    {"clusterManager", true, addClusterManager},
    {"clusterMonitor", true, addClusterMonitor},
    {"dbAdmin", false, addDbAdmin},
    {"dbAdminAnyDatabase", true, addDbAdminAny},
    {"dbOwner", false, addDbOwner},
    {"hostManager", true, addHostManager},
    {"read", false, addRead},
    {"readAnyDatabase", true, addReadAny},
    {"readWrite", false, addReadWrite},
    {"readWriteAnyDatabase", true, addReadWriteAny},
    {"restore", true, addRestore},
    {"root", true, addRoot},
    {"userAdmin", false, addUserAdmin},
    {"userAdminAnyDatabase", true, addUserAdminAny},
};

}  // namespace

bool addRole(const RoleName& role, Grants* out) {
    const auto* found = std::find_if(std::begin(kRoles), std::end(kRoles), [&role](auto& known) {
        return known.name == role.role && (!known.onAdminOnly || role.db == "admin");
    });
    if (found == std::end(kRoles) || role.db.empty()) {
        return false;
    }
    found->add(role.db, out);
    return true;
}

std::vector<std::string_view> rolesOf(std::string_view db) {
    std::vector<std::string_view> out;
    for (const BuiltinRole& role : kRoles) {
        if (!role.onAdminOnly || db == "admin") {
            out.push_back(role.name);
        }
    }
    return out;
}

}  // namespace freshet::command
