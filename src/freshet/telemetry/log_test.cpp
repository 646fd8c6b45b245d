// SPDX-License-Identifier: Apache-2.0
#include "freshet/telemetry/log.h"

#include "freshet/platform/folder_for_test.h"
#include "freshet/platform/thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace freshet::telemetry {
namespace {

using ::testing::HasSubstr;

std::string newest() {
    auto lines = recentLog();
    return lines.empty() ? "" : lines.back();
}

std::string newestAfterTime() {
    const std::string line = newest();
    return line.substr(line.find("\"s\":"));
}

/// `text`, repeated `times` times.
std::string repeated(std::string_view text, size_t times) {
    std::string out;
    for (size_t i = 0; i < times; ++i) {
        out += text;
    }
    return out;
}

TEST(Log, LineHasMongodsShape) {
    LogContext context("listener");
    log(Severity::kInfo,
        Component::kNetwork,
        LogId::kWaitingForConnections,
        "Waiting for connections",
        {{"port", 27017}, {"ssl", "off"}});
    EXPECT_EQ(newestAfterTime(),
              R"("s":"I",  "c":"NETWORK",  "id":23016,   "ctx":"listener",)"
              R"("msg":"Waiting for connections","attr":{"port":27017,"ssl":"off"}})");
    EXPECT_TRUE(std::regex_search(
        newest(),
        std::regex(
            R"re(^\{"t":\{"\$date":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d"\},)re")))
        << newest();
}

TEST(Log, AttributesKeepTheirTypes) {
    log(Severity::kError,
        Component::kDefault,
        LogId::kListeningOn,
        "m",
        {{"n", -5}, {"b", true}, {"d", 1.5}, {"s", "a\"b"}, {"j", JsonText{R"({"x":1})"}}});
    EXPECT_EQ(newestAfterTime(),
              R"("s":"E",  "c":"-",        "id":23015,   "ctx":"-","msg":"m",)"
              R"("attr":{"n":-5,"b":true,"d":1.5,"s":"a\"b","j":{"x":1}}})");
}

TEST(Log, ShortFormNamesTheComponentOfTheRoom) {
    logWarning("journal", "disk is {} slow");
    EXPECT_THAT(newest(), HasSubstr(R"("s":"W",  "c":"JOURNAL",  "id":9000005,)"));
    EXPECT_THAT(newest(), HasSubstr(R"("msg":"disk is {} slow"})"));
}

TEST(Log, TextFromOutsideCannotForgeASecondLineNorBreakTheObject) {
    logInfo("server", "user \"a\nb\x1b\xff\xc3\xa4\"");
    EXPECT_THAT(newest(), HasSubstr("user \\\"a\\nb\\u001b\xef\xbf\xbd\xc3\xa4\\\""));
    EXPECT_EQ(newest().find('\n'), std::string::npos);
}

TEST(Log, LongAttributesAreCutTheLongestFirst) {
    log(Severity::kInfo,
        Component::kCommand,
        LogId::kSlowQuery,
        "Slow query",
        {{"ns", "test.c"},
         {"command", JsonText{"{\"a\":\"" + repeated("x", 50000) + "\"}"}},
         {"durationMillis", 100}});
    const std::string line = newest();
    EXPECT_LT(line.size(), 12u * 1024);
    EXPECT_THAT(line, HasSubstr(R"("ns":"test.c","command":"{\"a\":\"xxx)"));
    EXPECT_THAT(line, HasSubstr(R"("durationMillis":100})"));
    EXPECT_THAT(line, HasSubstr(R"("truncated":{"command":{"type":"string","size":50008}})"));
    EXPECT_THAT(line, HasSubstr(R"("size":{"command":50008}})"));
}

TEST(Log, CutsBetweenCharacters) {
    log(Severity::kInfo,
        Component::kDefault,
        LogId::kListeningOn,
        "m",
        {{"s", repeated("\xc3\xa4", 6000)}});
    EXPECT_EQ(newest().find("\xef\xbf\xbd"), std::string::npos) << "half a character was kept";
}

TEST(Log, LinesBelowTheLevelAreDropped) {
    const uint64_t before = logLinesWritten();
    log(Severity::kDebug, "server", "quiet");
    setLogLevel(Severity::kError);
    logWarning("server", "quiet");
    setLogLevel(Severity::kInfo);
    EXPECT_EQ(logLinesWritten(), before);
}

TEST(Log, VerbosityIsPerComponentAndInherited) {
    setVerbosity(Component::kStorage, 2);
    EXPECT_TRUE(isLogged(Severity::kDebug2, Component::kStorage));
    EXPECT_FALSE(isLogged(Severity::kDebug3, Component::kStorage));
    EXPECT_TRUE(isLogged(Severity::kDebug2, Component::kJournal));
    EXPECT_FALSE(isLogged(Severity::kDebug1, Component::kNetwork));
    setVerbosity(Component::kJournal, 0);
    EXPECT_FALSE(isLogged(Severity::kDebug1, Component::kJournal));
    setVerbosity(Component::kJournal, -1);
    setVerbosity(Component::kStorage, -1);
    setVerbosity(Component::kDefault, 1);
    EXPECT_TRUE(isLogged(Severity::kDebug1, Component::kJournal));
    EXPECT_EQ(verbosity(Component::kStorage), -1);
    setVerbosity(Component::kDefault, 0);
    EXPECT_FALSE(isLogged(Severity::kDebug1, Component::kJournal));
}

TEST(Log, ComponentsHaveTheNamesOfConfigurationFiles) {
    EXPECT_EQ(*componentByName("storage.journal"), Component::kJournal);
    EXPECT_EQ(*componentByName("accessControl"), Component::kAccess);
    EXPECT_EQ(*componentByName(""), Component::kDefault);
    EXPECT_EQ(componentByName("nonsense").status().code(), Code::kNotFound);
}

TEST(Log, StartupWarningsAreKeptApart) {
    logStartupWarning(
        Component::kControl, LogId::kNoAccessControl, "Access control is not enabled");
    logInfo("server", "something else");
    ASSERT_FALSE(startupWarnings().empty());
    EXPECT_THAT(startupWarnings().back(), HasSubstr(R"("tags":["startupWarnings"]})"));
    EXPECT_THAT(startupWarnings().back(), HasSubstr(R"("id":22120,)"));
}

TEST(Log, TheNewest1024LinesAreKeptInOrderWithManyThreads) {
    {
        std::vector<platform::Thread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back("log", [] {
                for (int i = 0; i < 300; ++i) {
                    logInfo("test", "noise");
                }
            });
        }
    }
    for (int i = 0; i < 1000; ++i) {
        logInfo("test", "line " + std::to_string(i));
    }
    auto lines = recentLog();
    ASSERT_EQ(lines.size(), 1024u);
    EXPECT_THAT(lines[23], HasSubstr("noise"));
    for (size_t i = 0; i < 1000; ++i) {
        EXPECT_THAT(lines[24 + i], HasSubstr("\"line " + std::to_string(i) + "\""));
    }
}

class LogFileTest : public ::testing::Test {
protected:
    ~LogFileTest() override { EXPECT_TRUE(setLogDestination({}).isOk()); }
    static std::string text(const std::filesystem::path& path) {
        std::ifstream file(path);
        std::stringstream out;
        out << file.rdbuf();
        return out.str();
    }
    std::vector<std::filesystem::path> rotated() const {
        std::vector<std::filesystem::path> found;
        for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
            if (entry.path().filename().string().starts_with("server.log.2")) {
                found.push_back(entry.path());
            }
        }
        std::sort(found.begin(), found.end());
        return found;
    }

    const platform::FolderForTest folder_;
    const std::string path_ = folder_.path("server.log");
};

TEST_F(LogFileTest, RotationRenames) {
    ASSERT_TRUE(setLogDestination({.path = path_, .utc = true}).isOk());
    logInfo("server", "first");
    ASSERT_TRUE(rotateLog().isOk());
    logInfo("server", "second");
    ASSERT_TRUE(rotateLog().isOk());
    ASSERT_EQ(rotated().size(), 2u) << "two rotations in one second need two names";
    EXPECT_THAT(text(rotated()[0]), HasSubstr("first"));
    EXPECT_THAT(text(rotated()[0]), HasSubstr("Z\"}"));
    EXPECT_THAT(text(rotated()[1]), HasSubstr("second"));
    EXPECT_EQ(text(path_), "");
}

TEST_F(LogFileTest, RotationReopens) {
    ASSERT_TRUE(setLogDestination({.path = path_, .append = true, .rotateReopens = true}).isOk());
    logInfo("server", "first");
    std::filesystem::rename(path_, folder_.path("moved"));
    logInfo("server", "still in the old file");
    ASSERT_TRUE(rotateLog().isOk());
    logInfo("server", "second");
    EXPECT_THAT(text(folder_.path("moved")), HasSubstr("still in the old file"));
    EXPECT_THAT(text(path_), HasSubstr("second"));
    EXPECT_EQ(text(path_).find("first"), std::string::npos);
}

TEST_F(LogFileTest, ExistingFileIsAppendedToOrPutAside) {
    std::ofstream(path_) << "old\n";
    ASSERT_TRUE(setLogDestination({.path = path_, .append = true}).isOk());
    logInfo("server", "new");
    EXPECT_THAT(text(path_), HasSubstr("old"));
    ASSERT_TRUE(setLogDestination({.path = path_}).isOk());
    EXPECT_EQ(text(path_), "");
    EXPECT_EQ(rotated().size(), 1u);
}

TEST_F(LogFileTest, FileThatCannotBeOpenedIsRefused) {
    EXPECT_FALSE(setLogDestination({.path = folder_.path("none/server.log")}).isOk());
    logInfo("server", "goes on");
    EXPECT_THAT(newest(), HasSubstr("goes on"));
}

}  // namespace
}  // namespace freshet::telemetry
