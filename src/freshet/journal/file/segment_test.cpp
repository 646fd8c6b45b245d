// SPDX-License-Identifier: Apache-2.0
/// Making segments, on a real disk.
#include "freshet/journal/file/segment.h"

#include "freshet/journal/file/test_support.h"
#include "freshet/platform/folder_for_test.h"

#include <gtest/gtest.h>

namespace freshet::journal {
namespace {

constexpr uint64_t kBytes = 4u << 20;

class SegmentTest : public ::testing::Test {
protected:
    SegmentMaker maker(uint64_t zeroedPerSecondMax = UINT64_MAX) {
        return SegmentMaker(
            &platform::FileSystem::posix(), root_, 7, kBytes, kBytes, zeroedPerSecondMax, spares_);
    }
    /// Steps until it is made; 0: more than a hundred.
    static int stepsTo(SegmentMaker& maker, std::unique_ptr<Segment>* made, Pace pace) {
        for (int n = 1; n <= 100; ++n) {
            auto segment = maker.step(pace);
            EXPECT_TRUE(segment.isOk()) << segment.status().toString();
            if (!segment.isOk() || *segment != nullptr) {
                *made = std::move(*segment);
                return n;
            }
        }
        return 0;
    }
    static bool isBlank(Segment& segment) {
        std::string bytes(segment.bytes + 1, '?');
        return *segment.file->pread(bytes.data(), bytes.size(), 0) == segment.bytes &&
               bytes.find_first_not_of('\0') == segment.bytes;
    }

    const platform::FolderForTest folder_;
    const std::string root_ = folder_.path();
    SparePool spares_;
};

TEST_F(SegmentTest, IsMadeInStepsAndBlank) {
    SegmentMaker making = maker();
    std::unique_ptr<Segment> segment;
    EXPECT_GT(stepsTo(making, &segment, Pace::kInSteps), 1);
    ASSERT_NE(segment, nullptr);
    EXPECT_EQ(segment->path, root_ + "/j.00000007");
    EXPECT_EQ(segment->bytes, kBytes);
    EXPECT_TRUE(isBlank(*segment));
}

TEST_F(SegmentTest, IsThereAtOnceForALogThatWaits) {
    SegmentMaker making = maker();
    ASSERT_EQ(*making.step(Pace::kInSteps), nullptr);
    std::unique_ptr<Segment> segment;
    EXPECT_EQ(stepsTo(making, &segment, Pace::kMissed), 1);
    ASSERT_NE(segment, nullptr);
    EXPECT_TRUE(isBlank(*segment));
}

TEST_F(SegmentTest, IsThereAtOnceWhenAsked) {
    SegmentMaker making = maker();
    std::unique_ptr<Segment> segment;
    EXPECT_EQ(stepsTo(making, &segment, Pace::kAtOnce), 1);
    ASSERT_NE(segment, nullptr);
    EXPECT_TRUE(isBlank(*segment));
}

TEST_F(SegmentTest, IsThereAtOnceForALogThatGrowsFast) {
    SegmentMaker making = maker(0);
    std::unique_ptr<Segment> segment;
    ASSERT_GT(stepsTo(making, &segment, Pace::kInSteps), 1);
    // The log is at the end of the previous segment, however long that took.
    EXPECT_EQ(stepsTo(making, &segment, Pace::kInSteps), 1);
    ASSERT_NE(segment, nullptr);
    EXPECT_TRUE(isBlank(*segment));
}

}  // namespace
}  // namespace freshet::journal
