// SPDX-License-Identifier: Apache-2.0
/// When a checkpoint is made: by a thread of its own after so many milliseconds or so much journal,
/// and whenever somebody asks. One at a time. When one finds, or leaves, too little room, commits
/// that need more are refused (StoreCore::spaceShort), and checkpoints are tried every second,
/// until there is room again.
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
    /// How old a snapshot may get while memory is short because of what they need; 0: any age.
    uint64_t snapshotMillisMax = 0;
    /// Whether the disk has less room than checkpoint and log may need before there is more: what
    /// adds to the data is refused then, so that deleting goes on. May be empty.
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
    /// `onFatal`: a checkpoint has failed for good.
    CheckpointService(Checkpointer& checkpointer,
                      Evictor& evictor,
                      StoreCore& core,
                      const CheckpointPace& pace,
                      std::function<void(const Status&)> onFatal);
    ~CheckpointService() { stop(); }
    CheckpointService(const CheckpointService&) = delete;
    CheckpointService& operator=(const CheckpointService&) = delete;

    void start();
    /// Ends the thread, after the checkpoint that it is making.
    void stop();
    /// Makes a checkpoint. kNoSpace: it was given up and will be tried again. Any other error is
    /// final and repeated by every later call. Blocks: plain threads only, outside every slice.
    Status now();
    /// As Store::holdCheckpoints() and releaseCheckpoints(), which does not block; stop() releases.
    Status hold();
    void release();
    /// Calls `work` while no checkpoint is made.
    void between(const std::function<void()>& work);
    CheckpointStats stats();
    /// Evicts what can be, now, down to that many bytes; returns what ever went. Blocks as now().
    uint64_t evictDownTo(uint64_t bytes);
    /// As Store::expectMemoryUse().
    void expectMemoryUse();

private:
    void run();
    bool isHeld();
    /// now(), held or not. REQUIRES: running_.
    Status makeOne();
    /// How long to wait for a call. REQUIRES: mutex_.
    std::chrono::milliseconds untilNextLook() const;
    /// Writes what is due, which may be a checkpoint; errors as of now().
    Status writeBack();
    /// What a checkpoint's end means for those to come. REQUIRES: running_.
    Status judge(Status status);
    void noteEnd(uint64_t beganNanos);
    void noteSpace(const Status& status);
    /// What is short stays so until a checkpoint has found room. REQUIRES: running_.
    void lookAtDisk();
    bool isDue();
    /// After how long, if not for the journal's size.
    uint64_t intervalMs() const;
    /// Makes room in memory when it is time; what is due is written for that if need be.
    Status relieveMemory();
    /// The same while a checkpoint is made, of what has been written already.
    void relieveMeanwhile();
    /// As evictDownTo(). REQUIRES: running_.
    void evictHeld(uint64_t bytes);
    /// Those who need memory that is not to be had otherwise end: first old snapshots, then large
    /// writers. How the round went then: what one of the latter had is there for the next rounds.
    MemoryBudget::Round endWhoNeedsMemory(MemoryBudget::Round round);
    /// False: there are none.
    bool endOldSnapshots(uint64_t nowNanos);
    bool endLargestWriter(uint64_t nowNanos);
    /// Those that had to end by now (StoreOptions::transactionMillisMax). REQUIRES: running_.
    void endOldWriters();
    MemoryBudget::Round howRoundWent(const Status& status);
    /// What was evicted last. Takes running_.
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
    bool hasFreed_ = true;               // the last round did; the thread's own
    std::chrono::milliseconds rest_{0};  // before the next round, after one in vain
    uint64_t evictedBytes_ = 0;          // so far; guarded by running_
    uint64_t lastEvictedBytes_ = 0;      // by the end of the last round; the thread's own
    ProcessMemory process_;              // guarded by running_
    uint64_t lastLookNanos_ = 0;         // guarded by running_
    uint64_t lastGlanceNanos_ = 0;       // guarded by running_
    uint64_t lastOldWritersNanos_ = 0;   // when those were sought; guarded by running_
    SnapshotAges ages_;                  // the thread's own, as the next
    uint64_t roundBeganNanos_ = 0;
    uint64_t lastRoundBeganNanos_ = 0;  // that before it
    uint64_t lastEndedNanos_ = 0;       // a large writer
    CheckpointStats stats_;             // guarded by mutex_
    uint64_t lastEndNanos_ = 0;         // guarded by mutex_
    uint64_t lastEndBytes_ = 0;         // the journal's; guarded by mutex_
    bool hasMoreSparse_ = false;        // the last one said so; guarded by mutex_
    platform::Thread thread_;
};

}  // namespace freshet::engine
