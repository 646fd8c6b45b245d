// SPDX-License-Identifier: Apache-2.0
/// What replies have beside their commands' own fields, from a standalone and from a replica set's
/// member.
#include "freshet/command/registry.h"
#include "freshet/command/run/fixture_test.h"

#include <vector>

namespace freshet::command {
namespace {

class EnvelopeTest : public CommandTest {
protected:
    void restartAsMember() {
        close();
        replicaSet_ = "rs0";
        open();
    }

    static bool hasTimes(bson::Document reply) {
        return reply.findPath("$clusterTime.clusterTime").type() == bson::Type::kTimestamp &&
               reply.find("operationTime").type() == bson::Type::kTimestamp;
    }

    /// Replies of each origin: of commands, of prepared finds, of errors before and in a command,
    /// and of messages that cannot be parsed.
    std::vector<bson::OwnedDocument> repliesOfEachOrigin() {
        std::vector<bson::OwnedDocument> replies;
        for (const char* text : {R"({"insert": "c", "documents": [{"_id": 1}]})",
                                 R"({"insert": "c", "documents": [{"_id": 1}]})",
                                 R"({"find": "c", "filter": {"_id": 1}})",
                                 R"({"find": "c", "filter": {"_id": 1}})",
                                 R"({"find": "c", "filter": {"_id": 2}})",
                                 R"({"find": "c", "filter": {"_id": {"$gt": 0}}})",
                                 R"({"nope": 1})",
                                 R"({"find": "c", "bogus": 1})",
                                 R"({"find": "c", "filter": {"a": {"$bogus": 1}}})",
                                 R"({"hello": 1})"}) {
            replies.push_back(run(text));
        }
        std::string broken = message(request(R"({"ping": 1})").view());
        broken[25] = 0x55;  // the type of the first field
        replies.push_back(bodyOf(exchange(broken)));
        dispatcher_->beginShutdown();
        replies.push_back(run(R"({"find": "c", "filter": {"_id": 1}})"));
        return replies;
    }
};

TEST_F(EnvelopeTest, AMemberSaysTheClusterTimeInEveryReply) {
    restartAsMember();
    for (const bson::OwnedDocument& reply : repliesOfEachOrigin()) {
        EXPECT_TRUE(hasTimes(reply.view())) << bson::toJson(reply.view());
    }
}

TEST_F(EnvelopeTest, AStandaloneNeverSaysATime) {
    for (const bson::OwnedDocument& reply : repliesOfEachOrigin()) {
        EXPECT_FALSE(reply.view().has("$clusterTime")) << bson::toJson(reply.view());
        EXPECT_FALSE(reply.view().has("operationTime")) << bson::toJson(reply.view());
    }
}

TEST_F(EnvelopeTest, TheTimeOfPreparedFindsGoesOn) {
    restartAsMember();
    run(R"({"insert": "c", "documents": [{"_id": 1, "a": "x"}]})");
    const std::string find = message(request(R"({"find": "c", "filter": {"_id": 1}})").view());
    const auto timesOf = [&] {
        Reply reply;
        EXPECT_TRUE(connection_->handleAtOnce(find, &reply));
        const bson::OwnedDocument body = bodyOf(reply);
        EXPECT_EQ("x", body.view().findPath("cursor.firstBatch.0.a").stringValue());
        const auto valueOf = [&](const char* path) {
            return loadLe<uint64_t>(body.view().findPath(path).value().data());
        };
        EXPECT_EQ(valueOf("operationTime"), valueOf("$clusterTime.clusterTime"));
        return valueOf("operationTime");
    };
    const uint64_t first = timesOf();
    EXPECT_EQ(first, timesOf());  // nothing was written
    const bson::OwnedDocument written = run(R"({"insert": "c", "documents": [{"_id": 2}]})");
    const uint64_t later = loadLe<uint64_t>(written.view().find("operationTime").value().data());
    EXPECT_GT(later, first);
    EXPECT_GE(timesOf(), later);
}

constexpr std::string_view kSession =
    R"("lsid": {"id": {"$binary": {"base64": "AAECAwQFBgcICQoLDA0ODw==", "subType": "04"}}})";

class LabelsTest : public EnvelopeTest {
protected:
    /// An insert with the next transaction number of a session.
    bson::OwnedDocument retryableInsert() {
        return run(R"({"insert": "c", "documents": [{}], "txnNumber": {"$numberLong": ")" +
                   std::to_string(++number_) + "\"}, " + std::string(kSession) + "}");
    }
    bson::OwnedDocument plainInsert() { return run(R"({"insert": "c", "documents": [{}]})"); }

    void failNextInsert(const std::string& data) {
        expectReply(R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                        "data": {"failCommands": ["insert"], )" +
                        data + "}}",
                    R"({"ok": 1.0})",
                    "admin");
    }

    static bool mayRetry(bson::Document reply) {
        return reply.findPath("errorLabels.0").isString() &&
               reply.findPath("errorLabels.0").stringValue() == "RetryableWriteError";
    }

private:
    int64_t number_ = 0;
};

TEST_F(LabelsTest, ErrorsOfRetryableWritesSayThatTheyMayBeRetried) {
    for (const int code : {6, 7, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436}) {
        const std::string number = std::to_string(code);
        for (const std::string& data :
             {"\"errorCode\": " + number,
              R"("writeConcernError": {"errmsg": "late", "code": )" + number + "}"}) {
            failNextInsert(data);
            EXPECT_TRUE(mayRetry(retryableInsert().view())) << data;
            failNextInsert(data);
            EXPECT_FALSE(plainInsert().view().has("errorLabels")) << data;
        }
    }
    for (const char* data : {R"("errorCode": 11601)",
                             R"("errorCode": 64)",
                             R"("errorCode": 91, "errorLabels": [])",
                             R"("writeConcernError": {"code": 64})",
                             R"("writeConcernError": {"code": 91}, "errorLabels": [])"}) {
        failNextInsert(data);
        EXPECT_FALSE(retryableInsert().view().has("errorLabels")) << data;
    }
    failNextInsert(R"("errorCode": 91, "errorLabels": ["Mine"])");
    const bson::OwnedDocument reply = retryableInsert();
    EXPECT_EQ("Mine", reply.view().findPath("errorLabels.0").stringValue());
    EXPECT_EQ(1, reply.view().find("errorLabels").document().fieldCount());
    EXPECT_FALSE(retryableInsert().view().has("errorLabels"));
}

TEST_F(EnvelopeTest, AnUnmetWriteConcernIsToldBesideAnError) {
    restartAsMember();
    run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a", "unique": true}]})");
    run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}]})");
    const std::string concern = R"("writeConcern": {"w": 2}})";
    const auto answer = [&](const std::string& text) { return run(text + concern); };
    // Failed while they wrote.
    for (
        const char* text :
        {R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$set": {"a": 2}}, )",
         R"({"create": "c", "validator": {"a": 1}, )",
         R"({"collMod": "none", "validator": {}, )",
         R"({"createIndexes": "c", "indexes": [{"key": {"b": 1}, "name": "a"}], )",
         R"({"aggregate": "c", "pipeline": [{"$set": {"a": 1}}, {"$out": "c"}], "cursor": {}, )",
         R"({"aggregate": "c", "pipeline": [{"$set": {"a": 1}}, {"$merge": "c"}], "cursor": {}, )"}) {
        const bson::OwnedDocument reply = answer(text);
        EXPECT_EQ(0.0, reply.view().find("ok").toDouble()) << text;
        EXPECT_EQ(100, reply.view().findPath("writeConcernError.code").toInt64())
            << text << bson::toJson(reply.view());
        EXPECT_TRUE(hasTimes(reply.view()));
    }
    // Refused before that.
    for (const char* text : {R"({"insert": "c", "documents": [{}], "bogus": 1, )",
                             R"({"insert": "c", "documents": [], )",
                             R"({"findAndModify": "c", "update": {"$bogus": {"a": 2}}, )",
                             R"({"create": "$c", )"}) {
        const bson::OwnedDocument reply = answer(text);
        EXPECT_EQ(0.0, reply.view().find("ok").toDouble()) << text;
        EXPECT_FALSE(reply.view().has("writeConcernError")) << text << bson::toJson(reply.view());
    }
    const bson::OwnedDocument both =
        answer(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 3}], "ordered": false, )");
    EXPECT_EQ("",
              missingFrom(both.view(),
                          json(R"({"n": 1, "writeErrors": [{"index": 0, "code": 11000}],
                                   "writeConcernError": {"code": 100}, "ok": 1.0})")
                              .view()));
}

TEST_F(LabelsTest, AFailPointMayBlameTheWriteConcernOfAFailedCommand) {
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    run(R"({"configureFailPoint": "failCommand", "mode": "alwaysOn", "data": {"failCommands":
            ["create"], "writeConcernError": {"code": 91, "errmsg": "late"}}})",
        "admin");
    expectReply(R"({"create": "c", "validator": {"a": 1}})",
                R"({"ok": 0.0, "code": 48, "writeConcernError": {"code": 91, "errmsg": "late"}})");
}

TEST_F(LabelsTest, AMemberThatCannotWriteSaysItsTopology) {
    const auto counterAfter = [&](int code) {
        failNextInsert("\"errorCode\": " + std::to_string(code));
        const bson::OwnedDocument reply = plainInsert();
        const bson::Element counter = reply.view().findPath("topologyVersion.counter");
        return counter.isMissing() ? -1 : counter.toInt64();
    };
    EXPECT_EQ(-1, counterAfter(10107));
    restartAsMember();
    for (const int code : {189, 10107, 11602, 13435, 13436}) {
        EXPECT_EQ(0, counterAfter(code)) << code;
    }
    // Not in a shutdown: drivers must not take the error for old.
    for (const int code : {91, 11600, 262, 50}) {
        EXPECT_EQ(-1, counterAfter(code)) << code;
    }
    failNextInsert(R"("writeConcernError": {"code": 10107})");
    EXPECT_TRUE(plainInsert().view().has("topologyVersion"));
    const bson::OwnedDocument hello = run(R"({"hello": 1})");
    dispatcher_->beginShutdown();
    for (const bson::OwnedDocument& refused : {run(R"({"hello": 1})"), plainInsert()}) {
        EXPECT_EQ(91, refused.view().find("code").toInt64());
        EXPECT_EQ(1, refused.view().findPath("topologyVersion.counter").toInt64());
        EXPECT_TRUE(bson::equalValues(refused.view().findPath("topologyVersion.processId"),
                                      hello.view().findPath("topologyVersion.processId")));
    }
}

TEST_F(LabelsTest, WritesDuringTheShutdownMayBeRetried) {
    dispatcher_->beginShutdown();
    const bson::OwnedDocument reply = retryableInsert();
    EXPECT_EQ(91, reply.view().find("code").toInt64());
    EXPECT_TRUE(mayRetry(reply.view()));
    EXPECT_FALSE(plainInsert().view().has("errorLabels"));
}

/// What decides which fields an envelope has.
struct Circumstances {
    bool isMember = false;
    bool isHello = false;
    bool hasTransactionNumber = false;
    int64_t code = 0;  // 0: no error

    bool isError() const { return code != 0; }
};

/// The fields of the envelope, and when a reply has them.
constexpr struct {
    std::string_view name;
    bool (*isExpected)(const Circumstances& of);
} kEnvelope[] = {
    {"ok", [](const Circumstances&) { return true; }},
    {"errmsg", [](const Circumstances& of) { return of.isError(); }},
    {"code", [](const Circumstances& of) { return of.isError(); }},
    {"codeName", [](const Circumstances& of) { return of.isError(); }},
    {"$clusterTime", [](const Circumstances& of) { return of.isMember; }},
    {"operationTime", [](const Circumstances& of) { return of.isMember; }},
    {"topologyVersion",
     [](const Circumstances& of) {
         return of.isError() ? of.isMember && of.code == 10107 : of.isHello;
     }},
    {"errorLabels",
     [](const Circumstances& of) {
         return of.hasTransactionNumber && (of.code == 91 || of.code == 10107);
     }},
    {"writeConcernError", [](const Circumstances&) { return false; }},
};

class EveryEnvelopeTest : public LabelsTest {
protected:
    /// Sends a command with `more` fields and checks the envelope of its reply. Returns the error's
    /// number, 0: none.
    int64_t check(const Command& command, std::string_view more, std::string_view db = "admin") {
        Circumstances of;
        of.isMember = !replicaSet_.empty();
        of.hasTransactionNumber = more.find("txnNumber") != more.npos;
        of.isHello = command.name == "hello" && more.find("help") == more.npos;
        const std::string text =
            "{\"" + std::string(command.name) + "\": 1" + std::string(more) + "}";
        const bson::OwnedDocument reply = run(text, db);
        of.code = reply.view().find("code").toInt64();
        EXPECT_EQ(of.isError() ? 0.0 : 1.0, reply.view().find("ok").toDouble()) << text;
        for (const auto& field : kEnvelope) {
            int count = 0;
            for (const bson::Element& element : reply.view()) {
                count += element.name() == field.name ? 1 : 0;
            }
            EXPECT_EQ(field.isExpected(of) ? 1 : 0, count)
                << field.name << " in " << text << bson::toJson(reply.view());
        }
        return of.code;
    }

    void failWith(const std::string& code, std::string_view command) {
        run(R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                "data": {"errorCode": )" +
                code + R"(, "failCommands": [")" + std::string(command) + "\"]}}",
            "admin");
    }

    void checkFailing(const Command& command, const std::string& code) {
        const std::string session = "," + std::string(kSession);
        failWith(code, command.name);
        EXPECT_EQ(code, std::to_string(check(command, session)));
        if (command.isRetryable) {
            failWith(code, command.name);
            const std::string number = session + R"(, "txnNumber": {"$numberLong": "1"})";
            EXPECT_EQ(code, std::to_string(check(command, number)));
        }
    }

    void checkAll() {
        const Registry registry;
        for (const Command& command : registry.commands()) {
            if (command.name != "shutdown") {  // it ends the connection instead of replying
                check(command, "");
            }
            check(command, R"(, "help": true)");
            check(command, R"(, "bogus": 1)");
            check(command, R"(, "$readPreference": {}, "apiVersion": "2")");
            if (command.name == "configureFailPoint") {
                continue;  // it cannot be made to fail
            }
            for (const char* code : {"91", "10107", "11601"}) {
                checkFailing(command, code);
            }
        }
    }

    /// Prepared and unprepared finds must not differ but in their documents.
    void checkPoints() {
        run(R"({"insert": "c", "documents": [{"_id": 1}]})");
        std::vector<std::string> fields;
        for (const char* filter : {"1", "1", "2", "2", R"({"$gte": 1})", R"({"$gte": 2})"}) {
            const std::string text =
                R"({"find": "c", "filter": {"_id": )" + std::string(filter) + "}}";
            const std::string bytes = message(request(text).view());
            Reply reply;
            EXPECT_EQ(filter[0] != '{', connection_->handleAtOnce(bytes, &reply)) << text;
            const bson::OwnedDocument body = run(text);
            std::string names;
            for (const bson::Element& element : body.view()) {
                names += std::string(element.name()) + " ";
            }
            fields.push_back(names);
        }
        for (const std::string& names : fields) {
            EXPECT_EQ(replicaSet_.empty() ? "cursor ok " : "cursor ok $clusterTime operationTime ",
                      names);
        }
    }
};

TEST_F(EveryEnvelopeTest, OfAStandalone) {
    checkPoints();
    checkAll();
}

TEST_F(EveryEnvelopeTest, OfAMember) {
    restartAsMember();
    checkPoints();
    checkAll();
}

}  // namespace
}  // namespace freshet::command
