// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/checkpoint/snapshot_ages.h"

#include <gtest/gtest.h>

namespace freshet::engine {
namespace {

TEST(SnapshotAges, KnowTheClockOfThatTime) {
    SnapshotAges ages(1'600);
    EXPECT_EQ(ages.tooOldBelow(0), 0u) << "nothing is known";
    for (uint64_t now = 10'000; now <= 20'000; now += 30) {
        ages.note(now, now + 7);  // a commit each nanosecond
        const uint64_t below = ages.tooOldBelow(now);
        if (now < 11'600) {
            EXPECT_EQ(below, 0u) << now;
        } else {
            // Snapshot s was taken at s - 7.
            EXPECT_LE(below - 7, now - 1'600) << "none is younger";
            EXPECT_GT(below - 7, now - 1'600 - 130) << "a note's distance";
        }
    }
    EXPECT_EQ(ages.tooOldBelow(1'000'000), ages.tooOldBelow(20'000)) << "no note, no news";
}

TEST(SnapshotAges, NoLimitEndsNone) {
    SnapshotAges ages(0);
    ages.note(1, 5);
    ages.note(1'000'000, 6);
    EXPECT_EQ(ages.tooOldBelow(2'000'000), 0u);
}

}  // namespace
}  // namespace freshet::engine
