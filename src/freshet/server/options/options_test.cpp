// SPDX-License-Identifier: Apache-2.0
#include "freshet/server/options/options.h"

#include "freshet/bson/json.h"
#include "freshet/server/options/option_table.h"
#include "freshet/testing/sim/memory_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace freshet::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

constexpr char kPath[] = "/etc/mongod.conf";

class OptionsTest : public ::testing::Test {
protected:
    OptionsTest() { EXPECT_TRUE(files_.makeDirectory("/etc").isOk()); }

    void writeFile(const std::string& text) {
        auto file = files_.open(kPath, platform::OpenMode::kCreate);
        ASSERT_TRUE(file.isOk() && (*file)->truncate(0).isOk());
        ASSERT_TRUE((*file)->pwrite(text, 0).isOk());
    }
    Settings parsed(const Words& words) {
        StatusOr<Settings> settings = parseOptions(words, files_);
        EXPECT_TRUE(settings.isOk()) << settings.status().toString();
        return settings.isOk() ? std::move(*settings) : Settings();
    }
    std::string refusal(const Words& words) {
        StatusOr<Settings> settings = parseOptions(words, files_);
        return settings.isOk() ? "" : std::string(settings.status().text());
    }
    Settings parsedFile(const std::string& text, Words words = {}) {
        writeFile(text);
        words.insert(words.begin(), {"--config", kPath});
        return parsed(words);
    }
    std::string refusalOfFile(const std::string& text) {
        writeFile(text);
        return refusal({"-f", kPath});
    }
    static std::string shown(const Settings& settings) {
        return bson::toJson(settings.parsed.view());
    }

    testing::MemoryFileSystem files_;
};

TEST_F(OptionsTest, HaveDefaults) {
    const Settings settings = parsed({});
    EXPECT_EQ("/data/db", settings.storage.dbPath);
    EXPECT_EQ(27017, settings.net.port);
    EXPECT_THAT(settings.net.bindAddresses, ElementsAre("127.0.0.1"));
    EXPECT_EQ(100u, settings.storage.journalCommitIntervalMs);
    EXPECT_FALSE(settings.parameterIsOn("enableTestCommands"));
    EXPECT_FALSE(settings.auth);
    EXPECT_TRUE(settings.parsed.view().isEmpty());
}

TEST_F(OptionsTest, FlagsAreReadInBothForms) {
    const Settings settings = parsed({"--dbpath",
                                      "/x",
                                      "--port=0",
                                      "--bind_ip",
                                      "localhost,::1",
                                      "--journalCommitInterval=7",
                                      "--setParameter",
                                      "enableTestCommands=1",
                                      "--maxConns",
                                      "50",
                                      "-vvv",
                                      "--nounixsocket"});
    EXPECT_EQ("/x", settings.storage.dbPath);
    EXPECT_EQ(0, settings.net.port);
    EXPECT_THAT(settings.net.bindAddresses, ElementsAre("127.0.0.1", "::1"));
    EXPECT_EQ(7u, settings.storage.journalCommitIntervalMs);
    EXPECT_TRUE(settings.parameterIsOn("enableTestCommands"));
    EXPECT_EQ(50u, settings.net.connectionsMax);
    EXPECT_EQ(3, settings.log.verbosity);
    EXPECT_FALSE(settings.net.unixSocket);
    EXPECT_EQ(
        R"({ "net" : { "bindIp" : "localhost,::1", "maxIncomingConnections" : 50, "port" : 0, )"
        R"("unixDomainSocket" : { "enabled" : false } }, )"
        R"("setParameter" : { "enableTestCommands" : "1" }, )"
        R"("storage" : { "dbPath" : "/x", "journal" : { "commitIntervalMs" : 7 } }, )"
        R"("systemLog" : { "verbosity" : 3 } })",
        shown(settings));
}

TEST_F(OptionsTest, FileOfAnInstalledMongodLoads) {
    const Settings settings = parsedFile(R"(# mongod.conf
storage:
  dbPath: /var/lib/mongodb
  journal:
    enabled: true
  wiredTiger:
    engineConfig:
      cacheSizeGB: 1.5
    collectionConfig:
      blockCompressor: snappy
systemLog:
  destination: file
  logAppend: true
  path: /var/log/mongodb/mongod.log
  component:
    storage:
      verbosity: 1
      journal: { verbosity: 2 }
net:
  port: 27018
  bindIp: 127.0.0.1
  unixDomainSocket:
    filePermissions: 0770
processManagement:
  timeZoneInfo: /usr/share/zoneinfo
  pidFilePath: /run/mongod.pid
security:
  authorization: enabled
setParameter:
  enableTestCommands: true
#operationProfiling:
replication:
sharding:
)");
    EXPECT_EQ("/var/lib/mongodb", settings.storage.dbPath);
    EXPECT_EQ(1.5, settings.storage.memoryLimitGB);
    EXPECT_EQ("/var/log/mongodb/mongod.log", settings.log.path);
    EXPECT_TRUE(settings.log.append);
    EXPECT_EQ(27018, settings.net.port);
    EXPECT_EQ(0770u, settings.net.unixSocketMode);
    EXPECT_TRUE(settings.auth);
    EXPECT_EQ("/run/mongod.pid", settings.pidFile);
    EXPECT_TRUE(settings.parameterIsOn("enableTestCommands"));
    EXPECT_THAT(settings.log.componentVerbosity,
                ElementsAre(std::pair("storage", 1), std::pair("storage.journal", 2)));
    // Options without effect are reported, by their name in the file.
    std::string notes;
    for (const std::string& note : settings.notes) {
        notes += note + "\n";
    }
    EXPECT_THAT(notes, HasSubstr("storage.journal.enabled"));
    EXPECT_EQ(engine::Codec::kSnappy, settings.storage.codec);
    EXPECT_THAT(notes, HasSubstr("processManagement.timeZoneInfo"));
    EXPECT_THAT(shown(settings), HasSubstr(R"("security" : { "authorization" : "enabled" })"));
    EXPECT_THAT(shown(settings), HasSubstr(R"("destination" : "file")"));
}

TEST_F(OptionsTest, FlagsOverrideTheFile) {
    const Settings settings =
        parsedFile("net: {port: 1, bindIp: 10.0.0.1}\nsecurity: {authorization: enabled}\n",
                   {"--port", "2", "--bind_ip", "127.0.0.2", "--noauth"});
    EXPECT_EQ(2, settings.net.port);
    EXPECT_THAT(settings.net.bindAddresses, ElementsAre("127.0.0.2"));
    EXPECT_FALSE(settings.auth);
    EXPECT_EQ(R"({ "config" : "/etc/mongod.conf", )"
              R"("net" : { "bindIp" : "127.0.0.2", "port" : 2 }, )"
              R"("security" : { "authorization" : "disabled" } })",
              shown(settings));
}

TEST_F(OptionsTest, FileThatSaysNothingIsFine) {
    EXPECT_EQ(27017, parsedFile("").net.port);
    EXPECT_EQ(27017, parsedFile("# nothing\nnet:\n").net.port);
}

TEST_F(OptionsTest, FileIsRefusedWithItsPlace) {
    EXPECT_THAT(refusalOfFile("net:\n  bogus: 1\n"), HasSubstr("Unrecognized option: net.bogus"));
    EXPECT_THAT(refusalOfFile("bogus: 1\n"), HasSubstr("Unrecognized option: bogus"));
    EXPECT_THAT(refusalOfFile("net: {port: [1]}\n"), HasSubstr("net.port must be a single value"));
    EXPECT_THAT(refusalOfFile("net: 5\n"), HasSubstr("net must be a mapping"));
    EXPECT_THAT(refusalOfFile("net: {port: 70000}\n"), HasSubstr("Bad value for net.port"));
    EXPECT_THAT(refusalOfFile("net: {port: x"), HasSubstr("this is no YAML"));
    EXPECT_THAT(refusalOfFile("- a\n"), HasSubstr("this is no YAML"));
    EXPECT_THAT(refusalOfFile("systemLog: {destination: syslog}"), HasSubstr("syslog"));
    EXPECT_THAT(refusalOfFile("systemLog: {destination: file}"), HasSubstr("systemLog.path"));
    EXPECT_THAT(refusalOfFile("sharding: {clusterRole: shardsvr}"), HasSubstr("clusterRole"));
    EXPECT_THAT(refusal({"--config", "/none"}), HasSubstr("the configuration file /none: "));
    EXPECT_THAT(refusalOfFile("net: {port: 70000}\n"),
                StartsWith("Error in the configuration file "));
    EXPECT_THAT(refusalOfFile("net:\n  bogus: 1\n"),
                StartsWith("Error in the configuration file "));
}

TEST_F(OptionsTest, HostileFilesAreRefusedOrRead) {
    std::string deep = "x";
    for (int i = 0; i < 100; ++i) {
        deep = "{a: " + deep + "}";
    }
    EXPECT_NE("", refusalOfFile(deep));
    EXPECT_NE("", refusalOfFile("setParameter: " + deep));
    EXPECT_NE("", refusalOfFile(std::string("net: {port: 1\0}", 15)));
    EXPECT_NE("", refusalOfFile(std::string((1 << 20) + 1, '#')));
    EXPECT_NE("", refusalOfFile("{{: }"));
    EXPECT_NE("", refusalOfFile("? [a, b]\n: c\n"));
}

TEST_F(OptionsTest, FlagsAreRefusedInMongodsWords) {
    EXPECT_EQ("Error parsing command line: unrecognised option '--bogus'", refusal({"--bogus"}));
    EXPECT_EQ("Error parsing command line: unrecognised option '--bogus'", refusal({"--bogus=1"}));
    EXPECT_EQ("Error parsing command line: unrecognised option '-x'", refusal({"-x"}));
    EXPECT_EQ("Error parsing command line: unrecognised option '-vvvvvv'", refusal({"-vvvvvv"}));
    EXPECT_EQ("Error parsing command line: the required argument for option '--port' is missing",
              refusal({"--port"}));
    EXPECT_EQ("Error parsing command line: option '--help' does not take any arguments",
              refusal({"--help=1"}));
    EXPECT_THAT(refusal({"something"}), HasSubstr("too many positional options"));
    for (const Words& words : {Words{"--port", "70000"},
                               Words{"--port", "12x"},
                               Words{"--port", ""},
                               Words{"--port", "-1"},
                               Words{"--journalCommitInterval", "0"},
                               Words{"--bind_ip", "127.0.0.1,"},
                               Words{"--syncdelay", "nan"},
                               Words{"--filePermissions", "0999"},
                               Words{"--networkMessageCompressors", "lz4"},
                               Words{"--tlsMode", "on"},
                               Words{"--replSet", ""},
                               Words{"--replSetHost", "db.example"},
                               Words{"--replSetHost", ":27017"},
                               Words{"--replSetHost", "db.example:0"},
                               Words{"--logRotate", "never"}}) {
        EXPECT_THAT(refusal(words), HasSubstr("Bad value for " + words[0])) << words[1];
    }
    EXPECT_THAT(refusal({"--filePermissions", "999"}),
                HasSubstr("'999' is not an octal number from 0 to 0777"));
    EXPECT_NE("", refusal({"--dbpath", ""}));
    EXPECT_EQ("Error parsing command line: Illegal --setParameter parameter: \"x\"",
              refusal({"--setParameter", "x=1"}));
    EXPECT_NE("", refusal({"--setParameter", "enableTestCommands"}));
}

TEST_F(OptionsTest, AParameterDoesWhatTheOptionOfTheSameNameDoes) {
    const Settings settings =
        parsed({"--setParameter", "journalCommitInterval=9", "--setParameter", "logLevel=2"});
    EXPECT_EQ(9u, settings.storage.journalCommitIntervalMs);
    EXPECT_EQ(2, settings.log.verbosity);
    EXPECT_NE("", refusal({"--setParameter", "journalCommitInterval=501"}));
}

TEST_F(OptionsTest, WhatWouldDeceiveIsRefused) {
    EXPECT_THAT(refusal({"--transitionToAuth"}), HasSubstr("--transitionToAuth"));
    EXPECT_THAT(refusal({"--syslog"}), HasSubstr("--logpath"));
    EXPECT_THAT(refusalOfFile("security: {enableEncryption: true}"), HasSubstr("encryption"));
    EXPECT_EQ("", refusalOfFile("security: {enableEncryption: false}"));
    EXPECT_EQ("", refusal({"--wiredTigerCacheSizeGB", "1", "--storageEngine", "wiredTiger"}));
}

TEST_F(OptionsTest, MemoryIsLimitedUnderTwoNames) {
    EXPECT_EQ(0, parsed({}).storage.memoryLimitGB);
    EXPECT_EQ(0.02, parsed({"--memoryLimitGB", "0.02"}).storage.memoryLimitGB);
    EXPECT_EQ(3, parsed({"--wiredTigerCacheSizeGB", "3"}).storage.memoryLimitGB);
    EXPECT_EQ(2.5, parsedFile("storage: {freshet: {memoryLimitGB: 2.5}}").storage.memoryLimitGB);
    EXPECT_THAT(refusal({"--memoryLimitGB", "0"}), HasSubstr("Bad value for --memoryLimitGB"));
    EXPECT_NE("", refusal({"--wiredTigerCacheSizeGB", "0.1"}));
}

TEST_F(OptionsTest, PagesAreCompressedUnlessOneSaysOtherwise) {
    EXPECT_EQ(engine::Codec::kZstd, parsed({}).storage.codec);
    const auto given = [this](const char* name) {
        return parsed({"--wiredTigerCollectionBlockCompressor", name}).storage.codec;
    };
    EXPECT_EQ(engine::Codec::kNone, given("none"));
    EXPECT_EQ(engine::Codec::kSnappy, given("Snappy"));
    EXPECT_EQ(engine::Codec::kZstd, given("zstd"));
    EXPECT_EQ(engine::Codec::kZstd, given("zlib"));
    EXPECT_THAT(
        refusal({"--wiredTigerCollectionBlockCompressor", "lz4"}),
        HasSubstr("Compression option must be one of: 'none', 'snappy', 'zlib', or 'zstd'"));
    EXPECT_EQ("", refusal({"--wiredTigerIndexPrefixCompression", "true"}));
}

TEST_F(OptionsTest, SomeNeedOthers) {
    EXPECT_THAT(refusal({"--fork"}), HasSubstr("--logpath"));
    EXPECT_EQ("", refusal({"--fork", "--logpath", "/x"}));
    EXPECT_THAT(refusal({"--logpath", "/x", "--logRotate", "reopen"}), HasSubstr("logAppend"));
    EXPECT_EQ("", refusal({"--logpath", "/x", "--logRotate", "reopen", "--logappend"}));
    EXPECT_THAT(refusal({"--tlsMode", "requireTLS"}), HasSubstr("tlsCertificateKeyFile"));
    EXPECT_THAT(refusal({"--rdmaPort", "27020"}), HasSubstr("--rdma"));
    EXPECT_EQ("", refusal({"--rdmaPort", "27020", "--rdma"}));
    EXPECT_NE("", refusal({"--rdmaPort", "0", "--rdma"}));
}

TEST_F(OptionsTest, TlsIsRead) {
    const Settings settings = parsed({"--tlsMode",
                                      "preferTLS",
                                      "--tlsCertificateKeyFile",
                                      "/k.pem",
                                      "--tlsCertificateKeyFilePassword",
                                      "secret",
                                      "--tlsCAFile",
                                      "/ca.pem",
                                      "--tlsAllowConnectionsWithoutCertificates",
                                      "--tlsDisabledProtocols",
                                      "TLS1_0,TLS1_2"});
    EXPECT_EQ(transport::TlsMode::kPrefer, settings.net.tlsMode);
    EXPECT_EQ("/k.pem", settings.net.tls.certificateKeyFile);
    EXPECT_EQ("secret", settings.net.tls.certificateKeyPassword);
    EXPECT_EQ("/ca.pem", settings.net.tls.caFile);
    EXPECT_TRUE(settings.net.tls.allowConnectionsWithoutCertificates);
    EXPECT_THAT(settings.net.tls.disabledProtocols, ElementsAre("TLS1_2"));
    EXPECT_THAT(shown(settings), HasSubstr(R"("certificateKeyFilePassword" : "<password>")"));
    EXPECT_EQ(std::string::npos, shown(settings).find("secret"));
}

TEST_F(OptionsTest, KeyFileMeansAuth) {
    EXPECT_TRUE(parsed({"--keyFile", "/k"}).auth);
}

TEST_F(OptionsTest, ProfilingHasTwoForms) {
    const Settings settings = parsed({"--profile", "1", "--slowms", "20"});
    EXPECT_EQ(ProfilingMode::kSlowOp, settings.profiling.mode);
    EXPECT_EQ(20u, settings.profiling.slowMs);
    EXPECT_THAT(shown(settings), HasSubstr(R"("mode" : "slowOp")"));
    EXPECT_EQ(ProfilingMode::kAll, parsedFile("operationProfiling: {mode: all}").profiling.mode);
}

TEST_F(OptionsTest, OpenNoDoorByAccident) {
    for (const Words& words : {Words{"--bind_ip_all"},
                               Words{"--bind_ip", "0.0.0.0"},
                               Words{"--bind_ip", "*"},
                               Words{"--bind_ip", "127.0.0.1,10.0.0.1"},
                               Words{"--bind_ip", "::"},
                               Words{"--bind_ip", "some.host"}}) {
        EXPECT_THAT(refusal(words), HasSubstr("--unsafe-listen-without-auth"));
        for (const char* meant : {"--unsafe-listen-without-auth", "--auth"}) {
            Words all = words;
            all.emplace_back(meant);
            EXPECT_EQ("", refusal(all));
        }
    }
    EXPECT_EQ("", refusal({"--bind_ip", "/tmp/x.sock"}));
}

TEST_F(OptionsTest, HelpNamesEveryServedFlag) {
    for (const Option& option : optionTable()) {
        if (!option.flag.empty() && option.effect != Effect::kRefused) {
            EXPECT_THAT(helpText(), HasSubstr("--" + std::string(option.flag)));
        }
    }
}

TEST(OptionTable, RowsAreComplete) {
    std::set<std::string_view> flags;
    for (const Option& option : optionTable()) {
        EXPECT_FALSE(option.flag.empty() && option.path.empty());
        EXPECT_FALSE(option.help.empty()) << option.flag << option.path;
        EXPECT_EQ(option.effect == Effect::kServed, option.apply != nullptr) << option.flag;
        EXPECT_TRUE(option.flag.empty() || flags.insert(option.flag).second) << option.flag;
    }
}

}  // namespace
}  // namespace freshet::server
