// SPDX-License-Identifier: Apache-2.0
/// Reads from the ring's file what a killed process left there: records that were appended and not
/// yet written to a segment. They are taken in log order, up to the first that is missing. So no
/// record is found without those it may build on, even if the system went down too and the file's
/// pages on the disk are of different moments: a slot is followed by the next only if its end is
/// marked, and a record counts only if its own mark and its checksum are right. Threads: one,
/// before the journal runs.
#pragma once

#include "freshet/journal/journal.h"

#include <cstdint>
#include <string>
#include <vector>

namespace freshet::journal {

/// Records of a slot, behind space for a block's header.
struct RingSlot {
    uint64_t slotNo = 0;
    uint64_t timeBase = 0;
    std::string block;
    bool isWhole = false;  // the slot held nothing else
};

struct RingRemains {
    std::vector<RingSlot> slots;
    std::string trouble;  // why the file cannot be used for the era; empty: it can
    /// Offset of a record that is marked as complete and is not. Empty: none. A system that went
    /// down may leave that, a killed process does not.
    std::string damage;
};

/// Reads what follows slot `last`, the last block of `era`.
StatusOr<RingRemains> readRemains(const Options& options, uint32_t era, uint64_t last);

}  // namespace freshet::journal
