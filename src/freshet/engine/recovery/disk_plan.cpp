// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/recovery/disk_plan.h"

#include "freshet/block/block_file.h"

#include <algorithm>

namespace freshet::engine {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kSegmentBytesLeast = 2 * kMiB;
/// Larger disks keep enough free within the data file (block::Options::growBytesMin).
constexpr uint64_t kReserveBelow = 1024 * kMiB;

/// The `share`-th part of the disk, rounded to whole MiB, between `least` and `most`.
uint64_t partOf(uint64_t total, uint64_t share, uint64_t least, uint64_t most) {
    return std::max(std::min(most, least), std::min(total / share / kMiB * kMiB, most));
}

}  // namespace

DiskPlan planDisk(const StoreOptions& options, const platform::DiskSpace& disk, uint64_t least) {
    const block::Options data;
    const uint64_t total = disk.totalBytes == 0 ? UINT64_MAX : disk.totalBytes;
    const uint64_t segmentMax = options.journalSegmentBytesMax;
    DiskPlan plan;
    plan.journalRingBytesMax = partOf(total, 64, least, UINT64_MAX);
    plan.journalSegmentBytesMax =
        partOf(total, 32, std::max(least, kSegmentBytesLeast), segmentMax);
    plan.journalSpareBytesMax = partOf(total, 16, 0, UINT64_MAX);
    plan.checkpointJournalBytes = partOf(total, 16, 4 * kMiB, options.checkpointJournalBytes);
    plan.growBytesMin = partOf(total, 64, kMiB, data.growBytesMin);
    plan.growBytesMax = partOf(total, 64, kMiB, data.growBytesMax);
    plan.isSmall = plan.checkpointJournalBytes < options.checkpointJournalBytes ||
                   plan.journalSegmentBytesMax < segmentMax;
    if (plan.isSmall && total < kReserveBelow) {
        plan.reserveBytes = 2 * plan.checkpointJournalBytes + 4 * plan.journalSegmentBytesMax;
        plan.checkpointReserveBytes = plan.reserveBytes / 4;
    }
    // The ring with its marks, the segment in use and the next one, the data file with its free
    // part; and then the log that may be written before a checkpoint.
    plan.leastBytes = least + least / 8 + 2 * std::min(plan.journalSegmentBytesMax, 2 * least) +
                      2 * plan.growBytesMin + plan.reserveBytes;
    plan.wantedBytes = plan.leastBytes + plan.checkpointJournalBytes;
    return plan;
}

}  // namespace freshet::engine
