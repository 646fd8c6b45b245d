// SPDX-License-Identifier: Apache-2.0
/// What drivers, tools and set-up scripts ask a replica set.
#include "freshet/command/run/fixture_test.h"

namespace freshet::command {
namespace {

class ReplicaSetMemberTest : public CommandTest {
protected:
    ReplicaSetMemberTest() {
        close();
        replicaSet_ = "rs0";
        open();
    }
};

TEST_F(ReplicaSetMemberTest, HelloNamesTheAddressThatTheClientDialled) {
    expectReply(
        R"({"hello": 1})",
        R"({"isWritablePrimary": true, "secondary": false, "setName": "rs0", "setVersion": 1,
                    "hosts": ["127.0.0.1:27017"], "primary": "127.0.0.1:27017", "me": "127.0.0.1:27017",
                    "ok": 1.0})",
        "admin");
    const bson::OwnedDocument reply = run(R"({"hello": 1})", "admin");
    EXPECT_EQ(reply.view().find("electionId").type(), bson::Type::kObjectId);
    EXPECT_EQ(reply.view().findPath("lastWrite.opTime.ts").type(), bson::Type::kTimestamp);
    EXPECT_EQ(reply.view().findPath("$clusterTime.clusterTime").type(), bson::Type::kTimestamp);
    EXPECT_EQ(reply.view().find("operationTime").type(), bson::Type::kTimestamp);
}

TEST_F(ReplicaSetMemberTest, HelloNamesTheNameThatATlsClientCalled) {
    ClientFacts client = clientFacts(8);
    client.isTls = true;
    client.serverName = "db.example.org";
    connection_ = dispatcher_->connect(client);
    expectReply(R"({"hello": 1})",
                R"({"hosts": ["db.example.org:27017"], "me": "db.example.org:27017"})",
                "admin");
    client.transport = "unix";
    client.local = "/tmp/mongodb-27017.sock";
    connection_ = dispatcher_->connect(client);
    expectReply(R"({"hello": 1})", R"({"me": "freshet.test:27017"})", "admin");
}

TEST_F(ReplicaSetMemberTest, SetUpScriptsFindTheirSetReady) {
    expectReplies(
        {
            {R"({"replSetGetStatus": 1})",
             R"({"set": "rs0", "myState": 1,
                 "members": [{"name": "127.0.0.1:27017", "stateStr": "PRIMARY", "self": true}]})"},
            {R"({"replSetGetConfig": 1, "commitmentStatus": true})",
             R"({"config": {"_id": "rs0", "version": 1, "term": 1, "members": [
                     {"_id": 0, "host": "127.0.0.1:27017", "priority": 1.0, "votes": 1}],
                 "settings": {"electionTimeoutMillis": 10000}}, "commitmentStatus": true})"},
            {R"({"replSetStepDown": 60})", R"({"code": 262, "codeName": "ExceededTimeLimit"})"},
            {R"({"replSetFreeze": 60})",
             R"({"code": 95, "codeName": "NotSecondary",
                 "errmsg": "Cannot freeze node when primary or running for election, state: Primary"})"},
            {R"({"replSetMaintenance": true})", R"({"code": 95})"},
            {R"({"serverStatus": 1})",
             R"({"repl": {"setName": "rs0", "isWritablePrimary": true, "ismaster": true}})"},
        },
        "admin");
    EXPECT_FALSE(run(R"({"serverStatus": 1, "repl": 0})", "admin").view().has("repl"));
}

TEST_F(ReplicaSetMemberTest, TheSetCanBeInitiatedOnce) {
    expectReplies(
        {
            {R"({"replSetInitiate": {"_id": "other", "members": [{"_id": 0, "host": "db:1"}]}})",
             R"({"code": 93, "codeName": "InvalidReplicaSetConfig",
                 "errmsg": "Attempting to initiate a replica set with name other, but command line reports rs0; rejecting"})"},
            {R"({"replSetInitiate": {"_id": "rs0", "members": [{"_id": 0}, {"_id": 1}]}})",
             R"({"code": 93})"},
            {R"({"replSetInitiate": {"_id": "rs0", "members": [
                 {"_id": 3, "host": "db:27017", "tags": {"dc": "east"}}]}})",
             R"({"ok": 1.0})"},
            {R"({"replSetInitiate": {}})",
             R"({"code": 23, "codeName": "AlreadyInitialized", "errmsg": "already initialized"})"},
            {R"({"replSetGetConfig": 1})",
             R"({"config": {"version": 1, "members": [{"_id": 3, "host": "127.0.0.1:27017"}]}})"},
            {R"({"hello": 1})", R"({"setVersion": 1, "tags": {"dc": "east"}})"},
        },
        "admin");
    expectReply(R"({"find": "system.replset"})",
                R"({"cursor": {"firstBatch": [{"_id": "rs0", "version": 1}]}})",
                "local");
    crash();
    expectReply(R"({"replSetInitiate": {}})", R"({"code": 23})", "admin");
    expectReply(R"({"hello": 1})", R"({"tags": {"dc": "east"}})", "admin");
}

TEST_F(ReplicaSetMemberTest, TheDefaultConfigurationIsInitiatedWithoutOne) {
    expectReply(
        R"({"replSetInitiate": {}})",
        R"({"info2": "no configuration specified. Using a default configuration for the set",
                    "me": "127.0.0.1:27017", "ok": 1.0})",
        "admin");
    const bson::OwnedDocument config = run(R"({"replSetGetConfig": 1})", "admin");
    EXPECT_EQ(bson::Type::kObjectId, config.view().findPath("config.settings.replicaSetId").type());
}

TEST_F(ReplicaSetMemberTest, TheConfigurationChangesWithItsVersion) {
    const auto changes = [this] {
        return run(R"({"hello": 1})", "admin").view().findPath("topologyVersion.counter").toInt64();
    };
    const int64_t before = changes();
    expectReplies(
        {
            {R"({"replSetReconfig": 1})", R"({"code": 93})"},
            {R"({"replSetReconfig": {"_id": "rs0", "version": 1, "members": [{"_id": 0}]}})",
             R"({"code": 103, "codeName": "NewReplicaSetConfigurationIncompatible",
                 "errmsg": "New replica set configuration version and term must be greater than old, but {version: 1, term: 1} is not greater than {version: 1, term: 1} for replica set rs0"})"},
            {R"({"replSetReconfig": {"_id": "x", "version": 2, "members": [{"_id": 0}]}})",
             R"({"code": 93,
                 "errmsg": "Attempting to reconfigure a replica set with name x, but command line reports rs0; rejecting"})"},
            {R"({"replSetReconfig": {"_id": "rs0", "version": 2, "members": [{"_id": 0}, {"_id": 1}]}})",
             R"({"code": 93})"},
            {R"({"replSetReconfig": {"_id": "rs0", "version": 2,
                 "members": [{"_id": 0, "arbiterOnly": true}]}})",
             R"({"code": 93})"},
            {R"({"replSetReconfig": {"_id": "rs0", "version": 2,
                 "members": [{"_id": 0, "priority": 0}]}})",
             R"({"code": 93})"},
        },
        "admin");
    EXPECT_EQ(before, changes());
    expectReplies(
        {
            {R"({"replSetReconfig": {"_id": "rs0", "version": 2, "members": [
                 {"_id": 0, "host": "x:1", "priority": 2}],
                 "settings": {"electionTimeoutMillis": 5000}}})",
             R"({"ok": 1.0})"},
            {R"({"replSetGetConfig": 1})",
             R"({"config": {"version": 2, "members": [{"host": "127.0.0.1:27017", "priority": 2.0}],
                 "settings": {"electionTimeoutMillis": 5000, "chainingAllowed": true}}})"},
            {R"({"replSetReconfig": {"_id": "rs0", "version": 1, "members": [{"_id": 0}]},
                 "force": true})",
             R"({"ok": 1.0})"},
            {R"({"replSetGetStatus": 1})", R"({"members": [{"configVersion": 10002}]})"},
            {R"({"hello": 1})", R"({"setVersion": 10002})"},
        },
        "admin");
    EXPECT_EQ(before + 2, changes());
}

TEST_F(ReplicaSetMemberTest, AMemberThatSteppedDownIsASecondaryForAWhile) {
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    const int64_t id = [&] {
        run(R"({"insert": "c", "documents": [{"_id": 2}]})");
        return run(R"({"find": "c", "batchSize": 1})").view().findPath("cursor.id").toInt64();
    }();
    expectReplies(
        {
            {R"({"replSetStepDown": -1, "force": true})", R"({"code": 2})"},
            {R"({"replSetStepDown": 5})", R"({"code": 2})"},
            {R"({"replSetStepDown": 1000, "force": true})", R"({"ok": 1.0})"},
            {R"({"replSetStepDown": 1000, "force": true})",
             R"({"code": 10107, "codeName": "NotWritablePrimary",
                 "errmsg": "not primary so can't step down", "topologyVersion": {}})"},
            {R"({"hello": 1})",
             R"({"isWritablePrimary": false, "secondary": true, "topologyVersion": {}})"},
            {R"({"isMaster": 1})", R"({"ismaster": false, "secondary": true})"},
            {R"({"replSetGetStatus": 1})",
             R"({"myState": 2, "members": [{"state": 2, "stateStr": "SECONDARY"}]})"},
            {R"({"ping": 1})", R"({"ok": 1.0})"},
            {R"({"replSetReconfig": {"_id": "rs0", "version": 2}})", R"({"code": 10107})"},
        },
        "admin");
    EXPECT_FALSE(run(R"({"hello": 1})", "admin").view().has("primary"));
    expectReplies({
        {R"({"insert": "c", "documents": [{}]})",
         R"({"code": 10107, "codeName": "NotWritablePrimary", "errmsg": "not primary"})"},
        {R"({"insert": "c", "documents": [{}], "txnNumber": {"$numberLong": "1"},
             "lsid": {"id": {"$uuid": "f47ac10b-58cc-4372-a567-0e02b2c3d479"}}})",
         R"({"code": 10107, "errorLabels": ["RetryableWriteError"]})"},
        {R"({"create": "d"})", R"({"code": 10107})"},
        {R"({"find": "c", "filter": {"_id": 1}})",
         R"({"code": 13435, "codeName": "NotPrimaryNoSecondaryOk",
             "errmsg": "not primary and secondaryOk=false"})"},
        {R"({"find": "c", "filter": {"_id": 1}, "$readPreference": {"mode": "secondaryPreferred"}})",
         R"({"cursor": {"firstBatch": [{"_id": 1}]}})"},
        {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$out": "d"}],
             "$readPreference": {"mode": "nearest"}})",
         R"({"code": 10107})"},
        // Cursors stay.
        {R"({"getMore": {"$numberLong": ")" + std::to_string(id) + R"("}, "collection": "c"})",
         R"({"cursor": {"nextBatch": [{"_id": 2}]}})"},
    });
    expectReplies({{R"({"replSetFreeze": 1})",
                    R"({"warning": "you really want to freeze for only 1 second?", "ok": 1.0})"},
                   {R"({"replSetFreeze": 0})", R"({"info": "unfreezing", "ok": 1.0})"},
                   {R"({"hello": 1})", R"({"isWritablePrimary": true, "secondary": false})"}},
                  "admin");
    expectReply(R"({"insert": "c", "documents": [{}]})", R"({"n": 1})");
}

TEST_F(ReplicaSetMemberTest, ItIsPrimaryAgainByItself) {
    run(R"({"replSetStepDown": 1, "force": true})", "admin");
    expectReply(R"({"insert": "c", "documents": [{}]})", R"({"code": 10107})");
    const bson::OwnedDocument seen = run(R"({"hello": 1})", "admin");
    bson::Builder hello;
    hello.add("hello", int32_t{1}).add(seen.view().find("topologyVersion"));
    hello.add("maxAwaitTimeMS", int32_t{600'000}).add("$db", "admin");
    const bson::OwnedDocument body(hello.finish());
    const bson::OwnedDocument reply = bodyOf(exchange(message(body.view())));
    EXPECT_TRUE(reply.view().find("isWritablePrimary").isTruthy());
    EXPECT_EQ(seen.view().findPath("topologyVersion.counter").toInt64() + 1,
              reply.view().findPath("topologyVersion.counter").toInt64());
    expectReply(R"({"insert": "c", "documents": [{}]})", R"({"n": 1})");
}

TEST_F(ReplicaSetMemberTest, DefaultConcernsAreKeptAndApplied) {
    expectReplies(
        {
            {R"({"getDefaultRWConcern": 1})",
             R"({"defaultReadConcern": {"level": "local"},
                 "defaultWriteConcern": {"w": "majority", "wtimeout": 0},
                 "defaultWriteConcernSource": "implicit", "defaultReadConcernSource": "implicit",
                 "ok": 1.0})"},
            {R"({"setDefaultRWConcern": 1})", R"({"code": 2})"},
            {R"({"setDefaultRWConcern": 1, "defaultReadConcern": {"level": "snapshot"}})",
             R"({"code": 2,
                 "errmsg": "level: 'snapshot' is not suitable for the default read concern"})"},
            {R"({"setDefaultRWConcern": 1, "defaultReadConcern": {"level": "x"}})",
             R"({"code": 2})"},
            {R"({"setDefaultRWConcern": 1, "defaultWriteConcern": {"w": 0}})",
             R"({"code": 2,
                 "errmsg": "Unacknowledged write concern is not suitable for the default write concern"})"},
            {R"({"setDefaultRWConcern": 1, "defaultWriteConcern": {"w": 2}})", R"({"code": 100})"},
            {R"({"setDefaultRWConcern": 1, "defaultWriteConcern": {"w": "x"}})", R"({"code": 79})"},
            {R"({"setDefaultRWConcern": 1, "defaultWriteConcern": {}})", R"({"ok": 1.0})"},
            {R"({"setDefaultRWConcern": 1, "defaultWriteConcern": {"w": 1}})",
             R"({"defaultWriteConcern": {"w": 1, "wtimeout": 0},
                 "defaultWriteConcernSource": "global", "defaultReadConcernSource": "implicit"})"},
            {R"({"setDefaultRWConcern": 1, "defaultReadConcern": {"level": "majority"}})",
             R"({"defaultReadConcern": {"level": "majority"}, "defaultWriteConcern": {"w": 1},
                 "defaultReadConcernSource": "global"})"},
            {R"({"setDefaultRWConcern": 1, "defaultWriteConcern": {}})",
             R"({"code": 20,
                 "errmsg": "The global default write concern cannot be unset once it is set."})"},
        },
        "admin");
    // With w: 1 a write is lost in a power cut, unless it asks for more itself.
    run(R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": "majority"}})");
    expectReply(R"({"find": "c", "filter": {"_id": 1}})",
                R"({"cursor": {"firstBatch": [{"_id": 1}]}})");
    crash();
    expectReplies(
        {
            {R"({"getDefaultRWConcern": 1, "inMemory": true})",
             R"({"defaultReadConcern": {"level": "majority"}, "defaultWriteConcern": {"w": 1},
                 "inMemory": true})"},
            {R"({"setDefaultRWConcern": 1, "defaultReadConcern": {}})",
             R"({"defaultReadConcern": {"level": "local"},
                 "defaultReadConcernSource": "implicit"})"},
        },
        "admin");
    expectReply(R"({"find": "settings"})",
                R"({"cursor": {"firstBatch": [{"_id": "ReadWriteConcernDefaults",
                    "defaultWriteConcern": {"w": 1, "wtimeout": 0}}]}})",
                "config");
}

TEST_F(ReplicaSetMemberTest, CommitQuorumsAreThoseOfOneMember) {
    const auto create = [](const char* quorum) {
        return R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}],
                   "commitQuorum": )" +
               std::string(quorum) + "}";
    };
    for (const char* quorum : {"0", "1", "\"majority\"", "\"votingMembers\""}) {
        expectReply(create(quorum), R"({"ok": 1.0})");
    }
    expectReply(create("2"), R"({"code": 278, "codeName": "UnsatisfiableCommitQuorum"})");
    expectReply(create("-1"), R"({"code": 9})");
    expectReply(create("51"), R"({"code": 9})");
    expectReply(create("\"\""), R"({"code": 9})");
    expectReply(create("true"), R"({"code": 9})");
    expectReply(create("\"east\""), R"({"code": 79})");
    expectReplies({
        {R"({"setIndexCommitQuorum": "c", "indexNames": ["a_1"], "commitQuorum": "majority"})",
         R"({"code": 27,
             "errmsg": "Cannot find an index build on collection 'test.c' with the provided index names"})"},
        {R"({"setIndexCommitQuorum": "c", "indexNames": [], "commitQuorum": 1})",
         R"({"code": 27})"},
        {R"({"setIndexCommitQuorum": "d", "indexNames": ["a_1"], "commitQuorum": 1})",
         R"({"code": 26})"},
        {R"({"setIndexCommitQuorum": "c", "indexNames": ["a_1"]})", R"({"code": 40414})"},
    });
}

TEST_F(ReplicaSetMemberTest, AConcernForMoreMembersIsToldBesideTheResult) {
    expectReplies({
        {R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 2}})",
         R"({"n": 1, "writeConcernError": {"code": 100, "codeName": "UnsatisfiableWriteConcern"},
             "ok": 1.0})"},
        {R"({"insert": "c", "documents": [{"_id": 2}], "writeConcern": {"w": "east"}})",
         R"({"n": 1, "writeConcernError": {"code": 79}})"},
        {R"({"insert": "c", "documents": [{"_id": 3}], "writeConcern": {"w": "majority"}})",
         R"({"n": 1})"},
        {R"({"count": "c"})", R"({"n": 3})"},
    });
    EXPECT_FALSE(run(R"({"insert": "c", "documents": [{}], "writeConcern": {"w": 1}})")
                     .view()
                     .has("writeConcernError"));
}

TEST_F(ReplicaSetMemberTest, ReadsOfACausalSessionSeeWhatItWrote) {
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    const char* found = R"({"cursor": {"firstBatch": [{"_id": 1}]}})";
    expectReplies({
        {R"({"find": "c", "readConcern": {"afterClusterTime": {"$timestamp": {"t": 9, "i": 1}}}})",
         found},
        {R"({"find": "c", "readConcern": {"level": "linearizable"}})", found},
        {R"({"find": "c", "readConcern": {"level": "majority",
             "afterClusterTime": {"$timestamp": {"t": 9, "i": 1}}}})",
         found},
        {R"({"find": "c", "readConcern": {"level": "snapshot",
             "afterClusterTime": {"$timestamp": {"t": 9, "i": 1}}}})",
         found},
        {R"({"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {},
             "readConcern": {"level": "linearizable"}})",
         R"({"code": 72})"},
        {R"({"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {},
             "writeConcern": {"w": 2}, "readConcern": {"level": "majority"}})",
         R"({"ok": 1.0, "writeConcernError": {"code": 100}})"},
        {R"({"count": "d"})", R"({"n": 1})"},
        {R"({"find": "c", "readConcern": {"afterClusterTime": 5}})", R"({"code": 14})"},
    });
}

}  // namespace
}  // namespace freshet::command
