// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/recovery/disk_plan.h"

#include "freshet/block/block_file.h"

#include <gtest/gtest.h>

namespace freshet::engine {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kLeast = 2 * kMiB;

DiskPlan planOf(uint64_t totalBytes) {
    return planDisk(StoreOptions(), {totalBytes, totalBytes}, kLeast);
}

TEST(DiskPlan, LargeDisksAndUnknownOnesGetWhatTheOptionsSay) {
    const StoreOptions options;
    const block::Options data;
    for (const uint64_t total : {uint64_t{0}, 32 * 1024 * kMiB, uint64_t{1} << 50}) {
        const DiskPlan plan = planOf(total);
        EXPECT_FALSE(plan.isSmall);
        EXPECT_EQ(plan.journalSegmentBytesMax, options.journalSegmentBytesMax);
        EXPECT_EQ(plan.checkpointJournalBytes, options.checkpointJournalBytes);
        EXPECT_EQ(plan.growBytesMin, data.growBytesMin);
        EXPECT_EQ(plan.growBytesMax, data.growBytesMax);
        EXPECT_GE(plan.journalSpareBytesMax, 8 * options.journalSegmentBytesMax);
    }
}

TEST(DiskPlan, SixtyFourMegabytesAreEnoughToBegin) {
    const DiskPlan plan = planOf(64 * kMiB);
    EXPECT_TRUE(plan.isSmall);
    EXPECT_LE(plan.wantedBytes, 32 * kMiB);
    EXPECT_GE(plan.journalSegmentBytesMax, kLeast);
    EXPECT_GE(plan.journalRingBytesMax, kLeast);
}

TEST(DiskPlan, GrowsWithTheDiskAndNeverFallsBelowTheLeast) {
    DiskPlan before = planOf(1);
    EXPECT_EQ(before.journalSegmentBytesMax, kLeast);
    for (uint64_t total = kMiB; total < (uint64_t{1} << 36); total *= 2) {
        const DiskPlan plan = planOf(total);
        EXPECT_GE(plan.journalSegmentBytesMax, before.journalSegmentBytesMax);
        EXPECT_GE(plan.checkpointJournalBytes, before.checkpointJournalBytes);
        EXPECT_GE(plan.growBytesMax, plan.growBytesMin);
        before = plan;
    }
}

}  // namespace
}  // namespace freshet::engine
