// SPDX-License-Identifier: Apache-2.0
/// The scan at open: reads the segments from their start, hands every whole record to replay, finds
/// where the log ends and whether that end is honest. Threads: one, before the journal runs.
///
/// It begins at the last segment whose first block says that what lies before is below redoLsn:
/// earlier segments need not be read, nor be there. First blocks are never stale (INV-journal-10),
/// and recycling leaves one such segment at least.
///
/// A block belongs to the log if its header and records are whole, it names the block before it by
/// number and checksum, and its era does not fall. The first position where that fails twice, the
/// second time with what the disk has and not what the system keeps of it, is the end: it may be
/// read wrong, and the log goes on over what lies there. Behind it may lie what a crash left:
/// blocks of this era that were never flushed as a whole, and stale ones. They are surveyed, for
/// two reasons:
///   - One of them may prove that the place where the log ends was durable once: then acknowledged
///     records are damaged, and the open is refused (DESIGN 7.4, rule 3).
///     So may the witness (file/witness.h), which is heard when the ring's remains are found.
///   - The new era must be above every era that is still there, so that nothing can chain to it by
///     accident. Highest era seen + 1 is that, without any other record of eras: the new era's
///     first block is durable before a second one is written, so an era of which no header is left
///     is one of which nothing is left. If the first block itself is lost in a crash, the same era
///     is used again, with nothing in the files to mistake for it. Blocks before the end need no
///     survey: eras do not fall along the chain, so its last block has their highest.
#pragma once

#include "freshet/journal/journal.h"
#include "freshet/journal/scan/ring_remains.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace freshet::journal {

/// A segment as found in the directory.
struct FoundSegment {
    uint32_t index = 0;
    std::string path;
    uint64_t bytes = 0;  // of the file, whatever they are
    std::unique_ptr<platform::File> file;
    /// Set for those in front of LogEnd::last: as in FinishedSegment.
    Lsn end = 0;
    uint64_t timestamp = 0;
};

/// Where and how the log ends. All numbers 0 when there is no block at all.
struct LogEnd {
    std::vector<FoundSegment> segments;  // all, in order
    size_t first = 0;                    // position in `segments` of the first that redo needs
    size_t last = 0;                     // position in `segments` of the one with the last block
    uint64_t offset = 0;                 // in it, behind the last block
    uint64_t slotNo = 0;                 // of the last block
    uint32_t blockCrc = 0;
    uint32_t era = 0;
    uint16_t flags = 0;      // of the last block
    bool isClosed = false;   // it ends with what close() appends
    bool wasCutOff = false;  // and if it were closed, one could know
    /// What follows it and is in no segment yet, though replay has seen it.
    std::vector<RingSlot> remains;
    // The highest of any valid header, behind the end too, and of what remains:
    uint32_t eraMax = 0;
    uint64_t slotNoMax = 0;
    uint64_t timeBaseMax = 0;
    std::vector<std::string> losses;  // with Options::repair only
};

/// kCorruption with file and offset: see above; or the log does not reach back to redoLsn, or not
/// up to it. With Options::repair the log ends there instead. kUnsupported: a newer format. Or what
/// `replay` said.
StatusOr<LogEnd> scanLog(const Options& options, const RecordSink& replay);

}  // namespace freshet::journal
