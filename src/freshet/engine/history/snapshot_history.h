// SPDX-License-Identifier: Apache-2.0
/// SnapshotHistory: keeps old versions for a while, so that the store can be read as it was at a
/// time of its log (decision 0056). It does so from the first use on, until it has not been used
/// for as long as it keeps; or always, if it is told to. What it keeps is bounded by time, by an
/// amount of memory, and by what is left of it: when memory is short, it forgets.
///
///   INV-engine-22  a snapshot is found from a mark that is not below the floor, and every commit
///                  above the mark's timestamp was noted (CommitTimes). So the versions that it
///                  needs are kept, and it has exactly the commits up to its time.
#pragma once

#include "freshet/base/status.h"
#include "freshet/engine/commits/snapshot_search.h"
#include "freshet/engine/history/history_marks.h"
#include "freshet/engine/snapshot.h"
#include "freshet/journal/journal.h"
#include "freshet/sync/mutex.h"
#include "freshet/sync/snapshot_floor.h"

#include <cstdint>
#include <deque>

namespace freshet::engine {

class SnapshotHistory {
public:
    SnapshotHistory(sync::EpochDomain& domain,
                    TxnTable& table,
                    CommitFloors& floors,
                    CommitTimes& times)
        : domain_(domain),
          table_(table),
          floors_(floors),
          times_(times),
          floor_(domain, table.clock()) {}
    /// REQUIRES: shut() was called, or the history was never used.
    ~SnapshotHistory() = default;
    SnapshotHistory(const SnapshotHistory&) = delete;
    SnapshotHistory& operator=(const SnapshotHistory&) = delete;

    /// Before use. The memory that old versions may take, as far as it can be foreseen.
    void setBytesMax(uint64_t bytes);
    /// Any thread: as Store::keepHistory() and Store::findSnapshot(), outside every slice.
    void keep(uint64_t seconds, bool always);
    Status find(const journal::Journal& journal, uint64_t time, Snapshot* snapshot);
    /// Any thread, inside a slice of `participant`: pins pin->ts. False: it is no longer kept.
    bool pin(sync::Participant& participant, sync::SnapshotPin* pin) {
        return floor_.pin(participant, pin);
    }

    // Any thread, outside every slice:

    /// To be called several times a second: starts, moves the floor, ends.
    void look(const journal::Journal& journal);
    /// Memory is short: forgets the older half. False: that frees little or nothing, since the
    /// history is short already, or a snapshot in use (`minReadTs`: the store's, read just now)
    /// needs the same versions.
    bool shorten(const journal::Journal& journal, uint64_t minReadTs);
    /// The store is about to end: no thread uses it any more.
    void shut();

private:
    /// Starting: commits in slices that began before may not be noted. Stopping: threads may still
    /// note commits or read by what was pinned.
    enum class State : uint8_t { kOff, kStarting, kOn, kStopping };

    // All of these: REQUIRES: mutex_ is held; `nowNanos` was read since.
    void beginStart();
    void finishStart(const journal::Journal& journal, uint64_t nowNanos);
    void beginStop();
    /// Goes on with what takes several steps.
    void step(const journal::Journal& journal, uint64_t nowNanos);
    bool isUnused(uint64_t nowNanos) const;
    uint64_t windowNanos() const;
    HistoryBounds bounds() const;
    void moveFloor();
    Status begin(const journal::Journal& journal, uint64_t time, Snapshot* snapshot);
    bool findRecent(uint64_t time, Snapshot* snapshot) const;

    /// A moment from which a snapshot can be found.
    HistoryMark markOf(const journal::Journal& journal, uint64_t nowNanos) const;
    /// Looks for the snapshot's commits. Without the mutex.
    Status search(const journal::Journal& journal, Snapshot* snapshot);
    void noteFound(const Snapshot& snapshot);

    sync::EpochDomain& domain_;
    TxnTable& table_;
    CommitFloors& floors_;
    CommitTimes& times_;
    sync::SnapshotFloor floor_;  // guarded by mutex_, except pin()
    uint64_t bytesMax_ = 0;
    uint32_t cells_ = 0;  // of CommitTimes

    sync::Mutex mutex_;
    // All of these are guarded by mutex_:
    State state_ = State::kOff;
    uint64_t grace_ = 0;  // of the state kStarting
    uint64_t seconds_ = 300;
    bool isAlways_ = false;
    uint64_t lastUseNanos_ = 0;
    /// Commits with times up to this one were complete, and noted, at some moment.
    uint64_t completeTime_ = 0;
    HistoryMarks marks_;
    std::deque<Snapshot> recent_;  // found last: clients come back with their times
};

}  // namespace freshet::engine
