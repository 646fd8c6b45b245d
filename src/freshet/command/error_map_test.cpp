// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/error_map.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace freshet::command {
namespace {

TEST(ErrorMap, KnowsEveryReasonAndOneNameForEachNumber) {
    std::map<int, std::string> names;
    for (int i = 1; i < static_cast<int>(Reason::kCount_); ++i) {
        const WireError error = wireErrorOf(static_cast<Reason>(i));
        EXPECT_GT(error.code, 0) << i;
        auto [known, isNew] = names.emplace(error.code, error.name);
        EXPECT_TRUE(isNew || known->second == error.name) << error.code;
        const std::string number = std::to_string(error.code);
        if (error.name.starts_with("Location")) {
            EXPECT_EQ(error.name, "Location" + number);
        }
    }
}

TEST(ErrorMap, NumbersThatClientsActOn) {
    const std::map<Reason, int> expected{
        {Reason::kBadValue, 2},
        {Reason::kUnauthorized, 13},
        {Reason::kIllegalOperation, 20},
        {Reason::kNamespaceNotFound, 26},
        {Reason::kCursorNotFound, 43},
        {Reason::kMaxTimeMsExpired, 50},
        {Reason::kCommandNotFound, 59},
        {Reason::kShutdownInProgress, 91},
        {Reason::kWriteConflict, 112},
        {Reason::kTransactionEnded, 112},
        {Reason::kChangeStreamFatalError, 280},
        {Reason::kChangeStreamHistoryLost, 286},
        {Reason::kBsonObjectTooLarge, 10334},
        {Reason::kDuplicateKey, 11000},
        {Reason::kInterruptedAtShutdown, 11600},
        {Reason::kOutOfDiskSpace, 14031},
        {Reason::kUnknownField, 40415},
    };
    for (auto [reason, code] : expected) {
        EXPECT_EQ(code, wireErrorOf(reason).code);
    }
}

TEST(ErrorMap, FallsBackToTheCode) {
    const std::map<Code, int> expected{
        {Code::kInvalid, 2},
        {Code::kConflict, 112},
        {Code::kTimeout, 50},
        {Code::kCancelled, 11601},
        {Code::kUnavailable, 91},
        {Code::kNoSpace, 14031},
        {Code::kIo, 1},
        {Code::kCorruption, 1},
        {Code::kUnsupported, 115},
    };
    for (auto [code, number] : expected) {
        EXPECT_EQ(number, wireErrorOf(Status(code, "x")).code) << codeName(code);
    }
    // A reason is more specific than the code.
    EXPECT_EQ(43, wireErrorOf(Status(Code::kNotFound, Reason::kCursorNotFound, "x")).code);
}

}  // namespace
}  // namespace freshet::command
