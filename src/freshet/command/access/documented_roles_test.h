// SPDX-License-Identifier: Apache-2.0
/// MongoDB's built-in roles as its manual describes them, as data, and what follows from them. It
/// is independent of the server's own tables: the test is that the two agree. Only who may use
/// applyOps the manual does not say: restore and dbAdminAnyDatabase have it in MongoDB.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace freshet::command {

/// The kind of resource of a privilege.
enum class On { kDatabase, kAnyNormal, kNamed, kExact, kCluster, kAny };

struct DocumentedPrivilege {
    std::string_view role;
    On on;
    std::string_view db;          // for kDatabase and kExact; "$": the database of the role
    std::string_view collection;  // for kNamed and kExact
    std::string_view actions;     // separated by blanks; "@name": those of kActionSets
};

inline constexpr std::pair<std::string_view, std::string_view> kActionSets[] = {
    {"@read",
     "changeStream collStats dbHash dbStats find killCursors listCollections listIndexes "
     "listSearchIndexes planCacheRead"},
    {"@write",
     "convertToCapped createCollection createIndex createSearchIndexes dropCollection dropIndex "
     "dropSearchIndex insert remove renameCollectionSameDB update updateSearchIndex"},
    {"@dbAdmin",
     "bypassDocumentValidation collMod collStats compact convertToCapped createCollection "
     "createIndex createSearchIndexes dbStats dropCollection dropDatabase dropIndex "
     "dropSearchIndex enableProfiler listCollections listIndexes listSearchIndexes "
     "planCacheIndexFilter planCacheRead planCacheWrite reIndex renameCollectionSameDB "
     "storageDetails updateSearchIndex validate"},
    {"@userAdmin",
     "changeCustomData changePassword createRole createUser dropRole dropUser grantRole revokeRole "
     "setAuthenticationRestriction viewRole viewUser"},
    {"@restore",
     "bypassDocumentValidation collMod convertToCapped createCollection createIndex "
     "createSearchIndexes dropCollection insert updateSearchIndex"},
    {"@monitor",
     "connPoolStats getCmdLineOpts getDefaultRWConcern getLog getParameter getShardMap hostInfo "
     "inprog listDatabases listSessions listShards netstat replSetGetConfig replSetGetStatus "
     "serverStatus shardingState top"},
    {"@host",
     "applicationMessage connPoolSync dropConnections fsync invalidateUserCache killAnyCursor "
     "killAnySession killop logRotate rotateCertificates setParameter shutdown unlock"},
    {"@manage",
     "appendOplogNote applicationMessage getClusterParameter getDefaultRWConcern listSessions "
     "listShards replSetConfigure replSetGetConfig replSetGetStatus replSetStateChange "
     "setClusterParameter setDefaultRWConcern setFeatureCompatibilityVersion"},
    {"@look", "collStats dbStats indexStats"},
    {"@profile", "convertToCapped createCollection dropCollection"},
};

inline const std::vector<DocumentedPrivilege>& documentedPrivileges() {
    static const std::vector<DocumentedPrivilege> kAll = {
        {"read", On::kDatabase, "$", "", "@read"},
        {"read", On::kExact, "$", "system.js", "@read"},
        {"readWrite", On::kDatabase, "$", "", "@read @write"},
        {"readWrite", On::kExact, "$", "system.js", "@read @write"},
        {"userAdmin", On::kDatabase, "$", "", "@userAdmin"},
        {"dbAdmin", On::kDatabase, "$", "", "@dbAdmin"},
        {"dbAdmin", On::kExact, "$", "system.profile", "@read @profile"},
        {"readAnyDatabase", On::kAnyNormal, "", "", "@read"},
        {"readAnyDatabase", On::kNamed, "", "system.js", "@read"},
        {"readAnyDatabase", On::kCluster, "", "", "listDatabases"},
        {"readWriteAnyDatabase", On::kAnyNormal, "", "", "@read @write"},
        {"readWriteAnyDatabase", On::kNamed, "", "system.js", "@read @write"},
        {"readWriteAnyDatabase", On::kCluster, "", "", "listDatabases"},
        {"userAdminAnyDatabase", On::kAnyNormal, "", "", "@userAdmin"},
        {"userAdminAnyDatabase", On::kDatabase, "local", "", "@userAdmin"},
        {"userAdminAnyDatabase", On::kDatabase, "config", "", "@userAdmin"},
        {"userAdminAnyDatabase",
         On::kCluster,
         "",
         "",
         "authSchemaUpgrade invalidateUserCache listDatabases viewUser"},
        {"userAdminAnyDatabase",
         On::kExact,
         "admin",
         "system.users",
         "@read createIndex createSearchIndexes dropIndex dropSearchIndex"},
        {"userAdminAnyDatabase",
         On::kExact,
         "admin",
         "system.roles",
         "@read createIndex createSearchIndexes dropIndex dropSearchIndex"},
        {"userAdminAnyDatabase", On::kNamed, "", "system.users", "@read"},
        {"userAdminAnyDatabase", On::kExact, "admin", "system.version", "@read"},
        {"dbAdminAnyDatabase", On::kAnyNormal, "", "", "@dbAdmin"},
        {"dbAdminAnyDatabase", On::kNamed, "", "system.profile", "@read @profile"},
        {"dbAdminAnyDatabase", On::kCluster, "", "", "applyOps listDatabases"},
        {"clusterMonitor", On::kCluster, "", "", "@monitor"},
        {"clusterMonitor", On::kAnyNormal, "", "", "@look"},
        {"clusterMonitor", On::kDatabase, "config", "", "@look @read"},
        {"clusterMonitor", On::kDatabase, "local", "", "@look @read"},
        {"clusterMonitor", On::kExact, "config", "system.js", "@read"},
        {"clusterMonitor", On::kExact, "local", "system.js", "@read"},
        {"clusterMonitor", On::kNamed, "", "system.profile", "find"},
        {"hostManager", On::kCluster, "", "", "@host"},
        {"hostManager", On::kAnyNormal, "", "", "killCursors"},
        {"clusterManager", On::kCluster, "", "", "@manage"},
        {"clusterManager", On::kDatabase, "config", "", "@read insert remove update"},
        {"clusterManager", On::kExact, "config", "system.js", "@read"},
        {"clusterManager", On::kDatabase, "local", "", "insert remove update"},
        {"clusterAdmin", On::kAnyNormal, "", "", "dropDatabase"},
        {"backup", On::kAny, "", "", "collStats listCollections listIndexes listSearchIndexes"},
        {"backup",
         On::kCluster,
         "",
         "",
         "appendOplogNote getParameter listDatabases serverStatus setUserWriteBlockMode"},
        {"backup", On::kAnyNormal, "", "", "find"},
        {"backup", On::kDatabase, "config", "", "find"},
        {"backup", On::kDatabase, "local", "", "find"},
        {"backup", On::kNamed, "", "system.js", "find"},
        {"backup", On::kNamed, "", "system.profile", "find"},
        {"backup", On::kNamed, "", "system.users", "find"},
        {"backup", On::kExact, "admin", "system.version", "find"},
        {"restore",
         On::kCluster,
         "",
         "",
         "applyOps bypassWriteBlockingMode getParameter setUserWriteBlockMode"},
        {"restore", On::kAny, "", "", "listCollections"},
        {"restore", On::kAnyNormal, "", "", "@restore @userAdmin"},
        {"restore", On::kDatabase, "config", "", "@restore"},
        {"restore", On::kDatabase, "local", "", "@restore"},
        {"restore", On::kNamed, "", "system.js", "@restore"},
        {"restore", On::kNamed, "", "system.users", "@restore find remove update"},
        {"restore", On::kExact, "admin", "system.version", "@restore find"},
        {"restore", On::kExact, "admin", "tempusers", "find"},
        {"root", On::kAny, "", "", "validate"},
        {"root", On::kCluster, "", "", "internal"},
    };
    return kAll;
}

/// Roles that are combinations of others.
inline std::vector<std::string_view> partsOf(std::string_view role) {
    if (role == "dbOwner") {
        return {"readWrite", "dbAdmin", "userAdmin"};
    }
    if (role == "clusterAdmin") {
        return {"clusterAdmin", "clusterMonitor", "hostManager", "clusterManager"};
    }
    if (role == "root") {
        return {"root",
                "clusterAdmin",
                "clusterMonitor",
                "hostManager",
                "clusterManager",
                "userAdminAnyDatabase",
                "dbAdminAnyDatabase",
                "readWriteAnyDatabase",
                "backup",
                "restore"};
    }
    return {role};
}

/// `word` is one of the words of `list`, or of a set that it names.
inline bool namesAction(std::string_view list, std::string_view word) {
    while (!list.empty()) {
        const size_t end = std::min(list.find(' '), list.size());
        const std::string_view one = list.substr(0, end);
        list.remove_prefix(std::min(end + 1, list.size()));
        if (one == word) {
            return true;
        }
        for (const auto& [name, actions] : kActionSets) {
            if (name == one && namesAction(actions, word)) {
                return true;
            }
        }
    }
    return false;
}

/// The resource of an action.
struct Resource {
    std::string db;          // empty: the server
    std::string collection;  // empty: the database
};

inline bool covers(const DocumentedPrivilege& privilege,
                   std::string_view givenOn,
                   const Resource& resource) {
    const bool isSystem = resource.collection.starts_with("system.");
    const bool isInternal = resource.db == "local" || resource.db == "config";
    const std::string_view db = privilege.db == "$" ? givenOn : privilege.db;
    switch (privilege.on) {
        case On::kAny:
            return true;
        case On::kCluster:
            return resource.db.empty();
        case On::kDatabase:
            return resource.db == db && !isSystem;
        case On::kAnyNormal:
            return !resource.db.empty() && !isInternal && !isSystem;
        case On::kNamed:
            return !resource.db.empty() && resource.collection == privilege.collection;
        case On::kExact:
            return resource.db == db && resource.collection == privilege.collection;
    }
    return false;
}

/// Whether, by the manual, a user with `role` on database `givenOn` may do this there.
inline bool isDocumented(std::string_view role,
                         std::string_view givenOn,
                         std::string_view action,
                         const Resource& resource) {
    const std::vector<std::string_view> parts = partsOf(role);
    const auto& all = documentedPrivileges();
    return std::any_of(all.begin(), all.end(), [&](const DocumentedPrivilege& privilege) {
        return std::find(parts.begin(), parts.end(), privilege.role) != parts.end() &&
               covers(privilege, givenOn, resource) && namesAction(privilege.actions, action);
    });
}

}  // namespace freshet::command
