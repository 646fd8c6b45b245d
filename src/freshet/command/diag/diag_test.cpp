// SPDX-License-Identifier: Apache-2.0
/// What tools and driver test suites ask about the server.
#include "freshet/command/run/fixture_test.h"
#include "freshet/command/run/sessions.h"
#include "freshet/command/run/statistics.h"
#include "freshet/telemetry/log.h"

namespace freshet::command {
namespace {

using DiagTest = CommandTest;

TEST_F(DiagTest, AnswersTheQuestionsOfAConnectingClient) {
    expectReplies(
        {
            {R"({"buildInfo": 1})",
             R"({"version": "8.0.0", "versionArray": [8, 0, 0, 0], "modules": [],
                 "maxBsonObjectSize": 16777216, "ok": 1.0})"},
            {R"({"buildinfo": 1})", R"({"ok": 1.0})"},
            {R"({"getCmdLineOpts": 1})",
             R"({"argv": ["freshetd", "--port", "0"], "parsed": {}, "ok": 1.0})"},
            {R"({"connectionStatus": 1})",
             R"({"authInfo": {"authenticatedUsers": [], "authenticatedUserRoles": []}})"},
            {R"({"whatsmyuri": 1})", R"({"you": "127.0.0.1:5000"})"},
            {R"({"hostInfo": 1})", R"({"system": {"cpuAddrSize": 64}, "os": {"type": "Linux"}})"},
            {R"({"getLog": "*"})", R"({"names": ["global", "startupWarnings"]})"},
            {R"({"getLog": "global"})", R"({"totalLinesWritten": 2, "log": ["first", "second"]})"},
            {R"({"getLog": "startupWarnings"})", R"({"totalLinesWritten": 0, "log": []})"},
            {R"({"getLog": "x"})", R"({"code": 96})"},
            {R"({"atlasVersion": 1})", R"({"code": 59})"},
        },
        "admin");
}

TEST_F(DiagTest, Parameters) {
    expectReplies(
        {
            {R"({"getParameter": "*"})",
             R"({"enableTestCommands": true, "featureCompatibilityVersion": {"version": "8.0"}})"},
            {R"({"getParameter": 1, "featureCompatibilityVersion": 1})",
             R"({"featureCompatibilityVersion": {"version": "8.0"}, "ok": 1.0})"},
            {R"({"getParameter": 1, "bogus": 1})",
             R"({"code": 72, "errmsg": "no option found to get"})"},
            {R"({"getParameter": {"showDetails": true}, "enableTestCommands": 1})",
             R"({"enableTestCommands": {"value": true, "settableAtRuntime": false}})"},
            {R"({"getParameter": {"allParameters": true}})", R"({"requireApiVersion": false})"},
        },
        "admin");
    expectReply(R"({"getParameter": "*"})", R"({"code": 13})");
    EXPECT_FALSE(run(R"({"getParameter": 1, "enableTestCommands": 1})", "admin")
                     .view()
                     .has("requireApiVersion"));
}

TEST_F(DiagTest, PartsOfTheServerLogAsMuchAsTheyAreTold) {
    using telemetry::Component;
    using telemetry::Severity;
    EXPECT_FALSE(telemetry::isLogged(Severity::kDebug2, Component::kJournal));
    expectReplies(
        {
            {R"({"setParameter": 1, "logComponentVerbosity":
                 {"verbosity": 1, "storage": {"verbosity": 2}, "command": {"verbosity": 0},
                  "replication": {"heartbeats": {"verbosity": 3}}}})",
             R"({"ok": 1.0, "was": {"verbosity": 0, "command": {"verbosity": -1},
                 "storage": {"verbosity": -1, "journal": {"verbosity": -1},
                             "recovery": {"verbosity": -1}}}})"},
            {R"({"getParameter": 1, "logComponentVerbosity": 1, "logLevel": 1})",
             R"({"logLevel": 1, "logComponentVerbosity": {"verbosity": 1,
                 "storage": {"verbosity": 2, "journal": {"verbosity": -1}}}})"},
            {R"({"getParameter": {"showDetails": true}, "logComponentVerbosity": 1})",
             R"({"logComponentVerbosity": {"settableAtRuntime": true}})"},
            {R"({"setParameter": 1, "logComponentVerbosity": {"nope": {"verbosity": 1}}})",
             R"({"code": 2, "errmsg": "Invalid component name nope"})"},
            {R"({"setParameter": 1, "logComponentVerbosity": {"query": {"verbosity": 5},
                 "index": {"verbosity": 6}}})",
             R"({"code": 2})"},
            {R"({"setParameter": 1, "logComponentVerbosity": {"query": 5}})", R"({"code": 2})"},
            {R"({"setParameter": 1, "logComponentVerbosity": 5})", R"({"code": 14})"},
        },
        "admin");
    EXPECT_TRUE(telemetry::isLogged(Severity::kDebug2, Component::kJournal));
    EXPECT_FALSE(telemetry::isLogged(Severity::kDebug3, Component::kJournal));
    EXPECT_TRUE(telemetry::isLogged(Severity::kDebug1, Component::kNetwork));
    EXPECT_FALSE(telemetry::isLogged(Severity::kDebug2, Component::kQuery));
    EXPECT_FALSE(telemetry::isLogged(Severity::kDebug1, Component::kCommand));
    expectReply(R"({"setParameter": 1, "logComponentVerbosity": {"verbosity": 0,
                    "storage": {"verbosity": -1}, "command": {"verbosity": -1}}})",
                R"({"was": {"verbosity": 1, "query": {"verbosity": -1}}})",
                "admin");
    EXPECT_FALSE(telemetry::isLogged(Severity::kDebug1, Component::kJournal));
}

TEST_F(DiagTest, ValidateHoldsIndexesAgainstTheirCollection) {
    expectReplies({
        {R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})",
         R"({"ok": 1.0})"},
        {R"({"insert": "c", "documents": [{"a": [1, 2]}, {"a": 3}]})", R"({"n": 2})"},
        {R"({"validate": "c", "full": true})",
         R"({"valid": true, "nrecords": 2, "nIndexes": 2, "keysPerIndex": {"_id_": 2, "a_1": 3},
             "errors": [], "ok": 1.0})"},
        {R"({"validate": "nosuch"})", R"({"code": 26})"},
    });
}

TEST_F(DiagTest, ServerStatusCountsOperations) {
    expectReplies({
        {R"({"insert": "c", "documents": [{"a": 1}, {"a": 2}]})", R"({"n": 2})"},
        {R"({"find": "c", "batchSize": 1})", R"({"ok": 1.0})"},
        {R"({"update": "c", "updates": [{"q": {"a": 1}, "u": {"$set": {"b": 1}}}]})",
         R"({"n": 1})"},
        {R"({"delete": "c", "deletes": [{"q": {"a": 1}, "limit": 1}]})", R"({"n": 1})"},
        {R"({"serverStatus": 1, "repl": 0})",
         R"({"opcounters": {"insert": 2, "query": 1, "update": 1, "delete": 1, "getmore": 0},
             "storageEngine": {"name": "freshet"}, "process": "freshetd", "version": "8.0.0",
             "metrics": {"cursor": {"open": {"total": 1}}}, "asserts": {"user": 0}, "ok": 1.0})"},
    });
    const bson::OwnedDocument status = run(R"({"serverStatus": 1})");
    for (const char* figure : {"fileBytes", "pagesCompressed", "bytesSaved", "memoryBytes"}) {
        EXPECT_TRUE(status.view().findPath(std::string("freshet.block.") + figure).isNumber())
            << figure;
    }
    EXPECT_GT(status.view().findPath("freshet.journal.records").toInt64(), 0);
    EXPECT_GT(status.view().findPath("freshet.engine.commits").toInt64(), 0);
    EXPECT_GT(status.view().findPath("mem.resident").toInt64(), 0);
}

TEST_F(DiagTest, DatabasesAreListedWithTheirSizes) {
    const auto sizeOf = [this](const char* place) {
        const bson::OwnedDocument reply = run(R"({"listDatabases": 1})", "admin");
        return reply.view().findPath(place).toInt64();
    };
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    const int64_t exact = run(R"({"dbStats": 1})").view().find("totalSize").toInt64();
    EXPECT_GT(exact, 0);
    EXPECT_EQ(exact, sizeOf("databases.0.sizeOnDisk"));
    EXPECT_EQ(exact, sizeOf("totalSize"));
    for (int batch = 0; batch < 10; ++batch) {
        std::string documents;
        for (int i = 0; i < 1'000; ++i) {
            documents += (i == 0 ? "" : ",") + std::string(R"({"a": "0123456789"})");
        }
        run(R"({"insert": "d", "documents": [)" + documents + "]}");
    }
    run(R"({"fsync": 1})", "admin");
    EXPECT_GT(sizeOf("totalSize"), 10'000 * 20);
    EXPECT_EQ(run(R"({"dbStats": 1})").view().find("totalSize").toInt64(), sizeOf("totalSize"));
    expectReply(R"({"listDatabases": 1, "filter": {"name": "none"}})",
                R"({"databases": [], "totalSize": 0})",
                "admin");
}

TEST_F(DiagTest, DatabasesOfTheSameDocumentsHaveTheSameHash) {
    run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2, "a": "x"}]})");
    run(R"({"insert": "c", "documents": [{"_id": 2, "a": "x"}, {"_id": 1}]})", "other");
    // As computed by other programs from the two documents' bytes, and from the 32 digits.
    expectReply(
        R"({"dbHash": 1})",
        R"({"collections": {"c": "54bb97d109f0d62a3602fafde96d4a80"}, "capped": [], "md5": "3da4c95061f56206e97e5ce4a30f048a"})");
    expectReply(R"({"dbHash": 1})", R"({"md5": "3da4c95061f56206e97e5ce4a30f048a"})", "other");
    run(R"({"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$set": {"a": "y"}}}]})", "other");
    const bson::OwnedDocument changed = run(R"({"dbHash": 1})", "other");
    EXPECT_NE("3da4c95061f56206e97e5ce4a30f048a", changed.view().find("md5").stringValue());
    run(R"({"insert": "d", "documents": [{}]})");
    expectReplies({
        {R"({"dbHash": 1, "collections": ["c"]})",
         R"({"md5": "3da4c95061f56206e97e5ce4a30f048a"})"},
        {R"({"dbHash": 1, "collections": ["none"]})",
         R"({"collections": {}, "md5": "d41d8cd98f00b204e9800998ecf8427e"})"},
        {R"({"dbHash": 1, "collections": [1]})", R"({"code": 2})"},
    });
}

TEST_F(DiagTest, SearchIndexesNeedAServiceThatIsNotThere) {
    const char* refusal = R"({"ok": 0.0, "code": 31082, "codeName": "SearchNotEnabled",
        "errmsg": "Using Atlas Search Database Commands and the $listSearchIndexes aggregation stage requires additional configuration. Please connect to Atlas or an AtlasCLI local deployment to enable. For more information on how to connect, see https://dochub.mongodb.org/core/atlas-cli-deploy-local-reqs."})";
    expectReplies({
        {R"({"createSearchIndexes": "c", "indexes": [{"name": "x", "definition": {}}]})", refusal},
        {R"({"updateSearchIndex": "c", "name": "x", "definition": {}})", refusal},
        {R"({"dropSearchIndex": "c", "name": "x"})", refusal},
        {R"({"listSearchIndexes": "c"})", refusal},
        {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$listSearchIndexes": {}}]})", refusal},
        {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$search": {}}]})",
         R"({"code": 31082, "codeName": "SearchNotEnabled"})"},
        {R"({"createSearchIndexes": "c"})", R"({"code": 40414})"},
        {R"({"updateSearchIndex": "c", "name": "x"})", R"({"code": 40414})"},
        {R"({"listSearchIndexes": "c", "name": 5})", R"({"code": 14})"},
        {R"({"listSearchIndexes": "", "name": "x"})", R"({"code": 73})"},
        {R"({"dropSearchIndex": "c", "more": 1})", R"({"code": 40415})"},
    });
}

TEST_F(DiagTest, AStandaloneIsInNoReplicaSet) {
    const char* refusal = R"({"code": 76, "codeName": "NoReplicationEnabled",
                              "errmsg": "not running with --replSet"})";
    expectReplies(
        {
            {R"({"replSetGetStatus": 1})", refusal},
            {R"({"replSetGetConfig": 1})", refusal},
            {R"({"replSetReconfig": {"_id": "rs0"}})", refusal},
            {R"({"replSetStepDown": 1, "force": true})", refusal},
            {R"({"replSetFreeze": 0})", refusal},
            {R"({"replSetMaintenance": false})", refusal},
            {R"({"replSetInitiate": {}})",
             R"({"code": 76, "codeName": "NoReplicationEnabled",
                 "errmsg": "This node was not started with replication enabled."})"},
            {R"({"getDefaultRWConcern": 1})",
             R"({"code": 51300,
                 "errmsg": "'getDefaultRWConcern' is not supported on standalone nodes."})"},
            {R"({"setDefaultRWConcern": 1, "defaultWriteConcern": {"w": 1}})",
             R"({"code": 51300})"},
            {R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}],
                 "commitQuorum": 1})",
             R"({"code": 2, "errmsg": "Standalones can't specify commitQuorum"})"},
        },
        "admin");
}

TEST_F(DiagTest, EachStartLeavesARecord) {
    const auto starts = [this] {
        return run(R"({"count": "startup_log"})", "local").view().find("n").toInt64();
    };
    EXPECT_EQ(0, starts());
    dispatcher_->recordStart();
    EXPECT_EQ(1, starts());
    const bson::OwnedDocument found = run(R"({"find": "startup_log"})", "local");
    const bson::Document start = found.view().findPath("cursor.firstBatch.0").document();
    const std::string host(start.find("hostname").stringValue());
    EXPECT_TRUE(start.find("_id").stringValue().starts_with(host + "-"));
    EXPECT_EQ(bson::Type::kDate, start.find("startTime").type());
    EXPECT_TRUE(start.find("startTimeLocal").isString());
    EXPECT_TRUE(start.find("cmdLine").isObject());
    EXPECT_EQ(bson::Type::kInt64, start.find("pid").type());
    EXPECT_EQ("8.0.0", start.findPath("buildinfo.version").stringValue());
    expectReply(R"({"find": "system.version"})",
                R"({"cursor": {"firstBatch": [
                    {"_id": "featureCompatibilityVersion", "version": "8.0"}]}})",
                "admin");
    expectReply(R"({"listIndexes": "system.sessions"})",
                R"({"cursor": {"firstBatch": [{"name": "_id_"},
                    {"name": "lsidTTLIndex", "expireAfterSeconds": 1800}]}})",
                "config");
    expectReply(R"({"listDatabases": 1, "nameOnly": true})",
                R"({"databases": [{"name": "admin"}, {"name": "config"}, {"name": "local"}]})",
                "admin");
    close();
    open();
    EXPECT_EQ(1, starts());
    dispatcher_->recordStart();
    EXPECT_EQ(2, starts());
    expectReply(R"({"count": "system.version"})", R"({"n": 1})", "admin");
}

TEST_F(DiagTest, TheNewestThousandStartsAreKept) {
    std::string documents;
    for (int i = 0; i < 1'200; ++i) {
        documents += (i == 0 ? "" : ",") + std::string(R"({"_id": "x-)") + std::to_string(i) +
                     R"(", "startTime": {"$date": {"$numberLong": ")" +
                     std::to_string(1'000'000 + i) + R"("}}})";
    }
    run(R"({"insert": "startup_log", "documents": [)" + documents + "]}", "local");
    dispatcher_->recordStart();
    expectReplies({{R"({"count": "startup_log"})", R"({"n": 1000})"},
                   {R"({"count": "startup_log", "query": {"_id": "x-1199"}})", R"({"n": 1})"},
                   {R"({"count": "startup_log", "query": {"_id": "x-0"}})", R"({"n": 0})"}},
                  "local");
}

TEST_F(DiagTest, TheCompatibilityVersionIsTheOnlyOne) {
    expectReplies(
        {
            {R"({"setFeatureCompatibilityVersion": "8.0", "confirm": true})", R"({"ok": 1.0})"},
            {R"({"setFeatureCompatibilityVersion": "8.0"})", R"({"code": 7369100})"},
            {R"({"setFeatureCompatibilityVersion": "7.0", "confirm": true})",
             R"({"code": 4926900,
                 "errmsg": "Invalid feature compatibility version value '7.0'; expected '8.0'"})"},
            {R"({"setFeatureCompatibilityVersion": 7, "confirm": true})", R"({"code": 14})"},
        },
        "admin");
}

TEST_F(DiagTest, ListsCommandsUnderTheirNames) {
    const bson::OwnedDocument reply = run(R"({"listCommands": 1})");
    const bson::Document hello = reply.view().findPath("commands.hello").document();
    EXPECT_EQ(0, hello.find("aliases").document().fieldCount());
    EXPECT_FALSE(hello.find("requiresAuth").isTruthy());
    EXPECT_TRUE(reply.view().findPath("commands.listDatabases.adminOnly").isTruthy());
}

TEST_F(DiagTest, ListsTheWordsOfItsLanguage) {
    const bson::OwnedDocument reply = run(R"({"listLanguage": 1})", "admin");
    const auto has = [&](std::string_view kind, std::string_view name) {
        for (const bson::Element& word : reply.view().find(kind).document()) {
            const bson::Element own = word.isString() ? word : word.document().find("name");
            if (own.stringValue() == name) {
                return true;
            }
        }
        return false;
    };
    EXPECT_TRUE(has("commands", "find"));
    EXPECT_TRUE(has("genericArguments", "maxTimeMS"));
    EXPECT_TRUE(has("indexOptions", "unique"));
    EXPECT_TRUE(has("stages", "$out"));
    EXPECT_TRUE(has("expressions", "$trim"));
    EXPECT_TRUE(has("accumulators", "$topN"));
    EXPECT_TRUE(has("updates", "$rename"));
    EXPECT_TRUE(has("filters", "$regex"));
    EXPECT_TRUE(has("documentFilters", "$expr"));
    EXPECT_TRUE(has("projections", "$slice"));
    EXPECT_TRUE(has("schema", "oneOf"));
    EXPECT_FALSE(has("filters", "$expr"));
}

TEST_F(DiagTest, ShutdownClosesWithoutAReply) {
    expectReply(R"({"shutdown": 1})", R"({"code": 13})");
    EXPECT_FALSE(wasAskedToEnd_);
    const Reply reply = exchange(message(request(R"({"shutdown": 1})", "admin").view()));
    EXPECT_TRUE(wasAskedToEnd_);
    EXPECT_TRUE(reply.closeAfter);
    EXPECT_TRUE(reply.message.empty());
}

TEST_F(DiagTest, ShutdownIsForLocalClients) {
    connection_ = dispatcher_->connect({9, "10.1.2.3:5000", "10.1.2.4:27017"});
    expectReply(R"({"shutdown": 1})", R"({"code": 13})", "admin");
    EXPECT_FALSE(wasAskedToEnd_);
}

TEST(Statistics, ForgetsTheCollectionsThatAreUsedLeast) {
    Statistics statistics(1);
    const auto touch = [&](const std::string& collection) {
        statistics.touched("d", collection, OpKind::kQuery, LatencyClass::kReads, 1, 0);
    };
    for (int i = 0; i < 3; ++i) {
        touch("mine");
    }
    for (int i = 0; i < 50'000; ++i) {
        touch("of another one " + std::to_string(i));
    }
    touch("mine");
    touch(std::string(1'000, 'x'));
    EXPECT_EQ(4u, statistics.topOf("d.mine").total.count);
    EXPECT_LE(statistics.top().size(), 10'000u);
    EXPECT_EQ(1u, statistics.topOf("d.of another one 49999").total.count);
    EXPECT_EQ(0u, statistics.topOf("d." + std::string(1'000, 'x')).total.count);
}

TEST(LogicalSessions, TheOldestOfWhoHasMostAreForgotten) {
    LogicalSessions sessions(640);
    sessions.use("modest", "b", 1);
    for (int i = 0; i < 10'000; ++i) {
        sessions.use("greedy " + std::to_string(i), "a", 2);
    }
    EXPECT_LE(sessions.count(), 640u);
    size_t modest = 0;
    for (const auto& one : sessions.list(1'000)) {
        modest += one.name == "modest" ? 1 : 0;
    }
    EXPECT_EQ(1u, modest);
    EXPECT_EQ(1u, sessions.expire(2).size());
    const size_t left = sessions.count();
    EXPECT_EQ(left, sessions.expire(3).size());
    sessions.use("again", "a", 4);
    sessions.use("again", "a", 100'000);
    sessions.end({"again", "never"});
    EXPECT_EQ(0u, sessions.count());
}

}  // namespace
}  // namespace freshet::command
