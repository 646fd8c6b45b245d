// SPDX-License-Identifier: Apache-2.0
/// Power cuts and killed processes: after each, the file holds the last acknowledged checkpoint or
/// the one that was being written, whole, and never reuses a start number.
#include "freshet/block/block_file.h"
#include "freshet/block/root/test_support.h"
#include "freshet/testing/sim/memory_file_system.h"
#include "freshet/testing/sim/seed.h"

#include <gtest/gtest.h>

namespace freshet::block {
namespace {

using testing::DiskFaults;
using testing::MemoryFileSystem;

/// The fate of writes that no flush had covered.
enum class Cut { kAllLost, kSomeKept, kProcessOnly };

void cut(MemoryFileSystem* disk, Cut kind, uint64_t seed) {
    if (kind == Cut::kAllLost) {
        disk->crash();
    } else if (kind == Cut::kSomeKept) {
        disk->crashKeepingSome(seed);
    }
}

/// Opens the file and lets `user` work on it until the disk fails or `steps` are done. False if the
/// disk did not fail.
bool workUntilFailure(MemoryFileSystem* disk, ModelUser* user, int steps, std::string* wrong) {
    auto file = openAndStart(testOptions(disk));
    if (!file.isOk()) {
        if (file.status().code() != Code::kIo) {
            *wrong = file.status().toString();
        }
        return true;
    }
    *wrong = user->attach(file->get());
    for (int i = 0; i < steps && wrong->empty(); ++i) {
        if (!user->step().isOk()) {
            return true;
        }
    }
    return false;
}

/// Cuts the power at the first operation of this kind, then at the second, and so on, through the
/// same sequence of work.
void cutEverywhere(DiskFaults::Op op, Cut kind, uint64_t seed) {
    for (uint64_t nth = 1;; ++nth) {
        MemoryFileSystem disk;
        ASSERT_TRUE(disk.makeDirectory(kTestDirectory).isOk());
        disk.faults().fail(op, nth, Status(Code::kIo, "power"));
        ModelUser user(seed);
        std::string wrong;
        const bool failed = workUntilFailure(&disk, &user, 150, &wrong);
        ASSERT_EQ(wrong, "") << "operation " << nth;
        if (!failed) {
            EXPECT_GT(nth, 10u) << "the work was too short to mean anything";
            return;
        }
        cut(&disk, kind, seed + nth);
        ASSERT_FALSE(workUntilFailure(&disk, &user, 20, &wrong)) << "operation " << nth;
        ASSERT_EQ(wrong, "") << "after the cut at operation " << nth;
    }
}

TEST(BlockCrash, PowerCutAtEveryWrite) {
    const uint64_t seed = testing::testSeed();
    cutEverywhere(DiskFaults::Op::kWrite, Cut::kAllLost, seed);
    cutEverywhere(DiskFaults::Op::kWrite, Cut::kSomeKept, seed);
}

TEST(BlockCrash, PowerCutAtEveryFlush) {
    const uint64_t seed = testing::testSeed();
    cutEverywhere(DiskFaults::Op::kSync, Cut::kAllLost, seed);
    for (uint64_t i = 0; i < 4; ++i) {
        cutEverywhere(DiskFaults::Op::kSync, Cut::kSomeKept, seed + i);
    }
}

TEST(BlockCrash, OneFileThroughManyCuts) {
    const uint64_t seed = testing::testSeed();
    std::mt19937_64 random(seed);
    ModelUser user(seed);
    MemoryFileSystem disk;
    ASSERT_TRUE(disk.makeDirectory(kTestDirectory).isOk());
    uint64_t failures = 0;
    for (int round = 0; round < 400; ++round) {
        // Sometimes the cut comes while the file is being opened, or two come in a row.
        const auto op = random() % 2 == 0 ? DiskFaults::Op::kWrite : DiskFaults::Op::kSync;
        disk.faults().fail(op, 1 + random() % 30, Status(Code::kIo, "power"));
        std::string wrong;
        failures += workUntilFailure(&disk, &user, 40, &wrong);
        ASSERT_EQ(wrong, "") << "round " << round;
        cut(&disk, static_cast<Cut>(random() % 3), random());
    }
    EXPECT_GT(failures, 100u);
    EXPECT_GT(user.acknowledged(), 100u);
}

TEST(BlockCrash, UnfinishedCreationCountsAsNew) {
    for (auto op : {DiskFaults::Op::kWrite, DiskFaults::Op::kSync}) {
        for (uint64_t nth = 1; nth <= 2; ++nth) {
            MemoryFileSystem disk;
            ASSERT_TRUE(disk.makeDirectory(kTestDirectory).isOk());
            disk.faults().fail(op, nth, Status(Code::kIo, "power"));
            ASSERT_FALSE(openAndStart(testOptions(&disk)).isOk());
            disk.crashKeepingSome(nth);
            auto file = openAndStart(testOptions(&disk));
            ASSERT_TRUE(file.isOk()) << file.status().toString();
            EXPECT_EQ((*file)->root().checkpointNo, 0u);
        }
    }
}

}  // namespace
}  // namespace freshet::block
