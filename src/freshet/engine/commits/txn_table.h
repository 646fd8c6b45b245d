// SPDX-License-Identifier: Apache-2.0
/// The open writers and the order of commits (docs/design/engine.md, "Transactions"). A writer owns
/// an entry from its first write to its end. The versions it makes name the entry, so one CAS on
/// the entry's word commits all of them at once. Timestamps are claimed in a ring, and any thread
/// that meets a claim can complete every step of it, so a preempted committer delays no other
/// thread.
///
///   INV-engine-6 (C1)  clock == t: every commit with a timestamp <= t is COMMITTED; a timestamp is
///                      claimed only when its predecessor is complete, so there are no gaps.
///   INV-engine-7       an entry is reused only when every stamp of its last owner is final.
///   INV-engine-21      a write set belongs to its owner while the entry's word is ACTIVE or
///                      COMMITTING. While the word is SUSPENDED it belongs to no thread, and a CAS
///                      on the word decides who gets it: its owner again, or for good another
///                      thread, which ends it.
#pragma once

#include "freshet/base/status.h"
#include "freshet/engine/commits/stamp.h"
#include "freshet/engine/variants/mutant.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/wait_token.h"

#include <cstdint>
#include <memory>

namespace freshet::engine {

/// Small in model checks.
struct TxnLimits {
    uint32_t ringCells = 1024;       // a power of two
    uint32_t entriesMax = 65535;     // open writers
    uint32_t entriesPerChunk = 256;  // a power of two
    uint32_t freeLists = 16;         // of entries; for callers with different `near`
};

/// A suspended write set. The table uses nothing but its address.
struct SuspendedWrites {};

class TxnTable {
public:
    explicit TxnTable(const TxnLimits& limits = {});
    /// REQUIRES: no thread uses the table.
    ~TxnTable();
    TxnTable(const TxnTable&) = delete;
    TxnTable& operator=(const TxnTable&) = delete;

    /// The newest complete commit timestamp; a snapshot is one acquire load of it.
    const sync::Atomic<uint64_t>& clock() const { return clock_; }
    uint64_t snapshot() const {
        // [clock.read] acquire: pairs with [clock.step]; the words of all commits up to it are
        // visible.
        return clock_.load(sync::kAcquire);
    }
    /// REQUIRES: no other thread uses the table (replay). Moves the clock to `ts`.
    void setClock(uint64_t ts);

    /// The number of claims completed since the table was made or its clock set. A statistic.
    uint64_t commits() const;

    /// A fresh entry: the stamp that its owner gives to its versions. kLimit when all are in use.
    /// `near`: a number of the calling thread; callers with different ones rarely contend.
    StatusOr<uint64_t> open(uint32_t near = 0);
    /// What other threads may know of a suspended write set.
    struct Suspended {
        uint64_t bytes = 0;
        uint64_t nanos = 0;     // when it was suspended
        uint64_t endNanos = 0;  // when it must end; 0: it has no time limit
    };
    /// Leaves the owner's writes where another thread may end them. REQUIRES: no setCommitting.
    /// Until resume() the owner does not touch `writes`.
    void suspend(uint64_t stamp, SuspendedWrites* writes, const Suspended& info);
    /// The owner continues. False: another thread has ended the writes, and `writes` belongs to it.
    bool resume(uint64_t stamp);
    /// For an owner that has suspended its writes: whether they have not been ended so far. If a
    /// version of its own was not seen as its own before this call, the answer is false.
    bool isOpen(uint64_t stamp) const;
    /// From here on the entry keeps the snapshot that its owner reads by, until the entry is closed
    /// by any thread. So ending the writes ends the snapshot too. The owner may drop its own pin
    /// afterwards.
    void keepSnapshot(uint64_t stamp, uint64_t ts);
    /// Every snapshot that an entry keeps is >= the result; a reader whose snapshot is no longer
    /// kept learns from isOpen() that it was ended. To be called after reading the pins.
    uint64_t oldestKept() const;
    /// Ends the largest write set that has been suspended since before `suspendedBeforeNanos`, if
    /// all of these together have `togetherMin` bytes. The result is as after setAborted(), and the
    /// caller takes over the owner's part. Null: there was none, or its owner has just resumed it.
    struct Ended {
        SuspendedWrites* writes = nullptr;
        uint64_t stamp = 0;
    };
    Ended endLargest(uint64_t suspendedBeforeNanos, uint64_t togetherMin);
    /// The same for one whose time limit was before `nanos`.
    Ended endDueBefore(uint64_t nanos);
    /// From here on the owner will either claim() or setAborted().
    void setCommitting(uint64_t stamp);
    /// REQUIRES setCommitting. The commit takes effect inside; returns its timestamp. The owner
    /// then stores it into all its versions, in the same slice, and calls close().
    uint64_t claim(uint64_t stamp);
    /// The writes never happened. The owner stores kStampAborted likewise and calls close().
    void setAborted(uint64_t stamp);
    /// REQUIRES: every version of this owner has its final stamp. Wakes waiters; the entry is free.
    void close(uint64_t stamp);

    /// The outcome of the version that carries `stamp`. Never waits.
    Outcome resolve(const sync::Atomic<uint64_t>& stamp) const;
    /// Completes claims until the clock is at least `ts`. REQUIRES: `ts` has been claimed.
    void completeUpTo(uint64_t ts);
    /// Completes when the owner of `stamp` has ended; at once if it already has.
    sync::WaitToken endOf(uint64_t stamp);

private:
    struct Entry;
    struct EntryChunk;
    struct WaitNode;
    uint32_t chunkCount() const { return limits_.entriesMax / limits_.entriesPerChunk + 1; }

    Entry& at(uint32_t index) const;
    struct FreeList;
    uint32_t popFree(FreeList& list);
    uint32_t popAnyFree();
    void pushFree(uint32_t index);
    uint32_t takeFresh();
    void complete(uint64_t ts, uint32_t entry);
    void letSnapshotGo(Entry& entry);
    template <typename Visit>
    void forEachEntry(Visit visit) const;
    struct SuspendedEntry;
    template <typename Visit>
    void forEachSuspended(const Visit& visit) const;
    Ended end(const SuspendedEntry& found);
    /// Null: that chunk does not exist yet.
    EntryChunk* chunkOf(uint32_t index) const;
    static void wakeAll(WaitNode* list);

    const TxnLimits limits_;
    const unsigned lapShift_;

    /// The newest complete commit timestamp. Written by: threads that complete a claim. Read by:
    /// all.
    ///   STEPS    t -> t + 1 only, by CAS, after the claimant of t + 1 is COMMITTED
    alignas(sync::kLineBytes) sync::Atomic<uint64_t> clock_;
    /// The clock when the table was made or last set. Constant once there are owners.
    alignas(sync::kLineBytes) uint64_t startedAt_;
    /// Free entries; each entry belongs to one list for good, by its index.
    const std::unique_ptr<FreeList[]> free_;
    /// Entries below this have been handed out at least once. Entry 0 is never used.
    sync::Atomic<uint32_t> freshNext_{1};
    /// The claims. Cell t % ringCells holds the claim of t while its lap is t / ringCells.
    ///   WORD     lap:48 | entry:16
    ///   STEPS    laps only rise, so a value never repeats and a late CAS fails
    std::unique_ptr<sync::Atomic<uint64_t>[]> ring_;
    /// How many entries keep a snapshot. Written by: their owners, and threads that close them.
    /// Read by: oldestKept(), which usually finds zero and is done.
    sync::Atomic<uint64_t> keeping_{0};
    /// Chunks of entries, made on first use; null before.
    std::unique_ptr<sync::Atomic<EntryChunk*>[]> chunks_;
};

}  // namespace freshet::engine
