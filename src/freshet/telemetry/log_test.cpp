// SPDX-License-Identifier: Apache-2.0
#include "freshet/telemetry/log.h"

#include "freshet/platform/thread.h"

#include <gtest/gtest.h>

#include <regex>

namespace freshet::telemetry {
namespace {

/// What one call put on standard error and at the end of the ring.
struct Seen {
    std::string onStderr;
    std::string kept;
};

Seen logged(Severity severity, std::string_view text) {
    ::testing::internal::CaptureStderr();
    log(severity, "test", text);
    Seen seen;
    seen.onStderr = ::testing::internal::GetCapturedStderr();
    auto lines = recentLog();
    seen.kept = lines.empty() ? "" : lines.back();
    return seen;
}

TEST(Log, ALineHasTimeSeverityComponentAndText) {
    Seen seen = logged(Severity::kWarning, "disk is {} slow");
    EXPECT_TRUE(std::regex_match(
        seen.kept,
        std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z W test: disk is \{\} slow)")))
        << seen.kept;
    EXPECT_EQ(seen.onStderr, seen.kept + "\n");
}

TEST(Log, TextFromOutsideCannotForgeASecondLine) {
    Seen seen = logged(Severity::kInfo, "user \"a\nb\x1b[0m\"");
    EXPECT_NE(seen.kept.find("user \"a\\nb\\x1b[0m\""), std::string::npos) << seen.kept;
    EXPECT_EQ(std::count(seen.onStderr.begin(), seen.onStderr.end(), '\n'), 1);
}

TEST(Log, LinesBelowTheLevelAreDropped) {
    EXPECT_EQ(logged(Severity::kDebug, "quiet").onStderr, "");
    setLogLevel(Severity::kDebug);
    EXPECT_NE(logged(Severity::kDebug, "loud").kept.find(" D test: loud"), std::string::npos);
    setLogLevel(Severity::kError);
    EXPECT_EQ(logged(Severity::kWarning, "quiet").onStderr, "");
    setLogLevel(Severity::kInfo);
}

TEST(Log, TheNewest1024LinesAreKeptInOrderWithManyThreads) {
    ::testing::internal::CaptureStderr();
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
    ::testing::internal::GetCapturedStderr();
    auto lines = recentLog();
    ASSERT_EQ(lines.size(), 1024u);
    EXPECT_TRUE(lines[23].ends_with("noise"));
    for (size_t i = 0; i < 1000; ++i) {
        EXPECT_TRUE(lines[24 + i].ends_with("line " + std::to_string(i))) << lines[24 + i];
    }
}

}  // namespace
}  // namespace freshet::telemetry
