// SPDX-License-Identifier: Apache-2.0
/// Every command of the registry and every stage, tried by a user of each built-in role, on
/// collections of the user's own database, of another one, of the server's own databases and on
/// system collections. The expectations follow from documented_roles_test.h; a command or a stage
/// without a row here fails the test.
#include "freshet/command/access/auth_fixture_test.h"
#include "freshet/command/access/documented_roles_test.h"
#include "freshet/command/registry.h"
#include "freshet/query/language.h"

#include <set>

namespace freshet::command {
namespace {

/// What a command needs: "action@place" separated by blanks, all of which are needed; "|" between
/// alternatives. Places: "C" the target, "D" its database, "X" another collection there, "*" the
/// server, "any" any normal database, else a namespace. "nobody" needs no login, "user" a user
/// without roles.
///
/// In bodies $C is the target's collection, $D its database, $N both with a dot; a row with none of
/// them is tried once. No body does harm when it is allowed.
struct Row {
    std::string_view name;
    std::string_view needs;
    std::string_view body;
    std::string_view db = "$D";
};

const std::vector<Row>& commandRows() {
    static const std::vector<Row> kRows = {
        {"_mergeAuthzCollections",
         "createUser@any createRole@any grantRole@any revokeRole@any find@admin.new",
         R"({"_mergeAuthzCollections": 1, "tempUsersCollection": "admin.new", "db": "test",
             "drop": false})",
         "admin"},
        {"_mergeAuthzCollections",
         "createUser@any createRole@any grantRole@any revokeRole@any dropUser@any dropRole@any "
         "find@admin.tempusers",
         R"({"_mergeAuthzCollections": 1, "tempUsersCollection": "admin.tempusers", "db": "none",
             "drop": true})",
         "admin"},
        {"abortTransaction", "user", R"({"abortTransaction": 1})", "admin"},
        {"aggregate", "find@C", R"({"aggregate": "$C", "pipeline": [], "cursor": {}})"},
        {"aggregate", "find@C", R"({"aggregate": "$C", "pipeline": [], "explain": true})"},
        {"aggregate",
         "find@C bypassDocumentValidation@elsewhere.x insert@elsewhere.x remove@elsewhere.x",
         R"({"aggregate": "$C", "pipeline": [{"$out": {"db": "elsewhere", "coll": "x"}}],
             "cursor": {}, "bypassDocumentValidation": true})"},
        {"appendOplogNote", "appendOplogNote@*", R"({"appendOplogNote": 1, "data": {}})", "admin"},
        {"applyOps",
         "applyOps@* insert@C",
         R"({"applyOps": [{"op": "i", "ns": "$N", "o": {}}]})",
         "admin"},
        {"applyOps",
         "applyOps@* update@C insert@C",
         R"({"applyOps": [{"op": "u", "ns": "$N", "o": {"$set": {"a": 1}}, "o2": {"_id": "none"},
                           "b": true}]})",
         "admin"},
        {"applyOps",
         "applyOps@* remove@C",
         R"({"applyOps": [{"op": "d", "ns": "$N", "o": {"_id": "none"}}]})",
         "admin"},
        {"applyOps",
         "applyOps@* createIndex@C",
         R"({"applyOps": [{"op": "c", "ns": "$D.$cmd", "o": {"createIndexes": "$C",
             "key": {"x": 1}, "name": "x_1"}}]})",
         "admin"},
        {"applyOps",
         "applyOps@* dropCollection@C",
         R"({"applyOps": [{"op": "c", "ns": "admin.$cmd", "o": {"applyOps": [
             {"op": "c", "ns": "$D.$cmd", "o": {"drop": "$C"}}]}}]})",
         "admin"},
        {"authenticate", "nobody", R"({"authenticate": 1})"},
        {"buildInfo", "nobody", R"({"buildInfo": 1})"},
        {"bulkWrite",
         "insert@C",
         R"({"bulkWrite": 1, "ops": [{"insert": 0, "document": {"_id": 1}}],
             "nsInfo": [{"ns": "$N"}, {"ns": "unused.x"}]})",
         "admin"},
        {"bulkWrite",
         "update@C remove@elsewhere.x",
         R"({"bulkWrite": 1, "ops": [{"update": 0, "filter": {"_id": "none"}, "updateMods": {}},
                                     {"delete": 1, "filter": {"_id": "none"}}],
             "nsInfo": [{"ns": "$N"}, {"ns": "elsewhere.x"}]})",
         "admin"},
        {"bulkWrite",
         "update@C insert@C bypassDocumentValidation@C",
         R"({"bulkWrite": 1, "ops": [{"update": 0, "filter": {"_id": "none"},
                                      "updateMods": {"$bad": 1}, "upsert": true}],
             "nsInfo": [{"ns": "$N"}], "bypassDocumentValidation": true})",
         "admin"},
        {"collMod", "collMod@C", R"({"collMod": "$C"})"},
        {"collStats", "collStats@C", R"({"collStats": "$C"})"},
        {"compact", "compact@C", R"({"compact": "$C"})"},
        {"configureFailPoint", "internal@*", R"({"configureFailPoint": "none"})", "admin"},
        {"connPoolStats", "connPoolStats@*", R"({"connPoolStats": 1})", "admin"},
        {"connectionStatus", "nobody", R"({"connectionStatus": 1, "showPrivileges": true})"},
        {"count", "find@C", R"({"count": "$C"})"},
        {"commitTransaction", "user", R"({"commitTransaction": 1})", "admin"},
        {"create", "createCollection@C", R"({"create": "$C"})"},
        {"createIndexes",
         "createIndex@C",
         R"({"createIndexes": "$C", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"},
        {"createUser", "createUser@D", R"({"createUser": "x", "pwd": "", "roles": []})"},
        {"createUser",
         "createUser@test grantRole@D",
         R"({"createUser": "x", "pwd": "", "roles": [{"role": "read", "db": "$D"}]})",
         "test"},
        {"currentOp", "inprog@*", R"({"currentOp": 1})", "admin"},
        {"currentOp", "user", R"({"currentOp": 1, "$ownOps": true})", "admin"},
        {"dataSize", "find@C", R"({"dataSize": "$N"})", "test"},
        {"dbHash", "dbHash@D", R"({"dbHash": 1})"},
        {"dbStats", "dbStats@D", R"({"dbStats": 1})"},
        {"delete",
         "remove@C",
         R"({"delete": "$C", "deletes": [{"q": {"_id": "none"}, "limit": 1}]})"},
        {"distinct", "find@C", R"({"distinct": "$C", "key": "a"})"},
        {"drop", "dropCollection@C", R"({"drop": "$C"})"},
        {"dropAllUsersFromDatabase", "dropUser@D", R"({"dropAllUsersFromDatabase": 1})"},
        {"dropDatabase", "dropDatabase@D", R"({"dropDatabase": 1})"},
        {"dropIndexes", "dropIndex@C", R"({"dropIndexes": "$C", "index": "x_1"})"},
        {"dropUser", "dropUser@D", R"({"dropUser": "x"})"},
        {"echo", "internal@*", R"({"echo": 1})", "admin"},
        {"endSessions", "nobody", R"({"endSessions": []})"},
        {"explain", "find@C", R"({"explain": {"find": "$C"}})"},
        {"explain", "find@C", R"({"explain": {"count": "$C", "$db": "$D"}})"},
        {"explain", "find@C", R"({"explain": {"distinct": "$C", "key": "a"}})"},
        {"explain", "find@C", R"({"explain": {"aggregate": "$C", "pipeline": [], "cursor": {}}})"},
        {"explain",
         "find@C insert@test.x remove@test.x",
         R"({"explain": {"aggregate": "$C", "cursor": {}, "pipeline": [
             {"$out": {"db": "test", "coll": "x"}}]}})"},
        {"explain",
         "remove@C",
         R"({"explain": {"delete": "$C", "deletes": [{"q": {}, "limit": 1}]}})"},
        {"explain",
         "update@C insert@C",
         R"({"explain": {"update": "$C", "updates": [{"q": {}, "u": {}, "upsert": true}]}})"},
        {"explain",
         "find@C remove@C",
         R"({"explain": {"findAndModify": "$C", "query": {}, "remove": true}})"},
        {"features", "user", R"({"features": 1})"},
        {"find", "find@C", R"({"find": "$C"})"},
        {"find", "find@C", R"({"find": "$C", "filter": {"_id": 1}})"},
        {"findAndModify",
         "find@C update@C",
         R"({"findAndModify": "$C", "query": {"_id": "none"}, "update": {"$set": {"a": 1}}})"},
        {"findAndModify",
         "find@C update@C insert@C bypassDocumentValidation@C",
         R"({"findAndModify": "$C", "query": {"_id": "none"}, "update": {"$bad": 1},
             "upsert": true, "bypassDocumentValidation": true})"},
        {"findAndModify",
         "find@C remove@C",
         R"({"findAndModify": "$C", "query": {"_id": "none"}, "remove": true})"},
        {"fsync", "fsync@*", R"({"fsync": 1})", "admin"},
        {"fsyncUnlock", "unlock@*", R"({"fsyncUnlock": 1})", "admin"},
        {"getCmdLineOpts", "getCmdLineOpts@*", R"({"getCmdLineOpts": 1})", "admin"},
        {"getDiagnosticData", "serverStatus@*", R"({"getDiagnosticData": 1})", "admin"},
        {"getLog", "getLog@*", R"({"getLog": "global"})", "admin"},
        {"getMore", "user", R"({"getMore": {"$numberLong": "77"}, "collection": "$C"})"},
        {"getDefaultRWConcern", "getDefaultRWConcern@*", R"({"getDefaultRWConcern": 1})", "admin"},
        {"setDefaultRWConcern", "setDefaultRWConcern@*", R"({"setDefaultRWConcern": 1})", "admin"},
        {"setIndexCommitQuorum",
         "createIndex@C",
         R"({"setIndexCommitQuorum": "$C", "indexNames": ["x_1"], "commitQuorum": 1})"},
        {"getParameter", "getParameter@*", R"({"getParameter": 1, "quiet": 1})", "admin"},
        {"grantRolesToUser", "grantRole@D", R"({"grantRolesToUser": "x", "roles": ["read"]})"},
        {"grantRolesToUser",
         "grantRole@D",
         R"({"grantRolesToUser": "x", "roles": [{"role": "readWrite", "db": "$D"}]})",
         "test"},
        {"hello", "nobody", R"({"hello": 1})"},
        {"hostInfo", "hostInfo@*", R"({"hostInfo": 1})", "admin"},
        {"insert", "insert@C", R"({"insert": "$C", "documents": [{"_id": 1}]})"},
        {"insert",
         "insert@C bypassDocumentValidation@C",
         R"({"insert": "$C", "documents": [{"_id": 1}], "bypassDocumentValidation": true})"},
        {"killAllSessions",
         "killAnySession@*",
         R"({"killAllSessions": [{"user": "x", "db": "y"}]})"},
        {"killAllSessionsByPattern",
         "killAnySession@*",
         R"({"killAllSessionsByPattern": [{"user": "x", "db": "y"}]})"},
        {"killCursors", "user", R"({"killCursors": "$C", "cursors": [{"$numberLong": "77"}]})"},
        {"killOp", "killop@*", R"({"killOp": 1, "op": 0})", "admin"},
        {"killSessions", "user", R"({"killSessions": []})"},
        {"listCollections", "listCollections@D", R"({"listCollections": 1})"},
        {"listCollections",
         "user",
         R"({"listCollections": 1, "nameOnly": true, "authorizedCollections": true})"},
        {"listCommands", "nobody", R"({"listCommands": 1})"},
        {"listDatabases",
         "listDatabases@*",
         R"({"listDatabases": 1, "authorizedDatabases": false})",
         "admin"},
        {"listDatabases", "user", R"({"listDatabases": 1})", "admin"},
        {"listIndexes", "listIndexes@C", R"({"listIndexes": "$C"})"},
        {"listLanguage", "internal@*", R"({"listLanguage": 1})", "admin"},
        {"logApplicationMessage",
         "applicationMessage@*",
         R"({"logApplicationMessage": "hello"})",
         "admin"},
        {"logRotate", "logRotate@*", R"({"logRotate": 1})", "admin"},
        {"logout", "nobody", R"({"logout": 1})"},
        {"mapReduce",
         "find@C",
         R"({"mapReduce": "$C", "map": "1", "reduce": "1", "out": {"inline": 1}})"},
        {"mapReduce",
         "find@C insert@elsewhere.x remove@elsewhere.x",
         R"({"mapReduce": "$C", "map": "1", "reduce": "1",
             "out": {"replace": "x", "db": "elsewhere"}})"},
        {"ping", "nobody", R"({"ping": 1})"},
        {"profile", "find@system.profile | enableProfiler@D", R"({"profile": -1})"},
        {"profile", "enableProfiler@D", R"({"profile": -1, "slowms": 100})"},
        {"reapLogicalSessionCacheNow", "internal@*", R"({"reapLogicalSessionCacheNow": 1})"},
        {"refreshLogicalSessionCacheNow", "internal@*", R"({"refreshLogicalSessionCacheNow": 1})"},
        {"refreshSessions", "user", R"({"refreshSessions": []})"},
        {"renameCollection",
         "find@C dropCollection@C insert@elsewhere.x createIndex@elsewhere.x",
         R"({"renameCollection": "$N", "to": "elsewhere.x"})",
         "admin"},
        {"renameCollection",
         "find@C dropCollection@C insert@elsewhere.x createIndex@elsewhere.x "
         "dropCollection@elsewhere.x",
         R"({"renameCollection": "$N", "to": "elsewhere.x", "dropTarget": true})",
         "admin"},
        {"renameCollection",
         "renameCollectionSameDB@C dropCollection@X | find@C dropCollection@C insert@X "
         "createIndex@X "
         "dropCollection@X",
         R"({"renameCollection": "$N", "to": "$D.x", "dropTarget": true})",
         "admin"},
        {"createSearchIndexes",
         "createSearchIndexes@C",
         R"({"createSearchIndexes": "$C", "indexes": [{"definition": {}}]})"},
        {"dropSearchIndex", "dropSearchIndex@C", R"({"dropSearchIndex": "$C", "name": "x"})"},
        {"updateSearchIndex",
         "updateSearchIndex@C",
         R"({"updateSearchIndex": "$C", "name": "x", "definition": {}})"},
        {"listSearchIndexes", "listSearchIndexes@C", R"({"listSearchIndexes": "$C"})"},
        {"replSetFreeze", "replSetStateChange@*", R"({"replSetFreeze": 1})", "admin"},
        {"replSetGetConfig", "replSetGetConfig@*", R"({"replSetGetConfig": 1})", "admin"},
        {"replSetGetStatus", "replSetGetStatus@*", R"({"replSetGetStatus": 1})", "admin"},
        {"replSetInitiate", "replSetConfigure@*", R"({"replSetInitiate": 1})", "admin"},
        {"replSetMaintenance", "replSetStateChange@*", R"({"replSetMaintenance": 1})", "admin"},
        {"replSetReconfig", "replSetConfigure@*", R"({"replSetReconfig": 1})", "admin"},
        {"replSetStepDown", "replSetStateChange@*", R"({"replSetStepDown": 1})", "admin"},
        {"revokeRolesFromUser",
         "revokeRole@D",
         R"({"revokeRolesFromUser": "x", "roles": [{"role": "read", "db": "$D"}]})",
         "test"},
        {"rolesInfo", "viewRole@D", R"({"rolesInfo": 1})"},
        {"rolesInfo",
         "viewRole@D",
         R"({"rolesInfo": {"role": "none", "db": "$D"}, "showPrivileges": true})",
         "test"},
        {"saslContinue", "nobody", R"({"saslContinue": 1})"},
        {"saslStart", "nobody", R"({"saslStart": 1})"},
        {"serverStatus", "serverStatus@*", R"({"serverStatus": 1})", "admin"},
        {"setFeatureCompatibilityVersion",
         "setFeatureCompatibilityVersion@*",
         R"({"setFeatureCompatibilityVersion": 1})",
         "admin"},
        {"setParameter", "setParameter@*", R"({"setParameter": 1, "nothing": 1})", "admin"},
        {"shutdown", "shutdown@*", R"({"shutdown": 1})", "admin"},
        {"sleep", "internal@*", R"({"sleep": 1, "millis": 0})", "admin"},
        {"startSession", "user", R"({"startSession": 1})"},
        {"testVersion2", "user", R"({"testVersion2": 1})"},
        {"top", "top@*", R"({"top": 1})", "admin"},
        {"update",
         "update@C",
         R"({"update": "$C", "updates": [{"q": {"_id": "none"}, "u": {"$set": {"a": 1}}}]})"},
        {"update",
         "update@C insert@C",
         R"({"update": "$C", "updates": [{"q": {"_id": "none"}, "u": {"$set": {"a": 1}}},
             {"q": {"_id": 1}, "u": {"$bad": 1}, "upsert": true}]})"},
        {"update",
         "update@C bypassDocumentValidation@C",
         R"({"update": "$C", "updates": [{"q": {"_id": "none"}, "u": {"$set": {"a": 1}}}],
             "bypassDocumentValidation": true})"},
        {"updateUser", "changePassword@D", R"({"updateUser": "x", "pwd": ""})"},
        {"updateUser", "changeCustomData@D", R"({"updateUser": "x", "customData": {}})"},
        {"updateUser",
         "revokeRole@any grantRole@D",
         R"({"updateUser": "x", "roles": [{"role": "read", "db": "$D"}]})",
         "test"},
        {"usersInfo", "viewUser@D", R"({"usersInfo": 1})"},
        {"usersInfo", "viewUser@D", R"({"usersInfo": {"user": "x", "db": "$D"}})", "test"},
        {"usersInfo", "viewUser@*", R"({"usersInfo": {"forAllDBs": true}})"},
        {"validate", "validate@C", R"({"validate": "$C"})"},
        {"whatsmyuri", "nobody", R"({"whatsmyuri": 1})"},
    };
    return kRows;
}

/// For pipelines on test.c; stages that report on what they run on have `db`.
struct StageRow {
    std::string_view name;
    std::string_view needs;
    std::string_view stages;  // the whole pipeline
    std::string_view on = "test.c";
};

const std::vector<StageRow>& stageRows() {
    constexpr std::string_view kHere = "find@test.c";
    constexpr std::string_view kBoth = "find@test.c find@C";
    static const std::vector<StageRow> kRows = {
        {"$addFields", kHere, R"({"$addFields": {"a": 1}})"},
        {"$bucket", kHere, R"({"$bucket": {"groupBy": "$a", "boundaries": [0, 1], "default": 2}})"},
        {"$bucketAuto", kHere, R"({"$bucketAuto": {"groupBy": "$a", "buckets": 2}})"},
        {"$changeStream", "find@C changeStream@C", R"({"$changeStream": {}})", "$N"},
        {"$changeStreamSplitLargeEvent", kHere, R"({"$changeStreamSplitLargeEvent": {}})"},
        {"$collStats", "collStats@C", R"({"$collStats": {"latencyStats": {}}})", "$N"},
        {"$count", kHere, R"({"$count": "n"})"},
        {"$currentOp", "inprog@*", R"({"$currentOp": {"allUsers": true}})", "admin"},
        {"$currentOp", "user", R"({"$currentOp": {}})", "admin"},
        {"$documents", "user", R"({"$documents": []})", "test"},
        {"$documents", "find@C", R"({"$documents": []}, {"$unionWith": {"coll": "$C"}})", "$D"},
        {"$documents",
         "find@C",
         R"({"$documents": []}, {"$lookup": {"from": {"db": "$D", "coll": "$C"}, "pipeline": [],
             "as": "x"}})",
         "test"},
        {"$facet",
         kBoth,
         R"({"$facet": {"a": [], "b": [{"$lookup": {"from": {"db": "$D", "coll": "$C"},
             "pipeline": [], "as": "x"}}]}})"},
        {"$geoNear", "find@C", R"({"$geoNear": {}})", "$N"},
        {"$graphLookup",
         kBoth,
         R"({"$graphLookup": {"from": {"db": "$D", "coll": "$C"}, "startWith": "$a",
             "connectFromField": "a", "connectToField": "b", "as": "x"}})"},
        {"$group", kHere, R"({"$group": {"_id": "$a"}})"},
        {"$indexStats", "indexStats@C", R"({"$indexStats": {}})", "$N"},
        {"$limit", kHere, R"({"$limit": 1})"},
        {"$listLocalSessions",
         "listSessions@*",
         R"({"$listLocalSessions": {"allUsers": true}})",
         "test"},
        {"$listLocalSessions", "user", R"({"$listLocalSessions": {}})", "test"},
        {"$listSearchIndexes", "listSearchIndexes@C", R"({"$listSearchIndexes": {}})", "$N"},
        {"$listSessions", "listSessions@*", R"({"$listSessions": {"allUsers": true}})", "test"},
        {"$lookup",
         kBoth,
         R"({"$lookup": {"from": {"db": "$D", "coll": "$C"}, "localField": "a",
             "foreignField": "b", "as": "x"}})"},
        {"$lookup",
         kBoth,
         R"({"$lookup": {"from": "c", "pipeline": [{"$lookup": {"from": "c", "as": "y",
             "pipeline": [{"$unionWith": {"db": "$D", "coll": "$C"}}]}}], "as": "x"}})"},
        {"$lookup",
         kBoth,
         R"({"$lookup": {"pipeline": [{"$documents": []}, {"$graphLookup": {
             "from": {"db": "$D", "coll": "$C"}, "startWith": "$a", "connectFromField": "a",
             "connectToField": "b", "as": "x"}}], "as": "x"}})"},
        {"$match", kHere, R"({"$match": {"a": 1}})"},
        {"$merge",
         "find@test.c insert@C update@C",
         R"({"$merge": {"into": {"db": "$D", "coll": "$C"}}})"},
        {"$merge",
         "find@test.c insert@C",
         R"({"$merge": {"into": {"db": "$D", "coll": "$C"}, "whenMatched": "keepExisting"}})"},
        {"$merge",
         "find@test.c update@C",
         R"({"$merge": {"into": {"db": "$D", "coll": "$C"}, "whenNotMatched": "discard"}})"},
        {"$out",
         "find@test.c insert@C remove@C",
         R"({"$match": {"_id": "none"}}, {"$out": {"db": "$D", "coll": "$C"}})"},
        {"$planCacheStats", "planCacheRead@C", R"({"$planCacheStats": {}})", "$N"},
        {"$project", kHere, R"({"$project": {"a": 1}})"},
        {"$redact", kHere, R"({"$redact": "$$KEEP"})"},
        {"$replaceRoot", kHere, R"({"$replaceRoot": {"newRoot": {}}})"},
        {"$replaceWith", kHere, R"({"$replaceWith": {}})"},
        {"$sample", kHere, R"({"$sample": {"size": 1}})"},
        {"$search", "find@C", R"({"$search": {}})", "$N"},
        {"$searchMeta", "find@C", R"({"$searchMeta": {}})", "$N"},
        {"$set", kHere, R"({"$set": {"a": 1}})"},
        {"$skip", kHere, R"({"$skip": 1})"},
        {"$sort", kHere, R"({"$sort": {"a": 1}})"},
        {"$sortByCount", kHere, R"({"$sortByCount": "$a"})"},
        {"$unionWith", kBoth, R"({"$unionWith": {"db": "$D", "coll": "$C", "pipeline": []}})"},
        {"$unionWith",
         kBoth,
         R"({"$unionWith": {"coll": "c", "pipeline": [{"$unionWith": {"db": "$D",
             "coll": "$C"}}]}})"},
        {"$unset", kHere, R"({"$unset": "a"})"},
        {"$unwind", kHere, R"({"$unwind": "$a"})"},
        {"$vectorSearch", "find@C", R"({"$vectorSearch": {}})", "$N"},
    };
    return kRows;
}

const std::vector<Resource>& targets() {
    static const std::vector<Resource> kTargets = {{"test", "c"},
                                                   {"other", "c"},
                                                   {"admin", "c"},
                                                   {"config", "c"},
                                                   {"local", "c"},
                                                   {"test", "system.js"},
                                                   {"other", "system.js"},
                                                   {"test", "system.profile"},
                                                   {"admin", "system.users"},
                                                   {"admin", "system.version"}};
    return kTargets;
}

struct Subject {
    std::string_view role;  // empty: none; "nobody": not logged in
    std::string_view db;
};

std::string replaced(std::string_view text, const Resource& target) {
    std::string out;
    while (!text.empty()) {
        const size_t at = std::min(text.find('$'), text.size());
        out += text.substr(0, at);
        text.remove_prefix(at);
        if (text.substr(0, 2) == "$C") {
            out += target.collection;
        } else if (text.substr(0, 2) == "$D") {
            out += target.db;
        } else if (text.substr(0, 2) == "$N") {
            out += target.db + "." + target.collection;
        } else {
            out += text.substr(0, 2);
        }
        text.remove_prefix(std::min<size_t>(2, text.size()));
    }
    return out;
}

bool hasPlaceholder(std::string_view text) {
    return text.find("$C") != text.npos || text.find("$D\"") != text.npos ||
           text.find("$D.") != text.npos || text.find("$N") != text.npos || text == "$D";
}

Resource resourceOf(std::string_view name, const Resource& target) {
    if (name == "*") {
        return {};
    }
    if (name == "C") {
        return target;
    }
    if (name == "D") {
        return {target.db, ""};
    }
    if (name == "X") {
        return {target.db, "x"};
    }
    if (name == "any") {
        return {"a database that no role names", ""};
    }
    const size_t dot = name.find('.');
    return name.starts_with("system.")
               ? Resource{target.db, std::string(name)}
               : Resource{std::string(name.substr(0, dot)), std::string(name.substr(dot + 1))};
}

bool hasAll(const Subject& who, std::string_view needs, const Resource& target) {
    while (!needs.empty()) {
        const size_t end = std::min(needs.find(' '), needs.size());
        const std::string_view one = needs.substr(0, end);
        needs.remove_prefix(std::min(end + 1, needs.size()));
        const size_t at = one.find('@');
        if (!one.empty() &&
            !isDocumented(
                who.role, who.db, one.substr(0, at), resourceOf(one.substr(at + 1), target))) {
            return false;
        }
    }
    return true;
}

bool isExpected(const Subject& who, std::string_view needs, const Resource& target) {
    if (needs == "nobody") {
        return true;
    }
    if (who.role == "nobody" || needs == "user") {
        return who.role != "nobody";
    }
    const size_t bar = needs.find(" | ");
    return hasAll(who, needs.substr(0, bar), target) ||
           (bar != needs.npos && hasAll(who, needs.substr(bar + 3), target));
}

class AccessMatrixTest : public AuthTest {
protected:
    AccessMatrixTest() {
        makeRoot();
        for (const Subject& who : kSubjects) {
            // All privileges on a database that no row is about.
            const std::string role = R"([{"role": ")" + std::string(who.role) + R"(", "db": ")" +
                                     std::string(who.db) + R"("}])";
            if (who.role != "nobody") {
                makeUser(nameOf(who), who.role.empty() ? "[]" : role, "accounts");
            }
        }
        stranger_ = connectFrom(false);
    }

    static std::string nameOf(const Subject& who) {
        return who.role.empty() ? "none" : std::string(who.role);
    }
    Connection& connectionOf(const Subject& who) {
        return who.role == "nobody" ? *stranger_ : as(nameOf(who), "accounts");
    }

    void expectVerdicts(std::string_view needs,
                        const std::string& body,
                        const std::string& db,
                        const Resource& target) {
        for (const Subject& who : kSubjects) {
            const bool isAllowed = codeOn(connectionOf(who), body, db) != 13;
            EXPECT_EQ(isExpected(who, needs, target), isAllowed)
                << nameOf(who) << " on " << db << ": " << body;
        }
    }

    /// System collections can never be renamed: that error comes first.
    static bool isRenameOfSystem(const Row& row, const Resource& target) {
        return row.name == "renameCollection" && target.collection.starts_with("system.");
    }

    const std::vector<Subject> kSubjects{{"nobody", ""},
                                         {"", "test"},
                                         {"read", "test"},
                                         {"readWrite", "test"},
                                         {"dbAdmin", "test"},
                                         {"userAdmin", "test"},
                                         {"dbOwner", "test"},
                                         {"readAnyDatabase", "admin"},
                                         {"readWriteAnyDatabase", "admin"},
                                         {"dbAdminAnyDatabase", "admin"},
                                         {"userAdminAnyDatabase", "admin"},
                                         {"clusterMonitor", "admin"},
                                         {"hostManager", "admin"},
                                         {"clusterManager", "admin"},
                                         {"clusterAdmin", "admin"},
                                         {"backup", "admin"},
                                         {"restore", "admin"},
                                         {"root", "admin"}};
    std::unique_ptr<Connection> stranger_;
};

TEST_F(AccessMatrixTest, EveryCommandIsForWhomTheManualSays) {
    std::set<std::string_view> named;
    for (const Row& row : commandRows()) {
        named.insert(row.name);
        const bool hasTarget = hasPlaceholder(row.body) || hasPlaceholder(row.db);
        for (const Resource& target : targets()) {
            if (isRenameOfSystem(row, target)) {
                continue;
            }
            expectVerdicts(row.needs, replaced(row.body, target), replaced(row.db, target), target);
            if (!hasTarget) {
                break;
            }
        }
    }
    const Registry registry;
    for (const Command& command : registry.commands()) {
        EXPECT_TRUE(named.contains(command.name)) << command.name << " has no row";
        named.erase(command.name);
    }
    EXPECT_TRUE(named.empty()) << *named.begin() << " is no command";
}

TEST_F(AccessMatrixTest, EveryStageIsForWhomTheManualSays) {
    std::set<std::string_view> named;
    for (const StageRow& row : stageRows()) {
        named.insert(row.name);
        const bool hasTarget = hasPlaceholder(row.stages) || hasPlaceholder(row.on);
        for (const Resource& target : targets()) {
            const std::string on = replaced(row.on, target);
            const size_t dot = on.find('.');
            const std::string collection = dot == on.npos ? "1" : "\"" + on.substr(dot + 1) + "\"";
            const std::string body = R"({"aggregate": )" + collection +
                                     R"(, "cursor": {}, "pipeline": [)" +
                                     replaced(row.stages, target) + "]}";
            expectVerdicts(row.needs, body, on.substr(0, dot), target);
            expectVerdicts(row.needs, R"({"explain": )" + body + "}", on.substr(0, dot), target);
            if (!hasTarget) {
                break;
            }
        }
    }
    for (const query::Word& stage : query::stageWords()) {
        EXPECT_TRUE(named.contains(stage.name)) << stage.name << " has no row";
        named.erase(stage.name);
    }
    EXPECT_TRUE(named.empty()) << *named.begin() << " is no stage";
}

/// If two fields have the same name, the access check and the stage must not use different ones.
TEST_F(AccessMatrixTest, NamesThatStandTwiceAreRefused) {
    for (const char* stage :
         {R"({"$lookup": {"from": "c", "from": "system.users", "pipeline": [], "as": "x"}})",
          R"({"$lookup": {"from": "c", "pipeline": [], "pipeline": [{"$unionWith": "d"}],
              "as": "x"}})",
          R"({"$lookup": {"from": {"db": "test", "coll": "c", "db": "other"}, "pipeline": [],
              "as": "x"}})",
          R"({"$graphLookup": {"from": "c", "from": "d", "startWith": "$a",
              "connectFromField": "a", "connectToField": "b", "as": "x"}})",
          R"({"$unionWith": {"coll": "c", "coll": "d"}})",
          R"({"$unionWith": {"coll": "c", "pipeline": [], "pipeline": []}})",
          R"({"$out": {"db": "test", "coll": "c", "db": "other"}})",
          R"({"$out": {"coll": "c", "db": "test", "coll": "d"}})",
          R"({"$merge": {"into": "c", "into": {"db": "other", "coll": "c"}}})",
          R"({"$merge": {"into": {"db": "test", "coll": "c", "db": "other"}}})",
          R"({"$merge": {"into": "c", "whenMatched": "fail", "whenMatched": "merge"}})",
          R"({"$facet": {"a": [{"$lookup": {"from": "c", "from": "d", "pipeline": [],
              "as": "x"}}]}})"}) {
        const std::string body =
            std::string(R"({"aggregate": "c", "cursor": {}, "pipeline": [)") + stage + "]}";
        EXPECT_EQ(40413, codeOn(as("readWrite", "accounts"), body)) << stage;
        EXPECT_EQ(40413, codeOn(as("readWrite", "accounts"), R"({"explain": )" + body + "}"))
            << stage;
    }
}

}  // namespace
}  // namespace freshet::command
