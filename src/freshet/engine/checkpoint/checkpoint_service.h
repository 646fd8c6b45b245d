// SPDX-License-Identifier: Apache-2.0
/// Decides when a checkpoint is made: on a thread of its own, after a time or an amount of journal,
/// and on request. One at a time. If one finds or leaves too little room, commits that need more
/// are refused (StoreCore::spaceShort), and a checkpoint is tried every second until there is room
/// again. The same thread evicts and ends old snapshots and transactions.
#pragma once

#include "freshet/engine/checkpoint/checkpointer.h"
#include "freshet/engine/checkpoint/evictor.h"
#include "freshet/engine/checkpoint/process_memory.h"
#include "freshet/engine/checkpoint/snapshot_ages.h"
#include "freshet/platform/thread.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

namespace freshet::engine {

struct CheckpointPace {
    uint64_t intervalMs = 0;
    uint64_t journalBytes = 0;
    /// Maximum age of snapshots while memory is short because of what they need; 0: no limit.
    uint64_t snapshotMillisMax = 0;
    /// Whether the disk has less room than checkpoint and log may need before more becomes free. If
    /// so, commits that add data are refused, so that deleting still works. May be empty.
    std::function<bool()> isDiskShort{};
};

struct CheckpointStats {
    uint64_t checkpoints = 0;
    uint64_t lastMillis = 0;  // how long the last one took
    int64_t lastWallMs = 0;   // when it ended
    uint64_t evictedLeaves = 0;
};

class CheckpointService {
public:
    /// `onFatal`: called when a checkpoint has failed for good.
    CheckpointService(Checkpointer& checkpointer,
                      Evictor& evictor,
                      StoreCore& core,
                      const CheckpointPace& pace,
                      std::function<void(const Status&)> onFatal);
    ~CheckpointService() { stop(); }
    CheckpointService(const CheckpointService&) = delete;
    CheckpointService& operator=(const CheckpointService&) = delete;

    void start();
    /// Ends the thread, after the checkpoint that it may be making.
    void stop();
    /// Makes a checkpoint. kNoSpace: it was given up and will be tried again. Any other error is
    /// final and repeated by every later call. Blocks: plain threads only, outside every slice.
    Status now();
    /// As Store::holdCheckpoints() and releaseCheckpoints(), which does not block; stop() releases.
    Status hold();
    void release();
    /// Calls `work` while no checkpoint is being made.
    void between(const std::function<void()>& work);
    CheckpointStats stats();
    /// Evicts what it can, now, down to that many bytes; returns all bytes ever evicted. Blocks as
    /// now().
    uint64_t evictDownTo(uint64_t bytes);
    /// As Store::expectMemoryUse().
    void expectMemoryUse();

private:
    void run();
    bool isHeld();
    /// now(), held or not. REQUIRES: running_.
    Status makeOne();
    /// How long the thread waits for a call. REQUIRES: mutex_.
    std::chrono::milliseconds untilNextLook() const;
    /// Writes the due pages, which may make a checkpoint; errors as of now().
    Status writeBack();
    /// What a checkpoint's result means for later ones. REQUIRES: running_.
    Status judge(Status status);
    void noteEnd(uint64_t beganNanos);
    void noteSpace(const Status& status);
    /// Notes when the disk becomes short; it counts as short until a checkpoint has found room.
    /// REQUIRES: running_.
    void lookAtDisk();
    bool isDue();
    /// The time between checkpoints, if the journal's size does not call for one before.
    uint64_t intervalMs() const;
    /// Frees memory when needed; writes due pages for that if necessary.
    Status relieveMemory();
    /// The same while a checkpoint is being made, from pages that it has written already.
    void relieveMeanwhile();
    /// As evictDownTo(). REQUIRES: running_.
    void evictHeld(uint64_t bytes);
    /// Ends what needs memory that cannot be freed otherwise: first old snapshots, then a large
    /// writer. Returns the round's result as it is then; the memory of a large writer becomes free
    /// in the next rounds.
    MemoryBudget::Round endForMemory(MemoryBudget::Round round);
    /// Moves the history's floor.
    void lookAtHistory();
    /// False: that would free nothing worthwhile.
    bool shortenHistory();
    /// False: there are none.
    bool endOldSnapshots(uint64_t nowNanos);
    bool endLargestWriter(uint64_t nowNanos);
    /// Ends those that had to end by now (StoreOptions::transactionMillisMax, Txn::endAfter()).
    /// REQUIRES: running_.
    void endOldWriters();
    MemoryBudget::Round resultOfRound(const Status& status);
    /// Whether all that was evicted last is freed. Takes running_.
    bool hasAllFreed();
    bool mustLookAtProcess(uint64_t now);
    void lookAtProcess();  // REQUIRES: running_

    Checkpointer& checkpointer_;
    Evictor& evictor_;
    StoreCore& core_;
    const CheckpointPace pace_;
    const std::function<void(const Status&)> onFatal_;

    std::mutex running_;  // held during a checkpoint and an eviction; before mutex_
    Status failure_;      // guarded by running_

    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false;              // guarded by mutex_
    bool called_ = false;                // memory is, or may be, short; guarded by mutex_
    uint32_t holds_ = 0;                 // no checkpoint is made until it is 0; guarded by mutex_
    uint64_t expectsUntilNanos_ = 0;     // see expectMemoryUse(); guarded by mutex_
    bool hasFreed_ = true;               // whether the last round freed something; the thread's own
    std::chrono::milliseconds rest_{0};  // before the next round, after one in vain
    uint64_t evictedBytes_ = 0;          // in total; guarded by running_
    uint64_t lastEvictedBytes_ = 0;  // evictedBytes_ at the end of the last round; the thread's own
    ProcessMemory process_;          // guarded by running_
    uint64_t lastLookNanos_ = 0;     // guarded by running_
    uint64_t lastGlanceNanos_ = 0;   // guarded by running_
    uint64_t lastOldWritersNanos_ = 0;  // when they were last looked for; guarded by running_
    SnapshotAges ages_;                 // the thread's own, like the next two
    uint64_t roundBeganNanos_ = 0;
    uint64_t lastRoundBeganNanos_ = 0;  // of the round before
    uint64_t lastEndedNanos_ = 0;       // when a large writer was ended
    CheckpointStats stats_;             // guarded by mutex_
    uint64_t lastEndNanos_ = 0;         // guarded by mutex_
    uint64_t lastEndBytes_ = 0;         // the journal's; guarded by mutex_
    bool hasMoreSparse_ = false;        // as the last checkpoint said; guarded by mutex_
    platform::Thread thread_;
};

}  // namespace freshet::engine
