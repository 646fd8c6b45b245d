// SPDX-License-Identifier: Apache-2.0
/// What a process that was killed has left in the ring's file: records that were appended and not
/// yet written to a segment. Of these are found, in the order of the log, all up to the first that
/// is missing. So nothing is found without what it may build on, even if the system went down too,
/// and the file's pages on the disk are of different moments: a slot is followed by the next only
/// if its end is marked, and a record is one only if its own mark and its checksum say so.
/// Threads: one, before the journal runs.
#pragma once

#include "freshet/journal/journal.h"

#include <cstdint>
#include <string>
#include <vector>

namespace freshet::journal {

/// Records of a slot, behind room for a block's header.
struct RingSlot {
    uint64_t slotNo = 0;
    uint64_t timeBase = 0;
    std::string block;
    bool isWhole = false;  // nothing else was in the slot
};

struct RingRemains {
    std::vector<RingSlot> slots;
    std::string trouble;  // why the file says nothing of the era; empty: it does
    /// Where a record begins that is marked as complete and is not. Empty: nowhere. A system that
    /// went down may leave that, a process that was killed does not.
    std::string damage;
};

/// What follows slot `last`, the last block of `era`.
StatusOr<RingRemains> readRemains(const Options& options, uint32_t era, uint64_t last);

}  // namespace freshet::journal
