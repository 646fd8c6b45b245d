// SPDX-License-Identifier: Apache-2.0
/// LogWalk: finds positions in the segments of a running log, and reads its blocks. It never goes
/// beyond what is durable, so every block that it looks for must be there: a block that is not is
/// damaged, or was recycled meanwhile. Threads: one, which may wait for the disk.
#pragma once

#include "freshet/base/status.h"
#include "freshet/journal/file/framing.h"
#include "freshet/journal/file/pins.h"
#include "freshet/journal/file/tail_feed.h"
#include "freshet/journal/journal.h"
#include "freshet/journal/scan/block_finder.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace freshet::journal {

/// A position between two blocks.
struct ChainPlace {
    ChainLink last;        // the block in front of it
    uint32_t segment = 0;  // the segment of that block,
    uint64_t offset = 0;   // and where the block ends in it

    /// Everything below is in front of this position.
    Lsn end() const { return slotStart(last.slotNo + 1); }
    static ChainPlace behind(const LogBlock& block) {
        return {{block.header.slotNo, block.header.headerCrc, block.header.era},
                block.segment,
                block.end};
    }
};

/// One task, done in steps.
struct ReadStep {
    enum class What : uint8_t {
        kFindLsn,   // sets `place` in front of the block where reading from `target` begins; kRead
        kFindTime,  // the same; `target` is a timestamp
        kRead       // reads blocks behind `place`, and moves it behind them
    };
    What what = What::kRead;
    uint64_t target = 0;
    ChainPlace place;
    std::vector<LogBlockRef> blocks;
    bool isInSegment = false;  // the thread's: `place` is in the right segment
};

class LogWalk {
public:
    LogWalk(const Options& options, const PinSet& pins);

    /// A short step. True: the task is done; it may have read nothing when nothing more is durable.
    /// kNotFound: history lost. kCorruption with the place.
    StatusOr<bool> run(ReadStep& step, Lsn durable);
    /// Nothing is to be done now: closes its files.
    void rest() { files_.clear(); }
    /// Frees its memory: no reader needs what has been read.
    void forget();

private:
    struct SegmentFile {
        std::unique_ptr<platform::File> file;  // null: it does not exist
        std::string path;
    };

    StatusOr<bool> locate(ReadStep& step, Lsn durable);
    StatusOr<bool> find(ReadStep& step, Lsn durable);
    StatusOr<bool> read(ReadStep& step, Lsn durable);
    /// Finds the block behind `place` and moves `place` behind it; finder_ has it.
    Status advance(ChainPlace* place, BlockFinder::Depth depth);
    LogBlockRef recent(const ChainLink& after) const;
    Status blame(Status found, const BlockSearch& search);
    StatusOr<SegmentRef> segment(uint32_t index);
    /// The header of a segment's first block. Null: it has none that is durable.
    StatusOr<const BlockHeader*> firstHeader(uint32_t index, Lsn durable);
    bool isLost(Lsn end) const { return pins_.recycledTo() > end; }

    const Options& options_;
    const PinSet& pins_;
    BlockFinder finder_;
    std::map<uint32_t, SegmentFile> files_;
    std::map<uint32_t, BlockHeader> firsts_;
    /// Read last, newest at the back: for readers that follow one another closely.
    std::deque<LogBlockRef> recent_;
    uint64_t recentBytes_ = 0;
};

}  // namespace freshet::journal
