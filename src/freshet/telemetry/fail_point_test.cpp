// SPDX-License-Identifier: Apache-2.0
#include "freshet/telemetry/fail_point.h"

#include <gtest/gtest.h>

namespace freshet::telemetry {
namespace {

/// "1" fired, "0" not, for `calls` callers in a row.
std::string fires(FailPoint& point, int calls, std::string_view caller = "a") {
    std::string seen;
    for (int i = 0; i < calls; ++i) {
        auto data = point.fire([&](const std::string& wanted) { return wanted == caller; });
        seen += data != nullptr ? '1' : '0';
    }
    return seen;
}

TEST(FailPoint, FiresAsItsModeSays) {
    FailPoint point("testPoint");
    EXPECT_EQ("000", fires(point, 3));
    point.configure({FailMode::kAlwaysOn, 0, 0.0, "a"});
    EXPECT_EQ("111", fires(point, 3));
    point.configure({FailMode::kTimes, 2, 0.0, "a"});
    EXPECT_EQ("11000", fires(point, 5));
    EXPECT_EQ(FailMode::kOff, point.setting().mode);
    point.configure({FailMode::kSkip, 2, 0.0, "a"});
    EXPECT_EQ("00111", fires(point, 5));
    point.configure({FailMode::kRandom, 0, 1.0, "a"});
    EXPECT_EQ("11", fires(point, 2));
    point.configure({FailMode::kRandom, 0, 0.0, "a"});
    EXPECT_EQ("00", fires(point, 2));
    EXPECT_EQ(10u, point.configure({}));
    EXPECT_EQ("00", fires(point, 2));
}

TEST(FailPoint, OnlyMatchingCallsAreCounted) {
    FailPoint point("testPoint");
    point.configure({FailMode::kTimes, 1, 0.0, "a"});
    EXPECT_EQ("000", fires(point, 3, "b"));
    EXPECT_EQ("10", fires(point, 2, "a"));
    EXPECT_EQ(1u, point.timesFired());
}

TEST(FailPoint, IsListedWhileItExists) {
    EXPECT_EQ(nullptr, findFailPoint("testPoint"));
    FailPoint point("testPoint");
    EXPECT_EQ(&point, findFailPoint("testPoint"));
    bool isListed = false;
    for (const FailPoint* one : allFailPoints()) {
        isListed |= one == &point;
    }
    EXPECT_TRUE(isListed);
}

}  // namespace
}  // namespace freshet::telemetry
