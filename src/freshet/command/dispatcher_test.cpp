// SPDX-License-Identifier: Apache-2.0
/// The envelope: what all commands have in common, from bytes to bytes.
#include "freshet/command/run/fixture_test.h"

namespace freshet::command {
namespace {

using DispatcherTest = CommandTest;

TEST_F(DispatcherTest, AnswersTheRequestByItsId) {
    const Reply reply = exchange(message(request(R"({"ping": 1})").view()));
    auto parsed = wire::parseReply(reply.message);
    ASSERT_TRUE(parsed.isOk());
    EXPECT_EQ(42, parsed->header.responseTo);
    EXPECT_FALSE(reply.closeAfter);
    EXPECT_EQ(1.0, parsed->body.find("ok").toDouble());
}

TEST_F(DispatcherTest, RefusesWhatNobodyKnows) {
    expectReplies({
        {R"({"notARealCommand": 1})",
         R"({"ok": 0.0, "code": 59, "codeName": "CommandNotFound",
             "errmsg": "no such command: 'notARealCommand'"})"},
        {R"({"Ping": 1})", R"({"code": 59})"},
        {R"({"find": "c", "foo": 1})",
         R"({"code": 40415, "codeName": "Location40415",
             "errmsg": "BSON field 'find.foo' is an unknown field."})"},
        {R"({"ping": 1, "apiVersion": "2"})", R"({"code": 322})"},
        {R"({"ping": 1, "apiStrict": true})", R"({"code": 322})"},
        {R"({"buildInfo": 1, "apiVersion": "1", "apiStrict": true})", R"({"code": 323})"},
        {R"({"ping": 1, "apiVersion": "1", "apiStrict": true})", R"({"ok": 1.0})"},
        {R"({"listDatabases": 1})",
         R"({"code": 13, "errmsg": "listDatabases may only be run against the admin database."})"},
    });
}

TEST_F(DispatcherTest, NeedsADatabase) {
    const bson::OwnedDocument reply = bodyOf(exchange(message(json(R"({"ping": 1})").view())));
    EXPECT_EQ(40571, reply.view().find("code").toInt64());
}

TEST_F(DispatcherTest, AcceptsGenericArgumentsEverywhere) {
    expectReply(R"({"ping": 1, "comment": "x", "maxTimeMS": 1000, "$readPreference": {"mode":
        "primary"}, "$clusterTime": {}, "readConcern": {"level": "local"},
        "lsid": {"id": {"$uuid": "00112233-4455-6677-8899-aabbccddeeff"}}})",
                R"({"ok": 1.0})");
}

TEST_F(DispatcherTest, TellsWhatACommandIsForInsteadOfRunningIt) {
    expectReply(R"({"hostInfo": 1, "help": true})", R"({"ok": 1.0})");
    const bson::OwnedDocument reply = run(R"({"drop": "c", "help": true})");
    EXPECT_TRUE(reply.view().find("help").stringValue().starts_with("help for: drop "));
    run(R"({"insert": "c", "documents": [{"_id": 1}]})");
    expectReply(R"({"drop": "c", "help": true})", R"({"ok": 1.0})");
    expectReply(R"({"count": "c"})", R"({"n": 1})");
}

TEST_F(DispatcherTest, ChecksConcerns) {
    expectReplies({
        {R"({"insert": "c", "documents": [{}], "writeConcern": {"w": 2}})",
         R"({"code": 2, "errmsg": "cannot use 'w' > 1 when a host is not replicated"})"},
        {R"({"insert": "c", "documents": [{}], "writeConcern": {"w": "east"}})", R"({"code": 2})"},
        {R"({"insert": "c", "documents": [{}], "writeConcern": {"w": 51}})", R"({"code": 9})"},
        {R"({"insert": "c", "documents": [{}], "writeConcern": {"wtimeout": "x"}})",
         R"({"code": 9})"},
        {R"({"insert": "c", "documents": [{}], "writeConcern": {"j": true, "fsync": true}})",
         R"({"code": 9})"},
        {R"({"find": "c", "writeConcern": {"w": 1}})", R"({"code": 72})"},
        {R"({"insert": "c", "documents": [{}], "writeConcern": {"x": 1}})", R"({"code": 40415})"},
        {R"({"find": "c", "readConcern": {"level": "sometimes"}})", R"({"code": 2})"},
        {R"({"ping": 1, "readConcern": {"level": "majority"}})", R"({"code": 72})"},
        {R"({"count": "c"})", R"({"n": 0})"},  // the steps before wrote nothing
        {R"({"insert": "c", "documents": [{}], "writeConcern": {"w": 0}})", R"({"n": 1})"},
        {R"({"insert": "c", "documents": [{}], "writeConcern": {"w": 1}})", R"({"n": 1})"},
        {R"({"insert": "c", "documents": [{}], "writeConcern": {"w": 1, "j": true}})",
         R"({"n": 1})"},
        {R"({"insert": "c", "documents": [{}], "writeConcern": {"w": "majority"}})", R"({"n": 1})"},
        {R"({"count": "c", "readConcern": {"level": "majority"}})", R"({"n": 4})"},
        {R"({"count": "c", "readConcern": {"level": "linearizable"}})", R"({"code": 123})"},
        {R"({"count": "c", "readConcern": {"level": "snapshot"}})", R"({"code": 72})"},
        {R"({"find": "c", "readConcern": {"level": "snapshot"}})", R"({"code": 123})"},
        {R"({"count": "c", "readConcern": {"afterClusterTime":
             {"$timestamp": {"t": 1, "i": 1}}}})",
         R"({"code": 123, "codeName": "NotAReplicaSet"})"},
        {R"({"count": "c", "maxTimeMS": -1})", R"({"code": 2})"},
        {R"({"count": "c", "maxTimeMS": "x"})",
         R"({"code": 2, "errmsg": "maxTimeMS must be a number"})"},
    });
}

TEST_F(DispatcherTest, DoesNotAnswerFireAndForget) {
    const Reply reply = exchange(message(
        request(R"({"insert": "c", "documents": [{"a": 1}]})").view(), wire::kFlagMoreToCome));
    EXPECT_TRUE(reply.message.empty());
    EXPECT_FALSE(reply.closeAfter);
    expectReply(R"({"count": "c"})", R"({"n": 1})");
}

TEST_F(DispatcherTest, ClosesOnBrokenMessages) {
    std::string bytes = message(request(R"({"ping": 1})").view());
    bytes[20] = 9;  // a section kind that does not exist
    EXPECT_TRUE(exchange(bytes).closeAfter);
    std::string compressed = message(request(R"({"ping": 1})").view());
    storeLe(compressed.data() + 12, int32_t{2012});
    EXPECT_TRUE(exchange(compressed).closeAfter);
}

TEST_F(DispatcherTest, AnswersUnknownFlagsAndBadDocuments) {
    const Reply flags = exchange(message(request(R"({"ping": 1})").view(), 1u << 5));
    EXPECT_FALSE(flags.closeAfter);
    EXPECT_EQ(0.0, bodyOf(flags).view().find("ok").toDouble());
    std::string bytes = message(request(R"({"ping": 1})").view());
    bytes[25] = 0x55;  // the type of the first field
    const Reply bad = exchange(bytes);
    EXPECT_FALSE(bad.closeAfter);
    EXPECT_EQ(22, bodyOf(bad).view().find("code").toInt64());
}

std::string opQuery(bson::Document body) {
    std::string out(wire::kHeaderBytes, '\0');
    appendLe(out, int32_t{0});
    out += std::string_view("admin.$cmd\0", 11);
    appendLe(out, int32_t{0});
    appendLe(out, int32_t{-1});
    out += body.bytes();
    wire::storeHeader(out.data(), {static_cast<int32_t>(out.size()), 42, 0, 2004});
    return out;
}

TEST_F(DispatcherTest, AnswersLegacyHelloAndNothingElseOverOpQuery) {
    for (const char* text : {R"({"isMaster": 1, "helloOk": true})",
                             R"({"$query": {"ismaster": 1, "helloOk": true}})"}) {
        const Reply reply = exchange(opQuery(json(text).view()));
        EXPECT_EQ(1, loadLe<int32_t>(reply.message.data() + 12)) << "not an OP_REPLY";
        const bson::OwnedDocument body = bodyOf(reply);
        EXPECT_TRUE(body.view().find("ismaster").isTruthy());
        EXPECT_TRUE(body.view().find("helloOk").isTruthy());
    }
    const Reply refused = exchange(opQuery(json(R"({"find": "c"})").view()));
    EXPECT_EQ(352, bodyOf(refused).view().find("code").toInt64());
}

TEST_F(DispatcherTest, RefusesCommandsWhenTheServerEnds) {
    dispatcher_->beginShutdown();
    expectReply(R"({"ping": 1})", R"({"ok": 0.0, "code": 91, "codeName": "ShutdownInProgress"})");
}

TEST_F(DispatcherTest, CutsErrorTexts) {
    constexpr size_t kTextBytesMax = 4096;
    for (const std::string& letter : {std::string("x"), std::string("\u00e9")}) {
        std::string name;
        for (int i = 0; i < 100'000; ++i) {
            name += letter;
        }
        for (const std::string& command :
             {R"({"ping": 1, ")" + name + R"(": 1})",
              "{\"" + name + "\": 1}",
              R"({"find": ")" + name + "\"}",
              R"({"getMore": 1, "collection": ")" + name + "\"}",
              R"({"find": "c", "filter": {"a": {"$)" + name + R"(": 1}}})"}) {
            const bson::OwnedDocument reply = run(command);
            const std::string text(reply.view().find("errmsg").stringValue());
            EXPECT_EQ(0.0, reply.view().find("ok").toDouble());
            EXPECT_LE(text.size(), kTextBytesMax);
            EXPECT_EQ(text, bson::repairedUtf8(text));
        }
    }
}

TEST_F(DispatcherTest, NoReplyIsLargerThanADocument) {
    const std::string nineMib(9u << 20, 'x');
    for (const char* id : {"1", "2"}) {
        expectReply(std::string(R"({"insert": "c", "documents": [{"_id": )") + id + R"(, "a": ")" +
                        nineMib + R"("}]})",
                    R"({"n": 1})");
    }
    const char* text = "BSONObj size: ";
    const bson::OwnedDocument reply = run(
        R"({"aggregate": "c", "pipeline": [{"$set": {"b": "$a"}}], "cursor": {"batchSize": 1}})");
    EXPECT_EQ(10334, reply.view().find("code").toInt64());
    EXPECT_TRUE(reply.view().find("errmsg").stringValue().starts_with(text));
    EXPECT_FALSE(reply.view().has("cursor"));
    expectReply(R"({"serverStatus": 1})",
                R"({"metrics": {"cursor": {"open": {"total": {"$numberLong": "0"}}}}})",
                "admin");
}

TEST_F(DispatcherTest, WriteErrorsFitIntoAReply) {
    constexpr int kErrors = 2'500;
    const std::string id(5'000, 'x');
    std::string insert =
        R"({"insert": "c", "ordered": false, "documents": [{"_id": ")" + id + "\"}";
    for (int i = 0; i < kErrors; ++i) {
        insert += R"(, {"_id": ")" + id + "\"}";
    }
    const bson::OwnedDocument reply = run(insert + "]}");
    EXPECT_LT(reply.bytes().size(), 10u << 20);
    ASSERT_TRUE(reply.view().has("writeErrors"));
    int count = 0;
    for (const bson::Element& element : reply.view().find("writeErrors").document()) {
        const bson::Document error = element.document();
        EXPECT_EQ(11000, error.find("code").toInt64());
        EXPECT_EQ(++count, error.find("index").toInt64());
        const size_t textBytes = error.find("errmsg").stringValue().size();
        if (count <= 100) {  // a megabyte of texts and values
            EXPECT_EQ(4096u, textBytes);
            EXPECT_TRUE(error.has("keyValue"));
        } else if (count > 200) {
            EXPECT_EQ(0u, textBytes);
        }
        if (count > 2'000) {  // eight megabytes
            EXPECT_FALSE(error.has("keyValue"));
        }
    }
    EXPECT_EQ(kErrors, count);
}

TEST_F(DispatcherTest, LongNamesAreNotShownWhole) {
    expectReply(R"({"profile": 2})", R"({"ok": 1.0})");
    const std::string name(1'000'000, 'n');
    run(R"({"find": ")" + name + R"(", "filter": {}})");
    run(R"({"ping": 1, "comment": {")" + name + R"(": 1}})");
    expectReply(R"({"profile": 0})", R"({"ok": 1.0})");
    const bson::OwnedDocument entries = run(R"({"find": "system.profile"})");
    EXPECT_LT(entries.bytes().size(), 32u * 1024);
    const bson::OwnedDocument used = run(R"({"top": 1})", "admin");
    EXPECT_LT(used.bytes().size(), 32u * 1024);
}

TEST_F(DispatcherTest, ExplainsWithoutTheCommandWhenItIsLong) {
    const std::string filter = R"({"a": ")" + std::string(7u << 20, 'x') + R"("})";
    const bson::OwnedDocument reply = run(R"({"explain": {"find": "c", "filter": )" + filter +
                                          R"(}, "verbosity": "queryPlanner"})");
    EXPECT_LE(reply.bytes().size(), bson::kInternalDocumentBytesMax);
    EXPECT_TRUE(reply.view().find("ok").toDouble() == 0.0 || reply.view().has("warning") ||
                reply.view().has("command"));
}

}  // namespace
}  // namespace freshet::command
