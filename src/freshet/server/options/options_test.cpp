// SPDX-License-Identifier: Apache-2.0
#include "freshet/server/options/options.h"

#include "freshet/bson/json.h"

#include <gtest/gtest.h>

namespace freshet::server {
namespace {

Options parsed(const std::vector<std::string>& words) {
    StatusOr<Options> options = parseOptions(words);
    EXPECT_TRUE(options.isOk()) << options.status().toString();
    return options.isOk() ? std::move(*options) : Options();
}

std::string refusal(const std::vector<std::string>& words) {
    StatusOr<Options> options = parseOptions(words);
    return options.isOk() ? "" : std::string(options.status().text());
}

TEST(Options, HaveDefaults) {
    const Options options = parsed({});
    EXPECT_EQ("/data/db", options.dbPath);
    EXPECT_EQ(27017, options.port);
    EXPECT_EQ(std::vector<std::string>{"127.0.0.1"}, options.bindAddresses);
    EXPECT_EQ(100u, options.journalCommitIntervalMs);
    EXPECT_FALSE(options.enableTestCommands);
    EXPECT_TRUE(options.parsed.view().isEmpty());
}

TEST(Options, AreReadInBothForms) {
    const Options options = parsed({"--dbpath",
                                    "/x",
                                    "--port=0",
                                    "--bind_ip",
                                    "localhost,::1",
                                    "--journalCommitInterval=7",
                                    "--setParameter",
                                    "enableTestCommands=1",
                                    "--maxConns",
                                    "50",
                                    "--reactors=3"});
    EXPECT_EQ("/x", options.dbPath);
    EXPECT_EQ(0, options.port);
    EXPECT_EQ((std::vector<std::string>{"127.0.0.1", "::1"}), options.bindAddresses);
    EXPECT_EQ(7u, options.journalCommitIntervalMs);
    EXPECT_TRUE(options.enableTestCommands);
    EXPECT_EQ(50u, options.connectionsMax);
    EXPECT_EQ(3u, options.reactors);
    EXPECT_EQ(
        R"({ "net" : { "bindIp" : "127.0.0.1,::1", "port" : 0, "maxIncomingConnections" : 50 }, )"
        R"("setParameter" : { "enableTestCommands" : "1" }, )"
        R"("storage" : { "dbPath" : "/x", "journal" : { "commitIntervalMs" : 7 } } })",
        bson::toJson(options.parsed.view()));
}

TEST(Options, RefuseWhatTheyDoNotKnow) {
    EXPECT_EQ("unrecognised option '--bogus'", refusal({"--bogus"}));
    EXPECT_EQ("unrecognised option '--bogus'", refusal({"--bogus=1"}));
    EXPECT_EQ("unrecognised option '-x'", refusal({"-x"}));
    EXPECT_EQ("the required argument for option '--port' is missing", refusal({"--port"}));
    EXPECT_EQ("option '--help' does not take any arguments", refusal({"--help=1"}));
    EXPECT_NE("", refusal({"something"}));
    EXPECT_NE("", refusal({"--port", "70000"}));
    EXPECT_NE("", refusal({"--port", "12x"}));
    EXPECT_NE("", refusal({"--port", ""}));
    EXPECT_NE("", refusal({"--journalCommitInterval", "0"}));
    EXPECT_NE("", refusal({"--bind_ip", "127.0.0.1,"}));
    EXPECT_NE("", refusal({"--dbpath", ""}));
    EXPECT_EQ("Illegal --setParameter parameter: \"x\"", refusal({"--setParameter", "x=1"}));
    EXPECT_NE("", refusal({"--setParameter", "enableTestCommands"}));
}

TEST(Options, OpenNoDoorByAccident) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"--bind_ip_all"},
                                                  {"--bind_ip", "0.0.0.0"},
                                                  {"--bind_ip", "127.0.0.1,10.0.0.1"},
                                                  {"--bind_ip", "::"}}) {
        EXPECT_NE(std::string::npos, refusal(words).find("--unsafe-listen-without-auth"));
        std::vector<std::string> meant = words;
        meant.emplace_back("--unsafe-listen-without-auth");
        EXPECT_EQ("", refusal(meant));
    }
}

TEST(Options, HelpNamesEveryOption) {
    for (const char* name : {"--dbpath",
                             "--port",
                             "--bind_ip",
                             "--bind_ip_all",
                             "--unsafe-listen-without-auth",
                             "--maxConns",
                             "--reactors",
                             "--journalCommitInterval",
                             "--setParameter",
                             "--version",
                             "--help"}) {
        EXPECT_NE(std::string_view::npos, helpText().find(name)) << name;
    }
}

}  // namespace
}  // namespace freshet::server
