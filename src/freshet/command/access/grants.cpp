// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/access/grants.h"

namespace freshet::command {
namespace {

constexpr std::string_view kActionNames[] = {
    "find",
    "insert",
    "update",
    "remove",
    "changeStream",
    "bypassDocumentValidation",
    "createCollection",
    "dropCollection",
    "renameCollectionSameDB",
    "collMod",
    "compact",
    "convertToCapped",
    "createIndex",
    "dropIndex",
    "reIndex",
    "listIndexes",
    "createSearchIndexes",
    "dropSearchIndex",
    "updateSearchIndex",
    "listSearchIndexes",
    "listCollections",
    "listDatabases",
    "dropDatabase",
    "collStats",
    "dbStats",
    "dbHash",
    "indexStats",
    "validate",
    "storageDetails",
    "planCacheRead",
    "planCacheWrite",
    "planCacheIndexFilter",
    "enableProfiler",
    "killCursors",
    "killAnyCursor",
    "killAnySession",
    "listSessions",
    "inprog",
    "killop",
    "serverStatus",
    "top",
    "hostInfo",
    "netstat",
    "getLog",
    "getParameter",
    "setParameter",
    "getClusterParameter",
    "setClusterParameter",
    "getDefaultRWConcern",
    "setDefaultRWConcern",
    "getCmdLineOpts",
    "connPoolStats",
    "connPoolSync",
    "applicationMessage",
    "logRotate",
    "rotateCertificates",
    "fsync",
    "unlock",
    "shutdown",
    "dropConnections",
    "closeAllDatabases",
    "cpuProfiler",
    "setFeatureCompatibilityVersion",
    "setUserWriteBlockMode",
    "bypassWriteBlockingMode",
    "appendOplogNote",
    "replSetGetConfig",
    "replSetGetStatus",
    "replSetConfigure",
    "replSetStateChange",
    "resync",
    "listShards",
    "shardingState",
    "getShardMap",
    "createUser",
    "dropUser",
    "viewUser",
    "changePassword",
    "changeOwnPassword",
    "changeCustomData",
    "changeOwnCustomData",
    "setAuthenticationRestriction",
    "createRole",
    "dropRole",
    "viewRole",
    "grantRole",
    "revokeRole",
    "invalidateUserCache",
    "authSchemaUpgrade",
    "useUUID",
    "applyOps",
    "internal",
};
static_assert(std::size(kActionNames) == static_cast<size_t>(Action::kCount_));

bool isSystem(std::string_view collection) {
    return collection.substr(0, 7) == "system.";
}

/// Databases that "any database" excludes.
bool isInternal(std::string_view db) {
    return db == "local" || db == "config";
}

void describeActions(const Actions& actions, bson::Builder* privilege) {
    auto list = privilege->array("actions");
    std::map<std::string_view, size_t> sorted;
    for (size_t bit = 0; bit < actions.size(); ++bit) {
        if (actions[bit]) {
            sorted.emplace(kActionNames[bit], bit);
        }
    }
    for (const auto& [name, bit] : sorted) {
        list.push(name);
    }
}

}  // namespace

std::string_view actionName(Action action) {
    return kActionNames[static_cast<size_t>(action)];
}

Actions actionsOf(std::initializer_list<Action> list) {
    Actions out;
    for (Action action : list) {
        out.set(static_cast<size_t>(action));
    }
    return out;
}

void Grants::add(const std::string& db, const std::string& collection, const Actions& actions) {
    if (db.empty() && collection.empty()) {
        anyNormal_ |= actions;
    } else {
        named_[{db, collection}] |= actions;
    }
}

bool Grants::has(std::string_view db, std::string_view collection, size_t bit) const {
    const auto found = named_.find(std::pair(db, collection));
    return found != named_.end() && found->second[bit];
}

bool Grants::allowsCluster(Action action) const {
    const auto bit = static_cast<size_t>(action);
    return any_[bit] || cluster_[bit];
}

bool Grants::allows(Action action, std::string_view db, std::string_view collection) const {
    const auto bit = static_cast<size_t>(action);
    if (any_[bit]) {
        return true;
    }
    if (!isSystem(collection)) {
        if ((anyNormal_[bit] && !isInternal(db)) || has(db, "", bit)) {
            return true;
        }
    }
    return !collection.empty() && (has(db, collection, bit) || has("", collection, bit));
}

bool Grants::touches(std::string_view db, std::string_view collection) const {
    for (size_t bit = 0; bit < Actions().size(); ++bit) {
        if (allows(static_cast<Action>(bit), db, collection)) {
            return true;
        }
    }
    return false;
}

bool Grants::touchesDatabase(std::string_view db) const {
    if (any_.any() || (anyNormal_.any() && !isInternal(db))) {
        return true;
    }
    const auto first = named_.lower_bound(std::pair(db, std::string_view()));
    return first != named_.end() && first->first.first == db;
}

void Grants::describe(bson::Builder* array) const {
    const auto add = [array](bool isCluster, const Key& key, const Actions& actions) {
        if (actions.none()) {
            return;
        }
        auto privilege = array->object(array->nextIndex());
        {
            auto resource = privilege.object("resource");
            if (isCluster) {
                resource.add("cluster", true);
            } else {
                resource.add("db", key.first).add("collection", key.second);
            }
        }
        describeActions(actions, &privilege);
    };
    if (any_.any()) {
        auto privilege = array->object(array->nextIndex());
        privilege.object("resource").add("anyResource", true);
        describeActions(any_, &privilege);
    }
    add(true, {}, cluster_);
    add(false, {}, anyNormal_);
    for (const auto& [key, actions] : named_) {
        add(false, key, actions);
    }
}

}  // namespace freshet::command
