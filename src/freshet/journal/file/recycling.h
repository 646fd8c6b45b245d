// SPDX-License-Identifier: Apache-2.0
/// Segments that the log has left behind: kept for redo and retention, then made spare for reuse
/// under a higher name, or removed.
///
///     j.0000000a --writer has moved on--> finished --recycle()--> spare.3
///     spare.3 --maker clears its first block, durably--> j.00000017
///
/// INV-journal-10: the first block of a file named j.* is blank or belongs to the log under that
/// name; it is never stale. Behind it a recycled segment is full of stale blocks. The scan never
/// takes them for part of the log, even in the same era: their slot numbers, and their
/// predecessors', are below those of every block written after the segment was recycled, because a
/// segment is recycled only in front of a durable block. Nor do they prove damage: the position
/// that they call durable is below their own slot number.
#pragma once

#include "freshet/base/status.h"
#include "freshet/journal/file/batch_queue.h"
#include "freshet/journal/file/pins.h"
#include "freshet/journal/journal.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace freshet::journal {

/// A segment that the writer has left.
struct FinishedSegment {
    std::string path;
    uint64_t bytes = 0;
    Lsn end = 0;             // start of the slot behind its last block
    uint64_t timestamp = 0;  // time base of its last block, or a later one
};

/// A file of the size of a segment whose content is no longer needed.
struct Spare {
    std::string path;
    uint64_t bytes = 0;
};

/// Makes renames and removals durable. A failure is final, hence never kNoSpace.
Status syncNames(platform::FileSystem& files, const std::string& directory);

/// Spares between the threads that give them and the one that turns them into segments.
class SparePool {
public:
    static constexpr size_t kSparesMax = 8;

    explicit SparePool(uint64_t bytesMax = UINT64_MAX) : bytesMax_(bytesMax) {}
    /// For the one thread that gives: true when one of `bytes` bytes fits beside `others`.
    bool hasRoom(uint64_t bytes, const std::vector<Spare>& others = {}) const;
    void give(Spare spare);
    /// The maker's thread only. Empty when there is none.
    std::optional<Spare> take();

private:
    BatchQueue<Spare> given_;
    std::vector<Spare> taken_;  // the maker's
    const uint64_t bytesMax_;
    /// [spares.count] relaxed: bound the disk space, publish nothing.
    sync::Atomic<size_t> count_{0};
    sync::Atomic<uint64_t> bytes_{0};
};

class Recycler {
public:
    explicit Recycler(const Options& options)
        : files_(options.files),
          directory_(options.directory),
          retainBytes_(options.retainBytes),
          retainSeconds_(uint64_t{options.retainHours} * 3600),
          pinBytesMax_(options.pinBytesMax),
          pinSeconds_(uint64_t{options.pinHours} * 3600),
          bytesMin_(uint64_t{options.slots} * options.slotBytes),
          spares_(options.spareBytesMax) {}

    SparePool& spares() { return spares_; }
    PinSet& pins() { return pins_; }
    /// At open, before all else: finds the spares left by an earlier start.
    Status findSpares();
    /// At open: makes the file of `bytes` bytes a spare, or removes it. Not yet durable.
    Status spareOne(const std::string& path, uint64_t bytes);
    /// The writer has left a segment. Called in log order. Never blocks.
    void finished(FinishedSegment segment);
    /// Recycles the segments that end at or below `redoLsn` and in front of `durableLsn`, and are
    /// outside the retention at wall clock second `now`, until one is pinned. Pins beyond their
    /// limits become void; with `isShort` there is no retention, and all pins that are in the way
    /// become void. One call at a time. After a
    /// status that is not ok the rest is left for the next call. Adds the number of recycled
    /// segments to *gone.
    Status recycle(Lsn redoLsn, Lsn durableLsn, uint64_t now, bool isShort, uint64_t* gone);

    uint64_t keptBytes() const { return keptBytes_.load(sync::kRelaxed); }  // [recycler.count]
    uint64_t recycled() const { return recycled_.load(sync::kRelaxed); }    // [recycler.count]

private:
    bool mayGo(const FinishedSegment& oldest, Lsn redoLsn, Lsn durableLsn) const;
    bool isRetained(const FinishedSegment& oldest, uint64_t bytesMax, uint64_t now) const;
    uint64_t retainBytesNow() const;
    bool pinsEndAt(const FinishedSegment& oldest, uint64_t now) const;
    /// Renames the file to a spare's name, or removes it; not yet durable.
    Status letGo(const std::string& path, uint64_t bytes, std::vector<Spare>* spares);

    platform::FileSystem* const files_;
    const std::string directory_;
    const uint64_t retainBytes_;
    const uint64_t retainSeconds_;
    const uint64_t pinBytesMax_;
    const uint64_t pinSeconds_;
    const uint64_t bytesMin_;  // smaller files cannot be segments of this ring
    uint64_t nextSpare_ = 0;   // for names; used by recycle()
    SparePool spares_;
    PinSet pins_;
    BatchQueue<FinishedSegment> finished_;
    std::deque<FinishedSegment> kept_;  // oldest first; used by recycle()
    // [recycler.count] relaxed: statistics. keptBytes_ also bounds the retention, where it does not
    // matter if the newest segment is counted late.
    sync::Atomic<uint64_t> keptBytes_{0};
    sync::Atomic<uint64_t> recycled_{0};
};

}  // namespace freshet::journal
