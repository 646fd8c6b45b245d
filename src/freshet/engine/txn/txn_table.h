// SPDX-License-Identifier: Apache-2.0
/// Who is writing, and the order of commits (DESIGN 6.1, 6.2, 6.4). A writer owns an entry from its
/// first write to its end; the versions it makes name the entry, so that one CAS on the entry's
/// word commits all of them at once. Timestamps are claimed in a ring whose every step can be
/// finished by whoever meets it, so a preempted committer holds up nobody.
///
///   INV-engine-6 (C1)  clock == t: every commit with a timestamp <= t is COMMITTED; a timestamp is
///                      claimed only when its predecessor is complete, so there are no gaps.
///   INV-engine-7       an entry is reused only when every stamp of its last owner is final.
///   INV-engine-21      a write set is its owner's while the entry's word is ACTIVE or COMMITTING.
///                      While it is LAID DOWN it is nobody's, and becomes the one's whose CAS takes
///                      the word: its owner's again, or for good another's, who ends it.
#pragma once

#include "freshet/base/status.h"
#include "freshet/engine/txn/mutant.h"
#include "freshet/engine/txn/stamp.h"
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

/// What a writer lays down. To the table nothing but its address.
struct LaidWrites {};

class TxnTable {
public:
    explicit TxnTable(const TxnLimits& limits = {});
    /// REQUIRES: nobody uses the table.
    ~TxnTable();
    TxnTable(const TxnTable&) = delete;
    TxnTable& operator=(const TxnTable&) = delete;

    /// The newest complete commit timestamp; a snapshot is one acquire load of it.
    const sync::Atomic<uint64_t>& clock() const { return clock_; }
    uint64_t snapshot() const;
    /// REQUIRES: no other thread uses the table (replay). Moves the clock to `ts`.
    void setClock(uint64_t ts);

    /// How many claims were completed since the table was made, or its clock set. A statistic.
    uint64_t commits() const;

    /// A fresh entry: the stamp that its owner gives to its versions. kLimit when all are in use.
    /// Callers with different `near` do not get in each other's way, mostly: a thread's number.
    StatusOr<uint64_t> open(uint32_t near = 0);
    /// What others may know of writes that are laid down.
    struct Laid {
        uint64_t bytes = 0;
        uint64_t nanos = 0;       // when
        uint64_t begunNanos = 0;  // and when it was begun, if it has to end in time; 0: not
    };
    /// The owner goes away and leaves what it has written where another may end it. REQUIRES: no
    /// setCommitting. Until takeUp() the owner touches nothing of `writes`.
    void layDown(uint64_t stamp, LaidWrites* writes, const Laid& laid);
    /// The owner is back. False: another has ended it, and `writes` is that one's.
    bool takeUp(uint64_t stamp);
    /// For the owner, which has laid its writes down: nobody has ended them by now. If a version of
    /// its own was not seen as its own before this call, the answer is false.
    bool isOpen(uint64_t stamp) const;
    /// From here on the owner's entry keeps the snapshot it reads by, until it is closed, by
    /// whomever; so what ends the writes ends the snapshot. Its own pin may go afterwards.
    void keepSnapshot(uint64_t stamp, uint64_t ts);
    /// Every snapshot that an entry keeps is >= the result; who reads by one that is not kept any
    /// more finds by isOpen() that it was ended. To be asked after the pins.
    uint64_t oldestKept() const;
    /// Ends the largest of those that have been laid down since before `laidBeforeNanos`, if all of
    /// these together have `togetherMin` bytes: it is as after setAborted(), and the caller has the
    /// owner's part from there on. Null: none, or its owner came back just now.
    struct Ended {
        LaidWrites* writes = nullptr;
        uint64_t stamp = 0;
    };
    Ended endLargest(uint64_t laidBeforeNanos, uint64_t togetherMin);
    /// The same of one that was begun before that and has to end in time.
    Ended endBegunBefore(uint64_t nanos);
    /// From here on the owner will either claim() or setAborted().
    void setCommitting(uint64_t stamp);
    /// REQUIRES setCommitting. The commit takes effect inside; returns its timestamp. The owner
    /// then stores it into all its versions, in the same slice, and calls close().
    uint64_t claim(uint64_t stamp);
    /// The writes never happened. The owner stores kStampAborted likewise and calls close().
    void setAborted(uint64_t stamp);
    /// REQUIRES: every version of this owner has its final stamp. Wakes waiters; the entry is free.
    void close(uint64_t stamp);

    /// What has become of the version that carries `stamp`. Never waits.
    Outcome resolve(const sync::Atomic<uint64_t>& stamp) const;
    /// Finishes claims until the clock is at least `ts`, which somebody has been given.
    void completeUpTo(uint64_t ts);
    /// Completed when the owner of `stamp` has ended, at once if it has already.
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
    struct LaidDown;
    template <typename Visit>
    void forEachLaidDown(const Visit& visit) const;
    Ended end(const LaidDown& found);
    /// Null: that chunk has not been made.
    EntryChunk* chunkOf(uint32_t index) const;
    static void wakeAll(WaitNode* list);

    const TxnLimits limits_;
    const unsigned lapShift_;

    /// The newest complete commit timestamp. Written by: whoever completes a claim. Read by: all.
    ///   STEPS    t -> t + 1 only, by CAS, after the claimant of t + 1 is COMMITTED
    alignas(sync::kLineBytes) sync::Atomic<uint64_t> clock_;
    /// Where it was when the first owner came. Constant from then on.
    alignas(sync::kLineBytes) uint64_t startedAt_;
    /// Entries that are free; each belongs to one list for good, by its index.
    const std::unique_ptr<FreeList[]> free_;
    /// Entries below this have been handed out at least once. Entry 0 stays unused.
    sync::Atomic<uint32_t> freshNext_{1};
    /// The claims. Cell t % ringCells holds the claim of t while its lap is t / ringCells.
    ///   WORD     lap:48 | entry:16
    ///   STEPS    laps only rise, so a value never repeats and a late CAS fails
    std::unique_ptr<sync::Atomic<uint64_t>[]> ring_;
    /// How many entries keep a snapshot. Written by: their owners, and whoever closes them. Read
    /// by: oldestKept(), which mostly has no more to do.
    sync::Atomic<uint64_t> keeping_{0};
    /// Chunks of entries, made on first use, null before.
    std::unique_ptr<sync::Atomic<EntryChunk*>[]> chunks_;
};

}  // namespace freshet::engine
