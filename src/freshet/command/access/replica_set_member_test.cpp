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
            {R"({"replSetGetConfig": 1})",
             R"({"config": {"_id": "rs0", "members": [{"_id": 0, "host": "127.0.0.1:27017"}]}})"},
            {R"({"replSetInitiate": {}})", R"({"ok": 1.0})"},
            {R"({"replSetInitiate": {"_id": "rs0", "members": [{"_id": 0, "host": "db:27017"}]}})",
             R"({"ok": 1.0})"},
            {R"({"replSetInitiate": {"_id": "other", "members": [{"_id": 0, "host": "db:1"}]}})",
             R"({"code": 93, "codeName": "InvalidReplicaSetConfig"})"},
            {R"({"replSetReconfig": {"_id": "rs0", "members": [{"_id": 0}, {"_id": 1}]}})",
             R"({"code": 93})"},
            {R"({"replSetStepDown": 60})", R"({"code": 262, "codeName": "ExceededTimeLimit"})"},
            {R"({"replSetFreeze": 60})", R"({"code": 95, "codeName": "NotSecondary"})"},
            {R"({"serverStatus": 1})",
             R"({"repl": {"setName": "rs0", "isWritablePrimary": true, "ismaster": true}})"},
        },
        "admin");
    EXPECT_FALSE(run(R"({"serverStatus": 1, "repl": 0})", "admin").view().has("repl"));
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
        {R"({"find": "c", "readConcern": {"level": "snapshot"}})", R"({"code": 115})"},
        {R"({"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {},
             "readConcern": {"level": "linearizable"}})",
         R"({"code": 72})"},
        {R"({"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {},
             "writeConcern": {"w": 2}, "readConcern": {"level": "majority"}})",
         R"({"ok": 1.0, "writeConcernError": {"code": 100}})"},
        {R"({"count": "d"})", R"({"n": 1})"},
        {R"({"find": "c", "readConcern": {"atClusterTime": {"$timestamp": {"t": 9, "i": 1}}}})",
         R"({"code": 115})"},
        {R"({"find": "c", "readConcern": {"afterClusterTime": 5}})", R"({"code": 14})"},
    });
}

}  // namespace
}  // namespace freshet::command
