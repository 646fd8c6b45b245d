// SPDX-License-Identifier: Apache-2.0
/// How much of the disk a store reserves ahead of need. On disks of 32 GiB and more it is what the
/// options say; on smaller ones it is shares of the disk, so that 64 MB are enough to start.
#pragma once

#include "freshet/engine/store.h"
#include "freshet/platform/file.h"

#include <cstdint>

namespace freshet::engine {

struct DiskPlan {
    uint64_t journalRingBytesMax = 0;
    uint64_t journalSegmentBytesMax = 0;
    uint64_t journalSpareBytesMax = 0;
    uint64_t checkpointJournalBytes = 0;
    uint64_t growBytesMin = 0;  // of the data file
    uint64_t growBytesMax = 0;
    /// What a new store needs to start and to write a little.
    uint64_t wantedBytes = 0;
    uint64_t leastBytes = 0;  // with less it could not write at all
    /// With less free than this, commits that add data are refused. Then there is room for the log
    /// until the next checkpoint and for that checkpoint. 0: no reserve, only the disk itself
    /// refuses.
    uint64_t reserveBytes = 0;
    /// So much of the reserve is for the checkpoint alone; the log leaves it free.
    uint64_t checkpointReserveBytes = 0;
    bool isSmall = false;  // some values are less than the options say
};

/// `least`: the journal's smallest ring.
DiskPlan planDisk(const StoreOptions& options, const platform::DiskSpace& disk, uint64_t least);

}  // namespace freshet::engine
