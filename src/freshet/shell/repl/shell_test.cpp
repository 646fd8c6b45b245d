// SPDX-License-Identifier: Apache-2.0
/// The shell from its arguments to its exit code, against a server with made-up replies.
#include "freshet/shell/repl/shell.h"

#include "freshet/bson/json.h"
#include "freshet/client/scripted_server.h"

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
    bool known = command.name() == "ping";
    bson::Builder reply;
    reply.add("ok", known ? 1.0 : 0.0);
    if (!known) {
        reply.add("codeName", "CommandNotFound");
    }
    return reply.finish();
}

class ShellTest : public testing::Test {
protected:
    Ran run(std::vector<std::string> arguments, const std::string& input = "") {
        arguments.push_back("--port=" + std::to_string(server_.where().port));
        return runWith(arguments, input);
    }

    client::ScriptedServer server_{answer};
};

}  // namespace

TEST(Shell, WrongUsageIsTwo) {
    Ran ran = runWith({"--nosuch"});
    EXPECT_EQ(ran.exitCode, kExitUsage);
    EXPECT_NE(ran.err.find("--nosuch"), std::string::npos);
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
              "shop                    4 KiB\n"
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

}  // namespace freshet::shell
