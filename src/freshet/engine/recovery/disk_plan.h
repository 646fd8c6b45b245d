// SPDX-License-Identifier: Apache-2.0
/// How much of a disk a store lays hold of ahead of need. From 32 GiB on it is what the options
/// say; below, shares of the disk, so that 64 MB are enough to begin.
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
    /// What a new store takes to begin, and to write a little.
    uint64_t wantedBytes = 0;
    uint64_t leastBytes = 0;  // with less it could not write at all
    /// Less than that free: what adds to the data is refused. The log that comes until the next
    /// checkpoint has room then, and so has that. 0: until the disk refuses by itself.
    uint64_t reserveBytes = 0;
    bool isSmall = false;  // less than the options say
};

/// `least`: the journal's smallest ring.
DiskPlan planDisk(const StoreOptions& options, const platform::DiskSpace& disk, uint64_t least);

}  // namespace freshet::engine
