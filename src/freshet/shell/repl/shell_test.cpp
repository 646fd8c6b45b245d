// SPDX-License-Identifier: Apache-2.0
/// The shell from its arguments to its exit code, against a server with scripted replies.
#include "freshet/shell/repl/shell.h"

#include "freshet/bson/json.h"
#include "freshet/client/scripted_server.h"
#include "freshet/shell/repl/line_reader.h"

#include <gtest/gtest.h>

#include <sstream>

namespace freshet::shell {

namespace {

struct Ran {
    int exitCode;
    std::string out;
    std::string err;
};

Ran runWith(const std::vector<std::string>& arguments, const std::string& input = "") {
    std::istringstream in(input);
    std::ostringstream out;
    std::ostringstream err;
    int exitCode = runShell(arguments, false, in, out, err);
    return {exitCode, out.str(), err.str()};
}

/// Answers as a server would; hangs up on {"hangup": 1}.
std::string answer(const wire::Request& request) {
    const bson::Element command = *request.body.begin();
    if (command.name() == "hangup") {
        return {};
    }
    if (command.name() == "echo") {
        return bson::Builder()
            .add("db", request.body.find("$db").stringValue())
            .addAs("echo", command)
            .add("ok", 1.0)
            .finish();
    }
    if (command.name() == "listDatabases") {
        return bson::fromJson(R"({"databases": [{"name": "shop", "sizeOnDisk": 4096}], "ok": 1})")
            ->bytes();
    }
    if (command.name() == "listCollections") {
        return bson::fromJson(R"({"cursor": {"id": 0, "ns": "test.$cmd.listCollections",
            "firstBatch": [{"name": "b"}, {"name": "a"}]}, "ok": 1})")
            ->bytes();
    }
    if (command.name() == "find") {
        return bson::fromJson(R"({"cursor": {"id": 0, "ns": "test.c", "firstBatch": [{"_id": 1}]},
            "ok": 1})")
            ->bytes();
    }
    bool known = command.name() == "ping";
    bson::Builder reply;
    reply.add("ok", known ? 1.0 : 0.0);
    if (!known) {
        reply.add("codeName", "CommandNotFound");
    }
    return reply.finish();
}

class ShellTest : public ::testing::Test {
protected:
    Ran run(std::vector<std::string> arguments, const std::string& input = "") {
        arguments.push_back("--port=" + std::to_string(server_.where().port));
        return runWith(arguments, input);
    }

    client::ScriptedServer server_{answer};
};

TEST(Shell, WrongUsageIsTwo) {
    Ran ran = runWith({"--nosuch"});
    EXPECT_EQ(ran.exitCode, kExitUsage);
    EXPECT_EQ(ran.err, "freshet: unknown option --nosuch\nsee freshet --help\n");
    EXPECT_EQ(ran.out, "");
}

TEST(Shell, HelpAndVersionNeedNoServer) {
    EXPECT_EQ(runWith({"--help"}).exitCode, kExitDone);
    EXPECT_NE(runWith({"--version"}).out.find("freshet"), std::string::npos);
}

TEST(Shell, TellsWhichServerCannotBeReached) {
    for (const char* mode : {"--ping", "--health", "--eval={\"ping\": 1}", "--quiet"}) {
        Ran ran = runWith({mode, "--port=1"});
        EXPECT_EQ(ran.exitCode, kExitFailed) << mode;
        EXPECT_NE(ran.err.find("127.0.0.1:1"), std::string::npos) << ran.err;
        EXPECT_EQ(ran.out, "");
    }
}

TEST_F(ShellTest, Pings) {
    Ran ran = run({"--ping"});
    EXPECT_EQ(ran.exitCode, kExitDone);
    EXPECT_EQ(ran.out, "{ \"ok\" : 1.0 }\n");
    EXPECT_EQ(ran.err, "");
}

TEST_F(ShellTest, EvalsInOrderUpToTheFirstFailure) {
    Ran ran =
        run({"shop", "--eval", "{\"echo\": 1}", "--eval", "{\"echo\": {\"$numberLong\":\"2\"}}"});
    EXPECT_EQ(ran.exitCode, kExitDone);
    EXPECT_EQ(ran.out,
              "{ \"db\" : \"shop\", \"echo\" : 1, \"ok\" : 1.0 }\n"
              "{ \"db\" : \"shop\", \"echo\" : 2, \"ok\" : 1.0 }\n");
    ran = run({"--eval", "{\"nosuch\": 1}", "--eval", "{\"echo\": 1}"});
    EXPECT_EQ(ran.exitCode, kExitFailed);
    EXPECT_EQ(ran.out, "{ \"ok\" : 0.0, \"codeName\" : \"CommandNotFound\" }\n");
    EXPECT_EQ(run({"--eval", "{bad"}).exitCode, kExitFailed);
}

TEST_F(ShellTest, OfJavaScriptTheLastValueIsShown) {
    Ran ran = run({"shop", "--eval", "let x = 2", "--eval", "print('one'); x", "--eval", "x + 1"});
    EXPECT_EQ(ran.exitCode, kExitDone);
    EXPECT_EQ(ran.out, "one\n3\n");
    EXPECT_EQ(run({"--eval", "db.runCommand({ping: 1})"}).out, "{ ok: 1 }\n");
    EXPECT_EQ(run({"--eval", "db.c.find()"}).out, "[ { _id: 1 } ]\n");
    EXPECT_EQ(run({"shop", "--eval", "db.runCommand({echo: NumberInt(5)}).db"}).out, "shop\n");
    EXPECT_EQ(run({"--eval", "undefined"}).out, "");
}

TEST_F(ShellTest, ErrorsOfJavaScriptShowInTheExitCode) {
    Ran ran = run({"--eval", "db.runCommand({nosuch: 1})", "--eval", "print('not reached')"});
    EXPECT_EQ(ran.exitCode, kExitFailed);
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find("MongoServerError: "), std::string::npos) << ran.err;
    EXPECT_EQ(run({"--eval", "nonsense"}).err, "ReferenceError: nonsense is not defined\n");
    EXPECT_EQ(run({"--eval", "throw new Error('x')"}).exitCode, kExitFailed);
    EXPECT_EQ(run({"--eval", "quit(3)", "--eval", "1"}).exitCode, 3);
    EXPECT_EQ(run({"--eval", "try { nonsense } catch (e) { quit() }"}).exitCode, kExitDone);
    EXPECT_EQ(run({"nosuchfile.js"}).exitCode, kExitFailed);
    EXPECT_EQ(run({"--eval", "(function f() { f(); })()"}).exitCode, kExitFailed);
}

TEST_F(ShellTest, SyntaxErrorsAreShownWithTheirPlace) {
    EXPECT_EQ(run({"--eval", "const x = 1;\nvar y = ;"}).err,
              "SyntaxError: expected expression, got ';' (2:8)\n\n"
              "  1 | const x = 1;\n> 2 | var y = ;\n    |         ^\n");
    EXPECT_EQ(run({"--eval", "JSON.parse('{')"}).err.find('>'), std::string::npos);
    const Ran ran = run({"--eval", "db.getSiblingDB('a.b')"});
    EXPECT_EQ(ran.err, "InvalidInputError: [COMMON-10001] Invalid database name: a.b\n");
}

TEST(LineReader, ShowsWordsInColumns) {
    EXPECT_EQ(inColumns({"a", "bb", "ccc", "d", "e"}, 13), "a    ccc  e\nbb   d\n");
    EXPECT_EQ(inColumns({"a", "bb", "ccc"}, 13), "a    bb   ccc\n");
    EXPECT_EQ(inColumns({"a", "bb"}, 1), "a\nbb\n");
    EXPECT_EQ(inColumns({}, 80), "");
}

TEST_F(ShellTest, AwaitIsAcceptedEverywhere) {
    Ran ran =
        run({"--eval",
             "const c = await db.c.findOne(); async function f() { return await db.c.findOne(); }\n"
             "const d = await f(); [c, await (async () => 5)(), d]"});
    EXPECT_EQ(ran.out, "[ { _id: 1 }, 5, { _id: 1 } ]\n") << ran.err;
    EXPECT_EQ(run({"--eval", "(async () => { throw new Error('late'); })()"}).exitCode,
              kExitFailed);
    EXPECT_EQ(run({"--eval", "await new Promise((done) => setTimeout(() => done(7), 1))"}).out,
              "7\n");
}

TEST_F(ShellTest, ValuesAsExtendedJson) {
    EXPECT_EQ(run({"--json=relaxed", "--eval", "({a: 1, b: Long(2)})"}).out,
              "{\n  \"a\": 1,\n  \"b\": 2\n}\n");
    EXPECT_EQ(run({"--json", "--eval", "({a: 1})"}).out,
              "{\n  \"a\": {\n    \"$numberInt\": \"1\"\n  }\n}\n");
    EXPECT_NE(run({"--json", "--eval", "throw new Error('x')"}).out.find("\"message\": \"x\""),
              std::string::npos);
}

TEST_F(ShellTest, InputOverSeveralLines) {
    Ran ran = run({},
                  "let a = 1\nlet a = 2\nfunction f(x) {\n  // a }\n  return x +\n    1;\n}\n"
                  "f(a)\n{\n  x: 1\n}\n'mongodb://x'\nconst q = await db.c.findOne({\n})\nq\n");
    EXPECT_EQ(ran.out, "3\n{ x: 1 }\nmongodb://x\n{ _id: 1 }\n") << ran.err;
    EXPECT_EQ(ran.exitCode, kExitDone) << ran.err;
}

TEST(Shell, NeedsNoServerWhenItIsNotToConnect) {
    Ran ran = runWith({"--nodb", "--port=1", "--eval", "ObjectId('507f1f77bcf86cd799439011')"});
    EXPECT_EQ(ran.exitCode, kExitDone);
    EXPECT_EQ(ran.out, "ObjectId('507f1f77bcf86cd799439011')\n");
    EXPECT_EQ(runWith({"--port=1", "--eval", "1"}).exitCode, kExitFailed);
}

TEST_F(ShellTest, RunsAScript) {
    Ran ran = run({},
                  "// a script\n"
                  "use other\n"
                  "{\"echo\":\n"
                  "  1}\n"
                  "show dbs\n"
                  "show collections\n"
                  "exit\n"
                  "{\"nosuch\": 1}\n");
    EXPECT_EQ(ran.exitCode, kExitDone);
    EXPECT_EQ(ran.out,
              "switched to db other\n"
              "{ \"db\" : \"other\", \"echo\" : 1, \"ok\" : 1.0 }\n"
              "shop  4.00 KiB\n"
              "a\nb\n");
    EXPECT_EQ(ran.err, "");
}

TEST_F(ShellTest, GoesOnAfterAFailedCommandOfAScript) {
    for (const char* wrong : {"nonsense", "{\"nosuch\": 1}", "use", "show x", "{\"a\" 1}"}) {
        Ran ran = run({}, std::string(wrong) + "\n{\"echo\": 1}\n");
        EXPECT_EQ(ran.exitCode, kExitFailed) << wrong;
        EXPECT_NE(ran.out.find("\"echo\" : 1"), std::string::npos) << wrong;
    }
    EXPECT_EQ(run({}, "{\"echo\":\n").exitCode, kExitFailed) << "never completed";
}

TEST_F(ShellTest, ConnectsAgainAfterALostConnection) {
    Ran ran = run({}, "{\"hangup\": 1}\n{\"echo\": 1}\n");
    EXPECT_EQ(ran.exitCode, kExitFailed);
    EXPECT_NE(ran.err.find("lost"), std::string::npos) << ran.err;
    EXPECT_NE(ran.out.find("\"echo\" : 1"), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace freshet::shell
