// SPDX-License-Identifier: Apache-2.0
/// The scan at open: reads the segments from their start, passes every whole record to replay, and
/// finds where the log ends and whether anything is missing there. Threads: one, before the journal
/// runs.
///
/// It begins at the last segment whose first block says that what lies before is below redoLsn:
/// earlier segments need not be read, nor be there. First blocks are never stale (INV-journal-10),
/// and recycling leaves one such segment at least. Damage below redoLsn is skipped: the checkpoint
/// has what was there.
///
/// A block belongs to the log if its header and records are whole, it names the block before it by
/// number and checksum, and its era does not fall. The first position where that fails twice is the
/// end. The second attempt bypasses the system's cache, because a block may have been misread and
/// the log will be continued over it. Behind the end there may be blocks that a crash left: blocks
/// of this era that were never flushed as a whole, and stale ones. They are surveyed, for two
/// reasons:
/// - One of them may prove that the place where the log ends was once durable: then acknowledged
///   records are damaged, and the open is refused (docs/design/journal.md, "Recovery"). The witness
///   (file/witness.h), consulted after the ring's remains, may prove the same.
/// - The new era must be above every era still in the files, so that no old block can chain to it
///   by accident. The highest era seen + 1 is above them all, without any other record of eras: the
///   new era's first block is durable before a second one is written, so an era without a header in
///   the files has no blocks there. If the first block itself is lost in a crash, the same era is
///   used again, and no block in the files can be mistaken for it. Blocks before the end need no
///   survey: eras do not fall along the chain, so its last block has their highest.
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
    uint64_t bytes = 0;  // size of the file
    std::unique_ptr<platform::File> file;
    /// Set for those in front of LogEnd::last: as in FinishedSegment.
    Lsn end = 0;
    uint64_t timestamp = 0;
};

/// Where and how the log ends. All numbers are 0 when there is no block at all.
struct LogEnd {
    std::vector<FoundSegment> segments;  // all, in order
    Lsn begin = 0;                       // records below are in no segment any more
    size_t first = 0;                    // position in `segments` of the first that redo needs
    size_t last = 0;                     // position in `segments` of the one with the last block
    uint64_t offset = 0;                 // in it, behind the last block
    uint64_t slotNo = 0;                 // of the last block
    uint32_t blockCrc = 0;
    uint32_t era = 0;
    uint16_t flags = 0;      // of the last block
    bool isClosed = false;   // it ends with the block that close() appends
    bool wasCutOff = false;  // it was not closed, as far as that is known
    /// The slots that follow it and are in no segment yet. Replay has seen them.
    std::vector<RingSlot> remains;
    // The highest of any valid header, behind the end too, and of `remains`:
    uint32_t eraMax = 0;
    uint64_t slotNoMax = 0;
    uint64_t timeBaseMax = 0;
    std::vector<std::string> losses;  // with Options::repair only
};

/// kCorruption with file and offset: see above; or the log does not reach back to redoLsn, or not
/// up to it. With Options::repair the log ends there instead. kUnsupported: a newer format.
/// Otherwise the status returned by `replay`.
StatusOr<LogEnd> scanLog(const Options& options, const RecordSink& replay);

}  // namespace freshet::journal
